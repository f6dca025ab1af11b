//! The pipelines in a memory control group each, whose limit the kernel enforces.

use std::process::Command;

use forebay::units::Bytes;

use super::policy::Policy;
use super::{child, selected, verdict, Options, KIND};
use crate::control_group::Group;
use crate::report::{Goal, Report};
use crate::world::World;
use crate::Failure;

/// Where the permit goes back early the kernel must kill; forebay must come through.
pub fn run(world: &World, options: &Options, limit: Bytes) -> Result<Report, Failure> {
    let mut report = Report::default();
    for policy in selected(options, &[Policy::A, Policy::D]) {
        forget_key(world)?;
        let group = Group::create(&format!("queue-{policy}"), limit.0)?;
        let ended = child::start(world, policy, options, |program| group.command(program))?;
        let (survived, killed) = (ended.is_ok(), group.killed());
        match ended {
            Ok(outcome) => verdict::rows(&mut report, policy, &outcome, options.partitions),
            Err(ending) if killed == 0 => return Err(format!("{policy} ended with {ending}").into()),
            Err(ending) => report.note(format!("{policy}: {}: killed, {ending}", policy.meaning())),
        }
        let (kills, peak) = match policy {
            Policy::A => (Goal::AtLeast(1.0), Goal::None),
            Policy::B | Policy::C => (Goal::None, Goal::None),
            Policy::D => (Goal::AtMost(0.0), Goal::AtMost(limit.0 as f64)),
        };
        report.value(&format!("{policy}, killed by the kernel"), killed as f64, "", kills);
        report.value(&format!("{policy}, finished"), f64::from(u8::from(survived)), "", Goal::None);
        report.value(&format!("{policy}, peak of the group"), group.peak() as f64, "bytes", peak);
    }
    report.note(format!("limit of each group: {} bytes", limit.0));
    Ok(report)
}

/// Takes the key out of the page cache, so that its pages count in the group that reads it next.
fn forget_key(world: &World) -> Result<(), Failure> {
    let mut key = std::ffi::OsString::from("if=");
    key.push(world.native_key(KIND)?);
    let done = Command::new("dd").arg(key).args(["iflag=nocache", "count=0", "status=none"]).status()?;
    if done.success() {
        return Ok(());
    }
    Err(format!("dd could not drop the key from the page cache: {done}").into())
}
