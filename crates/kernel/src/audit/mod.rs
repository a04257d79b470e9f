//! Auditing: whether an entry is one the rules allow after what came before it.
//!
//! `apply` trusts that an entry was decided by this kernel and checks only what it needs. Whoever
//! verifies a trail does not trust that: somebody may have written entries that were never
//! decided and sealed them properly. The audit asks of each entry whether its actor may cause
//! it, whether the thing it is about is in a state that has such a step, and whether the promise
//! that two holders never overlap still holds.

pub mod cause;
pub mod follows;
pub mod highway;
pub mod home;
pub mod people;
pub mod remembered;
pub mod shared;
pub mod work;

use crate::audit::work::told;
use crate::machine::state::State;
use crate::model::identity::agent::Standing;
use crate::model::leasing::lease::{Lease, ReleaseCause};
use crate::model::leasing::session::EndCause;
use crate::protocol::event::{AdminEvent, AgentEvent, Event, EventRoom, LeaseEvent, Stamped};
use crate::registry::kind::Kind;
use crate::rules::admin::archive;
use crate::rules::identity::{agent, authentication};
use crate::rules::knowledge::records::claims;
use crate::rules::leasing::{lease, session};
use crate::rules::runs::recovery;
use crate::values::id::{LeaseId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Principal};
use crate::values::time::{Span, Timestamp};

pub use crate::audit::follows::follows;

/// A rule that an entry breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// Caused by somebody who may not.
    #[error("{actor} may not cause it")]
    Actor {
        /// Who caused it.
        actor: Actor,
    },
    /// No such step from the state the thing is in.
    #[error("a {noun} has no such step from where it is")]
    Step {
        /// The kind of thing.
        noun: &'static str,
    },
    /// Two holders on one surface.
    #[error("it grants what {holder} holds under lease {lease}")]
    Overlap {
        /// Who holds it.
        holder: Principal,
        /// The lease in the way.
        lease: LeaseId,
    },
    /// A lease for longer than its time to live.
    #[error("it lasts longer than its time to live")]
    TooLong,
    /// Ended by time before its time.
    #[error("its time had not come")]
    TooEarly,
    /// In a session that is not the actor's.
    #[error("it is not in an open session of its holder's")]
    Session,
    /// Says something else about a thing than what is known of it.
    #[error("it does not say what is known of the {0}")]
    Tale(&'static str),
}

/// Whether the rules allow an entry after the entries that led to `state`.
pub fn audit(state: &State, entry: &Stamped) -> Result<(), Breach> {
    actor_is_known(state, entry)?;
    people::may_cause(state, entry)?;
    match entry.draft.event.room() {
        EventRoom::Admin(event) => of_admin(state, entry, event),
        EventRoom::Agent(event) => of_agent(state, entry, event),
        EventRoom::User(event) => people::audit(state, entry, event),
        EventRoom::Lease(event) => of_lease(state, entry, event),
        EventRoom::Commons(event) => shared::audit(state, entry, event),
        EventRoom::Memory(event) => remembered::audit(state, entry, event),
        EventRoom::Workspace(event) => work::audit_workspace(state, entry, event),
        EventRoom::Message(event) => work::audit_message(state, entry, event),
        EventRoom::Plan(event) => work::audit_plan(state, entry, event),
        EventRoom::Highway(event) => highway::audit(state, entry, event),
    }
}

fn of_admin(state: &State, entry: &Stamped, event: AdminEvent<'_>) -> Result<(), Breach> {
    match event {
        AdminEvent::ProjectCreated(_)
        | AdminEvent::RuntimeRekeyed(_)
        | AdminEvent::RuntimeRestored(_) => by(entry, &SYSTEM),
        AdminEvent::SystemDegraded(_) | AdminEvent::IntegrityViolation(_) => {
            by(entry, &Actor::Protocol)
        }
        AdminEvent::RecoveryCompleted(body) => {
            by(entry, &Actor::Protocol)?;
            let own = entry.draft.workspace == state.root && recovery::is_told_right(state, body);
            if own { Ok(()) } else { Err(Breach::Tale("recovery")) }
        }
        // Whether it may be adopted is checked where it is applied.
        AdminEvent::RulesAdopted(_) => by(entry, &Actor::Protocol),
        AdminEvent::CommandRefused(_) => Ok(()),
        AdminEvent::TrailCompacted(body) => {
            of_runtime(state, entry)?;
            told(archive::is_warm(state, &body.workspace), "workspace")
        }
        AdminEvent::TrailPruned(body) => {
            of_runtime(state, entry)?;
            told(archive::may_prune(state, &body.asked_by).is_ok(), "archive")
        }
        AdminEvent::TrailSnapshotCreated(body) => {
            of_runtime(state, entry)?;
            told(body.up_to_timestamp < entry.at, "snapshot")
        }
        AdminEvent::TrailAccessDenied(_) => of_runtime(state, entry),
    }
}

