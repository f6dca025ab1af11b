//! The engine end to end: real circuits, real keys, real proofs; faults where a test asks for them.

mod budget;
mod corrections;
mod devices;
mod events;
mod faults;
mod finishing;
mod identity;
mod journal;
mod lifecycle;
mod memory;
mod real;
mod residency;
mod urgency;
mod waiting;
mod world;
