//! The lease for what a workspace may change: opened with the workspace, held while its agent may
//! work, and ended with it.
//!
//! A workspace whose authority is narrower than its parent's holds a lease on it in its agent's
//! name, so it collides with everybody else's claims. Below a workspace that holds one, the lease
//! covers the children too, and their parts must not overlap. A workspace with its parent's whole
//! authority holds none; its files are compared when it makes a checkpoint and when it is merged.

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::leasing::lease::{Opened, ReleaseCause, Ttl};
use crate::model::runs::file::File;
use crate::model::runs::workspace::Workspace;
use crate::protocol::event::{Draft, Event};
use crate::protocol::refusal::{Details, Refusal};
use crate::registry::apply_error::ApplyError;
use crate::rules::leasing::collisions::collisions_where;
use crate::rules::leasing::{handover, lease};
use crate::rules::runs::workspace::change::live_children;
use crate::surfaces::Surface;
use crate::values::id::{IdKind, LeaseId, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::{Actor, Principal};
use crate::values::text::Text;

/// What a new workspace, or one that goes on, wants to hold.
pub(crate) struct Wanted<'a> {
    /// The workspace, unless it is not created yet.
    pub(crate) id: Option<&'a WorkspaceId>,
    /// Its parent.
    pub(crate) parent: &'a WorkspaceId,
    /// Its agent.
    pub(crate) agent: &'a AgentName,
    /// The surfaces it is to change.
    pub(crate) authority: &'a [Surface],
}

impl<'a> Wanted<'a> {
    pub(crate) fn of(id: &'a WorkspaceId, known: &'a Workspace) -> Option<Self> {
        Some(Wanted {
            id: Some(id),
            parent: known.parent.as_ref()?,
            agent: known.agent.as_ref()?,
            authority: &known.charter.authority,
        })
    }

    /// Whether it is narrower than what the parent may change.
    fn is_narrower(&self, state: &State) -> bool {
        let parent = state.workspaces.get(self.parent);
        parent.is_some_and(|parent| parent.charter.authority != self.authority)
    }
}

/// The nearest workspace, from a parent upwards, whose lease covers what is below it.
pub(crate) fn covering(state: &State, parent: &WorkspaceId) -> Option<WorkspaceId> {
    let mut above = Some(parent);
    while let Some(id) = above {
        let known = state.workspaces.get(id)?;
        let wanted = Wanted::of(id, known)?;
        if wanted.is_narrower(state) {
            return Some(id.clone());
        }
        above = known.parent.as_ref();
    }
    None
}

/// The caller's leases that give way to the authority of a workspace. Refused if somebody else, or
/// another workspace, holds a part of it.
pub(crate) fn check(
    state: &State,
    caller: &Principal,
    wanted: &Wanted<'_>,
) -> Result<Vec<u64>, Refusal> {
    if !wanted.is_narrower(state) {
        return Ok(Vec::new());
    }
    if let Some(top) = covering(state, wanted.parent) {
        return apart(state, &top, wanted).map(|()| Vec::new());
    }
    let Ok(surfaces) = Surfaces::new(wanted.authority.to_vec()) else { return Ok(Vec::new()) };
    let own = Principal::Agent(wanted.agent.clone());
    let is_other = |id: &LeaseId, of: &Principal| {
        let held_in = state.leases.get(id).and_then(|lease| lease.workspace.as_ref());
        let elsewhere = held_in.is_some_and(|at| state.workspaces.contains_key(at));
        (of != &own && of != caller) || (elsewhere && held_in != wanted.id)
    };
    let taken = collisions_where(state, state.clock(), surfaces.as_slice(), &is_other);
    handover::held_by_others(state, taken)?;
    handover::gives_way(state, caller, wanted.agent, &surfaces, None)
}

