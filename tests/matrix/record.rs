//! A record: what is kept for everybody. A decision stands for what was written, a fact for what has
//! a key and is changed.

use super::scene::having;
use super::{ACTOR, OTHER, Pair, Scene};
use serde_json::json;

/// Who lets decisions stand: a new one waits for that in some dialects.
const KEEPER: &str = "keeper";

pub(super) struct Act {
    /// Writes a decision down.
    pub(super) decide: fn(&mut Scene, who: &str, words: &str),
    /// Sets a fact.
    pub(super) set: fn(&mut Scene, who: &str, key: &str, value: &str),
    /// A fact, if there is one.
    pub(super) fact: Fact,
}

pub(super) struct See {
    /// What is listed about a decision that stands. Names the door, where the dialect has a word for
    /// that.
    pub(super) decision: fn(&mut Scene, who: &str, words: &str, door: &str) -> bool,
    /// A fact, if there is one.
    pub(super) fact: Fact,
    /// Sets a fact that is there already.
    pub(super) set: fn(&mut Scene, who: &str, key: &str, value: &str),
    /// Forgets a fact.
    pub(super) forget: fn(&mut Scene, who: &str, key: &str),
}

/// Looks a fact up.
pub(super) type Fact = fn(&mut Scene, who: &str, key: &str) -> Option<String>;

pub(super) fn holds(scene: &mut Scene, pair: &Pair, act: &Act, see: &See) {
    let (words, key) = (format!("Decided in {}", pair.name), pair.name.as_str());
    (act.decide)(scene, ACTOR, &words);
    stands(scene, &words);
    assert!((see.decision)(scene, OTHER, &words, pair.from.door), "{words:?} is not listed");
    (act.set)(scene, ACTOR, key, "first");
    assert_eq!((see.fact)(scene, OTHER, key).as_deref(), Some("first"));
    // A key has one fact, whoever sets it: the last one counts.
    (see.set)(scene, OTHER, key, "second");
    assert_eq!((act.fact)(scene, ACTOR, key).as_deref(), Some("second"));
    (see.forget)(scene, OTHER, key);
    assert_eq!((act.fact)(scene, ACTOR, key), None);
    assert_eq!((see.fact)(scene, OTHER, key), None);
}

/// Lets a decision stand that waits for it.
fn stands(scene: &mut Scene, words: &str) {
    let found = scene.call("memory", KEEPER, "bclaw_find", json!({ "entity": "decision" }));
    for own in having(&found["items"], "status", "pending") {
        if own["text"].as_str().is_some_and(|text| text.contains(words)) {
            let to = json!({ "entity": "decision", "id": own["id"], "to": "approved" });
            scene.call("memory", KEEPER, "bclaw_transition", to);
        }
    }
}
