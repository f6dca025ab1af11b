//! From facts to findings.

use forebay::kind::ProofKind;
use forebay::memory::probe;
use forebay::units::Bytes;

use super::facts::{Facts, Folder, Parameters};
use super::finding::Finding;
use super::gpu;

/// Below this, not even the smallest sector's circuits fit beside each other.
const LEAST_BUDGET: Bytes = Bytes::gib(2);
/// A GPU's transfers want so much locked memory.
const GPU_MEMLOCK: u64 = 1 << 30;
/// A server's connections and files.
const LEAST_FILES: u64 = 4096;
/// A native file is about as large as its `.params` file; matrices and the journal come on top.
const SPARE: Bytes = Bytes::gib(1);

/// Every finding, in the order in which they are printed.
pub fn all(facts: &Facts) -> Vec<Finding> {
    let mut findings = vec![configuration(facts), processor(facts), threads(facts)];
    findings.extend(memory(facts));
    findings.extend([
        swap(facts.swap),
        pressure(facts),
        huge_pages(facts.huge_pages.as_deref()),
        memlock(facts),
        open_files(facts.open_files),
        overcommit(facts.overcommit),
        gpu::devices(facts.config.backend, &facts.gpus),
    ]);
    findings.extend(gpu::compilers(&facts.gpus));
    findings.extend(ProofKind::ALL.iter().filter(|kind| facts.config.kinds.contains(kind)).map(|kind| {
        let of_kind: Vec<_> = facts.parameters.iter().filter(|p| p.circuit.kind == *kind).collect();
        parameters(*kind, &of_kind, facts.config.allow_development_parameters)
    }));
    findings.extend(fits(facts));
    findings.push(cache(facts));
    findings.extend(facts.journal.as_ref().map(|found| folder("journal folder", found, Bytes::mib(64))));
    findings.push(clock(facts.clock));
    findings
}

fn configuration(facts: &Facts) -> Finding {
    match facts.config.validate() {
        Ok(()) => Finding::ok("configuration", "valid"),
        Err(error) => Finding::problem(
            "configuration",
            error.to_string(),
            "correct the file; `forebay serve --print-config` prints every key",
        ),
    }
}

fn processor(facts: &Facts) -> Finding {
    let features = match facts.features.is_empty() {
        true => "no extension that the kernels use".to_owned(),
        false => facts.features.join(" "),
    };
    match &facts.kernels {
        Err(why) => Finding::problem("processor", why.clone(), "set kernels = \"auto\""),
        Ok("portable") => Finding::warning(
            "processor",
            format!("portable kernels ({features})"),
            "proofs take two to three times as long as with AVX-512 IFMA (Ice Lake, Zen 4 and later)",
        ),
        Ok(kernels) => Finding::ok("processor", format!("{kernels} kernels ({features})")),
    }
}

fn threads(facts: &Facts) -> Finding {
    let (threads, cores) = (facts.config.threads, facts.cores);
    match threads.cmp(&cores) {
        std::cmp::Ordering::Greater => Finding::warning(
            "threads",
            format!("threads = {threads} on {cores} processors"),
            "more threads than processors only take turns: leave the key out",
        ),
        _ => Finding::ok("threads", format!("{threads} of {cores} processors")),
    }
}

