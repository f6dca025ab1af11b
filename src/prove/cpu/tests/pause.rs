//! A proof that is paused for a more urgent one.

use std::time::Duration;

use super::proof::data;
use super::{backend, random_scalar};
use crate::cancel::{Cancel, Priorities};
use crate::circuit::testing::RandomCircuit;
use crate::circuit::{Expected, Witness};
use crate::kind::Urgency;
use crate::memory::Meter;
use crate::prove::cpu::CpuBackend;
use crate::prove::{Backend, Blinding, CircuitData, Step};

const CIRCUIT: RandomCircuit =
    RandomCircuit { seed: 11, inputs: 5, aux: 3000, boolean_percent: 80, values: true };
const PAUSES: usize = 6;

struct Prover<'a> {
    core: CpuBackend,
    circuit: &'a CircuitData,
    witness: &'a Witness,
}

impl Prover<'_> {
    fn prove(&self, cancel: &Cancel) -> crate::Result<[u8; 192]> {
        let meter = &Meter::unlimited();
        let step = Step { circuit: self.circuit, witness: self.witness, cancel, meter };
        let started = self.core.start(&step)?;
        let blinding = Blinding { r: random_scalar([3; 32]), s: random_scalar([4; 32]) };
        Ok(self.core.finish(&step, started, blinding)?.to_bytes())
    }
}

fn with_provers(threads: usize, body: impl FnOnce(&Prover, &Prover)) {
    let folder = tempfile::tempdir().unwrap();
    let core = backend(threads);
    let (circuit, _) = data(&core, folder.path(), CIRCUIT);
    let witness = Witness::generate(CIRCUIT, Expected { aux: 0, wide: 0 }, &Cancel::new()).unwrap();
    let (circuit, witness) = (&circuit, &witness);
    body(&Prover { core, circuit, witness }, &Prover { core: backend(threads), circuit, witness });
}

#[test]
fn a_paused_proof_begins_at_most_one_chunk_a_lane_and_has_the_same_bytes() {
    for threads in [1, 2] {
        with_provers(threads, |patient, critical| {
            let priorities = Priorities::new();
            let cancel = Cancel::yielding(&priorities, Urgency::Patient);
            let expected = patient.prove(&cancel).unwrap();
            assert_eq!(priorities.pauses().count, 0, "nothing else ran");
            let chunks = cancel.begun();
            assert!(chunks > 2 * PAUSES * threads, "{chunks} chunks are too few to tell");

            let cancel = Cancel::yielding(&priorities, Urgency::Patient);
            std::thread::scope(|scope| {
                let paused = scope.spawn(|| patient.prove(&cancel).unwrap());
                for pause in 0..PAUSES {
                    while cancel.begun() < pause * chunks / PAUSES {
                        std::hint::spin_loop();
                    }
                    let running = priorities.enter(Urgency::Critical);
                    let before = cancel.begun();
                    let urgent = Cancel::yielding(&priorities, Urgency::Critical);
                    assert_eq!(critical.prove(&urgent).unwrap(), expected);
                    std::thread::sleep(Duration::from_millis(5));
                    let begun = cancel.begun() - before;
                    assert!(begun <= threads, "{begun} chunks on {threads} lanes");
                    drop(running);
                }
                assert_eq!(paused.join().unwrap(), expected);
            });
            assert_eq!(cancel.begun(), chunks, "a pause repeats or leaves out nothing");
            let pauses = priorities.pauses();
            assert!((1..=(PAUSES * threads) as u64).contains(&pauses.count), "{pauses:?}");
            assert!(pauses.longest_delay < pauses.paused, "{pauses:?}");
            assert_eq!(pauses.now, 0);
        });
    }
}

#[test]
fn a_paused_proof_that_is_cancelled_ends_while_the_urgent_one_runs() {
    with_provers(2, |patient, _| {
        let priorities = Priorities::new();
        let cancel = Cancel::yielding(&priorities, Urgency::Patient);
        let _running = priorities.enter(Urgency::Urgent);
        std::thread::scope(|scope| {
            let paused = scope.spawn(|| patient.prove(&cancel));
            while priorities.pauses().now == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            cancel.cancel();
            assert_eq!(paused.join().unwrap().unwrap_err().code(), crate::Code::Cancelled);
        });
    });
}
