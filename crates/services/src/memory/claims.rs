//! Claims: the kernel's leases as this dialect shows them, including those of other doors.

use althing_dialects::frugal::haid::called;
use althing_dialects::memory::entity;
use althing_dialects::memory::input::{texts, ttl};
use althing_dialects::memory::moment::utc;
use althing_engine::trail_query::TrailQuery;
use althing_kernel::event::{EventRoom, LeaseEvent};
use althing_kernel::lease::{Lease, Open, Reuse, Surfaces, Ttl, split_scope};
use althing_kernel::query;
use althing_kernel::records::{Kind, RecordId, Status};
use althing_kernel::text::Text;
use althing_kernel::{EntryId, LeaseId, Principal, State, Surface, Timestamp};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use super::hints::unknown;
use super::session::Present;
use super::trail::{WINDOW, entry_at, moment_of};
use crate::error::Error;

/// Default duration of a claim, in seconds.
pub(super) const TTL_SECS: u64 = 4 * 60 * 60;
/// Age up to which an opened or renewed claim is young, in seconds.
const YOUNG_SECS: u64 = 30 * 60;

/// A live or ended lease, as a claim.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) id: RecordId,
    pub(super) status: Status,
    pub(super) holder: Principal,
    pub(super) surfaces: Vec<Surface>,
    purpose: Option<String>,
    pub(super) task: Option<String>,
    session: Option<String>,
    pub(super) lease: LeaseId,
    pub(super) opened_at: Timestamp,
    pub(super) expires_at: Timestamp,
    pub(super) updated_at: Timestamp,
    opened_by: EntryId,
    /// The entries that opened and ended it, if the trail was read.
    entry: Option<u64>,
    ended_by: Option<u64>,
    reason: Option<String>,
}

impl Claim {
    fn live(lease: &Lease, id: &LeaseId) -> Self {
        let ttl = lease.ttl.span().micros();
        let granted = Timestamp::from_micros(lease.expires_at.micros().saturating_sub(ttl));
        Claim {
            id: RecordId { kind: Kind::Claim, number: lease.epoch },
            status: Status::Open,
            holder: lease.holder.clone(),
            surfaces: lease.surfaces.as_slice().to_vec(),
            purpose: lease.purpose.as_ref().map(ToString::to_string),
            task: lease.task.as_ref().map(ToString::to_string),
            session: lease.workspace.as_ref().map(ToString::to_string),
            lease: id.clone(),
            opened_at: lease.opened_at,
            expires_at: lease.expires_at,
            updated_at: granted.max(lease.opened_at),
            opened_by: lease.opened_by.clone(),
            entry: None,
            ended_by: None,
            reason: None,
        }
    }

    /// Its surfaces, as one text.
    pub(super) fn scope(&self) -> String {
        let all: Vec<&str> = self.surfaces.iter().map(Surface::as_str).collect();
        all.join(", ")
    }

    /// Whether it overlaps surfaces.
    pub(super) fn meets(&self, wanted: &Surfaces) -> bool {
        let any = |held: &Surface| wanted.as_slice().iter().any(|own| own.meets(held));
        self.surfaces.iter().any(any)
    }

    /// The plan it is held for.
    pub(super) fn plan(&self) -> Option<RecordId> {
        entity::id(Kind::Plan, self.task.as_deref()?).ok()
    }

    /// The number of the entry that opened it.
    pub(super) fn opened_in(&self, present: &Present) -> Result<Option<u64>, Error> {
        if self.entry.is_some() {
            return Ok(self.entry);
        }
        let kinds = [althing_kernel::Kind::LeaseOpened];
        entry_at(&present.engine, self.opened_at, &kinds, Some(self.lease.as_str()))
    }

    /// The claim as an item, with the number of the entry that opened it.
    pub(super) fn item(&self, present: &Present) -> Result<Value, Error> {
        let mut item = self.listed(present);
        item["provenance"]["entry"] = json!(self.opened_in(present)?);
        Ok(item)
    }

