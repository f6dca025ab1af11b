//! An engine whose provers are scripted ones over the real core, and the faults they are told to have.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;

use forebay::engine::{Config, Engine, Parts, ProverSlot};
use forebay::filecoin::{self, FilecoinCatalog};
use forebay::kind::{ProofKind, Urgency};
use forebay::prove::cpu::CpuBackend;
use forebay::prove::fake::{Fake, Fault, Gate};
use forebay::srs::{Store, StoreConfig};
use forebay::units::Bytes;
use rand::rngs::StdRng;
use rand::Rng;

use super::counts::{Counts, What};
use super::{ground, mischief};
use crate::world::World;
use crate::Failure;

/// What it proves: circuits that are proved in a second or two.
pub const KINDS: [ProofKind; 2] = [ProofKind::WinningPost, ProofKind::WindowPost];
/// What each step of the lying prover holds beside what it says.
const EXCESS: Bytes = Bytes::mib(3);
/// The longest time between two faults, in milliseconds.
const PAUSE: u64 = 700;
const LONGEST_STALL: u64 = 900;

/// Panics that are part of the script are not told.
pub fn keep_quiet() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let scripted =
            panic.payload().downcast_ref::<String>().is_some_and(|text| text.ends_with("as scripted"));
        if !scripted {
            tell(panic);
        }
    }));
}

/// The engine with faults.
pub struct Faults {
    pub engine: Arc<Engine>,
    pub limit: Bytes,
    provers: Vec<Arc<Fake>>,
}

impl Faults {
    /// Its state file goes to `state`: what it learns of lies is not for others.
    pub fn new(world: &World, state: &Path) -> Result<Faults, Failure> {
        let (_, all) = ground::needs(world, &KINDS)?;
        let limit = Bytes(2 * all.0 + Bytes::mib(96).0);
        let config = Config {
            kinds: KINDS.to_vec(),
            cache_directory: state.to_owned(),
            ..ground::config(world, limit, 2)
        };
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().map(Arc::new);
        let (mut provers, mut slots) = (Vec::new(), Vec::new());
        for serves in Urgency::ALL {
            let (pool, finishing) = (pool(world.threads())?, pool(world.threads())?);
            let core = CpuBackend::with_kernels(pool.clone(), world.kernels)?.finishing_on(finishing.clone());
            let honest = Fake::new("cpu", Arc::new(core));
            let fake = Arc::new(if serves == Urgency::Urgent { honest.with_excess(EXCESS) } else { honest });
            provers.push(fake.clone());
            slots.push(ProverSlot { backend: fake, pool, finishing, serves });
        }
        let loading = pool(world.threads())?;
        let store = Store::new(StoreConfig {
            parameter_dirs: vec![world.parameter_folder()],
            cache_dir: world.cache_folder().to_owned(),
            allow_development: true,
        });
        let core = CpuBackend::with_kernels(loading.clone(), world.kernels)?;
        let catalog = Arc::new(FilecoinCatalog::new(store, core));
        let parts = Parts { catalog, slots, decode: Arc::new(filecoin::decode), pool: loading };
        Ok(Faults { engine: Engine::with_parts(config, parts)?, limit, provers })
    }

    /// Puts in faults until it is stopped; what stalls goes on.
    pub fn strike(&self, mut random: StdRng, stop: &AtomicBool, counts: &Counts) -> Result<(), Failure> {
        while mischief::nap(&mut random, stop, PAUSE) {
            let prover = &self.provers[random.gen_range(0..self.provers.len())];
            let gate = Gate::default();
            let fault = match random.gen_range(0..5) {
                0 => Fault::Fail,
                1 => Fault::Panic,
                2 => Fault::Wrong,
                3 => Fault::Stall(gate.clone()),
                _ => Fault::Hold(gate.clone()),
            };
            match random.gen() {
                true => prover.on_start([fault]),
                false => prover.on_finish([fault]),
            }
            counts.add(What::Fault);
            std::thread::sleep(Duration::from_millis(random.gen_range(0..LONGEST_STALL)));
            gate.open();
        }
        Ok(())
    }
}
