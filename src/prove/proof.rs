//! A Groth16 proof and the randomness that blinds it.

use blstrs::{G1Affine, G2Affine, Scalar};
use ff::Field;

/// A proof: A in G1, B in G2, C in G1 (Groth 2016, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof {
    /// A.
    pub a: G1Affine,
    /// B.
    pub b: G2Affine,
    /// C.
    pub c: G1Affine,
}

impl Proof {
    /// Bytes of an encoded proof.
    pub const LEN: usize = 192;

    /// The compressed encoding A (48 bytes), B (96 bytes), C (48 bytes), as bellperson writes it.
    pub fn to_bytes(&self) -> [u8; Proof::LEN] {
        let mut out = [0; Proof::LEN];
        out[..48].copy_from_slice(&self.a.to_compressed());
        out[48..144].copy_from_slice(&self.b.to_compressed());
        out[144..].copy_from_slice(&self.c.to_compressed());
        out
    }
}

/// The randomness r and s that makes a proof zero-knowledge.
#[derive(Clone, Copy)]
pub struct Blinding {
    /// Blinds A.
    pub r: Scalar,
    /// Blinds B.
    pub s: Scalar,
}

impl Blinding {
    /// Fresh randomness from the operating system.
    pub fn random() -> Self {
        Blinding { r: Scalar::random(rand::rngs::OsRng), s: Scalar::random(rand::rngs::OsRng) }
    }
}