    /// The claim as an item of a list. The opening entry is named by its id, which needs no look-up
    /// in the trail.
    pub(super) fn listed(&self, present: &Present) -> Value {
        let kind = if matches!(self.holder, Principal::User(_)) { "human" } else { "agent" };
        let holder = called(&self.holder);
        let mut item = json!({
            "id": self.id.to_string(),
            "short_label": self.id.label(),
            "kind": Kind::Claim,
            "status": self.status,
            "text": self.purpose.clone().unwrap_or_else(|| self.scope()),
            "tags": [],
            "agent": holder,
            "author": holder,
            "scope": self.scope(),
            "paths": self.surfaces.iter().map(Surface::as_str).collect::<Vec<&str>>(),
            "lease": self.lease.as_str(),
            "created_at": utc(self.opened_at),
            "updated_at": utc(self.updated_at),
            "expires_at": utc(self.expires_at),
            "provenance": { "kind": kind, "author": holder, "source": "lease",
                "entry_id": self.opened_by.as_str() },
        });
        if let Some(entry) = self.entry {
            item["provenance"]["entry"] = entry.into();
        }
        if let Some(session) = &self.session {
            item["session_id"] = session.as_str().into();
        }
        if let Some(plan) = self.plan() {
            item["plan_id"] = plan.to_string().into();
        } else if let Some(task) = &self.task {
            item["task"] = task.as_str().into();
        }
        if let Some(reason) = &self.reason {
            item["reason"] = reason.as_str().into();
        }
        if self.status == Status::Open {
            item["liveness"] = self.liveness(present).into();
        }
        item
    }

    /// `young` if the claim was opened or renewed lately, else `live` or `silent` by its holder's
    /// last activity.
    fn liveness(&self, present: &Present) -> &'static str {
        let heard = match &self.holder {
            Principal::Agent(name) => present.state.agent(name).map(|agent| agent.heard_at),
            _ => None,
        };
        let age = |at: Timestamp| present.now.since(at).secs();
        if age(self.updated_at) < YOUNG_SECS {
            "young"
        } else if heard.is_some_and(|at| age(at) < TTL_SECS) {
            "live"
        } else {
            "silent"
        }
    }

    /// Whether it was opened after the entry with this number and time.
    fn is_opened_after(&self, present: &Present, seq: u64, at: Timestamp) -> Result<bool, Error> {
        if self.opened_at != at {
            return Ok(self.opened_at > at);
        }
        Ok(self.opened_in(present)?.is_some_and(|entry| entry > seq))
    }

    /// A short description of a change to it.
    pub(super) fn change(&self) -> Value {
        let mut shown = self.conflict();
        shown["status"] = json!(self.status);
        shown["updated_at"] = utc(self.updated_at).into();
        shown
    }

    /// A short description for somebody it conflicts with.
    pub(super) fn conflict(&self) -> Value {
        json!({
            "id": self.id.to_string(),
            "short_label": self.id.label(),
            "holder": called(&self.holder),
            "scope": self.scope(),
            "expires_at": utc(self.expires_at),
            "text": self.purpose,
        })
    }
}

/// The live claims, newest first.
pub(super) fn live(state: &State, now: Timestamp) -> Vec<Claim> {
    newest(state.leases().filter(|(_, lease)| lease.is_live(now)))
}

/// The live claims of somebody, newest first.
pub(super) fn held_by(state: &State, now: Timestamp, who: &Principal) -> Vec<Claim> {
    let own = state.leases_of(who).map(|(id, lease)| (id, lease.as_ref()));
    newest(own.filter(|(_, lease)| lease.is_live(now)))
}

/// How many claims are live.
pub(super) fn live_count(state: &State, now: Timestamp) -> usize {
    state.leases().filter(|(_, lease)| lease.is_live(now)).count()
}

fn newest<'s>(leases: impl Iterator<Item = (&'s LeaseId, &'s Lease)>) -> Vec<Claim> {
    let mut all: Vec<Claim> = leases.map(|(id, lease)| Claim::live(lease, id)).collect();
    all.sort_by_key(|claim| std::cmp::Reverse(claim.id.number));
    all
}

/// The live claims that overlap surfaces, newest first.
pub(super) fn overlapping(present: &Present, wanted: &Surfaces) -> Vec<Claim> {
    let met = query::overlapping(&present.state, present.now, wanted.as_slice());
    met.into_iter().rev().map(|(id, lease)| Claim::live(lease, id)).collect()
}

