//! Command line of forebay.

fn main() {}
