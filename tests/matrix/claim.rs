//! A claim: files that an agent holds.

use super::{ACTOR, OTHER, Pair, Scene};

pub(super) struct Act {
    /// Claims a path.
    pub(super) hold: fn(&mut Scene, who: &str, path: &str),
}

pub(super) struct See {
    /// Who is listed as the holder of exactly this path.
    pub(super) holders: fn(&mut Scene, who: &str, path: &str) -> Vec<String>,
    /// Claims a path that somebody else holds, in vain. Returns what is said.
    pub(super) refused: fn(&mut Scene, who: &str, path: &str) -> String,
}

pub(super) fn holds(scene: &mut Scene, pair: &Pair, act: &Act, see: &See) {
    let path = format!("claimed/{}", pair.name);
    scene.meet(ACTOR);
    scene.meet(OTHER);
    (act.hold)(scene, ACTOR, &path);
    assert_eq!((see.holders)(scene, OTHER, &path), [ACTOR]);
    let text = (see.refused)(scene, OTHER, &format!("{path}/inner.rs"));
    assert!(text.contains(ACTOR), "it does not say who holds it: {text}");
}