/// Claims of others that overlap surfaces, newest first.
pub(super) fn in_the_way(present: &Present, own: &Principal, wanted: &Surfaces) -> Vec<Claim> {
    let mut met = overlapping(present, wanted);
    met.retain(|claim| claim.holder != *own);
    met
}

/// The live claim of an epoch.
pub(super) fn by_epoch(present: &Present, epoch: u64) -> Option<Claim> {
    let (id, lease) = present.state.lease_of_epoch(epoch)?;
    lease.is_live(present.now).then(|| Claim::live(lease, id))
}

/// Claims that ended recently, newest first.
pub(super) fn ended(present: &Present) -> Result<Vec<Claim>, Error> {
    use althing_kernel::Kind::{
        LeaseExpired, LeaseForced, LeaseOpened, LeaseReleased, LeaseRenewed,
    };
    let seq = present.engine.world()?.seq();
    let asked = TrailQuery {
        after: Some(seq.saturating_sub(WINDOW)),
        kinds: vec![LeaseOpened, LeaseRenewed, LeaseReleased, LeaseExpired, LeaseForced],
        limit: Some(usize::try_from(WINDOW).unwrap_or(usize::MAX)),
        ..TrailQuery::default()
    };
    let mut known: BTreeMap<u64, Claim> = BTreeMap::new();
    for found in asked.find(&mut *present.engine.reader()?)? {
        take(&mut known, found.entry.seq, &found.entry.stamped);
    }
    for claim in known.values_mut().filter(|claim| claim.expires_at <= present.now) {
        if claim.status == Status::Open {
            (claim.status, claim.updated_at) = (Status::Expired, claim.expires_at);
        }
    }
    let over = known.into_values().rev().filter(|claim| claim.status != Status::Open);
    Ok(over.collect())
}

/// Claims opened after an entry, and claims ended after it, newest first. Ended claims are searched
/// in the newest entries only.
pub(super) fn since(present: &Present, seq: u64) -> Result<(Vec<Claim>, Vec<Claim>), Error> {
    let at = match seq {
        0 => Timestamp::default(),
        _ => moment_of(&present.engine, seq)?.unwrap_or(present.now),
    };
    let over: Vec<Claim> = ended(present)?;
    let is_ended = |claim: &&Claim| match claim.ended_by {
        Some(entry) => entry > seq,
        None => claim.updated_at > at,
    };
    let ended: Vec<Claim> = over.iter().filter(is_ended).cloned().collect();
    let mut opened = Vec::new();
    for claim in live(&present.state, present.now).into_iter().chain(over) {
        if claim.is_opened_after(present, seq, at)? {
            opened.push(claim);
        }
    }
    Ok((opened, ended))
}

/// Applies an entry about a lease to the known claims.
fn take(known: &mut BTreeMap<u64, Claim>, seq: u64, entry: &althing_kernel::Stamped) {
    let mut end = |epoch: u64, status: Status, reason: Option<String>| {
        if let Some(claim) = known.get_mut(&epoch) {
            (claim.status, claim.updated_at, claim.reason) = (status, entry.at, reason);
            claim.ended_by = Some(seq);
        }
    };
    let EventRoom::Lease(event) = entry.draft.event.room() else { return };
    match event {
        LeaseEvent::LeaseReleased(body) => end(body.epoch, Status::Released, None),
        LeaseEvent::LeaseExpired(body) => end(body.epoch, Status::Expired, None),
        LeaseEvent::LeaseForced(body) => {
            end(body.epoch, Status::Released, Some(body.reason.to_string()));
        }
        LeaseEvent::LeaseRenewed(body) => {
            if let Some(claim) = known.get_mut(&body.epoch) {
                (claim.expires_at, claim.updated_at) = (body.expires_at, entry.at);
            }
        }
        LeaseEvent::LeaseOpened(body) => {
            let claim = Claim {
                id: RecordId { kind: Kind::Claim, number: body.epoch },
                status: Status::Open,
                holder: body.holder.clone(),
                surfaces: body.surfaces.as_slice().to_vec(),
                purpose: body.purpose.as_ref().map(ToString::to_string),
                task: body.task.as_ref().map(ToString::to_string),
                session: entry.draft.workspace.as_ref().map(ToString::to_string),
                lease: body.lease.clone(),
                opened_at: entry.at,
                expires_at: body.expires_at,
                updated_at: entry.at,
                opened_by: entry.id.clone(),
                entry: Some(seq),
                ended_by: None,
                reason: None,
            };
            known.insert(body.epoch, claim);
        }
    }
}

