//! A miner's request as plain data.

use serde::{Deserialize, Serialize};

/// The four proof kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Second half of sealing.
    PorepC2,
    /// Update of a sealed sector with data.
    SnapUpdate,
    /// One partition of a deadline.
    WindowPost,
    /// Block production.
    WinningPost,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::PorepC2, Kind::SnapUpdate, Kind::WindowPost, Kind::WinningPost];

    /// The number of `cuzk.v1.ProofKind`.
    pub fn wire_number(self) -> i32 {
        self as i32 + 1
    }

    /// The prefix of the request ids that a miner gives out.
    fn request_prefix(self) -> &'static str {
        match self {
            Kind::PorepC2 => "porep",
            Kind::SnapUpdate => "snap",
            Kind::WindowPost => "wdpost",
            Kind::WinningPost => "winpost",
        }
    }
}

/// The fields of `cuzk.v1.SubmitProofRequest` that describe the proof; those a kind does not use are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// `request_id`.
    pub request_id: String,
    /// `proof_kind`, by number.
    pub proof_kind: i32,
    /// `sector_size` in bytes.
    pub sector_size: u64,
    /// `registered_proof`, by number.
    pub registered_proof: u64,
    /// `priority`, by number.
    pub priority: i32,
    /// `vanilla_proof`.
    pub vanilla_proof: Vec<u8>,
    /// `vanilla_proofs`.
    pub vanilla_proofs: Vec<Vec<u8>>,
    /// `sector_number`.
    pub sector_number: u64,
    /// `miner_id`.
    pub miner_id: u64,
    /// `randomness`.
    pub randomness: Vec<u8>,
    /// `partition_index`.
    pub partition_index: u32,
    /// `comm_r_old`.
    pub comm_r_old: Vec<u8>,
    /// `comm_r_new`.
    pub comm_r_new: Vec<u8>,
    /// `comm_d_new`.
    pub comm_d_new: Vec<u8>,
}

impl Request {
    pub(crate) fn new(kind: Kind, miner_id: u64, sector_number: u64) -> Request {
        const NORMAL: i32 = 2;
        const CRITICAL: i32 = 4;
        Request {
            request_id: format!("{}-{miner_id}-{sector_number}", kind.request_prefix()),
            proof_kind: kind.wire_number(),
            sector_size: crate::SECTOR_SIZE,
            priority: if kind == Kind::WinningPost { CRITICAL } else { NORMAL },
            sector_number,
            miner_id,
            ..Request::default()
        }
    }
}
