//! The compact witness against bellperson's synthesis of the same circuit, and the evaluation of A and B.

use std::sync::{Arc, Mutex};

use bellpepper_core::{Circuit, SynthesisError};
use bellperson::groth16::{create_proof, ParameterSource, VerifyingKey};
use blstrs::{Bls12, G1Affine, G2Affine, Scalar};
use ff::Field;
use forebay::cancel::Cancel;
use forebay::circuit::Matrix;
use forebay::kind::ProofKind;

use crate::concrete;
use crate::contest::Contest;
use crate::process::{timed, Time};
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

const EVALUATIONS: usize = 7;

/// Synthesis, then evaluation; goals are those of one thread.
pub fn run(world: &World) -> Result<Report, Failure> {
    let mut report = Report::default();
    let kind = ProofKind::PorepC2;
    let (id, threads) = (world.circuit_id(kind)?, world.threads());
    let circuit = world.load(kind)?;
    let (task, request) = (world.task(kind)?, world.request(kind)?);
    let cancel = Cancel::new();
    let wide = task.synthesize(0, 0, &cancel)?.wide_values().len();
    let mut contest = Contest::new(|| {
        let (witness, seconds) = timed(|| task.synthesize(0, wide, &cancel));
        Ok((seconds, witness?.inputs().len()))
    });
    contest.add("bellperson 0.27", || synthesis_of_bellperson(concrete::porep(&request)?));
    let standings = contest.run(3)?;
    for (peer, seconds) in standings.peers() {
        let goal = if threads == 1 { Goal::RatioAtLeast(2.5) } else { Goal::Unjudged("one thread's") };
        report.faster(
            &format!("synthesis, {id}, {threads} threads"),
            standings.ours(),
            (peer, seconds),
            goal,
        );
    }

    let witness = task.synthesize(0, wide, &cancel)?;
    let mut out = vec![Scalar::ZERO; usize::try_from(circuit.matrices.shape().domain())?];
    let mut evaluate = || -> Result<f64, Failure> {
        let both = || {
            circuit.matrices.evaluate(Matrix::A, &witness, &mut out, &cancel)?;
            circuit.matrices.evaluate(Matrix::B, &witness, &mut out, &cancel)
        };
        let (done, seconds) = world.pool.install(|| timed(both));
        done?;
        Ok(seconds)
    };
    let mut least = f64::INFINITY;
    for _ in 0..EVALUATIONS {
        least = least.min(evaluate()?);
    }
    let goal = if threads == 1 { Goal::AtMost(0.15) } else { Goal::Unjudged("one thread's") };
    report.value(&format!("evaluation of A and B, {id}, {threads} threads"), least, "s", goal);
    report.note(
        "bellperson synthesises the concrete circuit; its time ends where it asks for the verifying key, assignments as integers included",
    );
    Ok(report)
}

/// Seconds until bellperson has synthesised the circuit, and its public inputs.
fn synthesis_of_bellperson<C: Circuit<Scalar> + Send>(circuit: C) -> Result<(f64, usize), Failure> {
    let stopwatch = Stopwatch { time: Time::start(), stopped: Mutex::new(None) };
    let ended = create_proof::<Bls12, _, _>(circuit, &stopwatch, Scalar::ZERO, Scalar::ZERO);
    let stopped = stopwatch.stopped.into_inner().map_err(|_| "a thread of bellperson's panicked")?;
    match (ended, stopped) {
        (_, Some(synthesised)) => Ok(synthesised),
        (Err(error), None) => Err(error.into()),
        (Ok(_), None) => Err("bellperson proved without a key".into()),
    }
}

/// Parameters that stop bellperson's prover after synthesis, and the time.
struct Stopwatch {
    time: Time,
    stopped: Mutex<Option<(f64, usize)>>,
}

type Points<G> = (Arc<Vec<G>>, usize);

impl ParameterSource<Bls12> for &Stopwatch {
    type G1Builder = Points<G1Affine>;
    type G2Builder = Points<G2Affine>;

    fn get_vk(&self, inputs: usize) -> Result<&VerifyingKey<Bls12>, SynthesisError> {
        let seconds = self.time.seconds();
        if let Ok(mut stopped) = self.stopped.lock() {
            *stopped = Some((seconds, inputs));
        }
        Err(SynthesisError::AssignmentMissing)
    }

    fn get_h(&self, _: usize) -> Result<Self::G1Builder, SynthesisError> {
        Err(SynthesisError::AssignmentMissing)
    }

    fn get_l(&self, _: usize) -> Result<Self::G1Builder, SynthesisError> {
        Err(SynthesisError::AssignmentMissing)
    }

    fn get_a(&self, _: usize, _: usize) -> Result<(Self::G1Builder, Self::G1Builder), SynthesisError> {
        Err(SynthesisError::AssignmentMissing)
    }

    fn get_b_g1(&self, _: usize, _: usize) -> Result<(Self::G1Builder, Self::G1Builder), SynthesisError> {
        Err(SynthesisError::AssignmentMissing)
    }

    fn get_b_g2(&self, _: usize, _: usize) -> Result<(Self::G2Builder, Self::G2Builder), SynthesisError> {
        Err(SynthesisError::AssignmentMissing)
    }
}
