//! Sessions, leases and collisions, as shown to callers.

use serde::Deserialize;
use serde::Serialize;

use crate::model::leasing::lease::Lease;
use crate::model::leasing::session::{Gone, Session};
use crate::surfaces::Surface;
use crate::values::id::{LeaseId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

/// A lease that overlaps a requested surface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collision {
    /// The colliding lease.
    pub lease: LeaseId,
    /// Its holder.
    pub holder: Principal,
    /// The surface of that lease that overlaps.
    pub surface: Surface,
    /// The surface that was requested.
    pub wanted: Surface,
    /// A path that both cover.
    pub example: String,
    /// Its fencing epoch.
    pub epoch: u64,
    /// When it expires if it is not renewed.
    pub expires_at: Timestamp,
    /// Its purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The agent it is offered to together with work; said where work is refused to another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_to: Option<AgentName>,
    /// The absence of its holder's host, if that has gone, and when it is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_gone: Option<Gone>,
}

/// A lease, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseView {
    /// Its id.
    pub lease: LeaseId,
    /// The holder.
    pub holder: Principal,
    /// The session it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// The surfaces it covers.
    pub surfaces: Vec<Surface>,
    /// The purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The task it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Its fencing epoch.
    pub epoch: u64,
    /// When it was granted.
    pub opened_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// The time to live of a renewal, in seconds.
    pub ttl_s: u64,
    /// The absence of its holder's host, if that has gone, and when it is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_gone: Option<Gone>,
}

/// The result of `lease.use`: the files may be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Used {
    /// The lease on the files that nobody held, if they were claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<LeaseView>,
    /// The leases that were renewed.
    pub renewed: Vec<LeaseId>,
}

/// A session, as shown to callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionView {
    /// The workspace of the session, which is also its id.
    pub workspace: WorkspaceId,
    /// The agent.
    pub agent: AgentName,
    /// The agent's label for its client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Whether it is the agent's standing session.
    pub standing: bool,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it ends if there is no further activity.
    pub lapses_at: Timestamp,
    /// The number of its connections; none for calls that keep no connection.
    #[serde(skip_serializing_if = "is_zero")]
    pub connections: usize,
    /// When its host went away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone_since: Option<Timestamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Collision {
    pub(crate) fn between(wanted: &[Surface], id: &LeaseId, lease: &Lease) -> Option<Self> {
        let mut pairs = wanted.iter().flat_map(|wanted| {
            lease.surfaces.as_slice().iter().map(move |surface| (wanted, surface))
        });
        let met = pairs.clone().find_map(|(wanted, surface)| {
            wanted.common_path(surface).map(|example| (wanted, surface, example))
        });
        // The index found it, so report a collision even if no pair of surfaces shows one.
        debug_assert!(met.is_some(), "{wanted:?} and {lease:?}");
        let unshown =
            || pairs.next().map(|(wanted, surface)| (wanted, surface, surface.to_string()));
        let (wanted, surface, example) = met.or_else(unshown)?;
        Some(Collision {
            lease: id.clone(),
            holder: lease.holder.clone(),
            surface: surface.clone(),
            wanted: wanted.clone(),
            example,
            epoch: lease.epoch,
            expires_at: lease.expires_at,
            purpose: lease.purpose.as_ref().map(ToString::to_string),
            offered_to: None,
            host_gone: None,
        })
    }
}

impl LeaseView {
    pub(crate) fn of(id: &LeaseId, lease: &Lease) -> Self {
        LeaseView {
            lease: id.clone(),
            holder: lease.holder.clone(),
            workspace: lease.workspace.clone(),
            surfaces: lease.surfaces.as_slice().to_vec(),
            purpose: lease.purpose.as_ref().map(ToString::to_string),
            task: lease.task.as_ref().map(ToString::to_string),
            epoch: lease.epoch,
            opened_at: lease.opened_at,
            expires_at: lease.expires_at,
            ttl_s: lease.ttl.secs(),
            host_gone: None,
        }
    }
}

impl SessionView {
    pub(crate) fn of(id: &WorkspaceId, session: &Session) -> Self {
        SessionView {
            workspace: id.clone(),
            agent: session.agent.clone(),
            client: session.client.as_ref().map(ToString::to_string),
            standing: session.standing,
            opened_at: session.opened_at,
            lapses_at: session.lapses_at(),
            connections: session.connections.len(),
            gone_since: session.gone.map(|gone| gone.since),
        }
    }
}
