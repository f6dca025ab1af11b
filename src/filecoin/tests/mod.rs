//! The four kinds on real 2 KiB sectors.

mod bad_input;
mod circuits;
mod mutations;
mod statements;
