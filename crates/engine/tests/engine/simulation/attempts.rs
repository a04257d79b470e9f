//! Attempts, moved in the words of both protocols: whichever moves one, both show the same step.

use althing_kernel::records::{Kind, Record, Status as Word};
use althing_kernel::workspace::Workspace;
use althing_kernel::{State, attempt};
use serde_json::{Value, json};

use super::Random;

/// Checks that every assignment is in a state that its workspace says in other words, and that what
/// runs gave out to be changed is given out once.
pub(super) fn agree(state: &State, seed: u64) {
    for own in state.memory().newest(Kind::Assignment, None) {
        let Some((at, known)) = state.workspace_of(own) else { continue };
        let words = attempt::words(known);
        let (id, word, status) = (own.id, own.status, known.status);
        assert!(words.contains(&word), "seed {seed}: {id} is {word}, and {at} is {status}");
        assert_eq!(known.charter.assignment, Some(id), "seed {seed}: {at}");
        holds_its_authority(state, own, known, seed);
    }
}

/// Whoever works in a run under a lease of its own holds that lease, and nobody else does.
fn holds_its_authority(state: &State, own: &Record, known: &Workspace, seed: u64) {
    let held_in = own.fields.workspace.as_ref();
    let held = state.leases().filter(|(_, lease)| lease.workspace.as_ref() == held_in);
    for (id, lease) in held {
        let ended = known.status.is_terminal();
        assert!(!ended, "seed {seed}: {id} outlives the workspace of {}", own.id);
        assert!(own.is_for(&lease.holder), "seed {seed}: {id} is held for another");
        assert_eq!(own.fields.claim, Some(lease.epoch), "seed {seed}: {}", own.id);
    }
}

/// A step of an assignment in the words of runs: a command and its arguments.
pub(super) fn in_other_words(random: &mut Random, own: &Record) -> Option<(&'static str, Value)> {
    let at = own.fields.workspace.as_ref()?;
    Some(match random.below(10) {
        0 => ("workspace.abort", json!({ "workspace": at })),
        1 => {
            let agent = format!("agent{}", random.below(4));
            ("workspace.migrate", json!({ "workspace": at, "agent": agent }))
        }
        _ => {
            let reported =
                *random.pick(&["ready", "started", "started", "blocked", "complete", "failed"]);
            ("signal.emit", json!({ "workspace": at, "type": reported, "reason": "r" }))
        }
    })
}

/// A step of an assignment of a run in the words of the memory: a state, mostly one that follows.
pub(super) fn in_memory_words(random: &mut Random, own: &Record) -> Value {
    let next = match own.status {
        Word::Offered => "accepted",
        Word::Accepted | Word::Blocked => "started",
        _ => *random.pick(&["blocked", "completed", "failed"]),
    };
    let astray = ["cancelled", "rerouted", "expired", "retrying", "completed", "offered"];
    let to = if random.one_in(4) { *random.pick(&astray) } else { next };
    let mut args = json!({ "id": own.id, "to": to, "reason": "r" });
    if to == "rerouted" {
        args["agent"] = json!(format!("agent{}", random.below(40)));
    }
    args
}
