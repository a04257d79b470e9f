//! Every dialect against every other: what is done through the door of one is seen through the door
//! of the other, and binds there.
//!
//! A [`Dialect`] says for each [`Noun`] how it acts and how it sees, or why it has no word for it.
//! The tests walk all pairs, and the page of the matrix is made from the same values, so a new
//! dialect is one file and its name in [`DIALECTS`]. The other files have one noun each: what is
//! done with it, and what has to hold.

mod agent;
mod attempt;
mod claim;
mod frugal;
mod memory;
mod message;
mod native;
mod record;
mod scene;
mod table;
mod task;
mod wacp;

use scene::Scene;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// All dialects. Another one is a file with its words, and its name here.
const DIALECTS: [&Dialect; 4] =
    [&native::DIALECT, &wacp::DIALECT, &memory::DIALECT, &frugal::DIALECT];

/// A way of speaking: what it can do with each noun.
struct Dialect {
    /// Its name, as `althing mcp --dialect` takes it.
    name: &'static str,
    /// The door that records made through it come from.
    door: &'static str,
    claim: Words<claim::Act, claim::See>,
    task: Words<task::Act, task::See>,
    attempt: Words<attempt::Act, attempt::See>,
    message: Words<message::Act, message::See>,
    record: Words<record::Act, record::See>,
    agent: Words<agent::Act, agent::See>,
}

/// The words of a dialect for a noun: for acting, and for seeing what others did and being bound by
/// it. Where there are none, the reason.
struct Words<A, S> {
    act: Result<A, &'static str>,
    see: Result<S, &'static str>,
}

impl<A, S> Words<A, S> {
    /// A dialect without a word for the noun.
    const fn none(reason: &'static str) -> Self {
        Words { act: Err(reason), see: Err(reason) }
    }
}

/// What protocols share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noun {
    Claim,
    Task,
    Attempt,
    Message,
    Record,
    Agent,
}

impl Noun {
    const ALL: [Noun; 6] =
        [Noun::Claim, Noun::Task, Noun::Attempt, Noun::Message, Noun::Record, Noun::Agent];

    fn name(self) -> &'static str {
        match self {
            Noun::Claim => "claim",
            Noun::Task => "task",
            Noun::Attempt => "attempt",
            Noun::Message => "message",
            Noun::Record => "record",
            Noun::Agent => "agent",
        }
    }

    /// Why nothing can be done with it in one dialect and seen in another; none if it can.
    fn reason(self, from: &Dialect, to: &Dialect) -> Option<&'static str> {
        match self {
            Noun::Claim => lacks(&from.claim, &to.claim),
            Noun::Task => lacks(&from.task, &to.task),
            Noun::Attempt => lacks(&from.attempt, &to.attempt),
            Noun::Message => lacks(&from.message, &to.message),
            Noun::Record => lacks(&from.record, &to.record),
            Noun::Agent => lacks(&from.agent, &to.agent),
        }
    }
}

fn lacks<A, S>(from: &Words<A, S>, to: &Words<A, S>) -> Option<&'static str> {
    from.act.as_ref().err().or(to.see.as_ref().err()).copied()
}

/// Who acts through the first dialect of each pair.
const ACTOR: &str = "actor";

/// Who looks, and is bound, through the second.
const OTHER: &str = "other";

/// A pair of dialects.
struct Pair {
    from: &'static Dialect,
    to: &'static Dialect,
    /// Its name, for what is made in it.
    name: String,
}

impl Pair {
    fn of(from: &'static Dialect, to: &'static Dialect) -> Self {
        Pair { from, to, name: format!("{}-{}", from.name, to.name) }
    }

    /// Who acts in this pair only, where an agent could not go on after another pair failed.
    fn own_actor(&self) -> String {
        format!("{}-{ACTOR}", self.name)
    }

    /// Who looks in this pair only.
    fn own_other(&self) -> String {
        format!("{}-{OTHER}", self.name)
    }
}

/// Tries a noun in all pairs of dialects that have words for it, and compares the pairs that were
/// tried with the page. All failures are shown, not only the first.
fn walk<A: 'static, S: 'static>(
    noun: Noun,
    words: fn(&'static Dialect) -> &'static Words<A, S>,
    run: fn(&mut Scene, &Pair, &A, &S),
) {
    let mut scene = Scene::new();
    let (mut tried, mut failed) = (Vec::new(), Vec::new());
    for from in DIALECTS {
        for to in DIALECTS {
            let (Ok(act), Ok(see)) = (&words(from).act, &words(to).see) else { continue };
            let pair = Pair::of(from, to);
            let ended = catch_unwind(AssertUnwindSafe(|| run(&mut scene, &pair, act, see)));
            tried.push((from.name, to.name));
            if ended.is_err() {
                failed.push(pair.name.clone());
            }
            scene.leave(&pair);
        }
    }
    assert!(failed.is_empty(), "{} does not hold in {failed:?}", noun.name());
    scene.project.ok(&["trail", "verify"]);
    table::agrees(noun, &tried);
}

#[test]
fn a_claim_made_in_any_dialect_holds_in_every_other() {
    walk(Noun::Claim, |own| &own.claim, claim::holds);
}

#[test]
fn a_task_planned_in_any_dialect_is_that_task_in_every_other() {
    walk(Noun::Task, |own| &own.task, task::holds);
}

#[test]
fn an_attempt_begun_in_any_dialect_is_moved_through_every_other() {
    walk(Noun::Attempt, |own| &own.attempt, attempt::holds);
}

#[test]
fn a_message_sent_in_any_dialect_is_taken_once_in_every_other() {
    walk(Noun::Message, |own| &own.message, message::holds);
}

#[test]
fn a_record_kept_in_any_dialect_is_one_record_in_every_other() {
    walk(Noun::Record, |own| &own.record, record::holds);
}

#[test]
fn an_agent_of_any_dialect_is_that_agent_in_every_other() {
    walk(Noun::Agent, |own| &own.agent, agent::holds);
}
