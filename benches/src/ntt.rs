//! Transforms over Fr, natural order in and out, by ours and the peers.

use std::hash::{DefaultHasher, Hash, Hasher};

use ark_poly::{EvaluationDomain, Radix2EvaluationDomain};
use blstrs::Scalar;
use ec_gpu_gen::fft_cpu::{parallel_fft, serial_fft};
use ec_gpu_gen::threadpool::Worker;
use ff::{Field, PrimeField};
use forebay::cancel::Cancel;
use forebay::prove::cpu::CpuBackend;

use crate::contest::Contest;
use crate::curve::ark_scalar;
use crate::peers::gnark::{read_limbs, Request};
use crate::peers::{Peers, ARKWORKS, BELLPERSON, GNARK_CRYPTO, SINGLE};
use crate::process::timed;
use crate::report::{Goal, Report};
use crate::sizes::Sizes;
use crate::world::World;
use crate::{inputs, Failure};

/// The size that has a goal against arkworks.
const JUDGED_LOG: u32 = 20;

/// Every size.
pub fn run(world: &World, sizes: &Sizes) -> Result<Report, Failure> {
    let mut report = Report::default();
    let peers = Peers::start(sizes.alone, &mut report)?;
    for log in sizes.ntt() {
        measure(world, log, &peers, &mut report)?;
    }
    report.note(
        "natural order in and out, 32-byte scalars in Montgomery form; gnark's tables of roots are made beforehand",
    );
    Ok(report)
}

fn measure(world: &World, log: u32, peers: &Peers, report: &mut Report) -> Result<(), Failure> {
    let values = inputs::scalars(1 << log);
    let single = world.single()?;
    let ours = |core: &CpuBackend| {
        let mut values = values.clone();
        let (done, seconds) = timed(|| core.ntt(&mut values, false, false, &Cancel::new()));
        done?;
        Ok((seconds, fingerprint(values.iter().flat_map(inputs::scalar_limbs))))
    };
    let mut contest = Contest::new(|| ours(&world.core));
    if world.threads() > 1 {
        contest.add(SINGLE, || ours(&single));
    }
    if !peers.alone {
        add_peers(&mut contest, world, &values, log, peers)?;
    }
    let standings = contest.run(if peers.alone { 3 } else { 1 })?;
    let name = format!("NTT 2^{log}, {} threads, {}", world.threads(), world.kernels.name()?);
    if standings.peers().next().is_none() {
        report.value(&name, standings.ours(), "s", Goal::None);
    }
    for (peer, seconds) in standings.peers() {
        let goal = match (peer, log) {
            (SINGLE, JUDGED_LOG..) => Goal::RatioAtLeast(1.6),
            (ARKWORKS, JUDGED_LOG) => world.on_ifma(Goal::RatioAtLeast(7.0))?,
            (GNARK_CRYPTO, JUDGED_LOG) => world.on_ifma(Goal::RatioAtLeast(1.0))?,
            _ => Goal::None,
        };
        report.faster(&name, standings.ours(), (peer, seconds), goal);
    }
    Ok(())
}

fn add_peers<'a>(
    contest: &mut Contest<'a, u64>,
    world: &'a World,
    values: &'a [Scalar],
    log: u32,
    peers: &'a Peers,
) -> Result<(), Failure> {
    let ark_values: Vec<_> = values.iter().map(ark_scalar).collect();
    contest.add(ARKWORKS, move || {
        let domain = Radix2EvaluationDomain::<ark_bls12_381::Fr>::new(ark_values.len())
            .ok_or("arkworks has no domain of this size")?;
        let mut values = ark_values.clone();
        let ((), seconds) = timed(|| world.pool.install(|| domain.fft_in_place(&mut values)));
        Ok((seconds, fingerprint(values.iter().flat_map(|value| value.0 .0))))
    });
    let worker = Worker::new();
    let omega = (log..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |omega, _| omega.square());
    let threads = world.threads();
    contest.add(BELLPERSON, move || {
        let mut values = values.to_vec();
        let ((), seconds) = timed(|| match threads.ilog2() {
            0 => serial_fft(&mut values, &omega, log),
            log_threads => parallel_fft(&mut values, &worker, &omega, log, log_threads),
        });
        Ok((seconds, fingerprint(values.iter().flat_map(inputs::scalar_limbs))))
    });
    let Some(gnark) = &peers.gnark else { return Ok(()) };
    let scalars = peers.file(&format!("ntt {log}"), || values.iter().flat_map(inputs::scalar_limbs))?;
    contest.add(GNARK_CRYPTO, move || {
        let path = peers.path("transformed");
        let out = path.to_str().ok_or("a folder's name is no text")?;
        let request = Request { op: "ntt", threads, scalars: &scalars, out, ..Request::default() };
        let answer = gnark.borrow_mut().ask(&request)?;
        Ok((answer.seconds, fingerprint(read_limbs(&path)?.into_iter())))
    });
    Ok(())
}

/// A hash that tells results apart.
fn fingerprint(limbs: impl Iterator<Item = u64>) -> u64 {
    let mut hasher = DefaultHasher::new();
    limbs.for_each(|limb| limb.hash(&mut hasher));
    hasher.finish()
}
