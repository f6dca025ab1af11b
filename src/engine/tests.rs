//! The engine end to end: real circuits, real keys, real proofs; faults where a test asks for them.

mod faults;
mod identity;
mod lifecycle;
mod memory;
mod real;
mod urgency;
mod world;
