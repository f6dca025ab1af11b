//! Merkle paths of vanilla proofs: their shape, before anything relies on it.

use filecoin_hashers::Hasher;
use storage_proofs_core::merkle::{base_path_length, MerkleProofTrait, MerkleTreeTrait};
use typenum::Unsigned;

use super::decode::{check_count, check_scalar, invalid};
use crate::error::Result;

/// The arities of a tree's levels, from the leaves up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathShape {
    arities: Vec<usize>,
}

/// What the circuits use of a path that has the right shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opened {
    /// The leaf's place.
    pub index: u64,
    /// Heap bytes that the decoded path takes.
    pub heap: u64,
}

impl PathShape {
    /// The paths of a replica tree with this many leaves.
    pub fn replica<Tree: MerkleTreeTrait>(leaves: usize) -> PathShape {
        let base = base_path_length::<Tree::Arity, Tree::SubTreeArity, Tree::TopTreeArity>(leaves);
        let upper = [Tree::SubTreeArity::to_usize(), Tree::TopTreeArity::to_usize()];
        let arities = std::iter::repeat_n(Tree::Arity::to_usize(), base);
        PathShape { arities: arities.chain(upper.into_iter().filter(|arity| *arity > 0)).collect() }
    }

    /// The paths of a binary tree with this many leaves, a power of two.
    pub fn binary(leaves: usize) -> PathShape {
        PathShape { arities: vec![2; leaves.trailing_zeros() as usize] }
    }

    /// Sibling hashes of one path.
    pub fn siblings(&self) -> usize {
        self.arities.iter().map(|arity| arity - 1).sum()
    }

    /// Checks number of levels, siblings and index of each level, and that every hash is a field element.
    pub fn open<P: MerkleProofTrait>(&self, proof: &P) -> Result<Opened> {
        let path = proof.path();
        check_count("levels in a Merkle path", self.arities.len(), path.len())?;
        check_scalar(proof.leaf().as_ref(), "the leaf of a Merkle path")?;
        check_scalar(proof.root().as_ref(), "the root of a Merkle path")?;
        let mut opened = Opened { index: 0, heap: 0 };
        let mut below = 1;
        for ((siblings, index), arity) in path.iter().zip(&self.arities) {
            check_count("siblings in a level of a Merkle path", arity - 1, siblings.len())?;
            if index >= arity {
                return Err(invalid(format!(
                    "index {index} in a level of a Merkle path; expected less than {arity}"
                )));
            }
            for sibling in siblings {
                check_scalar(sibling.as_ref(), "a sibling in a Merkle path")?;
            }
            opened.index += below * *index as u64;
            below *= *arity as u64;
            opened.heap += std::mem::size_of_val(siblings.as_slice()) as u64 + LEVEL_BYTES;
        }
        Ok(opened)
    }
}

/// A level's vector of siblings and index, as decoded paths keep them.
const LEVEL_BYTES: u64 = (size_of::<Vec<u8>>() + size_of::<usize>()) as u64;

/// A hash of this tree.
pub(super) type TreeDomain<Tree> = <<Tree as MerkleTreeTrait>::Hasher as Hasher>::Domain;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filecoin::tree::{SIZE_2K, SIZE_32G, SIZE_64G};
    use filecoin_hashers::poseidon::{PoseidonDomain, PoseidonHasher};
    use filecoin_proofs::constants::{SectorShape2KiB, SectorShape32GiB, SectorShape64GiB};
    use storage_proofs_core::merkle::MerkleProof;
    use typenum::{U0, U2, U8};

    fn leaves(sector_size: u64) -> usize {
        (sector_size / 32) as usize
    }

    #[test]
    fn shapes_follow_the_sector_size() {
        assert_eq!(PathShape::replica::<SectorShape2KiB>(leaves(SIZE_2K)).arities, [8, 8]);
        let gib32 = PathShape::replica::<SectorShape32GiB>(leaves(SIZE_32G)).arities;
        assert_eq!(gib32, [8; 10]);
        let gib64 = PathShape::replica::<SectorShape64GiB>(leaves(SIZE_64G)).arities;
        assert_eq!((gib64.len(), gib64[10]), (11, 2));
        assert_eq!(PathShape::binary(64).siblings(), 6);
    }

    #[test]
    fn misshapen_paths_are_refused() {
        type Proof = MerkleProof<PoseidonHasher, U8, U8, U2>;
        let shape = PathShape { arities: vec![8, 8, 2] };
        let hash = PoseidonDomain::default();
        let open = |path| shape.open(&Proof::from_parts(hash, hash, path));
        let level = |siblings, index| (vec![hash; siblings], index);
        let opened = open(vec![level(7, 3), level(7, 2), level(1, 1)]).unwrap();
        assert_eq!(opened.index, 3 + 2 * 8 + 64);
        for bad in [
            vec![level(7, 3), level(1, 1)],
            vec![level(7, 3), level(7, 0), level(7, 0), level(1, 1)],
            vec![level(7, 8), level(7, 2), level(1, 1)],
            vec![level(6, 3), level(7, 2), level(1, 1)],
            vec![level(7, 3), level(7, 2), level(1, usize::MAX)],
        ] {
            assert!(open(bad).is_err());
        }
        let not_a_scalar: PoseidonDomain = bincode::deserialize(&[0xff; 32]).unwrap();
        assert!(shape
            .open(&Proof::from_parts(not_a_scalar, hash, vec![level(7, 0), level(7, 0), level(1, 0)]))
            .is_err());
        type Short = MerkleProof<PoseidonHasher, U8, U0, U0>;
        assert!(shape.open(&Short::new(2)).is_err());
    }
}
