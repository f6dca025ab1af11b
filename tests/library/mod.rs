//! The shared library as cargo just built it.
#![allow(dead_code)]

use std::path::PathBuf;

/// `libforebay.so` of this build: cargo puts it beside the test's own executable.
pub fn path() -> PathBuf {
    let executable = std::env::current_exe().expect("the test's own path");
    executable.with_file_name("libforebay.so")
}

/// Loads it the way a host does, beside the copy of the crate that is linked into this test.
pub fn load() -> libloading::os::unix::Library {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: the library's initialisers are Rust's own.
    unsafe { Library::open(Some(path()), RTLD_NOW | RTLD_LOCAL) }.expect("the library loads")
}
