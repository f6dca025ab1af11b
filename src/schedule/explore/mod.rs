//! Visits every reachable state of small worlds: whatever can happen next happens next, in every order.

mod mutations;
mod script;
mod worlds;

use std::collections::hash_map::DefaultHasher;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::{catch_unwind, AssertUnwindSafe};

use self::script::{Choice, Script, State};
use super::mutation::Mutation;
use super::tests::world::Checked;

/// What an exploration saw.
pub(super) struct Explored {
    pub states: usize,
    pub steps: usize,
    pub broken: Option<Broken>,
}

/// A rule that did not hold, and the shortest way there.
pub(super) struct Broken {
    pub why: String,
    pub story: Vec<String>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\nafter", self.why)?;
        self.story.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

struct Seen {
    parent: u32,
    choice: Option<Choice>,
}

enum Found {
    /// How many steps were looked at, and the states that were not met before.
    States(usize, Vec<(Choice, State)>),
    Broken(Option<Choice>, String),
}

/// Explores a script breadth first, so that the first broken rule has the shortest story.
pub(super) fn explore(script: &Script, mutation: Option<Mutation>) -> Explored {
    let mut explored = Explored { states: 0, steps: 0, broken: None };
    let start = match script.start(mutation) {
        Ok(state) => state,
        Err(why) => {
            explored.broken = Some(Broken { why, story: Vec::new() });
            return explored;
        }
    };
    let mut known = HashSet::from([fingerprint(&start)]);
    let mut seen = vec![Seen { parent: 0, choice: None }];
    let mut level = vec![(0, start)];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (at, state) in level {
            match expand(script, &state, &mut known) {
                Found::Broken(choice, why) => {
                    explored.states = seen.len();
                    explored.broken = Some(tell(script, mutation, &seen, (at, choice), why));
                    return explored;
                }
                Found::States(steps, states) => {
                    explored.steps += steps;
                    for (choice, state) in states {
                        next.push((seen.len() as u32, state));
                        seen.push(Seen { parent: at, choice: Some(choice) });
                    }
                }
            }
        }
        level = next;
    }
    explored.states = seen.len();
    explored
}

/// All that can follow a state and was not met before.
fn expand(script: &Script, state: &State, known: &mut HashSet<u64>) -> Found {
    if let Err(why) = caught(|| state.at_rest(script)) {
        return Found::Broken(None, why);
    }
    let choices = state.choices(script);
    let steps = choices.len();
    let mut states = Vec::new();
    for choice in choices {
        let mut state = state.clone();
        if let Err(why) = caught(|| state.apply(script, choice)) {
            return Found::Broken(Some(choice), why);
        }
        if known.insert(fingerprint(&state)) {
            states.push((choice, state));
        }
    }
    Found::States(steps, states)
}

fn caught(body: impl FnOnce() -> Checked) -> Checked {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| Err("a panic".into()))
}

fn fingerprint(state: &State) -> u64 {
    let mut hasher = DefaultHasher::new();
    (state.world.fingerprint(), state.allowance, state.budgets).hash(&mut hasher);
    hasher.finish()
}

/// Goes the way to a broken rule again and writes down what happens.
fn tell(
    script: &Script,
    mutation: Option<Mutation>,
    seen: &[Seen],
    (mut at, last): (u32, Option<Choice>),
    why: String,
) -> Broken {
    let mut choices: Vec<_> = last.into_iter().collect();
    while let Some(choice) = seen[at as usize].choice {
        choices.push(choice);
        at = seen[at as usize].parent;
    }
    let Ok(mut state) = script.start(mutation) else { return Broken { why, story: Vec::new() } };
    state.world.story = Some(Vec::new());
    for choice in choices.into_iter().rev() {
        if caught(|| state.apply(script, choice)).is_err() {
            break;
        }
    }
    Broken { why, story: state.world.story.unwrap_or_default() }
}