/// Refuses authority that overlaps that of another live workspace below the same lease.
fn apart(state: &State, top: &WorkspaceId, wanted: &Wanted<'_>) -> Result<(), Refusal> {
    let mut below = live_children(state, top);
    while let Some(id) = below.pop() {
        below.extend(live_children(state, &id));
        let Some(known) = state.workspaces.get(&id) else { continue };
        let Some(other) = Wanted::of(&id, known).filter(|other| other.is_narrower(state)) else {
            continue;
        };
        let is_above = id == *wanted.parent
            || wanted.id == Some(&id)
            || super::sight::is_above(state, &id, wanted.parent);
        let met = wanted.authority.iter().find(|own| other.authority.iter().any(|o| o.meets(own)));
        if let Some(own) = met.filter(|_| !is_above) {
            let message = format!("{own} is what {} changes in workspace {id}", other.agent);
            return Err(Refusal::collision(message, Details::None {}));
        }
    }
    Ok(())
}

/// Opens the lease of a workspace, if its authority is its own. The caller's leases that give way
/// end first.
pub(crate) fn open(
    tx: &mut Transaction<'_>,
    caller: &Principal,
    id: &WorkspaceId,
) -> Result<(), DecisionError> {
    let known = tx.state().workspaces.get(id).ok_or(ApplyError::Unknown("the workspace"))?.clone();
    let Some(wanted) = Wanted::of(id, &known) else { return Ok(()) };
    let gives_way = check(tx.state(), caller, &wanted)?;
    let covered = covering(tx.state(), wanted.parent).is_some();
    if !wanted.is_narrower(tx.state()) || covered {
        return Ok(());
    }
    let Ok(surfaces) = Surfaces::new(wanted.authority.to_vec()) else { return Ok(()) };
    for epoch in gives_way {
        end(tx, epoch, ReleaseCause::HandedOver)?;
    }
    let plan = known.charter.task.as_ref().and_then(|task| tx.state().task_record(task));
    let task = plan.map(|plan| Text::lossy(&plan.id.to_string()));
    let ttl_s = Ttl::LONGEST;
    let event = Event::LeaseOpened(Opened {
        epoch: tx.state().epoch + 1,
        expires_at: tx.now().after(ttl_s.span()),
        holder: Principal::Agent(wanted.agent.clone()),
        lease: tx.mint(IdKind::Lease).into(),
        purpose: Some(Text::lossy(&format!("the authority of workspace {id}"))),
        request: None,
        surfaces,
        task,
        ttl_s,
    });
    Ok(tx.note(Some(id), Actor::Protocol, event)?)
}

fn end(tx: &mut Transaction<'_>, epoch: u64, cause: ReleaseCause) -> Result<(), ApplyError> {
    let Some((id, held)) = tx.state().lease_of_epoch(epoch) else { return Ok(()) };
    let event = lease::released(id, held, cause);
    let draft = lease::about(held, Actor::Protocol, false, event);
    let causation = tx.entries().last().map(|entry| entry.id.clone());
    tx.emit(Draft { causation, ..draft })
}

/// Ends the lease of a workspace.
pub(crate) fn close(
    tx: &mut Transaction<'_>,
    id: &WorkspaceId,
    cause: ReleaseCause,
) -> Result<(), ApplyError> {
    let held = tx.state().leases_in(id);
    let held = held.iter().filter_map(|id| tx.state().leases.get(id).map(|lease| lease.epoch));
    let held: Vec<u64> = held.collect();
    held.into_iter().try_for_each(|epoch| end(tx, epoch, cause))
}

/// Refuses files that somebody else holds a lease on, naming the holder. Leases of the workspace's
/// agent, of the workspaces above it and of `also` do not count.
pub(crate) fn free(
    state: &State,
    id: &WorkspaceId,
    files: &[File],
    also: Option<&Principal>,
) -> Result<(), Refusal> {
    let known = state.workspaces.get(id);
    let agent = known.and_then(|known| known.agent.clone()).map(Principal::Agent);
    let is_other = |lease: &LeaseId, of: &Principal| {
        let held_in = state.leases.get(lease).and_then(|lease| lease.workspace.as_ref());
        let above = held_in.is_some_and(|at| at == id || super::sight::is_above(state, at, id));
        Some(of) != agent.as_ref() && Some(of) != also && !above
    };
    let paths: Vec<Surface> = files.iter().map(|file| file.path.surface().clone()).collect();
    let taken = collisions_where(state, state.clock(), &paths, &is_other);
    match taken.first() {
        None => Ok(()),
        Some(first) => {
            let message = lease::collision_message(first, taken.len());
            Err(Refusal::collision(message, Details::Collisions(taken)))
        }
    }
}
