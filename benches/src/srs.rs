//! The native SRS beside the `.params` file it came from.

use bellperson::groth16::Parameters;
use blstrs::Bls12;
use forebay::kind::ProofKind;
use forebay::srs::Srs;

use crate::process::timed;
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

const OPENINGS: usize = 9;

/// Bytes on disk, and the median time to open.
pub fn run(world: &World, kind: ProofKind) -> Result<Report, Failure> {
    let mut report = Report::default();
    let id = world.circuit_id(kind)?;
    let params = world.params(kind)?;
    drop(world.load(kind)?);
    let native = world.native_key(kind)?;
    let bytes = |path: &std::path::Path| -> Result<f64, Failure> { Ok(path.metadata()?.len() as f64) };
    report.smaller(
        &format!("native SRS, {id}"),
        bytes(&native)?,
        (".params", bytes(&params)?),
        Goal::RatioAtMost(1.0),
    );
    let mut openings = Vec::new();
    for _ in 0..OPENINGS {
        let (srs, seconds) = timed(|| Srs::open(&native, id, true));
        drop(srs?);
        openings.push(seconds);
    }
    openings.sort_by(f64::total_cmp);
    let median = openings[OPENINGS / 2];
    report.value(&format!("opening the native SRS, {id}"), median, "s", Goal::AtMost(0.050));
    let (read, seconds) = timed(|| -> Result<_, Failure> {
        let file = std::io::BufReader::with_capacity(1 << 20, std::fs::File::open(&params)?);
        Ok(Parameters::<Bls12>::read(file, false)?)
    });
    drop(read?);
    report.faster(&format!("opening, {id}"), median, ("bellperson, unchecked", seconds), Goal::None);
    Ok(report)
}
