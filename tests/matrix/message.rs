//! A message: words from one agent to another, in the one inbox of the receiver.

use super::{ACTOR, DIALECTS, OTHER, Pair, Scene};

pub(super) struct Act {
    /// Sends words to an agent.
    pub(super) send: fn(&mut Scene, who: &str, to: &str, words: &str),
}

pub(super) struct See {
    /// What an agent is told of that waits for it.
    pub(super) waiting: fn(&mut Scene, who: &str) -> String,
    /// Takes everything that waits.
    pub(super) take: fn(&mut Scene, who: &str) -> String,
}

pub(super) fn holds(scene: &mut Scene, pair: &Pair, act: &Act, see: &See) {
    scene.meet(OTHER);
    let words = format!("Word in {}", pair.name);
    (act.send)(scene, ACTOR, OTHER, &words);
    let shown = (see.waiting)(scene, OTHER);
    assert!(shown.contains(&words) && shown.contains(ACTOR), "{shown}");
    let taken = (see.take)(scene, OTHER);
    assert!(taken.contains(&words), "{taken}");
    for door in DIALECTS.iter().filter_map(|own| own.message.see.as_ref().ok()) {
        let shown = (door.waiting)(scene, OTHER);
        assert!(!shown.contains(&words), "taken, and yet it waits: {shown}");
    }
}
