//! Keeps the symbols of the bridge to C++ out of the shared library's exports.

include!(concat!(env!("OUT_DIR"), "/hidden_symbols.rs"));
