//! Leases: who works on which surfaces, until when.
//!
//! A lease is granted for a set of surfaces as a whole, to one holder, for a time. While it is
//! live no other holder is granted anything that overlaps it. Every grant carries a fencing
//! epoch from one counter that only grows, so whoever checks an epoch can tell a holder from
//! somebody whose lease is long over. A lease that ran out is gone at that moment: every turn
//! first records what is due, and reads leave lapsed leases out.

mod surfaces;
pub(crate) mod using;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use crate::agent;
use crate::command::Command;
use crate::commons::Label;
use crate::event::{Draft, Event, Kind, Stamped, Stream};
use crate::id::{EntryId, IdKind, LeaseId, WorkspaceId};
use crate::lifecycle::{Edge, Lifecycle};
use crate::memory::request::{Asked, Mark, keep, look_up};
use crate::memory::view::MemoryReply;
use crate::principal::{Actor, Caller, Principal};
use crate::query::{Collision, LeaseView, collisions};
use crate::refusal::{Details, Refusal};
use crate::rule::Rule;
use crate::session;
use crate::state::{ApplyError, Deadline, State};
use crate::text::Text;
use crate::time::{Span, Timestamp, exact_integer};
use crate::turn::{Halt, Reply, Turn};

pub use using::Reuse;

pub use surfaces::{SURFACES_MAX, Surfaces, SurfacesError, WILD_BYTES_MAX};

/// The shortest time a lease is granted for, in seconds.
pub const TTL_SECS_MIN: u64 = 1;
/// The longest, in seconds: 30 days.
pub const TTL_SECS_MAX: u64 = 30 * 24 * 60 * 60;
/// The time where none is given, in seconds: 90 minutes.
pub const TTL_SECS_DEFAULT: u64 = 90 * 60;
/// The most leases of one session: they end with it, in one commit.
pub const PER_SESSION_MAX: usize = 1_000;
/// The most collisions a refusal lists.
pub const COLLISIONS_MAX: usize = 32;

/// How long a lease is granted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl(u64);

/// A number of seconds that is not a time to live.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lease lives {TTL_SECS_MIN} to {TTL_SECS_MAX} seconds, not {0}")]
pub struct TtlError(i128);

impl Ttl {
    /// Checks and takes a number of seconds.
    pub fn new(secs: i128) -> Result<Self, TtlError> {
        match u64::try_from(secs) {
            Ok(fits) if (TTL_SECS_MIN..=TTL_SECS_MAX).contains(&fits) => Ok(Ttl(fits)),
            _ => Err(TtlError(secs)),
        }
    }

    /// As a span.
    pub fn span(self) -> Span {
        Span::from_secs(self.0)
    }

    /// In seconds.
    pub fn secs(self) -> u64 {
        self.0
    }
}

impl Default for Ttl {
    fn default() -> Self {
        Ttl(TTL_SECS_DEFAULT)
    }
}

// Signed both ways, so that a negative number in JSON is told apart from nonsense and binary
// forms that distinguish the two read what they wrote.
impl Serialize for Ttl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0.cast_signed())
    }
}

impl<'de> Deserialize<'de> for Ttl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let secs = i64::deserialize(deserializer)?;
        Ttl::new(secs.into()).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Ttl {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Ttl".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "integer", "minimum": TTL_SECS_MIN, "maximum": TTL_SECS_MAX
        })
    }
}

/// A live lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Who holds it.
    pub holder: Principal,
    /// The session it was opened in, and ends with.
    pub workspace: Option<WorkspaceId>,
    /// What it covers.
    pub surfaces: Surfaces,
    /// What it is for.
    pub purpose: Option<Text<1000>>,
    /// The task it belongs to.
    pub task: Option<Text<128>>,
    /// How long each grant or renewal lasts.
    pub ttl: Ttl,
    /// When it was granted.
    pub opened_at: Timestamp,
    /// The entry that granted it.
    pub opened_by: EntryId,
    /// When it runs out.
    pub expires_at: Timestamp,
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "exact_integer")]
    pub epoch: u64,
    /// The stream its entries belong to.
    pub stream: Stream,
}

