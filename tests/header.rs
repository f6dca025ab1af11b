//! `include/forebay.h` is what cbindgen makes of `src/ffi/`. After a change of the exports, write it anew with
//! `FOREBAY_WRITE_HEADER=1 cargo test --release --test header`.

use std::path::Path;

use cbindgen::{Builder, Config, DocumentationStyle, EnumConfig, Language, RenameRule, SortKey, Style};

/// In the order of the header.
const SOURCES: [&str; 9] = [
    "../error.rs",
    "error.rs",
    "buffer.rs",
    "handle.rs",
    "job.rs",
    "circuit.rs",
    "observe.rs",
    "log.rs",
    "api.rs",
];

const INTRODUCTION: &str = include_str!("header_introduction.h");

fn generate() -> String {
    let mut config = Config {
        language: Language::C,
        style: Style::Type,
        header: Some(INTRODUCTION.trim_end().to_string()),
        include_guard: Some("FOREBAY_H".into()),
        no_includes: true,
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(String::from).to_vec(),
        sort_by: SortKey::None,
        cpp_compat: true,
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C99,
        line_length: 110,
        ..Config::default()
    };
    config.enumeration =
        EnumConfig { rename_variants: RenameRule::QualifiedScreamingSnakeCase, ..EnumConfig::default() };
    config.export.rename.insert("Code".into(), "forebay_code".into());
    config.export.include.push("Code".into());
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ffi");
    let builder =
        SOURCES.iter().fold(Builder::new().with_config(config), |b, file| b.with_src(src.join(file)));
    let mut header = Vec::new();
    builder.generate().expect("cbindgen reads the room").write(&mut header);
    let header = String::from_utf8(header).expect("a header is UTF-8");
    header.replace("// # Safety\n// ", "// The caller promises:\n// ")
}

#[test]
fn the_committed_header_is_the_generated_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/forebay.h");
    let generated = generate();
    if std::env::var_os("FOREBAY_WRITE_HEADER").is_some() {
        std::fs::write(&path, &generated).expect("writing the header");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let difference = committed.lines().zip(generated.lines()).position(|(a, b)| a != b);
    assert!(
        committed == generated,
        "include/forebay.h is stale, first in line {}; run FOREBAY_WRITE_HEADER=1 cargo test --release --test header",
        difference.map_or(committed.lines().count().min(generated.lines().count()), |line| line) + 1
    );
}
