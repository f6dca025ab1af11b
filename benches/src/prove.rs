//! One proof against bellperson's CPU prover: the same circuit and randomness, so the same bytes.

use bellperson::groth16::{create_proof, Parameters};
use blstrs::Bls12;
use forebay::cancel::Cancel;
use forebay::kind::ProofKind;
use forebay::prove::{Backend, Blinding};

use crate::process::timed;
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

/// Times both from the decoded request to the proof, parameters loaded.
pub fn run(world: &World, kind: ProofKind) -> Result<Report, Failure> {
    let mut report = Report::default();
    let id = world.circuit_id(kind)?;
    let cancel = Cancel::new();
    let circuit = world.load(kind)?;
    circuit.srs.prefault(&cancel)?;
    let task = world.task(kind)?;
    let blinding = Blinding::random();

    let (witness, synthesis) = timed(|| task.synthesize(0, 0, &cancel));
    let witness = witness?;
    let (started, start) = timed(|| world.pool.install(|| world.core.start(&circuit, &witness, &cancel)));
    let started = started?;
    let (proof, finish) =
        timed(|| world.pool.install(|| world.core.finish(&circuit, &witness, started, blinding, &cancel)));
    let proof = proof?;
    report.value(&format!("synthesis, {id}"), synthesis, "s", Goal::None);
    report.value(&format!("evaluation, quotient, h, {id}"), start, "s", Goal::None);
    report.value(&format!("l, a, b, assembly, {id}"), finish, "s", Goal::None);
    drop((witness, circuit));

    let file = std::io::BufReader::with_capacity(1 << 20, std::fs::File::open(world.params(kind)?)?);
    let params = Parameters::<Bls12>::read(file, false)?;
    let values = task.circuit_with_values(0)?;
    let (peer, seconds) = timed(|| create_proof::<Bls12, _, _>(values, &params, blinding.r, blinding.s));
    let mut expected = Vec::new();
    peer?.write(&mut expected)?;
    if expected != proof.to_bytes() {
        return Err("our proof's bytes differ from bellperson's".into());
    }
    let threads = world.pool.current_num_threads();
    report.faster(
        &format!("proof, {id}, {threads} threads, {}", world.kernels.name()?),
        synthesis + start + finish,
        ("bellperson 0.27", seconds),
        Goal::RatioAtLeast(3.0),
    );
    Ok(report)
}