impl Lease {
    /// Whether it is still good at this moment.
    pub fn is_live(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

/// The state of a lease that is held.
pub const LIVE: &str = "live";

/// The ways of a lease.
pub const LIFECYCLE: Lifecycle = Lifecycle {
    noun: "lease",
    edges: &[
        Edge { from: None, to: LIVE, event: Kind::LeaseOpened, by: "its holder" },
        Edge { from: Some(LIVE), to: LIVE, event: Kind::LeaseRenewed, by: "its holder" },
        Edge { from: Some(LIVE), to: "released", event: Kind::LeaseReleased, by: "its holder" },
        Edge { from: Some(LIVE), to: "expired", event: Kind::LeaseExpired, by: "the runtime" },
        Edge {
            from: Some(LIVE),
            to: "forced",
            event: Kind::LeaseForced,
            by: "a person or the coordinator",
        },
    ],
};

/// `lease.open`: asks for surfaces, all or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// What for, for others to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Text<1000>>,
    /// Give up what the caller holds in this session, all or nothing, instead of adding to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
    /// Go on with a lease of the caller's that covers exactly these surfaces, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<Reuse>,
    /// What to hold.
    pub surfaces: Surfaces,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text<128>>,
    /// For how many seconds (default 90 minutes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// `lease.renew`: keeps a lease for its time to live from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// The epoch the caller believes to hold; refused if it is not the lease's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Which lease.
    pub lease: LeaseId,
    /// A new time to live in seconds; as before if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// `lease.release`: gives a lease back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// The epoch the caller believes to hold; refused if it is not the lease's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Which lease.
    pub lease: LeaseId,
}

/// `lease.force`: ends somebody else's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Force {
    /// Which lease.
    pub lease: LeaseId,
    /// Why; the holder and everybody else can read it.
    pub reason: Text<1000>,
}

/// `lease.opened`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The fencing epoch.
    #[serde(deserialize_with = "exact_integer")]
    pub epoch: u64,
    /// When it runs out.
    pub expires_at: Timestamp,
    /// Who holds it.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Text<1000>>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// What it covers.
    pub surfaces: Surfaces,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Text<128>>,
    /// Its time to live in seconds.
    pub ttl_s: Ttl,
}

/// `lease.renewed`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renewed {
    /// The fencing epoch, unchanged.
    #[serde(deserialize_with = "exact_integer")]
    pub epoch: u64,
    /// When it runs out now.
    pub expires_at: Timestamp,
    /// The lease.
    pub lease: LeaseId,
    /// Its time to live in seconds.
    pub ttl_s: Ttl,
}

/// Why a lease was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReleaseCause {
    /// Its holder gave it back.
    Released,
    /// The session it was opened in ended.
    SessionEnded,
    /// Its holder opened another in its place.
    Replaced,
    /// The work it was held for is over.
    WorkOver,
    /// Whoever does the work now holds another in its place.
    HandedOver,
}

/// `lease.released`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Released {
    /// Why.
    pub cause: ReleaseCause,
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "exact_integer")]
    pub epoch: u64,
    /// Who held it.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
}

/// `lease.expired`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expired {
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "exact_integer")]
    pub epoch: u64,
    /// When it ran out.
    pub expires_at: Timestamp,
    /// Who held it.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
}

/// `lease.forced`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forced {
    /// The fencing epoch it was granted under.
    #[serde(deserialize_with = "exact_integer")]
    pub epoch: u64,
    /// Who held it.
    pub holder: Principal,
    /// The lease.
    pub lease: LeaseId,
    /// Why it was ended.
    pub reason: Text<1000>,
}

/// What became of a request for surfaces.
pub(crate) enum Grant {
    /// A lease was opened.
    Opened(LeaseId),
    /// The caller goes on with a lease it had.
    Reused(LeaseId),
    /// The request was answered before, with this lease as it was then.
    Before(Box<LeaseView>),
}

pub(crate) fn decide_open(
    turn: &mut Turn<'_>,
    caller: &Caller,
    open: &Open,
) -> Result<Reply, Halt> {
    match grant(turn, caller, open)? {
        Grant::Opened(lease) | Grant::Reused(lease) => turn.lease_reply(&lease),
        Grant::Before(lease) => Ok(Reply::Lease(*lease)),
    }
}

