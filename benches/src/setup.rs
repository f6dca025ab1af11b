//! Development setup against bellperson's generator, on the same circuit in one run.

use bellperson::groth16::{generate_random_parameters, Parameters};
use blstrs::Bls12;
use forebay::filecoin;
use forebay::kind::ProofKind;
use forebay::srs::develop::ToxicWaste;
use rand::rngs::OsRng;

use crate::process::timed;
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

/// Generates both and reads ours back with bellperson.
pub fn run(world: &World, kind: ProofKind) -> Result<Report, Failure> {
    let mut report = Report::default();
    let id = world.circuit_id(kind)?;
    let folder = tempfile::tempdir()?;
    let (made, ours) = timed(|| {
        world.work(|work| filecoin::develop(id, folder.path(), &ToxicWaste::random(&mut OsRng), work))
    });
    let made = made?;
    let (theirs, peer) = timed(|| -> Result<_, Failure> {
        Ok(generate_random_parameters::<Bls12, _, _>(world.blank(kind)?, &mut OsRng)?)
    });
    let theirs = theirs?;
    let file = std::io::BufReader::new(std::fs::File::open(&made.params)?);
    let read = Parameters::<Bls12>::read(file, true)?;
    let sizes =
        |p: &Parameters<Bls12>| [p.h.len(), p.l.len(), p.a.len(), p.b_g1.len(), p.b_g2.len(), p.vk.ic.len()];
    if sizes(&read) != sizes(&theirs) {
        return Err(format!("bellperson reads {:?} points, made {:?}", sizes(&read), sizes(&theirs)).into());
    }
    report.faster(
        &format!("development setup, {id}"),
        ours,
        ("bellperson 0.27", peer),
        Goal::RatioAtLeast(15.0),
    );
    Ok(report)
}
