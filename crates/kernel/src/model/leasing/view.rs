//! Sessions, leases and collisions as callers see them.

use serde::Deserialize;
use serde::Serialize;

use crate::model::leasing::lease::Lease;
use crate::model::leasing::session::Session;
use crate::surfaces::Surface;
use crate::values::id::{LeaseId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

/// A lease that is in the way of a surface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Collision {
    /// The lease in the way.
    pub lease: LeaseId,
    /// Who holds it.
    pub holder: Principal,
    /// The surface of theirs that overlaps.
    pub surface: Surface,
    /// The surface that was asked for.
    pub wanted: Surface,
    /// A path both cover.
    pub example: String,
    /// Under which epoch it is held.
    pub epoch: u64,
    /// When it runs out if it is not renewed.
    pub expires_at: Timestamp,
    /// What it is held for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

/// A lease, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseView {
    /// Its id.
    pub lease: LeaseId,
    /// Who holds it.
    pub holder: Principal,
    /// The session it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// What it covers.
    pub surfaces: Vec<Surface>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The task it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Its fencing epoch.
    pub epoch: u64,
    /// When it was granted.
    pub opened_at: Timestamp,
    /// When it runs out.
    pub expires_at: Timestamp,
    /// How long a renewal lasts, in seconds.
    pub ttl_s: u64,
}

/// A session, as doors show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionView {
    /// The workspace it opened, which is also its id.
    pub workspace: WorkspaceId,
    /// Whose it is.
    pub agent: AgentName,
    /// What the agent calls its end of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Whether it is the standing one.
    pub standing: bool,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it lapses if nothing more happens in it.
    pub lapses_at: Timestamp,
}

impl Collision {
    pub(crate) fn between(wanted: &[Surface], id: &LeaseId, lease: &Lease) -> Option<Self> {
        let mut pairs = wanted.iter().flat_map(|wanted| {
            lease.surfaces.as_slice().iter().map(move |surface| (wanted, surface))
        });
        let met = pairs.clone().find_map(|(wanted, surface)| {
            wanted.common_path(surface).map(|example| (wanted, surface, example))
        });
        // The index found it, so it is in the way even if no pair shows how.
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
        }
    }
}