/// An entry of the runtime's own, in its place.
fn of_runtime(state: &State, entry: &Stamped) -> Result<(), Breach> {
    work::placed(state, entry)?;
    by(entry, &Actor::Protocol)
}

fn of_agent(state: &State, entry: &Stamped, event: AgentEvent<'_>) -> Result<(), Breach> {
    let by_agent = |agent: &AgentName| by(entry, &Principal::Agent(agent.clone()).into());
    match event {
        AgentEvent::AgentRegistered(_) | AgentEvent::AuthenticationFailed(_) => {
            by(entry, &Actor::Protocol)
        }
        AgentEvent::AgentDescribed(body) => by_agent(&body.agent),
        AgentEvent::AgentHeartbeat(body) => by_agent(&body.agent),
        AgentEvent::AgentRevoked(body) => {
            shared::standing(state, entry, &body.agent, Standing::Active)
        }
        AgentEvent::AgentReinstated(body) => {
            shared::standing(state, entry, &body.agent, Standing::Revoked)
        }
        AgentEvent::AuthenticationSucceeded(body) => {
            by(entry, &Actor::Protocol)?;
            let told = authentication::is_told_truly(state, body);
            if told { Ok(()) } else { Err(Breach::Tale("authentication")) }
        }
        AgentEvent::SessionOpened(body) => {
            step(&session::LIFECYCLE, in_session(state, &body.workspace), entry)?;
            by_agent(&body.agent)?;
            let own = entry.draft.workspace.as_ref() == Some(&body.workspace);
            if own { Ok(()) } else { Err(Breach::Session) }
        }
        AgentEvent::SessionClosed(body) => session_closed(state, entry, body),
    }
}

fn of_lease(state: &State, entry: &Stamped, event: LeaseEvent<'_>) -> Result<(), Breach> {
    match event {
        LeaseEvent::LeaseOpened(body) => lease_opened(state, entry, body),
        LeaseEvent::LeaseRenewed(body) => {
            let lease = live(state, &body.lease, entry)?;
            holds(state, entry, &lease.holder)?;
            lasts(entry.at, body.expires_at, body.ttl_s.span())?;
            let by_runtime = entry.draft.actor == Actor::Protocol;
            if by_runtime && lease::using::is_renewed_by_use(state, entry, lease, body) {
                return Ok(());
            }
            by(entry, &lease.holder.clone().into())
        }
        LeaseEvent::LeaseReleased(body) => lease_released(state, entry, body),
        LeaseEvent::LeaseExpired(body) => {
            let lease = live(state, &body.lease, entry)?;
            tells(&body.holder, lease)?;
            by(entry, &Actor::Protocol)?;
            let due = body.expires_at == lease.expires_at && lease.expires_at <= entry.at;
            if due { Ok(()) } else { Err(Breach::TooEarly) }
        }
        LeaseEvent::LeaseForced(body) => {
            let lease = live(state, &body.lease, entry)?;
            tells(&body.holder, lease)?;
            match &entry.draft.actor {
                Actor::Principal(Principal::System | Principal::User(_)) => Ok(()),
                Actor::Principal(Principal::Agent(_)) | Actor::Protocol => wrong_actor(entry),
            }
        }
    }
}

/// Whoever acts has arrived before: agents are registered, people let in. The first person lets
/// themselves in.
fn actor_is_known(state: &State, entry: &Stamped) -> Result<(), Breach> {
    let known = match &entry.draft.actor {
        Actor::Protocol | Actor::Principal(Principal::System) => true,
        Actor::Principal(Principal::Agent(name)) => state.agents.contains_key(name),
        Actor::Principal(Principal::User(id)) => {
            state.users.contains_key(id) || matches!(entry.draft.event, Event::UserCreated(_))
        }
    };
    if known { Ok(()) } else { wrong_actor(entry) }
}

const SYSTEM: Actor = Actor::Principal(Principal::System);

fn wrong_actor(entry: &Stamped) -> Result<(), Breach> {
    Err(Breach::Actor { actor: entry.draft.actor.clone() })
}

fn by(entry: &Stamped, expected: &Actor) -> Result<(), Breach> {
    if entry.draft.actor == *expected { Ok(()) } else { wrong_actor(entry) }
}

fn step(
    lifecycle: &crate::registry::lifecycle::Lifecycle,
    from: Option<&'static str>,
    entry: &Stamped,
) -> Result<(), Breach> {
    let possible = lifecycle.has_step(from, entry.draft.event.kind());
    if possible { Ok(()) } else { Err(Breach::Step { noun: lifecycle.noun }) }
}

fn in_session(state: &State, id: &WorkspaceId) -> Option<&'static str> {
    state.sessions.contains_key(id).then_some(session::OPEN)
}

