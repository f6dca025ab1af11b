//! A plan as text.

use forebay::simulate::{KindOutcome, Profile};

use super::advice::WhatIf;
use super::answer::Plan;
use super::question::{Question, Room};
use super::words::{change, counted, number, paragraph, percent, seconds, setting};
use crate::columns::render;

/// The whole text.
pub fn text(plan: &Plan) -> String {
    let mut text = asked(&plan.question);
    text.push('\n');
    text += &kinds(&plan.outcome.kinds);
    text += &killed(plan);
    text.push('\n');
    text += &memory(plan);
    text += &busy(plan);
    text.push('\n');
    text += &late(plan);
    text += &advice(plan);
    text += &assumptions(&plan.question);
    text
}

/// The machine, what is asked of it, and how far the figures can be trusted.
pub fn asked(question: &Question) -> String {
    let mut text = machine(question);
    text += &paragraph(&format!("policy: {}, {}", question.policy, question.policy.about()));
    text + &source(&question.profile)
}

fn source(profile: &Profile) -> String {
    let about = profile.about.trim();
    let note = ["not measured", "assumed", "placeholder"].iter().any(|word| about.contains(word));
    let note = if note { "NOTE, not all of its figures are measured: " } else { "" };
    paragraph(&format!("profile {}: {note}{about}", profile.name))
}

fn machine(question: &Question) -> String {
    let heavy = match (question.gpus, &question.profile.device) {
        (0, _) | (_, None) => "no GPU".to_owned(),
        (gpus, Some(device)) => {
            let core = format!("{:?}", question.core).to_lowercase();
            let slots = counted(question.slots, "prover slot", "prover slots");
            let each = if gpus > 1 { " each" } else { "" };
            format!("{} ({}, {core} core, {slots}{each})", counted(gpus, "GPU", "GPUs"), device.name)
        }
    };
    let entries = question.mix.entries.iter().map(|entry| match entry.every {
        None => format!("{}={}", entry.circuit.kind, entry.count),
        Some(every) => format!("{}={} every {}", entry.circuit.kind, entry.count, seconds(every)),
    });
    let sector = question.mix.entries.first().map(|entry| entry.circuit.to_string());
    let sector = sector.iter().filter_map(|circuit| circuit.rsplit('-').next()).collect::<String>();
    let text = format!(
        "machine: {}; {heavy}, {}, {}",
        room(question),
        counted(question.cores, "thread", "threads"),
        counted(question.workers, "synthesis worker", "synthesis workers"),
    );
    let mix = entries.collect::<Vec<_>>().join(", ");
    let endless = question.mix.entries.iter().any(|entry| entry.every.is_none());
    let queued = match endless {
        true => format!(", {} unfinished kept queued of each kind", question.mix.queued),
        false => String::new(),
    };
    paragraph(&text) + &paragraph(&format!("mix: {mix}, sectors of {sector}{queued}; seed {}", question.seed))
}

/// The memory, and what of it is the library's.
fn room(question: &Question) -> String {
    let (limit, size) = (question.room.limit(), question.room.size());
    match question.room {
        Room::Limit(_) => format!("memory.limit {limit}"),
        Room::Ram { .. } => format!(
            "{size} RAM{}, {} of it for the system and other processes, memory.limit {limit}",
            if question.this_machine { " (this machine's)" } else { "" },
            question.room.reserve(),
        ),
    }
}

fn kinds(kinds: &[KindOutcome]) -> String {
    let head = ["kind", "proofs", "an hour", "s a proof", "latency: median", "99 %", "longest"];
    let row = |of: &KindOutcome| {
        let [median, most, longest] = of.latency.map(seconds);
        let figures = [number(of.an_hour), number(of.seconds_a_proof)];
        let [an_hour, a_proof] = figures;
        vec![of.kind.to_string(), of.proofs.to_string(), an_hour, a_proof, median, most, longest]
    };
    let rows = std::iter::once(head.map(String::from).to_vec()).chain(kinds.iter().map(row));
    render(&rows.collect::<Vec<_>>())
}

fn killed(plan: &Plan) -> String {
    let Some(killed) = plan.outcome.killed else { return String::new() };
    let needs =
        plan.unlimited_peak.map_or(String::new(), |peak| format!(" Unlimited, it would hold {peak}."));
    paragraph(&format!(
        "KILLED FOR MEMORY after {}: it held {} of {}, {} partitions waited for the GPU.{needs}",
        seconds(killed.at),
        killed.held,
        plan.question.room.limit(),
        plan.outcome.waiting,
    ))
}

fn memory(plan: &Plan) -> String {
    let peak = &plan.peak;
    let (slots, witnesses) = match plan.question.policy.is_prior() {
        true => ("a, b, c", "private variables"),
        false => ("prover slots", "witnesses"),
    };
    let waiting = plan.outcome.waiting;
    paragraph(&format!(
        "memory {}: at most {} of {} (SRS {}, matrices {}, {slots} {}, {witnesses} {}, requests {})",
        plan.verb(),
        plan.outcome.peak,
        plan.question.budget(),
        peak.srs,
        peak.matrices,
        peak.working_set,
        peak.witness,
        peak.intake,
    )) + &paragraph(&format!(
        "waited for memory {} of the time; at most {} waited for a slot; parameters loaded {}",
        percent(plan.outcome.busy.memory),
        counted(waiting, "partition", "partitions"),
        counted(plan.outcome.loads, "time", "times"),
    )) + &queued(plan)
}

