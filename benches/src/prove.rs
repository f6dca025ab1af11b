//! One proof against bellperson's CPU prover: the same circuit and randomness, so the same bytes.

use bellperson::groth16::{create_proof, Parameters};
use blstrs::Bls12;
use forebay::cancel::Cancel;
use forebay::circuit::Shape;
use forebay::kind::ProofKind;
use forebay::memory::Meter;
use forebay::prove::{Backend, Blinding, Step};

use crate::curve::Group;
use crate::peers::gnark::Request;
use crate::peers::Peers;
use crate::process::timed;
use crate::report::{Goal, Report};
use crate::world::World;
use crate::{inputs, Failure};

/// Times both from the decoded request to the proof, parameters loaded.
pub fn run(world: &World, kind: ProofKind, with_gnark: bool) -> Result<Report, Failure> {
    let mut report = Report::default();
    let id = world.circuit_id(kind)?;
    let cancel = Cancel::new();
    let circuit = world.load(kind)?;
    circuit.srs.populate(&cancel)?;
    let task = world.task(kind)?;
    let blinding = Blinding::random();

    let (witness, synthesis) = timed(|| task.synthesize(0, 0, &cancel));
    let witness = witness?;
    let step = Step { circuit: &circuit, witness: &witness, cancel: &cancel, meter: &Meter::unlimited() };
    let (started, start) = timed(|| world.pool.install(|| world.core.start(&step)));
    let started = started?;
    let (proof, finish) = timed(|| world.pool.install(|| world.core.finish(&step, started, blinding)));
    let proof = proof?;
    report.value(&format!("synthesis, {id}"), synthesis, "s", Goal::None);
    report.value(&format!("evaluation, quotient, h, {id}"), start, "s", Goal::None);
    report.value(&format!("l, a, b, assembly, {id}"), finish, "s", Goal::None);
    let (shape, wide) = (*circuit.matrices.shape(), witness.wide_values().len());
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
    let threads = world.threads();
    let name = format!("proof, {id}, {threads} threads, {}", world.kernels.name()?);
    let ours = synthesis + start + finish;
    report.faster(&name, ours, ("bellperson 0.27", seconds), goal(world, kind)?);
    if with_gnark {
        beside_gnark(world, &name, ours, (shape, wide), &mut report)?;
    }
    Ok(report)
}

/// What the ratio against bellperson must be, by kernels and kind.
fn goal(world: &World, kind: ProofKind) -> Result<Goal, Failure> {
    Ok(match (world.kernels.name()?, kind, world.threads()) {
        ("ifma", ProofKind::PorepC2, _) => Goal::RatioAtLeast(10.0),
        ("ifma", ProofKind::WinningPost, 1) => Goal::RatioAtLeast(8.0),
        ("portable", ProofKind::WinningPost, _) => Goal::Unjudged("PoRep's"),
        _ => Goal::RatioAtLeast(3.0),
    })
}

/// A proof by gnark of a circuit that has as many constraints, and as many of them for bits, as ours has bits.
fn beside_gnark(
    world: &World,
    name: &str,
    ours: f64,
    (shape, wide): (Shape, usize),
    report: &mut Report,
) -> Result<(), Failure> {
    const POINTS: usize = 1 << 15;
    let peers = Peers::start(false, report)?;
    let Some(gnark) = &peers.gnark else { return Ok(()) };
    let (g1, g2) = (inputs::points_g1(world, POINTS)?, inputs::points_g2(world, POINTS)?);
    let points = peers.file("G1", || g1.iter().flat_map(Group::limbs))?;
    let points_g2 = peers.file("G2", || g2.iter().flat_map(Group::limbs))?;
    // The last constraint binds the public input.
    let bits = shape.constraints * (shape.aux - wide as u64) / shape.aux;
    let request = Request {
        op: "prove",
        threads: world.threads(),
        points: &points,
        points_g2: &points_g2,
        bits,
        wide: shape.constraints - bits - 1,
        ..Request::default()
    };
    let answer = gnark.borrow_mut().ask(&request)?;
    report.faster(name, ours, ("gnark 0.14, synthetic", answer.seconds), Goal::None);
    report.note(format!(
        "gnark: {} constraints, {bits} of them for bits; its key has random points, not those of a setup, which would \
         take longer than the proof: the proof does not verify, its work is that of one. Solver included",
        answer.constraints
    ));
    Ok(())
}
