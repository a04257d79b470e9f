//! A task: something to be done, planned by one and done by another.

use super::{Pair, Scene};

/// A task that was planned.
pub(super) struct Task {
    /// Its id as a record.
    pub(super) plan: String,
    /// The files it is about.
    pub(super) path: String,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Taken,
    Done,
}

pub(super) struct Act {
    /// Plans a task about a path. Returns its id as a record.
    pub(super) plan: fn(&mut Scene, who: &str, path: &str) -> String,
    /// Lets an agent take the task.
    pub(super) take: fn(&mut Scene, who: &str, &Task),
    /// Lets the agent hand it in, up to the end.
    pub(super) finish: fn(&mut Scene, who: &str, &Task),
}

pub(super) struct See {
    /// Checks that the task is listed with its state.
    pub(super) shows: fn(&mut Scene, who: &str, &Task, State),
    /// Takes the task that a holder has, in vain.
    pub(super) refused: fn(&mut Scene, who: &str, &Task, holder: &str),
}

pub(super) fn holds(scene: &mut Scene, pair: &Pair, act: &Act, see: &See) {
    let (actor, other) = (&pair.own_actor(), &pair.own_other());
    scene.meet(actor);
    scene.meet(other);
    let path = format!("tasks/{}", pair.name);
    let task = Task { plan: (act.plan)(scene, actor, &path), path };
    (see.shows)(scene, other, &task, State::Open);
    (act.take)(scene, actor, &task);
    (see.shows)(scene, other, &task, State::Taken);
    (see.refused)(scene, other, &task, actor);
    (see.shows)(scene, other, &task, State::Taken);
    (act.finish)(scene, actor, &task);
    (see.shows)(scene, other, &task, State::Done);
}
