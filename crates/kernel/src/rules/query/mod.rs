//! Queries: read-only questions about the state, and who may see which answers.

pub(crate) mod approvals;
pub(crate) mod blackboard;
pub(crate) mod memory;
pub(crate) mod topology;
pub(crate) mod work;

use std::collections::BTreeMap;

use crate::machine::state::State;
use crate::model::identity::agent::Agent;
use crate::model::leasing::lease::Lease;
use crate::model::leasing::session::Session;
use crate::model::runs::access::Viewer;
use crate::model::runs::envelope::view::EnvelopeView;
use crate::model::runs::envelope::{Envelope, Status};
use crate::rules::leasing::collisions::collisions;
use crate::rules::query::work::Asked;
use crate::surfaces::Surface;
use crate::values::id::{LeaseId, WorkspaceId};
use crate::values::name::{AgentName, UserId};
use crate::values::principal::Principal;
use crate::values::time::Timestamp;

pub use crate::model::query::*;

pub use crate::model::identity::agent::AgentView;
pub use crate::model::leasing::view::Collision;
pub use crate::model::leasing::view::LeaseView;
pub use crate::model::leasing::view::SessionView;
pub use crate::rules::leasing::collisions::leases;
pub use crate::rules::leasing::collisions::overlapping;

/// Answers a query as of `now`, without a restriction on what is visible.
pub fn answer(state: &State, now: Timestamp, query: &Query) -> Answer {
    answer_to(state, now, query, None)
}

/// Answers a query as of `now`, restricted to what the viewer may see.
pub fn answer_to(state: &State, now: Timestamp, query: &Query, viewer: Viewer<'_>) -> Answer {
    let asked = Asked::new(state, now, viewer);
    match query.room() {
        QueryRoom::Lease(query) => of_leases(state, now, query),
        QueryRoom::Identity(query) => of_identity(state, now, query),
        QueryRoom::Run(query) => asked.of_run(query),
        QueryRoom::Approval(query) => asked.of_approvals(query),
        QueryRoom::Blackboard(query) => blackboard::answer(state.blackboard(), query),
        QueryRoom::Memory(query) => memory::answer(&asked.seen(), query),
    }
}

fn of_leases(state: &State, now: Timestamp, query: LeaseQuery<'_>) -> Answer {
    match query {
        LeaseQuery::LeaseList(list) => Answer::Leases(leases(state, now, list)),
        LeaseQuery::LeaseCheck(check) => Answer::Check(lease_check(state, now, check)),
    }
}

fn of_identity(state: &State, now: Timestamp, query: IdentityQuery<'_>) -> Answer {
    match query {
        IdentityQuery::SessionList(_) => Answer::Sessions(sessions(state, now)),
        IdentityQuery::AgentList(_) => Answer::Agents(agents(state, now)),
        IdentityQuery::AgentGet(of) => agent(state, now, &of.agent),
        IdentityQuery::UserList(_) => Answer::Users(users(state)),
        IdentityQuery::UserGet(of) => user(state, &of.user),
    }
}

fn agent(state: &State, now: Timestamp, name: &AgentName) -> Answer {
    match AgentView::find(state, now, name) {
        Some(view) => Answer::Agent(Box::new(view)),
        None => Answer::Missing(format!("there is no agent {name}")),
    }
}

/// The messages in transit or in an inbox, in the order they were sent.
pub fn mail(state: &State) -> Vec<EnvelopeView> {
    let waits = |envelope: &Envelope| !envelope.taken && envelope.status != Status::Rejected;
    let all = state.envelopes().filter(|(_, envelope)| waits(envelope));
    let mut views: Vec<EnvelopeView> = all.map(|(id, own)| EnvelopeView::of(id, own)).collect();
    views.sort_by_key(|view| view.created_at);
    views
}

/// The open sessions, sorted by id.
pub fn sessions(state: &State, now: Timestamp) -> Vec<SessionView> {
    let open = state.sessions.iter().filter(|(_, session)| now < session.lapses_at());
    open.map(|(id, session)| SessionView::of(id, session)).collect()
}

