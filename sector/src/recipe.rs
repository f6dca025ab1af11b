//! What a sector is made from.

use filecoin_proofs_api::{RegisteredPoStProof, RegisteredSealProof};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Version of the seal proof.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SealType {
    /// `StackedDrg2KiBV1`.
    V1,
    /// `StackedDrg2KiBV1_1`.
    #[default]
    V1_1,
    /// `StackedDrg2KiBV1_1_Feat_SyntheticPoRep`.
    Synthetic,
}

impl SealType {
    pub(crate) fn registered(self) -> RegisteredSealProof {
        match self {
            SealType::V1 => RegisteredSealProof::StackedDrg2KiBV1,
            SealType::V1_1 => RegisteredSealProof::StackedDrg2KiBV1_1,
            SealType::Synthetic => RegisteredSealProof::StackedDrg2KiBV1_1_Feat_SyntheticPoRep,
        }
    }
}

/// Version of the window proof of spacetime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WindowType {
    /// `StackedDrgWindow2KiBV1`: challenges depend on the sector's place in the deadline.
    V1,
    /// `StackedDrgWindow2KiBV1_2`: the version without that (the grindability fix).
    #[default]
    V1_2,
}

impl WindowType {
    pub(crate) fn registered(self) -> RegisteredPoStProof {
        match self {
            WindowType::V1 => RegisteredPoStProof::StackedDrgWindow2KiBV1,
            WindowType::V1_2 => RegisteredPoStProof::StackedDrgWindow2KiBV1_2,
        }
    }
}

/// Everything a sector depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    /// Seed of data, ids, tickets and randomness.
    pub seed: u64,
    /// How the sector is sealed.
    pub seal: SealType,
    /// How window proofs are made.
    pub window: WindowType,
    /// Which partition of its deadline the sector is in. [`crate::Sector::verify`] knows partition 0 only.
    pub window_partition: u32,
}

impl Recipe {
    /// The default versions with this seed.
    pub fn new(seed: u64) -> Recipe {
        Recipe { seed, ..Recipe::default() }
    }

    pub(crate) fn draw(self) -> Draw {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut post_randomness: [u8; 32] = rng.gen();
        post_randomness[31] &= 0x3f;
        Draw {
            miner_id: rng.gen_range(1_000..10_000_000),
            sector_number: rng.gen_range(1..1_000_000),
            ticket: rng.gen(),
            porep_seed: rng.gen(),
            post_randomness,
            data: rng,
        }
    }
}

/// The values drawn from a recipe's seed.
pub(crate) struct Draw {
    pub miner_id: u64,
    pub sector_number: u64,
    pub ticket: [u8; 32],
    pub porep_seed: [u8; 32],
    pub post_randomness: [u8; 32],
    /// The stream that the update's data is read from.
    pub data: ChaCha8Rng,
}

impl Draw {
    /// The miner's id as an unsigned LEB128 number in the first bytes of 32.
    pub fn prover_id(&self) -> [u8; 32] {
        let mut id = [0; 32];
        let mut rest = self.miner_id;
        for byte in &mut id {
            *byte = (rest & 0x7f) as u8;
            rest >>= 7;
            if rest == 0 {
                break;
            }
            *byte |= 0x80;
        }
        id
    }
}
