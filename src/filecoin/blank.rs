//! Circuits without values, and the names of their parameter files.

use filecoin_proofs::constants::DefaultPieceHasher;
use filecoin_proofs::parameters::{public_params, window_post_public_params, winning_post_public_params};
use filecoin_proofs_api::RegisteredPoStProof;
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::parameter_cache::{CacheableParameters, VERSION};
use storage_proofs_porep::stacked::{StackedCircuit, StackedCompound, StackedDrg};
use storage_proofs_post::fallback::{self, FallbackPoSt, FallbackPoStCircuit, FallbackPoStCompound};
use storage_proofs_update::{EmptySectorUpdateCircuit, EmptySectorUpdateCompound, PublicParams};

use super::registered::{POST, SEAL};
use super::tree::{unregistered, with_tree, SectorTree};
use crate::circuit::AnyCircuit;
use crate::error::{Error, Result};
use crate::kind::{CircuitId, ProofKind};

/// Builds a circuit without values, as often as it is called.
pub type BlankCircuit = Box<dyn Fn() -> AnyCircuit + Send + Sync>;

/// The circuit of `id` without values.
pub fn blank_circuit(id: CircuitId) -> Result<BlankCircuit> {
    with_tree!(id.sector_size, Tree => blank::<Tree>(id))
}

fn blank<Tree: SectorTree>(id: CircuitId) -> Result<BlankCircuit> {
    Ok(match id.kind {
        ProofKind::PorepC2 => {
            let params = porep_params::<Tree>(id.sector_size)?;
            Box::new(move || {
                AnyCircuit::new(
                    <Porep<Tree> as CompoundProof<StackedDrg<Tree, DefaultPieceHasher>, _>>::blank_circuit(
                        &params,
                    ),
                )
            })
        }
        ProofKind::SnapUpdate => {
            let params = PublicParams::from_sector_size(id.sector_size);
            Box::new(move || AnyCircuit::new(EmptySectorUpdateCircuit::<Tree>::blank(params.clone())))
        }
        ProofKind::WindowPost | ProofKind::WinningPost => {
            let params = post_params::<Tree>(id)?;
            Box::new(move || {
                AnyCircuit::new(
                    <FallbackPoStCompound<Tree> as CompoundProof<FallbackPoSt<Tree>, _>>::blank_circuit(
                        &params,
                    ),
                )
            })
        }
    })
}

/// The name, without extension, of the circuit's parameter files as Filecoin's crates look for them:
/// `v28-…`; the proving key has the extension `.params`, the verifying key `.vk`.
pub fn parameter_stem(id: CircuitId) -> Result<String> {
    let identifier = with_tree!(id.sector_size, Tree => cache_identifier::<Tree>(id))?;
    Ok(format!("v{VERSION}-{identifier}"))
}

type Porep<Tree> = StackedCompound<Tree, DefaultPieceHasher>;

fn cache_identifier<Tree: SectorTree>(id: CircuitId) -> Result<String> {
    Ok(match id.kind {
        ProofKind::PorepC2 => {
            <Porep<Tree> as CacheableParameters<StackedCircuit<Tree, DefaultPieceHasher>, _>>::cache_identifier(
                &porep_params::<Tree>(id.sector_size)?,
            )
        }
        ProofKind::SnapUpdate => {
            EmptySectorUpdateCompound::<Tree>::cache_identifier(&PublicParams::from_sector_size(id.sector_size))
        }
        ProofKind::WindowPost | ProofKind::WinningPost => {
            <FallbackPoStCompound<Tree> as CacheableParameters<FallbackPoStCircuit<Tree>, _>>::cache_identifier(
                &post_params::<Tree>(id)?,
            )
        }
    })
}

/// Parameters of any proof type of this size: versions do not change the circuit.
fn porep_params<Tree: SectorTree>(
    sector_size: u64,
) -> Result<storage_proofs_porep::stacked::PublicParams<Tree>> {
    let proof = SEAL.iter().find(|proof| proof.sector_size().0 == sector_size);
    let proof = proof.ok_or_else(|| unregistered(sector_size))?;
    public_params::<Tree>(&proof.as_v1_config()).map_err(|error| Error::internal(error.to_string()))
}

fn post_params<Tree: SectorTree>(id: CircuitId) -> Result<fallback::PublicParams> {
    let window = id.kind == ProofKind::WindowPost;
    let fits = |proof: &&RegisteredPoStProof| {
        proof.sector_size().0 == id.sector_size
            && (proof.typ() == filecoin_proofs_api::PoStType::Window) == window
    };
    let config = POST.iter().find(fits).ok_or_else(|| unregistered(id.sector_size))?.as_v1_config();
    let params = if window {
        window_post_public_params::<Tree>(&config)
    } else {
        winning_post_public_params::<Tree>(&config)
    };
    params.map_err(|error| Error::internal(error.to_string()))
}