/// The users, sorted by id.
pub fn users(state: &State) -> Vec<UserView> {
    state.users.iter().map(|(id, user)| UserView::of(id, user)).collect()
}

fn user(state: &State, id: &UserId) -> Answer {
    match state.users.get(id) {
        Some(known) => Answer::User(Box::new(UserWork::of(state, id, known))),
        None => Answer::Missing(format!("there is no user {id}")),
    }
}

fn lease_check(state: &State, now: Timestamp, check: &LeaseCheck) -> CheckReport {
    let surfaces = check.surfaces.as_slice();
    let collisions = collisions(state, now, surfaces, check.holder.as_ref());
    let own: Vec<&Lease> = match &check.holder {
        None => Vec::new(),
        Some(holder) => own_leases(state, now, holder, surfaces),
    };
    let held_by = |counts: &dyn Fn(&Lease) -> bool| {
        surfaces.iter().all(|wanted| {
            let mut held = own.iter().filter(|lease| counts(lease));
            held.any(|lease| lease.surfaces.as_slice().iter().any(|own| own.covers(wanted)))
        })
    };
    CheckReport {
        free: collisions.is_empty(),
        held: held_by(&|_| true),
        epoch_valid: check.epoch.map(|epoch| held_by(&|lease| lease.epoch == epoch)),
        collisions,
    }
}

fn own_leases<'s>(
    state: &'s State,
    now: Timestamp,
    holder: &Principal,
    surfaces: &[Surface],
) -> Vec<&'s Lease> {
    let own = |id: &LeaseId, of: &Principal| of == holder && state.is_live(id, now);
    let found = state.surfaces.meeting(surfaces, usize::MAX, &own);
    found.iter().filter_map(|id| state.leases.get(id)).map(AsRef::as_ref).collect()
}

/// All agents that ever registered, sorted by name.
pub fn agents(state: &State, now: Timestamp) -> Vec<AgentView> {
    let mut sessions: BTreeMap<&AgentName, Vec<WorkspaceId>> = BTreeMap::new();
    for (id, session) in &state.sessions {
        if now < session.lapses_at() {
            sessions.entry(&session.agent).or_default().push(id.clone());
        }
    }
    let mut leases: BTreeMap<&AgentName, usize> = BTreeMap::new();
    for lease in state.leases.values().filter(|lease| lease.is_live(now)) {
        if let Principal::Agent(name) = &lease.holder {
            *leases.entry(name).or_default() += 1;
        }
    }
    let view = |(name, agent): (&AgentName, &Agent)| {
        let sessions = sessions.get(name).cloned().unwrap_or_default();
        AgentView::of(name, agent, sessions, leases.get(name).copied().unwrap_or_default())
    };
    state.agents.iter().map(view).collect()
}

impl AgentView {
    fn of(name: &AgentName, agent: &Agent, sessions: Vec<WorkspaceId>, leases: usize) -> Self {
        AgentView {
            agent: name.clone(),
            key: agent.key,
            registered_at: agent.registered_at,
            first_seen: agent.registered_at,
            last_heartbeat: agent.heard_at,
            status: agent.standing(),
            human: agent.about.human.clone(),
            role: agent.about.role.clone(),
            tool: agent.about.tool.clone(),
            tool_version: agent.about.tool_version.clone(),
            sessions,
            leases,
        }
    }

    /// The view of one agent.
    pub(crate) fn find(state: &State, now: Timestamp, name: &AgentName) -> Option<Self> {
        let agent = state.agents.get(name)?;
        let own = |session: &Session| session.agent == *name && now < session.lapses_at();
        let sessions = state.sessions.iter().filter(|(_, session)| own(session));
        let sessions: Vec<WorkspaceId> = sessions.map(|(id, _)| id.clone()).collect();
        let live = |id: &LeaseId| state.is_live(id, now);
        let held = |id: &WorkspaceId| state.leases_in(id).iter().filter(|id| live(id)).count();
        let leases = sessions.iter().map(held).sum();
        Some(AgentView::of(name, agent, sessions, leases))
    }
}
