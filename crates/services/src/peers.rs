//! Connected agents: whether the hosts they act through are there.

use althing_kernel::AgentName;
use althing_kernel::query::{Answer, Query, WorkspaceList};
use althing_kernel::token::RoleName;
use althing_kernel::workspace::view::{PeerState, WorkspaceView};
use std::collections::BTreeSet;

use crate::context::ProjectContext;
use crate::error::Error;

/// The agents whose hosts have all gone away, and who did not come back yet.
pub fn gone(context: &ProjectContext) -> Result<BTreeSet<AgentName>, Error> {
    let list = WorkspaceList { role: Some(RoleName::peer()), ..WorkspaceList::default() };
    let peers = match context.ask(&Query::WorkspaceList(list))? {
        Answer::Workspaces(peers) => peers,
        other => return Err(Error::unexpected(&other)),
    };
    let is_gone = |peer: &WorkspaceView| {
        peer.peer.as_ref().is_some_and(|about| about.state == PeerState::Gone)
    };
    let named = |gone: bool| {
        let found = peers.iter().filter(move |peer| is_gone(peer) == gone);
        found.filter_map(|peer| peer.agent.clone()).collect::<BTreeSet<AgentName>>()
    };
    Ok(&named(true) - &named(false))
}
