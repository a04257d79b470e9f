//! An attempt: an agent's try at a task, with a place to work in.
//!
//! The memory dialect calls it an assignment, WACP a workspace bound to a task. It is one thing: begun
//! through one door, it is listed through the other and moved from there.

use super::task::Task;
use super::{Pair, Scene};
use crate::support::Sandbox;

/// How far an attempt is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Working,
    Blocked,
}

pub(super) struct Act {
    /// Lets an agent begin to work on an open task.
    pub(super) begin: fn(&mut Scene, who: &str, &Task),
    /// Checks that the attempt of this agent is listed with its stage.
    pub(super) shows: Shows,
}

pub(super) struct See {
    /// The same, through the other door.
    pub(super) shows: Shows,
    /// Ends the attempt of somebody else, in vain.
    pub(super) refused: fn(&mut Scene, who: &str, &Task, of: &str),
    /// Lets its own agent say that it cannot go on.
    pub(super) block: fn(&mut Scene, of: &str, &Task),
}

/// Looks, as one agent, at the attempt of another.
type Shows = fn(&mut Scene, who: &str, &Task, of: &str, Stage);

pub(super) fn holds(scene: &mut Scene, pair: &Pair, act: &Act, see: &See) {
    let (actor, other) = (&pair.own_actor(), &pair.own_other());
    scene.meet(actor);
    scene.meet(other);
    let path = format!("attempts/{}", pair.name);
    let task = Task { plan: planned(&scene.project, &path), path };
    (act.begin)(scene, actor, &task);
    (see.shows)(scene, other, &task, actor, Stage::Working);
    (see.refused)(scene, other, &task, actor);
    (see.shows)(scene, other, &task, actor, Stage::Working);
    (see.block)(scene, actor, &task);
    (see.shows)(scene, other, &task, actor, Stage::Blocked);
    (act.shows)(scene, other, &task, actor, Stage::Blocked);
}

/// An open task about a path.
fn planned(project: &Sandbox, path: &str) -> String {
    let made = project.json(&["plan", &format!("Try {path} @{path}"), "--as", "planner"]);
    let id = &made["tasks"][0]["id"];
    id.as_str().unwrap_or_else(|| panic!("no task: {made}")).to_owned()
}