/// A claim by its id.
pub(super) enum Found {
    /// It is known, live or over.
    Known(Box<Claim>),
    /// It ended before the part of the trail that is searched.
    Over,
}

pub(super) fn find(present: &Present, id: RecordId) -> Result<Found, Error> {
    if let Some(claim) = by_epoch(present, id.number) {
        return Ok(Found::Known(Box::new(claim)));
    }
    if id.number > present.state.epoch() {
        return Err(unknown(id));
    }
    let over = ended(present)?.into_iter().find(|claim| claim.id == id);
    Ok(over.map_or(Found::Over, |claim| Found::Known(Box::new(claim))))
}

/// Parses a scope: paths or globs, separated by commas.
pub(super) fn surfaces(scope: &str) -> Result<Surfaces, Error> {
    let unusable = |error: &dyn std::fmt::Display| {
        let message = format!("scope {scope:?}: {error}");
        Error::usage(format!("{message}; write paths or globs below the root, with commas between"))
    };
    let list: Result<Vec<Surface>, _> = split_scope(scope).into_iter().map(Surface::new).collect();
    Surfaces::new(list.map_err(|error| unusable(&error))?).map_err(|error| unusable(&error))
}

/// Builds the command that opens a claim.
pub(super) fn open(
    surfaces: Surfaces,
    purpose: Option<&str>,
    plan: Option<RecordId>,
    lasting: Option<&Value>,
) -> Result<Open, Error> {
    let secs = lasting.map_or(Ok(TTL_SECS), |value| ttl("ttl", value)).map_err(Error::usage)?;
    let ttl = Ttl::new(secs.into()).map_err(|error| Error::usage(error.to_string()))?;
    Ok(Open {
        purpose: purpose.map(Text::lossy),
        replace: false,
        request_id: None,
        reuse: Some(if lasting.is_some() { Reuse::Renewed } else { Reuse::AsIs }),
        surfaces,
        task: plan.map(|plan| Text::lossy(&plan.to_string())),
        ttl_s: Some(ttl),
    })
}

/// A claim to create, with the author the caller named.
pub(super) struct Creation {
    pub(super) open: Open,
    pub(super) author: Option<String>,
}

/// Reads the data of a claim that is to be created.
pub(super) fn read(data: &Map<String, Value>) -> Result<Creation, Error> {
    let known = ["scope", "paths", "text", "description", "plan_id", "ttl", "tags", "author"];
    if let Some(name) = data.keys().find(|name| !known.contains(&name.as_str())) {
        let message = format!("a claim has no field '{name}' to be set, only {}", known.join(", "));
        return Err(Error::usage(message));
    }
    let text = |name: &str| data.get(name).and_then(Value::as_str);
    let surfaces = match (text("scope"), data.get("paths")) {
        (Some(scope), _) => surfaces(scope)?,
        (None, Some(paths)) => surfaces(&texts("paths", paths).map_err(Error::usage)?.join(","))?,
        (None, None) => return Err(Error::usage("a claim requires 'scope'")),
    };
    let plan = text("plan_id").map(|plan| entity::id(Kind::Plan, plan)).transpose();
    let purpose = text("text").or(text("description"));
    let open = open(surfaces, purpose, plan.map_err(Error::usage)?, data.get("ttl"))?;
    Ok(Creation { open, author: text("author").map(str::to_owned) })
}

/// A warning if a reused claim is held for another plan than the one requested.
pub(super) fn unchanged(claim: &Claim, wanted: &Open) -> Option<String> {
    let task = wanted.task.as_ref().map(Text::as_str)?;
    if claim.task.as_deref() == Some(task) {
        return None;
    }
    let held = claim.task.as_deref().unwrap_or("no plan");
    Some(format!("{} stays claimed for {held}: release it and claim again for {task}", claim.id))
}
