//! Where the circuits' matrices and parameters come from.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::blank::{blank_circuit, parameter_stem};
use crate::cancel::Cancel;
use crate::circuit::{footprint, Matrices, Shape};
use crate::error::{Error, Result};
use crate::kind::{CircuitId, ProofKind};
use crate::prove::{Catalog, CircuitData, Footprint, KeyDigest};
use crate::srs::develop::{Developed, Target, ToxicWaste};
use crate::srs::{Arithmetic, Counts, Store, Work};
use crate::units::Bytes;

/// The circuits of the four kinds, over a store of parameters. Compiled matrices are kept in the store's
/// cache folder.
pub struct FilecoinCatalog<A> {
    store: Store,
    arithmetic: A,
    known: Mutex<HashMap<CircuitId, Footprint>>,
}

impl<A: Arithmetic> FilecoinCatalog<A> {
    /// A catalog over this store; touches no file.
    pub fn new(store: Store, arithmetic: A) -> FilecoinCatalog<A> {
        FilecoinCatalog { store, arithmetic, known: Mutex::default() }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The circuit's compiled matrices, from the cache or compiled now.
    pub fn matrices(&self, id: CircuitId) -> Result<Matrices> {
        let folder = &self.store.config().cache_dir;
        std::fs::create_dir_all(folder)
            .map_err(|error| Error::system(format!("creating {}", folder.display()), error))?;
        Matrices::load_or_compile(&self.matrix_path(id)?, &id.to_string(), || Ok(blank_circuit(id)?()))
    }

    /// Where a circuit's compiled matrices are kept.
    pub fn matrix_path(&self, id: CircuitId) -> Result<PathBuf> {
        Ok(self.store.config().cache_dir.join(format!("{}.matrices", parameter_stem(id)?)))
    }

    fn remember(&self, id: CircuitId, footprint: Footprint) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(id, footprint);
    }

    /// The projection from compiled matrices, where these are there.
    fn peek(&self, id: CircuitId) -> Result<Option<Footprint>> {
        let known = Matrices::peek(&self.matrix_path(id)?).ok();
        let ours = known.filter(|summary| summary.tag == id.to_string());
        Ok(ours.map(|ours| project(id, &ours.shape, ours.wide_hint, ours.mapped)))
    }

    fn known(&self, id: CircuitId) -> Option<Footprint> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&id).copied()
    }
}

impl<A: Arithmetic + Send> Catalog for FilecoinCatalog<A> {
    fn footprint(&self, circuit: CircuitId) -> Result<Footprint> {
        self.available(circuit)?;
        if let Some(footprint) = self.known(circuit) {
            return Ok(footprint);
        }
        let footprint = match self.peek(circuit)? {
            Some(footprint) => footprint,
            None => {
                let matrices = self.matrices(circuit)?;
                project(circuit, matrices.shape(), matrices.wide_hint(), matrices.mapped())
            }
        };
        self.remember(circuit, footprint);
        Ok(footprint)
    }

    fn prepared(&self) -> Vec<(CircuitId, Footprint)> {
        let available = CircuitId::all().filter(|circuit| self.available(*circuit).is_ok());
        available.filter_map(|circuit| Some((circuit, self.peek(circuit).ok()??))).collect()
    }

    fn available(&self, circuit: CircuitId) -> Result<()> {
        self.store.require(&parameter_stem(circuit)?).map_err(|error| error.at(circuit))?;
        Ok(())
    }

    fn key(&self, circuit: CircuitId) -> Result<Option<KeyDigest>> {
        self.store.key(&parameter_stem(circuit)?)
    }

    fn load(&self, circuit: CircuitId, cancel: &Cancel) -> Result<CircuitData> {
        let stem = parameter_stem(circuit)?;
        self.store.require(&stem).map_err(|error| error.at(circuit))?;
        let matrices = self.matrices(circuit)?;
        cancel.check()?;
        let work = Work { arithmetic: &self.arithmetic, progress: &|_| (), cancel };
        let srs = self.store.open(circuit, &stem, matrices.shape(), &work)?;
        self.remember(circuit, project(circuit, matrices.shape(), matrices.wide_hint(), matrices.mapped()));
        Ok(CircuitData { id: circuit, matrices: Arc::new(matrices), srs: Arc::new(srs) })
    }

    /// Kept with the matrices where it is more than was known.
    fn learn(&self, id: CircuitId, wide: u64) -> Result<()> {
        let path = self.matrix_path(id)?;
        let remembered = Matrices::peek(&path)?.wide_hint;
        if remembered.is_some_and(|known| known >= wide) {
            return Ok(());
        }
        let mut matrices = Matrices::load(&path)?;
        matrices.set_wide_hint(wide);
        matrices.save(&path)?;
        self.remember(id, project(id, matrices.shape(), Some(wide), matrices.mapped()));
        Ok(())
    }
}

fn project(id: CircuitId, shape: &Shape, measured: Option<u64>, matrices: Bytes) -> Footprint {
    let wide_hint = measured.map_or_else(|| projected_wide(id.kind, shape), |wide| with_margin(wide, shape));
    Footprint {
        shape: *shape,
        witness: footprint::witness_bytes(shape, wide_hint),
        wide_hint,
        matrices,
        srs: Bytes(Counts::of_shape(shape).params_len().unwrap_or(u64::MAX)),
    }
}

/// Witnesses of one circuit differ a little: a field element that happens to be 0 or 1 is no wide value.
fn with_margin(measured: u64, shape: &Shape) -> u64 {
    measured.saturating_add(measured / 64).saturating_add(64).min(shape.aux)
}

/// Wide values of a witness that was never measured. Circuits made of SHA-256 have few (measured at 2 KiB,
/// where Poseidon's share is largest: 1.6 % in PoRep, less in updates); those of Poseidon alone have hardly
/// anything else.
fn projected_wide(kind: ProofKind, shape: &Shape) -> u64 {
    match kind {
        ProofKind::PorepC2 | ProofKind::SnapUpdate => shape.aux / 50,
        ProofKind::WindowPost | ProofKind::WinningPost => shape.aux,
    }
}

/// Makes a development key for the circuit and writes its `.params` and `.vk` files to `folder`, under the
/// names that Filecoin's crates look for. Such a key is insecure.
pub fn develop(id: CircuitId, folder: &Path, toxic: &ToxicWaste, work: &Work) -> Result<Developed> {
    let stem = parameter_stem(id)?;
    let target = Target { folder, stem: &stem, circuit: id };
    crate::srs::develop::develop(&target, blank_circuit(id)?, toxic, work)
}
