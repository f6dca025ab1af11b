//! Real 2 KiB development sectors and their vanilla proofs.
