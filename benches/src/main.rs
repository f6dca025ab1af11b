//! Benches of forebay.

fn main() {}