fn memory(facts: &Facts) -> Vec<Finding> {
    let seen = match &facts.memory {
        Ok(seen) => seen,
        Err(why) => {
            let remedy = "mount /proc; without it the budget cannot follow the machine";
            return vec![Finding::problem("memory", why.clone(), remedy)];
        }
    };
    let mut findings = Vec::new();
    let (limit, margin) = (facts.config.memory_limit, facts.config.memory_margin);
    let now = probe::budget(limit, margin, Bytes::ZERO, seen);
    let most = probe::ceiling(limit, margin, seen);
    let what = format!(
        "{} of {} are left; the budget would be {now}, at most {most}",
        seen.machine_left, seen.machine_total
    );
    findings.push(match () {
        () if limit.is_some_and(|limit| limit > seen.total()) => Finding::problem(
            "memory",
            format!("{what}; memory.limit is above what there is"),
            format!("set memory.limit below {}", seen.total()),
        ),
        () if most < LEAST_BUDGET => Finding::problem(
            "memory",
            what,
            format!(
                "a budget below {LEAST_BUDGET} proves next to nothing: raise memory.limit or the group's"
            ),
        ),
        () if now.0 < most.0 / 2 => Finding::warning(
            "memory",
            what,
            "others hold the rest: stop them, or expect fewer proofs at once",
        ),
        () => Finding::ok("memory", what),
    });
    findings.push(match &seen.group {
        None => Finding::ok("control group", "no limit"),
        Some(group) if limit.is_some_and(|limit| limit > group.limit) => Finding::problem(
            "control group",
            format!("{} allows {}, less than memory.limit", group.path.display(), group.limit),
            "raise the group's limit (MemoryMax= of a unit) above memory.limit, or lower that",
        ),
        Some(group) => Finding::ok(
            "control group",
            format!("{} allows {}, {} are left", group.path.display(), group.limit, group.left),
        ),
    });
    findings
}

fn swap(bytes: Bytes) -> Finding {
    match bytes {
        Bytes::ZERO => Finding::ok("swap", "none"),
        bytes => Finding::warning(
            "swap",
            bytes.to_string(),
            "a prover that is swapped out misses deadlines: MemorySwapMax=0 in the unit, or swapoff",
        ),
    }
}

fn pressure(facts: &Facts) -> Finding {
    let now = facts.memory.as_ref().map_or(0.0, |seen| seen.pressure);
    match (facts.psi, f64::from(facts.config.memory_pressure)) {
        (false, 0.0) => Finding::ok("memory pressure", "not looked at (memory.pressure = 0)"),
        (false, _) => Finding::warning(
            "memory pressure",
            "the kernel does not tell it (/proc/pressure/memory)",
            "boot with psi=1; without it sealing is not slowed when memory is short",
        ),
        (true, limit) if limit > 0.0 && now > limit => Finding::warning(
            "memory pressure",
            format!("{now:.1} % of the time something waits for memory"),
            "see what takes it; sealing is slowed above memory.pressure",
        ),
        (true, _) => Finding::ok("memory pressure", format!("{now:.1} %")),
    }
}

fn huge_pages(setting: Option<&str>) -> Finding {
    let check = "huge pages";
    match setting {
        Some(setting @ ("always" | "madvise")) => Finding::ok(check, setting),
        Some(setting) => Finding::warning(
            check,
            setting,
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled: large buffers ask for them",
        ),
        None => {
            Finding::warning(check, "the kernel has none", "a kernel with transparent huge pages is faster")
        }
    }
}

fn memlock(facts: &Facts) -> Finding {
    let check = "locked memory";
    match facts.memlock {
        None => Finding::ok(check, "no limit"),
        Some(limit) if facts.gpus.names.is_empty() => {
            Finding::ok(check, format!("{}; only GPUs need it", Bytes(limit)))
        }
        Some(limit) if limit < GPU_MEMLOCK => Finding::warning(
            check,
            Bytes(limit).to_string(),
            "ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit: transfers to a GPU are slow without it",
        ),
        Some(limit) => Finding::ok(check, Bytes(limit).to_string()),
    }
}

fn open_files(limit: Option<u64>) -> Finding {
    match limit {
        Some(limit) if limit < LEAST_FILES => Finding::warning(
            "open files",
            limit.to_string(),
            format!("ulimit -n {LEAST_FILES} or more: each connection of `forebay serve` takes one"),
        ),
        Some(limit) => Finding::ok("open files", limit.to_string()),
        None => Finding::ok("open files", "no limit"),
    }
}

fn overcommit(mode: Option<u32>) -> Finding {
    match mode {
        Some(2) => Finding::warning(
            "overcommit",
            "vm.overcommit_memory = 2: mappings are counted before they are used",
            "set it to 0: keys are mapped as a whole, and may be refused",
        ),
        Some(mode) => Finding::ok("overcommit", format!("vm.overcommit_memory = {mode}")),
        None => Finding::warning("overcommit", "cannot be read", "mount /proc"),
    }
}

