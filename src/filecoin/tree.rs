//! Sector sizes and the shapes of their Merkle trees.

use filecoin_hashers::poseidon::PoseidonHasher;
use storage_proofs_core::merkle::MerkleTreeTrait;

use crate::error::{Code, Error};

pub(super) const SIZE_2K: u64 = 2 << 10;
pub(super) const SIZE_8M: u64 = 8 << 20;
pub(super) const SIZE_512M: u64 = 512 << 20;
pub(super) const SIZE_32G: u64 = 32 << 30;
pub(super) const SIZE_64G: u64 = 64 << 30;

/// A replica's Merkle tree. All registered sector sizes hash with Poseidon and differ in their arities.
pub(super) trait SectorTree: 'static + MerkleTreeTrait<Hasher = PoseidonHasher> {}

impl<T: 'static + MerkleTreeTrait<Hasher = PoseidonHasher>> SectorTree for T {}

/// Evaluates `$body`, a `Result`, with `$tree` standing for the sector size's tree type.
macro_rules! with_tree {
    ($sector_size:expr, $tree:ident => $body:expr) => {
        match $sector_size {
            $crate::filecoin::tree::SIZE_2K
            | $crate::filecoin::tree::SIZE_8M
            | $crate::filecoin::tree::SIZE_512M => {
                type $tree = ::filecoin_proofs::constants::SectorShapeBase;
                $body
            }
            $crate::filecoin::tree::SIZE_32G => {
                type $tree = ::filecoin_proofs::constants::SectorShapeSub8;
                $body
            }
            $crate::filecoin::tree::SIZE_64G => {
                type $tree = ::filecoin_proofs::constants::SectorShapeTop2;
                $body
            }
            other => Err($crate::filecoin::tree::unregistered(other)),
        }
    };
}

pub(super) use with_tree;

pub(super) fn unregistered(sector_size: u64) -> Error {
    Error::new(Code::InvalidRequest, format!("no registered proof type has sectors of {sector_size} bytes"))
}
