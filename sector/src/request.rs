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

/// The message `cuzk.v1.SubmitProofRequest`; fields that a kind does not use are empty. The bytes of
/// [`Request::encode_to_vec`](prost::Message::encode_to_vec) are what a miner sends.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
pub struct Request {
    /// `request_id`.
    #[prost(string, tag = "1")]
    pub request_id: String,
    /// `proof_kind`, by number.
    #[prost(int32, tag = "2")]
    pub proof_kind: i32,
    /// `sector_size` in bytes.
    #[prost(uint64, tag = "3")]
    pub sector_size: u64,
    /// `registered_proof`, by number.
    #[prost(uint64, tag = "4")]
    pub registered_proof: u64,
    /// `priority`, by number.
    #[prost(int32, tag = "5")]
    pub priority: i32,
    /// `vanilla_proof`.
    #[prost(bytes = "vec", tag = "10")]
    pub vanilla_proof: Vec<u8>,
    /// `vanilla_proofs`.
    #[prost(bytes = "vec", repeated, tag = "11")]
    pub vanilla_proofs: Vec<Vec<u8>>,
    /// `sector_number`.
    #[prost(uint64, tag = "20")]
    pub sector_number: u64,
    /// `miner_id`.
    #[prost(uint64, tag = "21")]
    pub miner_id: u64,
    /// `randomness`.
    #[prost(bytes = "vec", tag = "22")]
    pub randomness: Vec<u8>,
    /// `partition_index`.
    #[prost(uint32, tag = "23")]
    pub partition_index: u32,
    /// `comm_r_old`.
    #[prost(bytes = "vec", tag = "30")]
    pub comm_r_old: Vec<u8>,
    /// `comm_r_new`.
    #[prost(bytes = "vec", tag = "31")]
    pub comm_r_new: Vec<u8>,
    /// `comm_d_new`.
    #[prost(bytes = "vec", tag = "32")]
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
