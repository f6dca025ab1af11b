//! The explorer finds bugs that are planted.

use super::explore;
use super::script::{ask, Allowance, Script};
use super::worlds::one_cpu;
use crate::kind::ProofKind::{PorepC2, WinningPost};
use crate::schedule::mutation::Mutation;

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
