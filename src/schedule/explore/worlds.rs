//! The worlds that are explored, and that every state of each keeps the rules.

use super::explore;
use super::script::{ask, Allowance, Script};
use crate::kind::ProofKind::{PorepC2, SnapUpdate, WindowPost, WinningPost};
use crate::kind::Urgency;
use crate::schedule::tests::sizes::{circuit, settings};
use crate::schedule::{Settings, SlotKind, SlotSettings};

/// The processor and a lane of it for winning_post.
pub fn with_lane(budget: u64) -> Settings {
    let slots = vec![SlotSettings::CPU, SlotSettings::cpu_lane(Urgency::Critical)];
    Settings { slots, ..settings(budget, &[SlotKind::Cpu]) }
}

pub fn one_cpu(budget: u64) -> Settings {
    settings(budget, &[SlotKind::Cpu])
}

pub fn cpu_and_device(budget: u64) -> Settings {
    settings(budget, &[SlotKind::Cpu, SlotKind::Device])
}

fn keeps_the_rules(script: &Script) {
    let begun = std::time::Instant::now();
    let explored = explore(script, None);
    let took = begun.elapsed().as_millis();
    println!("{}: {} states, {} steps, {took} ms", script.name, explored.states, explored.steps);
    if let Some(broken) = explored.broken {
        panic!("{}: {broken}", script.name);
    }
}

#[test]
fn failures_and_cancels_in_every_state() {
    let mut script = Script::new(
        "one processor",
        one_cpu(120),
        vec![ask(PorepC2, 2), ask(PorepC2, 1), ask(WinningPost, 1)],
    );
    script.allowance = Allowance { failures: 1, cancels: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn wrong_proofs_of_a_device() {
    let asks = vec![ask(PorepC2, 2), ask(WindowPost, 1), ask(SnapUpdate, 1)];
    let mut script = Script::new("a processor and a device", cpu_and_device(160), asks);
    script.allowance = Allowance { wrong_proofs: 2, failures: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn circuits_that_take_turns_in_little_memory() {
    let asks = vec![ask(PorepC2, 1), ask(SnapUpdate, 1), ask(WinningPost, 1), ask(PorepC2, 1)];
    let mut script = Script::new("little memory", one_cpu(62), asks);
    script.allowance =
        Allowance { evictions: 1, preloads: 1, failures: 1, cancels: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn messages_that_come_late() {
    let mut script = Script::new("late messages", one_cpu(120), vec![ask(PorepC2, 1), ask(WinningPost, 1)]);
    script.prompt = false;
    script.allowance = Allowance { failures: 1, cancels: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn a_shutdown_in_every_state() {
    let mut script = Script::new("shutdown", one_cpu(100), vec![ask(PorepC2, 2), ask(WinningPost, 1)]);
    script.prompt = false;
    script.allowance = Allowance { shutdowns: 1, preloads: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn a_lane_and_workers_kept_for_post() {
    let settings = Settings { urgent_workers: 2, ..with_lane(140) };
    let asks = vec![ask(WindowPost, 2), ask(PorepC2, 2), ask(WindowPost, 1), ask(WinningPost, 1)];
    let mut script = Script::new("a lane", settings, asks);
    script.post_at_once = true;
    script.allowance = Allowance { failures: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn a_budget_that_shrinks_and_grows() {
    let asks = vec![ask(PorepC2, 2), ask(SnapUpdate, 1), ask(WinningPost, 1)];
    let mut script = Script::new("a moving budget", one_cpu(120), asks);
    script.budgets = vec![(50, true), (30, false), (120, false)];
    script.allowance = Allowance { cancels: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn sizes_beyond_what_was_projected() {
    let asks = vec![ask(PorepC2, 2), ask(WinningPost, 1), ask(PorepC2, 1)];
    let mut script = Script::new("overruns", with_lane(110), asks);
    script.allowance = Allowance { oversized: 2, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn a_request_that_others_pass_until_its_patience_is_over() {
    let asks = vec![ask(PorepC2, 1), ask(SnapUpdate, 1), ask(PorepC2, 2), ask(PorepC2, 1)];
    let mut script = Script::new("patience", one_cpu(75), asks);
    script.allowance = Allowance { waits: 2, cancels: 1, failures: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn deadlines_in_every_state() {
    let mut asks = vec![ask(PorepC2, 2), ask(SnapUpdate, 1), ask(PorepC2, 1)];
    asks[0].within = Some(20);
    asks[2].within = Some(10);
    let mut script = Script::new("deadlines", one_cpu(75), asks);
    script.allowance = Allowance { waits: 2, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn pinned_and_young_circuits_stay() {
    let asks = vec![ask(WindowPost, 1), ask(SnapUpdate, 1), ask(PorepC2, 1)];
    let settings = Settings { min_idle: 100, pinned: [circuit(WindowPost)].into(), ..one_cpu(64) };
    let mut script = Script::new("pinned and young circuits", settings, asks);
    script.present = vec![WindowPost];
    script.allowance = Allowance { waits: 2, evictions: 1, preloads: 1, failures: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn a_circuit_that_turns_out_too_large_for_the_machine() {
    let mut script = Script::new("too large", one_cpu(66), vec![ask(PorepC2, 3), ask(WinningPost, 1)]);
    script.allowance = Allowance { oversized: 2, cancels: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}

#[test]
fn everything_that_can_go_wrong_at_once() {
    let asks = vec![ask(PorepC2, 1), ask(SnapUpdate, 1), ask(WinningPost, 1)];
    let mut script = Script::new("everything at once", cpu_and_device(120), asks);
    script.budgets = vec![(50, true), (120, false)];
    script.allowance = Allowance { oversized: 1, waits: 1, ..Allowance::default() };
    keeps_the_rules(&script);
}
