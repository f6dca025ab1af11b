//! Products in Fp, Fp2 and Fr: time of one in a stream of independent ones, on one thread, operands in registers
//! and the first-level cache and in each side's own form.

use forebay::prove::cpu::Product;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::contest::Contest;
use crate::peers::gnark::Request;
use crate::peers::{products, Peers, ARKWORKS, BLST, GNARK_CRYPTO};
use crate::process::timed;
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

/// Elements side by side.
const ELEMENTS: usize = 64;
const ROUNDS: usize = 10_000;
/// Top limbs below those of the moduli.
const TOP_FP: u64 = 0x1a01_11ea_397f_e69a;
const TOP_FR: u64 = 0x73ed_a753_299d_7d48;

/// Every product.
pub fn run(world: &World, alone: bool) -> Result<Report, Failure> {
    let mut report = Report::default();
    let peers = Peers::start(alone, &mut report)?;
    for product in Product::ALL {
        measure(world, product, &peers, &mut report)?;
    }
    report.note(
        "ours holds operands in the kernels' own form, as it does inside a sum of points or a butterfly",
    );
    Ok(report)
}

fn name(product: Product) -> &'static str {
    match product {
        Product::MultiplyFp => "Fp product",
        Product::SquareFp => "Fp square",
        Product::MultiplyFr => "Fr product",
        Product::MultiplyFp2 => "Fp2 product",
        Product::SquareFp2 => "Fp2 square",
    }
}

fn elements(product: Product, seed: u64) -> Vec<u64> {
    let mut rng = StdRng::seed_from_u64(seed);
    let (limbs, top) = if product == Product::MultiplyFr { (4, TOP_FR) } else { (6, TOP_FP) };
    let mut limb = |at: usize| if at % limbs == limbs - 1 { rng.gen_range(0..top) } else { rng.gen() };
    (0..ELEMENTS * product.limbs()).map(&mut limb).collect()
}

fn measure(world: &World, product: Product, peers: &Peers, report: &mut Report) -> Result<(), Failure> {
    let (values, factors) = (elements(product, 1), elements(product, 2));
    let of_gnark = format!("{product:?}");
    let mut contest = Contest::new(|| {
        let mut own = values.clone();
        let (done, seconds) = timed(|| world.core.repeat_product(product, &mut own, &factors, ROUNDS));
        done?;
        Ok((seconds, own))
    });
    if !peers.alone {
        contest.add(BLST, || Ok(products::blst(product, &values, &factors, ROUNDS)));
        contest.add(ARKWORKS, || Ok(products::arkworks(product, &values, &factors, ROUNDS)));
    }
    if let Some(gnark) = &peers.gnark {
        contest.add(GNARK_CRYPTO, || {
            let request = Request {
                op: "field",
                threads: 1,
                product: &of_gnark,
                values: &values,
                factors: &factors,
                rounds: ROUNDS,
                ..Request::default()
            };
            let answer = gnark.borrow_mut().ask(&request)?;
            Ok((answer.seconds, answer.limbs))
        });
    }
    let standings = contest.run(3)?;
    let each = |seconds: f64| seconds * 1e9 / (ELEMENTS * ROUNDS) as f64;
    let name = format!("{}, {}", name(product), world.kernels.name()?);
    if standings.peers().next().is_none() {
        report.value(&name, each(standings.ours()), "ns", Goal::None);
    }
    for (peer, seconds) in standings.peers() {
        report.quicker(&name, each(standings.ours()), "ns", (peer, each(seconds)), Goal::None);
    }
    Ok(())
}
