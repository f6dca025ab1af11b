//! Multi-scalar multiplications in G1 and G2 by ours and the peers, on the same points and scalars.

use std::cell::RefCell;
use std::sync::Arc;

use blstrs::{G1Affine, G2Affine, Scalar};
use ec_gpu_gen::multiexp_cpu::{multiexp_cpu, FullDensity};
use ec_gpu_gen::threadpool::Worker;
use ff::PrimeField;
use group::Curve;
use rayon::prelude::*;

use crate::contest::Contest;
use crate::curve::{affine_limbs, ark_scalar, ark_sum, Group};
use crate::peers::gnark::{Gnark, Request};
use crate::peers::{Peers, ARKWORKS, BELLPERSON, BLST, GNARK_CRYPTO, SINGLE};
use crate::process::timed;
use crate::report::{Goal, Report};
use crate::sizes::Sizes;
use crate::world::World;
use crate::{inputs, Failure};

/// From this size on, two threads have a goal.
const SCALING_LOG: u32 = 22;

/// One row's inputs.
struct Case<'a, G> {
    name: String,
    points: &'a Arc<Vec<G>>,
    scalars: Vec<Scalar>,
    /// The kernels' goal against blst.
    goal: f64,
    judged: bool,
    scaling: Goal,
}

/// Every size, random scalars and witness-like ones.
pub fn run(world: &World, sizes: &Sizes) -> Result<Report, Failure> {
    let mut report = Report::default();
    let peers = Peers::start(sizes.alone, &mut report)?;
    group::<G1Affine>(world, &sizes.g1(), 4.5, &peers, &mut report)?;
    group::<G2Affine>(world, &sizes.g2(), 4.0, &peers, &mut report)?;
    report.note(
        "points are packed (96 and 192 bytes); blst and bellperson get plain scalars, the others convert in their time",
    );
    Ok(report)
}

fn group<G: Group>(
    world: &World,
    logs: &[u32],
    goal: f64,
    peers: &Peers,
    report: &mut Report,
) -> Result<(), Failure>
where
    G::Curve: Curve<AffineRepr = G>,
{
    let Some(largest) = logs.iter().max() else { return Ok(()) };
    let points = Arc::new(G::points(world, 1 << largest)?);
    for log in logs {
        let scaling = if *log >= SCALING_LOG { Goal::RatioAtLeast(1.85) } else { Goal::None };
        let case = |what: &str, scalars, judged| Case {
            name: format!("{} 2^{log}{what}", G::NAME),
            points: &points,
            scalars,
            goal,
            judged,
            scaling,
        };
        measure(world, &case("", inputs::scalars(1 << log), true), peers, report)?;
        if *log <= 20 {
            measure(world, &case(" witness", inputs::witness_like(1 << log), false), peers, report)?;
        }
    }
    Ok(())
}

fn measure<G: Group>(world: &World, case: &Case<G>, peers: &Peers, report: &mut Report) -> Result<(), Failure>
where
    G::Curve: Curve<AffineRepr = G>,
{
    let single = world.single()?;
    let points = &case.points[..case.scalars.len()];
    let ours = |core| {
        let (sum, seconds) = timed(|| G::multiply(core, points, &case.scalars));
        Ok((seconds, affine_limbs::<G>(&sum?)))
    };
    let mut contest = Contest::new(|| ours(&world.core));
    if world.threads() > 1 {
        contest.add(SINGLE, || ours(&single));
    }
    if !peers.alone {
        add_peers(&mut contest, world, case, peers)?;
    }
    let standings = contest.run(if peers.alone { 3 } else { 1 })?;
    let name = format!("{}, {} threads, {}", case.name, world.threads(), world.kernels.name()?);
    for (peer, seconds) in standings.peers() {
        let goal = match (peer, case.judged) {
            (SINGLE, true) => case.scaling,
            (BLST, true) => world.on_ifma(Goal::RatioAtLeast(case.goal))?,
            (_, true) => world.on_ifma(Goal::RatioAtLeast(1.0))?,
            (_, false) => Goal::None,
        };
        report.faster(&name, standings.ours(), (peer, seconds), goal);
    }
    if standings.peers().next().is_none() {
        report.value(&name, standings.ours(), "s", Goal::None);
    }
    Ok(())
}

fn add_peers<'a, G: Group>(
    contest: &mut Contest<'a, Vec<u64>>,
    world: &'a World,
    case: &'a Case<G>,
    peers: &'a Peers,
) -> Result<(), Failure>
where
    G::Curve: Curve<AffineRepr = G>,
{
    let points = &case.points[..case.scalars.len()];
    let plain: Arc<Vec<[u8; 32]>> = Arc::new(case.scalars.par_iter().map(PrimeField::to_repr).collect());
    let bytes: Vec<u8> = plain.concat();
    let to_blst: Vec<_> = points.iter().map(G::to_blst).collect();
    if world.threads() == 1 {
        contest.add(BLST, move || {
            let (sum, seconds) = timed(|| G::blst_serial(&to_blst, &bytes));
            Ok((seconds, sum))
        });
    } else if world.threads() == std::thread::available_parallelism()?.get() {
        contest.add(BLST, move || {
            let (sum, seconds) = timed(|| G::blst_pool(&to_blst, &bytes));
            Ok((seconds, sum))
        });
    }
    let to_ark: Vec<_> = points.par_iter().map(G::to_ark).collect();
    let ark_scalars: Vec<_> = case.scalars.par_iter().map(ark_scalar).collect();
    contest.add(ARKWORKS, move || {
        let (sum, seconds) = timed(|| world.pool.install(|| ark_sum::<G>(&to_ark, &ark_scalars)));
        Ok((seconds, sum?))
    });
    let worker = Worker::new();
    let bases = (case.points.clone(), 0);
    contest.add(BELLPERSON, move || {
        let wait = || multiexp_cpu(&worker, bases.clone(), FullDensity, plain.clone()).wait();
        let (sum, seconds) = timed(wait);
        Ok((seconds, affine_limbs::<G>(&sum?)))
    });
    if let Some(gnark) = &peers.gnark {
        add_gnark(contest, world.threads(), case, peers, gnark)?;
    }
    Ok(())
}

fn add_gnark<'a, G: Group>(
    contest: &mut Contest<'a, Vec<u64>>,
    threads: usize,
    case: &'a Case<G>,
    peers: &'a Peers,
    gnark: &'a RefCell<Gnark>,
) -> Result<(), Failure> {
    let points = peers.file(G::NAME, || case.points.iter().flat_map(|point| point.limbs()))?;
    let scalars = peers.file(&case.name, || case.scalars.iter().flat_map(inputs::scalar_limbs))?;
    contest.add(GNARK_CRYPTO, move || {
        let request = Request {
            op: "msm",
            threads,
            group: G::NAME,
            points: &points,
            scalars: &scalars,
            ..Request::default()
        };
        let answer = gnark.borrow_mut().ask(&request)?;
        Ok((answer.seconds, answer.limbs))
    });
    Ok(())
}