fn parameters(kind: ProofKind, found: &[&Parameters], development: bool) -> Finding {
    let check = format!("parameters {kind}");
    if found.is_empty() {
        return Finding::problem(
            &check,
            "none of any sector size",
            "fetch them with the miner's fetch-params, or take the kind out of `kinds`",
        );
    }
    let words: Vec<_> = found.iter().map(|one| words(one)).collect();
    let what = words.join("; ");
    if !development && found.iter().all(|one| one.development) {
        return Finding::problem(
            &check,
            format!("{what}: all are development keys"),
            "fetch Filecoin's; development keys are refused unless allow_development_parameters = true",
        );
    }
    let fresh = found.iter().find(|one| !one.native || !one.checked);
    match fresh {
        Some(one) => Finding::warning(
            &check,
            what,
            format!(
                "forebay params import --kind {kind}: else the first proof of {} waits for it",
                one.circuit
            ),
        ),
        None => Finding::ok(&check, what),
    }
}

fn words(found: &Parameters) -> String {
    let size = found.params.map_or_else(|| "no .params".into(), |bytes| bytes.to_string());
    let native = if found.native { "native" } else { "not imported" };
    let checked = if found.checked { "checked" } else { "not checked" };
    let development = if found.development { ", development key" } else { "" };
    format!("{} ({size}, {native}, {checked}{development})", found.circuit)
}

/// Whether one partition of each circuit fits, as far as its sizes are known.
fn fits(facts: &Facts) -> Option<Finding> {
    let seen = facts.memory.as_ref().ok()?;
    let most = probe::ceiling(facts.config.memory_limit, facts.config.memory_margin, seen);
    let check = "circuits fit";
    let largest = facts.needs.iter().max_by_key(|need| need.bytes)?;
    let over: Vec<_> = facts.needs.iter().filter(|need| need.bytes > most).collect();
    Some(match over.is_empty() {
        true => Finding::ok(
            check,
            format!("one partition of {} needs {}, the budget can be {most}", largest.circuit, largest.bytes),
        ),
        false => {
            let names: Vec<_> =
                over.iter().map(|need| format!("{} ({})", need.circuit, need.bytes)).collect();
            Finding::problem(
                check,
                format!("one partition of {} needs more than the budget can be ({most})", names.join(", ")),
                "raise memory.limit, or take the kind out of `kinds`: its requests are refused",
            )
        }
    })
}

fn cache(facts: &Facts) -> Finding {
    let missing = facts.parameters.iter().filter(|one| !one.native);
    let needed = missing.filter_map(|one| one.params).fold(SPARE, Bytes::saturating_add);
    folder("cache folder", &facts.cache, needed)
}

fn folder(check: &str, found: &Folder, needed: Bytes) -> Finding {
    let path = found.path.display();
    match (&found.refused, found.free) {
        (Some(why), _) => Finding::problem(
            check,
            format!("{path}: nothing can be written there: {why}"),
            "give this user the folder, or name another one",
        ),
        (None, Some(free)) if free < needed => Finding::problem(
            check,
            format!("{path}: {free} are free, {needed} are needed"),
            "make room, or name a folder on another disk",
        ),
        (None, Some(free)) => Finding::ok(check, format!("{path}: {free} are free")),
        (None, None) => Finding::warning(check, format!("{path}: free space is unknown"), "look at the disk"),
    }
}

fn clock(synchronized: Option<bool>) -> Finding {
    match synchronized {
        Some(true) => Finding::ok("clock", "follows a time service"),
        Some(false) => Finding::problem(
            "clock",
            "follows no time service",
            "start chrony or systemd-timesyncd: the chain's epochs go by the clock",
        ),
        None => Finding::warning(
            "clock",
            "nobody here says whether it is right",
            "make sure that chrony or systemd-timesyncd runs on the machine",
        ),
    }
}

#[cfg(test)]
mod tests;
