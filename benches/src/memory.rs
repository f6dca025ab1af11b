//! Resident memory, read from the kernel: a queued partition, the matrices, the prover's working set.

use forebay::cancel::Cancel;
use forebay::kind::ProofKind;
use forebay::memory::Meter;
use forebay::prove::{Backend, Blinding, Step};

use crate::process::{anonymous, PeakSampler};
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

/// Bytes of a scalar.
const SCALAR: f64 = 32.0;
/// Witnesses alive at once, so that what one costs stands out of the allocator's noise.
const QUEUED: usize = 8;

/// Measures each by the growth of this process's resident memory.
pub fn run(world: &World, kind: ProofKind) -> Result<Report, Failure> {
    let mut report = Report::default();
    let goal = |limit: f64| if kind == ProofKind::PorepC2 { Goal::AtMost(limit) } else { Goal::None };
    let cancel = Cancel::new();
    let task = world.task(kind)?;
    // Once, so that what stays in the process for ever (tables, allocator arenas) is not counted below.
    let warm = task.synthesize(0, 0, &cancel)?;
    let wide = warm.wide_values().len();
    drop(warm);
    drop(world.load(kind)?);

    let before = anonymous();
    let circuit = world.load(kind)?;
    let after = anonymous();
    let shape = *circuit.matrices.shape();
    let file = world.matrix_file(kind)?.metadata()?.len() as f64;
    let csr = 36.0 * (shape.nonzeros_a + shape.nonzeros_b) as f64;
    report.smaller("matrices and densities, on disk", file, ("A, B at 36 B a non-zero", csr), goal(2e6));
    let held = after.saturating_sub(before) as f64;
    report.smaller("matrices and densities, resident", held, ("A, B at 36 B a non-zero", csr), goal(2e6));

    let before = anonymous();
    let queued: Vec<_> = (0..QUEUED).map(|_| task.synthesize(0, wide, &cancel)).collect::<Result<_, _>>()?;
    let after = anonymous();
    let each = after.saturating_sub(before) as f64 / QUEUED as f64;
    let vectors = SCALAR * (3 * shape.rows() + shape.aux + shape.inputs) as f64;
    report.smaller("queued partition, resident", each, ("a, b, c, aux as scalars", vectors), goal(2.5e6));

    let witness = &queued[0];
    let before = anonymous();
    let sampler = PeakSampler::start();
    let step = Step { circuit: &circuit, witness, cancel: &cancel, meter: &Meter::unlimited() };
    let proof = world.pool.install(|| {
        let started = world.core.start(&step)?;
        world.core.finish(&step, started, Blinding::random())
    })?;
    let peak = sampler.finish().saturating_sub(before) as f64;
    let inputs = task.public_inputs(0)?;
    if !forebay::prove::verify(&circuit, &proof, &inputs)? {
        return Err("the measured proof does not verify".into());
    }
    let projected = world.core.working_set(&shape).0 as f64;
    report.value("prover working set, resident peak", peak, "bytes", goal(340e6));
    report.smaller(
        "working set, measured over projected",
        peak,
        ("projected", projected),
        Goal::RatioAtMost(1.0),
    );
    Ok(report)
}
