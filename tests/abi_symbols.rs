//! What `libforebay.so` shows to the process that loads it.

mod library;

use std::collections::BTreeSet;

use object::{Object, ObjectSymbol, ObjectSymbolTable};

/// The functions that the header declares, by the name before each parameter list.
fn declared() -> BTreeSet<String> {
    let header = include_str!("../include/forebay.h");
    let (_, declarations) =
        header.split_once("extern \"C\" {").expect("the header has its functions in one block");
    let code = declarations.lines().filter(|line| !line.starts_with("//"));
    let names = code.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next().map(String::from));
    names.filter(|name| name.starts_with("forebay_")).collect()
}

#[test]
fn the_exports_are_exactly_the_functions_of_the_header() {
    let bytes = std::fs::read(library::path()).expect("the library is built before its tests");
    let file = object::File::parse(bytes.as_slice()).expect("an ELF file");
    let table = file.dynamic_symbol_table().expect("a dynamic symbol table");
    let exported: BTreeSet<String> = table
        .symbols()
        .filter(|symbol| symbol.is_definition())
        .map(|symbol| symbol.name().expect("a UTF-8 name").to_owned())
        .collect();
    let declared = declared();
    assert!(declared.len() > 20, "the header was read: {declared:?}");
    assert_eq!(exported, declared);
}

#[test]
fn the_table_holds_the_exported_functions() {
    let library = library::load();
    // SAFETY: this export has this signature; version 1 gives a static table.
    let table = unsafe {
        let api = library
            .get::<unsafe extern "C" fn(u32) -> *const forebay::ffi::forebay_api_v1>(b"forebay_api\0")
            .expect("the table's function");
        &*api(1)
    };
    assert_eq!(table.version, forebay::ffi::FOREBAY_ABI_VERSION);
    assert_eq!(table.size as usize, std::mem::size_of::<forebay::ffi::forebay_api_v1>());
    let address = |name: &str| -> usize {
        // SAFETY: only the address is looked at.
        unsafe { *library.get::<usize>(name.as_bytes()).expect(name) }
    };
    let members = [
        ("forebay_version", table.library_version as usize),
        ("forebay_open", table.open as usize),
        ("forebay_close", table.close as usize),
        ("forebay_submit", table.submit as usize),
        ("forebay_wait", table.wait as usize),
        ("forebay_poll", table.poll as usize),
        ("forebay_cancel", table.cancel as usize),
        ("forebay_headroom", table.headroom as usize),
        ("forebay_preload", table.preload as usize),
        ("forebay_evict", table.evict as usize),
        ("forebay_status", table.status as usize),
        ("forebay_metrics", table.metrics as usize),
        ("forebay_report", table.report as usize),
        ("forebay_completion_fd", table.completion_fd as usize),
        ("forebay_set_log", table.set_log as usize),
        ("forebay_buffer_data", table.buffer_data as usize),
        ("forebay_buffer_len", table.buffer_len as usize),
        ("forebay_buffer_free", table.buffer_free as usize),
        ("forebay_error_code", table.error_code as usize),
        ("forebay_error_message", table.error_message as usize),
        ("forebay_error_free", table.error_free as usize),
        ("forebay_error_retry_ms", table.error_retry_ms as usize),
        ("forebay_code_name", table.code_name as usize),
    ];
    for (name, member) in members {
        assert_eq!(member, address(name), "{name}");
    }
    let outside_the_table = ["forebay_abi_version", "forebay_api"];
    assert_eq!(members.len() + outside_the_table.len(), declared().len());
}
