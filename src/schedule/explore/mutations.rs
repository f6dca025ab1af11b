//! The explorer finds bugs that are planted.

use super::explore;
use super::script::{ask, Allowance, Script};
use super::worlds::{one_cpu, with_lane};
use crate::kind::ProofKind::{PorepC2, SnapUpdate, WinningPost};
use crate::schedule::mutation::Mutation;
use crate::schedule::tests::sizes;
use crate::schedule::Settings;

fn script() -> Script {
    let mut script = Script::new("planted bugs", one_cpu(120), vec![ask(PorepC2, 2), ask(WinningPost, 1)]);
    script.allowance = Allowance { failures: 1, ..Allowance::default() };
    script
}

/// The explorer finds it, and by this rule.
fn is_caught(mut script: Script, mutation: Mutation, by: &str) {
    script.name = "planted bug";
    let explored = explore(&script, Some(mutation));
    let broken = explored.broken.unwrap_or_else(|| panic!("{mutation:?} was not found"));
    println!("{mutation:?} is found after {} states: {}", explored.states, broken.why);
    assert!(broken.why.contains(by), "{broken}");
    assert!(!broken.story.is_empty());
}

#[test]
fn a_permit_that_is_returned_early_is_found_by_what_exists() {
    is_caught(script(), Mutation::PermitReturnedEarly, "the witness of");
}

#[test]
fn an_inverted_urgency_is_found_by_the_order() {
    is_caught(script(), Mutation::UrgencyInverted, "gets slot 0 before");
}

#[test]
fn a_forgotten_turn_is_found_by_what_stays_promised() {
    is_caught(script(), Mutation::TurnForgotten, "still promised");
}

#[test]
fn a_forgotten_finishing_claim_is_found_by_what_stays_promised() {
    is_caught(script(), Mutation::FinishForgotten, "still promised");
}

#[test]
fn a_second_answer_is_found() {
    is_caught(script(), Mutation::AnsweredTwice, "answered again");
}

#[test]
fn an_ignored_deadline_is_found_by_the_clock() {
    let mut script = script();
    script.asks[0].within = Some(10);
    script.allowance = Allowance { waits: 1, ..Allowance::default() };
    is_caught(script, Mutation::DeadlineIgnored, "ran out");
}

#[test]
fn a_lane_for_all_is_found_by_the_order_of_slots() {
    let mut script = script();
    script.settings = with_lane(120);
    script.costs = script.costs.iter().map(|costs| sizes::costs(costs.circuit.kind, 2)).collect();
    is_caught(script, Mutation::LaneForAll, "which it does not serve");
}

#[test]
fn room_that_is_not_kept_is_found_when_winning_post_comes() {
    let mut script = script();
    script.settings = one_cpu(75);
    script.asks[0].partitions = 4;
    script.post_at_once = true;
    is_caught(script, Mutation::RoomNotKept, "not admitted though its memory is kept");
}

#[test]
fn a_door_left_open_is_found_by_patience() {
    let asks = vec![ask(PorepC2, 1), ask(SnapUpdate, 1), ask(PorepC2, 1), ask(PorepC2, 1)];
    let mut script = Script::new("", one_cpu(75), asks);
    script.settings.min_idle = script.settings.patience;
    script.allowance = Allowance { waits: 1, ..Allowance::default() };
    is_caught(script, Mutation::DoorLeftOpen, "whose patience is over");
}

#[test]
fn a_second_load_is_found() {
    is_caught(script(), Mutation::LoadDoubled, "is loaded while it is there");
}

#[test]
fn an_early_eviction_is_found_by_the_clock() {
    let settings = Settings { min_idle: 100, ..one_cpu(64) };
    let script = Script::new("", settings, vec![ask(SnapUpdate, 1), ask(PorepC2, 1)]);
    is_caught(script, Mutation::EvictedTooSoon, "leaves before its time");
}

#[test]
fn a_budget_that_is_not_followed_is_found_by_the_sum() {
    let mut script = script();
    script.budgets = vec![(70, false)];
    is_caught(script, Mutation::BudgetNotFollowed, "are promised of");
}

#[test]
fn an_overrun_that_is_not_booked_is_found_by_what_was_measured() {
    let mut script = script();
    script.allowance = Allowance { oversized: 1, ..Allowance::default() };
    is_caught(script, Mutation::OverrunNotBooked, "was measured and");
}