/// Grants surfaces: opens a lease, or goes on with one of the caller's if that is asked for.
pub(crate) fn grant(turn: &mut Turn<'_>, caller: &Caller, open: &Open) -> Result<Grant, Halt> {
    let request = match asked_before(turn, caller, open)? {
        Asked::New(mark) => mark,
        Asked::Before(MemoryReply::Lease(lease)) => return Ok(Grant::Before(lease)),
        Asked::Before(_) => return Err(ApplyError::Mismatch("the answer to a request").into()),
    };
    if let Some(reuse) = open.reuse
        && let Some(id) =
            using::same(turn.state(), turn.now(), &caller.principal, &open.surfaces).cloned()
    {
        if reuse == Reuse::Renewed {
            using::renew(turn, caller, &id, None, open.ttl_s)?;
        }
        return Ok(Grant::Reused(id));
    }
    agent::not_revoked(turn.state(), &caller.principal)?;
    let workspace = session::ensure(turn, caller)?;
    let session = workspace.as_ref().and_then(|id| turn.state().sessions.get(id));
    if !open.replace && session.is_some_and(|session| session.leases >= PER_SESSION_MAX) {
        let message = format!("the session of {} holds {PER_SESSION_MAX} leases", caller.principal);
        return Err(Refusal::denied(Rule::LeasesPerSession, message).into());
    }
    let holder = &caller.principal;
    let taken = collisions(turn.state(), turn.now(), open.surfaces.as_slice(), Some(holder));
    if let Some(first) = taken.first() {
        let message = collision_message(first, taken.len());
        return Err(Refusal::collision(message, Details::Collisions(taken)).into());
    }
    let ttl = open.ttl_s.unwrap_or_default();
    let lease: LeaseId = turn.mint(IdKind::Lease).into();
    let event = Event::LeaseOpened(Opened {
        epoch: turn.state().epoch + 1,
        expires_at: turn.now().after(ttl.span()),
        holder: holder.clone(),
        lease: lease.clone(),
        purpose: open.purpose.clone(),
        request,
        surfaces: open.surfaces.clone(),
        task: open.task.clone(),
        ttl_s: ttl,
    });
    let stream = stream_of(turn, holder, workspace.as_ref())?;
    let others =
        if open.replace { held_beside(turn.state(), caller, workspace.as_ref()) } else { vec![] };
    turn.emit(Draft {
        actor: holder.clone().into(),
        workspace,
        stream,
        correlation: None,
        causation: None,
        event,
    })?;
    give_way(turn, &lease, &others)?;
    Ok(Grant::Opened(lease))
}

/// Whether a request was made before.
fn asked_before(turn: &Turn<'_>, caller: &Caller, open: &Open) -> Result<Asked, Halt> {
    let Some(id) = &open.request_id else { return Ok(Asked::New(None)) };
    // Whether a lease is reused is no part of what is asked for.
    let command = Command::LeaseOpen(Open { reuse: None, ..open.clone() });
    look_up(turn.state(), turn.stamp(), caller, &command, Some(id))
}

/// What the caller holds in a session, or without one.
fn held_beside(state: &State, caller: &Caller, session: Option<&WorkspaceId>) -> Vec<LeaseId> {
    if let Some(session) = session {
        return state.leases_in(session);
    }
    let own = |lease: &Lease| lease.holder == caller.principal && lease.workspace.is_none();
    state.leases.iter().filter(|(_, lease)| own(lease)).map(|(id, _)| id.clone()).collect()
}

/// Leases give way to the one that was opened in their place.
fn give_way(turn: &mut Turn<'_>, opened: &LeaseId, others: &[LeaseId]) -> Result<(), ApplyError> {
    let cause = turn.state().leases.get(opened).map(|lease| lease.opened_by.clone());
    for id in others {
        let Some(lease) = turn.state().leases.get(id).cloned() else { continue };
        let event = released(id, &lease, ReleaseCause::Replaced);
        turn.emit(Draft {
            causation: cause.clone(),
            ..about(&lease, Actor::Protocol, false, event)
        })?;
    }
    Ok(())
}

