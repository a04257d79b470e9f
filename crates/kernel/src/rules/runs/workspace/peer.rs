//! Peers: connected agents, seen as workspaces below the project's standing root.
//!
//! A peer is the session of an agent and nothing else: what is shown here is computed from it. The
//! standing root is the project itself, under its id, and the system coordinates it. Neither is part
//! of a run, so no taxonomy has the role `peer`; a peer may do what a worker may outside runs.

use crate::machine::coordinator::is_coordinator;
use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::leasing::session::{EndCause, Session};
use crate::model::runs::workspace::budget::Budget;
use crate::model::runs::workspace::view::{PeerState, PeerView, Place, WorkspaceView};
use crate::model::runs::workspace::{Initiator, Party, Priority, Status, Trigger};
use crate::protocol::refusal::Refusal;
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::leasing::session;
use crate::rules::runs::workspace::initiator;
use crate::values::id::WorkspaceId;
use crate::values::principal::{Caller, Principal};
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};
use crate::values::token::RoleName;

/// The id of the standing root: the project's own.
pub(crate) fn standing_root(state: &State) -> Option<WorkspaceId> {
    WorkspaceId::new(state.project.as_ref()?.id.as_str()).ok()
}

/// The peers that are connected, or whose grace time has not passed.
pub(crate) fn peers(
    state: &State,
    now: Timestamp,
) -> impl Iterator<Item = (&WorkspaceId, &Session)> {
    state.sessions.iter().filter(move |(_, session)| now < session.lapses_at())
}

/// The last activity of a peer. Sessions note it roughly, agents more often.
fn last_activity(state: &State, session: &Session) -> Timestamp {
    let own = state.sessions.values().filter(|other| other.agent == session.agent);
    let heard = state.agents.get(&session.agent).map(|agent| agent.heard_at);
    let heard = heard.filter(|_| own.count() == 1);
    session.touched_at.max(heard.unwrap_or_default())
}

impl WorkspaceView {
    /// A workspace outside runs that is led by the system.
    fn outside_runs(
        id: &WorkspaceId,
        (role, place): (RoleName, Place),
        created_at: Timestamp,
    ) -> Self {
        WorkspaceView {
            workspace: id.clone(),
            parent: None,
            role,
            agent: None,
            status: Status::Active,
            since: created_at,
            ready: true,
            ended: None,
            reason: None,
            owner: Party::System,
            originator: Party::System,
            visibility: Vec::new(),
            authority: Vec::new(),
            delegate: false,
            priority: Priority::Normal,
            group: None,
            budget: Budget::default(),
            liveness_interval_s: None,
            mounts: Vec::new(),
            directive: None,
            context: None,
            task: None,
            assignment: None,
            created_at,
            deadline: None,
            grace_ends: None,
            orphan_of: None,
            worked: Span::default(),
            head: None,
            latest_final: None,
            branch: None,
            process: None,
            pool: None,
            inbox: 0,
            memory: 0,
            merged: 0,
            conflicts: Vec::new(),
            peer: None,
            place,
        }
    }

    /// The view of the standing root.
    pub(crate) fn of_project(state: &State) -> Option<Self> {
        let (id, created_at) = (standing_root(state)?, state.project.as_ref()?.created_at);
        let role = (RoleName::coordinator(), Place::StandingRoot);
        Some(WorkspaceView::outside_runs(&id, role, created_at))
    }

    /// The view of a peer.
    pub(crate) fn of_peer(
        state: &State,
        now: Timestamp,
        id: &WorkspaceId,
        session: &Session,
    ) -> Self {
        let held = state.leases_in(id);
        let held = held.iter().filter_map(|id| state.leases.get(id));
        let held: Vec<_> = held.filter(|lease| lease.is_live(now)).collect();
        let peer = PeerView {
            client: session.client.as_ref().map(ToString::to_string),
            connections: session.connections.len(),
            last_activity: last_activity(state, session),
            leases: held.len(),
            standing: session.standing,
            state: if session.gone.is_some() { PeerState::Gone } else { PeerState::Active },
            gone_since: session.gone.map(|gone| gone.since),
        };
        let role = (RoleName::peer(), Place::Peer);
        let root = WorkspaceView::outside_runs(id, role, session.opened_at);
        WorkspaceView {
            parent: standing_root(state),
            agent: Some(session.agent.clone()),
            since: session.gone.map_or(session.opened_at, |gone| gone.since),
            authority: held.iter().flat_map(|lease| lease.surfaces.as_slice()).cloned().collect(),
            deadline: Some(session.lapses_at()),
            peer: Some(peer),
            ..root
        }
    }
}

/// The refusal of a command that makes no sense for a peer.
pub(crate) fn not_in_run(id: &WorkspaceId, session: &Session) -> Refusal {
    let message =
        format!("workspace {id} is the peer of agent {}, and not part of a run", session.agent);
    Refusal::denied(Rule::PeerOnly, message)
}

/// Ends a peer at the request of a person or, where there are no people, of the coordinator.
pub(crate) fn decide_end(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    id: &WorkspaceId,
    reason: Option<&Text<1000>>,
) -> Result<Reply, DecisionError> {
    let may = match &caller.principal {
        // Their capabilities were checked before.
        Principal::User(_) => true,
        own @ (Principal::System | Principal::Agent(_)) => {
            tx.state().users.is_empty() && is_coordinator(tx.state(), own)
        }
    };
    if !may {
        let message = format!("{} may not end the session of a peer", caller.principal);
        return Err(Refusal::denied(Rule::PeerEnds, message).into());
    }
    let session = tx.state().sessions.get(id).ok_or(ApplyError::Unknown("the session"))?;
    let mut view = WorkspaceView::of_peer(tx.state(), tx.now(), id, session);
    let actor = tx.actor(caller);
    session::end(tx, id, actor, EndCause::Ended, reason)?;
    view.ended = Some(match initiator(&caller.principal) {
        Initiator::Human => Trigger::AbortedByHuman,
        _ => Trigger::AbortedByCoordinator,
    });
    (view.status, view.since, view.deadline) = (Status::Failed, tx.now(), None);
    view.reason = reason.map(ToString::to_string);
    Ok(Reply::Workspace(Box::new(view)))
}