/// The live lease an entry is about.
fn live<'s>(state: &'s State, id: &LeaseId, entry: &Stamped) -> Result<&'s Lease, Breach> {
    let lease = state.leases.get(id);
    step(&lease::LIFECYCLE, lease.map(|_| lease::LIVE), entry)?;
    lease.map(AsRef::as_ref).ok_or(Breach::Step { noun: "lease" })
}

fn tells(holder: &Principal, lease: &Lease) -> Result<(), Breach> {
    if *holder == lease.holder { Ok(()) } else { Err(Breach::Tale("lease")) }
}

/// Whoever was revoked holds nothing new.
fn holds(state: &State, entry: &Stamped, holder: &Principal) -> Result<(), Breach> {
    if agent::itself_not_revoked(state, holder).is_ok() { Ok(()) } else { wrong_actor(entry) }
}

/// A lease runs from the time of its turn, which is never after the entry's stamp.
fn lasts(at: Timestamp, until: Timestamp, span: Span) -> Result<(), Breach> {
    if until <= at.after(span) { Ok(()) } else { Err(Breach::TooLong) }
}

fn lease_released(state: &State, entry: &Stamped, body: &lease::Released) -> Result<(), Breach> {
    let lease = live(state, &body.lease, entry)?;
    tells(&body.holder, lease)?;
    match (body.cause, &entry.draft.actor) {
        (ReleaseCause::SessionEnded, Actor::Protocol) => Ok(()),
        (ReleaseCause::Replaced, Actor::Protocol) => replaced(state, entry, lease),
        (ReleaseCause::WorkOver | ReleaseCause::HandedOver, Actor::Protocol) => {
            owed(state, entry, body.epoch, false)
        }
        (ReleaseCause::Replaced | ReleaseCause::WorkOver | ReleaseCause::HandedOver, _) => {
            wrong_actor(entry)
        }
        _ => by(entry, &lease.holder.clone().into()),
    }
}

fn lease_opened(state: &State, entry: &Stamped, body: &lease::Opened) -> Result<(), Breach> {
    let known = state.leases.get(&body.lease);
    step(&lease::LIFECYCLE, known.map(|_| lease::LIVE), entry)?;
    match &entry.draft.actor {
        Actor::Protocol => {
            owed(state, entry, body.epoch, true)?;
            if !claims::is_told_truly(state, body) {
                return Err(Breach::Tale("lease"));
            }
        }
        Actor::Principal(_) => by(entry, &body.holder.clone().into())?,
    }
    holds(state, entry, &body.holder)?;
    lasts(entry.at, body.expires_at, body.ttl_s.span())?;
    if let Principal::Agent(agent) = &body.holder {
        let session = entry.draft.workspace.as_ref().and_then(|id| state.sessions.get(id));
        if session.is_none_or(|session| session.agent != *agent) {
            return Err(Breach::Session);
        }
    }
    // What ran out a moment ago may not be on record yet; it is in nobody's way.
    let in_the_way =
        |id: &LeaseId, holder: &Principal| *holder != body.holder && state.is_live(id, entry.at);
    let met = state.surfaces.meeting(body.surfaces.as_slice(), 1, &in_the_way);
    match met.first().and_then(|id| state.leases.get(id).map(|lease| (id, lease))) {
        None => Ok(()),
        Some((id, lease)) => {
            Err(Breach::Overlap { holder: lease.holder.clone(), lease: id.clone() })
        }
    }
}

/// A lease ends or begins with a step of a record, as the entry before says.
fn owed(state: &State, entry: &Stamped, epoch: u64, begins: bool) -> Result<(), Breach> {
    let owed = claims::is_owed(state, entry, epoch, begins);
    if owed { Ok(()) } else { Err(Breach::Tale("cause")) }
}

/// A lease gives way to another that its holder has just opened in its place.
fn replaced(state: &State, entry: &Stamped, lease: &Lease) -> Result<(), Breach> {
    let story =
        state.story.as_ref().filter(|story| Some(&story.id) == entry.draft.causation.as_ref());
    let opened = story.is_some_and(|story| {
        let by_holder = story.actor == Actor::from(lease.holder.clone());
        by_holder && story.kind == Kind::LeaseOpened && story.id != lease.opened_by
    });
    if opened { Ok(()) } else { Err(Breach::Tale("cause")) }
}

fn session_closed(state: &State, entry: &Stamped, body: &session::Closed) -> Result<(), Breach> {
    step(&session::LIFECYCLE, in_session(state, &body.workspace), entry)?;
    let Some(known) = state.sessions.get(&body.workspace) else { return Ok(()) };
    if known.agent != body.agent || !state.leases_in(&body.workspace).is_empty() {
        return Err(Breach::Tale("session"));
    }
    match body.cause {
        EndCause::Closed => by(entry, &Principal::Agent(known.agent.clone()).into()),
        EndCause::Lapsed if known.lapses_at() > entry.at => Err(Breach::TooEarly),
        EndCause::Lapsed => by(entry, &Actor::Protocol),
    }
}