pub(crate) fn collision_message(first: &Collision, count: usize) -> String {
    let others = match count {
        1 => String::new(),
        more => format!(" (and {} more)", more - 1),
    };
    format!(
        "{} overlaps {}, held by {} under lease {}{others}",
        first.wanted, first.surface, first.holder, first.lease
    )
}

pub(crate) fn stream_of(
    turn: &Turn<'_>,
    holder: &Principal,
    workspace: Option<&WorkspaceId>,
) -> Result<Stream, Halt> {
    if let Some(session) = workspace.and_then(|id| turn.state().sessions.get(id)) {
        return Ok(session.stream.clone());
    }
    match holder {
        Principal::Agent(name) => Ok(Stream::agent(name)),
        Principal::User(_) | Principal::System => Ok(Stream::project(&turn.project()?.id)),
    }
}

fn live<'s>(state: &'s State, id: &LeaseId) -> Result<&'s Arc<Lease>, Refusal> {
    state.leases.get(id).ok_or_else(|| {
        let message = format!("there is no live lease {id}; it ended or never was");
        Refusal::not_found(Rule::LeaseLive, message)
    })
}

/// The lease, if the caller holds it under the epoch it believes to hold it under.
pub(crate) fn held_by_caller(
    turn: &Turn<'_>,
    caller: &Caller,
    id: &LeaseId,
    epoch: Option<u64>,
) -> Result<Arc<Lease>, Refusal> {
    let lease = live(turn.state(), id)?;
    if lease.holder != caller.principal {
        let message =
            format!("lease {id} is held by {}, not by {}", lease.holder, caller.principal);
        return Err(Refusal::denied(Rule::HolderOnly, message));
    }
    match epoch {
        Some(believed) if believed != lease.epoch => {
            let message =
                format!("lease {id} was granted under epoch {}, not {believed}", lease.epoch);
            Err(Refusal::denied(Rule::Fenced, message))
        }
        _ => Ok(lease.clone()),
    }
}

/// A draft about an existing lease, in its own workspace and stream.
pub(crate) fn about(lease: &Lease, actor: Actor, caused: bool, event: Event) -> Draft {
    Draft {
        actor,
        workspace: lease.workspace.clone(),
        stream: lease.stream.clone(),
        correlation: Some(lease.opened_by.clone()),
        causation: caused.then(|| lease.opened_by.clone()),
        event,
    }
}

pub(crate) fn decide_renew(
    turn: &mut Turn<'_>,
    caller: &Caller,
    renew: &Renew,
) -> Result<Reply, Halt> {
    using::renew(turn, caller, &renew.lease, renew.epoch, renew.ttl_s)?;
    turn.lease_reply(&renew.lease)
}

pub(crate) fn decide_release(
    turn: &mut Turn<'_>,
    caller: &Caller,
    release: &Release,
) -> Result<Reply, Halt> {
    let lease = held_by_caller(turn, caller, &release.lease, release.epoch)?;
    let reply = turn.lease_reply(&release.lease)?;
    let event = released(&release.lease, &lease, ReleaseCause::Released);
    turn.emit(about(&lease, caller.principal.clone().into(), false, event))?;
    Ok(reply)
}

pub(crate) fn released(id: &LeaseId, lease: &Lease, cause: ReleaseCause) -> Event {
    Event::LeaseReleased(Released {
        cause,
        epoch: lease.epoch,
        holder: lease.holder.clone(),
        lease: id.clone(),
    })
}

pub(crate) fn decide_force(
    turn: &mut Turn<'_>,
    caller: &Caller,
    force: &Force,
) -> Result<Reply, Halt> {
    if let Principal::Agent(agent) = &caller.principal {
        let message = format!("agent {agent} has no right to end the lease of another");
        return Err(Refusal::denied(Rule::ForceNeedsRight, message).into());
    }
    if force.reason.is_blank() {
        return Err(Refusal::denied(Rule::ForceNeedsRight, "the reason is empty").into());
    }
    let lease = live(turn.state(), &force.lease)?.clone();
    let reply = turn.lease_reply(&force.lease)?;
    let event = Event::LeaseForced(Forced {
        epoch: lease.epoch,
        holder: lease.holder.clone(),
        lease: force.lease.clone(),
        reason: force.reason.clone(),
    });
    turn.emit(about(&lease, caller.principal.clone().into(), false, event))?;
    Ok(reply)
}

