//! An agent: who is connected, who went away, and who it really is.

use super::{OTHER, Pair, Scene};
use crate::mcp::Host;
use serde_json::Value;

pub(super) struct Act {
    /// Does something through a host, so that its agent is there.
    pub(super) join: Join,
}

pub(super) struct See {
    /// Whether an agent is listed, and whether its host is there. Looks anew each time.
    pub(super) presence: fn(&mut Scene, who: &str, agent: &str) -> Option<Presence>,
    /// Acts through a host.
    pub(super) join: Join,
}

/// Acts through a host; whoever has to claim something for that claims this place. Returns the
/// result of the call, which may be a failure.
type Join = fn(&mut Host, place: &str) -> Value;

/// Whether the host of an agent that is known is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Here,
    Gone,
}

/// The name of an agent as it is shown: a HAID, which every dialect can write.
pub(super) fn shown(agent: &str) -> String {
    agent.replace('+', "/")
}

pub(super) fn holds(scene: &mut Scene, pair: &Pair, act: &Act, see: &See) {
    let Pair { from, to, name } = pair;
    let agent = format!("haid:ada.box-0000+{name}");
    scene.meet(OTHER);
    let mut host = scene.window(from.name, &agent);
    let place = format!("joined/{name}");
    let joined = (act.join)(&mut host, &place);
    assert_eq!(joined["isError"], false, "{joined}");
    assert_eq!((see.presence)(scene, OTHER, &agent), Some(Presence::Here));
    host.kill();
    assert_eq!((see.presence)(scene, OTHER, &agent), Some(Presence::Gone));
    // Whoever has the name and not the key is not that agent.
    let key = format!("keys/agent-{}.key", agent.replace(':', "%3a").replace('+', "%2b"));
    std::fs::remove_file(scene.project.state().join(key)).unwrap();
    let mut host = scene.window(to.name, &agent);
    let refused = (see.join)(&mut host, &place);
    host.kill();
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(refused["structuredContent"]["error"]["rule"], "A-ID-01", "{refused}");
}