/// Says where fewer requests were unfinished than a miner would keep queued.
fn queued(plan: &Plan) -> String {
    let Some(unfinished) = plan.fewer_queued() else { return String::new() };
    paragraph(&format!(
        "at most {} unfinished, fewer than --queued asks for: intake.max_bytes limits them",
        counted(unfinished, "request was", "requests were")
    ))
}

fn busy(plan: &Plan) -> String {
    let busy = &plan.outcome.busy;
    let heavy = match plan.question.gpus {
        0 => format!("prover slot {}", percent(busy.slots)),
        1 => format!("GPU {}", percent(busy.devices)),
        _ => format!("GPUs {}", percent(busy.devices)),
    };
    paragraph(&format!(
        "busy: {heavy}, synthesis workers {}, processor {}, disk {}",
        // More than all of them: those that are kept for PoSt come on top.
        percent(busy.workers.min(1.0)),
        percent(busy.cores),
        percent(busy.disk)
    ))
}

fn late(plan: &Plan) -> String {
    let mut text = String::new();
    for late in &plan.advice.late {
        let cures = plan.advice.what_if.iter().filter(|what| what.whole).map(|what| what.text.as_str());
        let cures = cures.collect::<Vec<_>>();
        let cure = match cures.as_slice() {
            [] => String::new(),
            cures => format!(" On time with {}.", cures.join(", or ")),
        };
        text += &paragraph(&format!(
            "LATE: {} took {}, its deadline is {}.{cure}",
            late.kind,
            seconds(late.longest),
            seconds(late.deadline)
        ));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn advice(plan: &Plan) -> String {
    let (advice, question) = (&plan.advice, &plan.question);
    let mut text = paragraph(&format!("bottleneck: {}", advice.bottleneck));
    let planned = plan.outcome.killed.map_or_else(|| number(advice.an_hour), |_| "killed".to_owned());
    let base = vec!["  as planned".to_owned(), planned, String::new()];
    let none = if question.policy.is_prior() { "killed" } else { "does not fit" };
    let head = vec!["what if".to_owned(), format!("{} an hour", counted_kinds(question)), String::new()];
    let rows = advice.what_if.iter().map(|what| {
        let an_hour = what.an_hour.map_or_else(|| none.to_owned(), number);
        vec![format!("  {}", what.text), an_hour, brought(plan, what)]
    });
    text += &render(&[head, base].into_iter().chain(rows).collect::<Vec<_>>());
    text + &enough(plan) + &configure(plan)
}

/// What a change brings: more throughput or, where PoSt is late, whether it no longer is.
fn brought(plan: &Plan, what: &WhatIf) -> String {
    match what.gain {
        Some(gain) => change(gain),
        None if plan.advice.late.is_empty() || what.an_hour.is_none() => String::new(),
        None if what.whole => "on time".to_owned(),
        None => "late".to_owned(),
    }
}

/// What could be saved.
fn enough(plan: &Plan) -> String {
    let (advice, question) = (&plan.advice, &plan.question);
    let (Some(least), Some(workers)) = (advice.least_memory, advice.fewest_workers) else {
        return String::new();
    };
    let size = question.room.size();
    let memory = (least < size).then(|| format!("{least} {} instead of {size}", question.room.noun()));
    let workers = (workers < question.workers).then(|| {
        format!(
            "{} instead of {}",
            counted(workers, "synthesis worker", "synthesis workers"),
            question.workers
        )
    });
    let less: Vec<_> = memory.into_iter().chain(workers).collect();
    paragraph(&match less.as_slice() {
        [] => "enough for 98 % of it: no less memory, and no fewer synthesis workers".to_owned(),
        [one] => format!("enough for 98 % of it: {one}"),
        both => format!("enough for 98 % of it, one change at a time: {}", both.join(", ")),
    })
}

fn configure(plan: &Plan) -> String {
    let question = &plan.question;
    if question.policy.is_prior() {
        return String::new();
    }
    let enough = plan.enough_limit();
    let enough =
        enough.map_or(String::new(), |limit| format!(" (\"{}\" is enough for 98 %)", setting(limit)));
    paragraph(&format!(
        "configure: synthesis_workers = {}, and in [memory] limit = \"{}\"{enough}",
        question.workers,
        setting(question.room.limit())
    ))
}

/// Which kinds the advice counts.
fn counted_kinds(question: &Question) -> String {
    let entries = &question.mix.entries;
    let endless: Vec<_> =
        entries.iter().filter(|entry| entry.every.is_none()).map(|entry| entry.circuit.kind.name()).collect();
    match (entries.len(), endless.len()) {
        (1, _) => "proofs".to_owned(),
        (_, 0) => "all proofs".to_owned(),
        _ => endless.join(" + "),
    }
}

fn assumptions(question: &Question) -> String {
    let profile = &question.profile;
    let scaled = match question.gpus == 0 && question.cores != profile.cores {
        true => format!(
            "; stage times were measured with {} and are scaled to {}",
            counted(profile.cores, "thread", "threads"),
            question.cores
        ),
        false => String::new(),
    };
    paragraph(&format!(
        "assumes: nothing else loads the processor, GPUs or disk; stage times spread by {}{scaled}; parameters are \
         read at {} a second, none are resident at the start",
        percent(profile.spread),
        profile.disk
    ))
}