/// Gives back every lease of a session that ends.
pub(crate) fn release_all_of(
    turn: &mut Turn<'_>,
    workspace: &WorkspaceId,
    actor: &Actor,
) -> Result<(), ApplyError> {
    for id in turn.state().leases_in(workspace) {
        let Some(lease) = turn.state().leases.get(&id).cloned() else {
            continue;
        };
        let event = released(&id, &lease, ReleaseCause::SessionEnded);
        turn.emit(about(&lease, actor.clone(), false, event))?;
    }
    Ok(())
}

/// What is due for a lease whose time is over.
pub(crate) fn on_deadline(turn: &mut Turn<'_>, id: &LeaseId) -> Result<(), ApplyError> {
    let Some(lease) = turn.state().leases.get(id).cloned() else {
        return Ok(());
    };
    let event = Event::LeaseExpired(Expired {
        epoch: lease.epoch,
        expires_at: lease.expires_at,
        holder: lease.holder.clone(),
        lease: id.clone(),
    });
    turn.emit(about(&lease, Actor::Protocol, true, event))
}

pub(crate) fn apply_opened(
    state: &mut State,
    entry: &Stamped,
    opened: &Opened,
) -> Result<(), ApplyError> {
    if state.leases.contains_key(&opened.lease) {
        return Err(ApplyError::Twice("a lease's opening"));
    }
    if opened.epoch <= state.epoch {
        return Err(ApplyError::EpochRegressed { epoch: opened.epoch, last: state.epoch });
    }
    let workspace = entry.draft.workspace.clone();
    let lease = Lease {
        holder: opened.holder.clone(),
        workspace: workspace.clone(),
        surfaces: opened.surfaces.clone(),
        purpose: opened.purpose.clone(),
        task: opened.task.clone(),
        ttl: opened.ttl_s,
        opened_at: entry.at,
        opened_by: entry.id.clone(),
        expires_at: opened.expires_at,
        epoch: opened.epoch,
        stream: entry.draft.stream.clone(),
    };
    state.epoch = opened.epoch;
    state.insert_lease(opened.lease.clone(), lease)?;
    if let Some(workspace) = &workspace {
        session::hold_until(state, workspace, opened.expires_at);
    }
    if let (Some(mark), Some(lease)) = (&opened.request, state.leases.get(&opened.lease)) {
        let reply = MemoryReply::Lease(Box::new(LeaseView::of(&opened.lease, lease)));
        keep(state, entry, mark, reply);
    }
    Ok(())
}

pub(crate) fn apply_renewed(
    state: &mut State,
    _entry: &Stamped,
    renewed: &Renewed,
) -> Result<(), ApplyError> {
    let lease = state.leases.get_mut(&renewed.lease).ok_or(ApplyError::Unknown("the lease"))?;
    if lease.epoch != renewed.epoch {
        return Err(ApplyError::Mismatch("the lease's epoch"));
    }
    let before = lease.expires_at;
    let changed = Arc::make_mut(lease);
    changed.expires_at = renewed.expires_at;
    changed.ttl = renewed.ttl_s;
    let workspace = changed.workspace.clone();
    state.deadlines.remove(&(before, Deadline::Lease(renewed.lease.clone())));
    state.deadlines.insert((renewed.expires_at, Deadline::Lease(renewed.lease.clone())));
    if let Some(workspace) = &workspace {
        session::hold_until(state, workspace, renewed.expires_at);
    }
    Ok(())
}

pub(crate) fn apply_ended(state: &mut State, id: &LeaseId, epoch: u64) -> Result<(), ApplyError> {
    let lease = state.leases.get(id).ok_or(ApplyError::Unknown("the lease"))?;
    if lease.epoch != epoch {
        return Err(ApplyError::Mismatch("the lease's epoch"));
    }
    state.remove_lease(id)
}
