//! Files that are about to be changed: who may, and what is claimed for it.
//!
//! One rule for every hook: a file is changed by whoever holds it, within the authority of the
//! workspace it is changed in. What nobody holds is claimed on the spot, left alone or refused, as the
//! caller's settings say. Whoever holds a part of a file may change the file while others hold other
//! parts: which part an edit touches cannot be told from outside.

use std::sync::Arc;

use crate::machine::state::State;
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::leasing::lease::{Lease, Open, Opened, Ttl, Unheld, Use};
use crate::model::leasing::view::{LeaseView, Used};
use crate::model::runs::workspace::sight;
use crate::protocol::event::Event;
use crate::protocol::refusal::{Details, Refusal};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::rule::Rule;
use crate::rules::identity::agent;
use crate::rules::leasing::collisions::collisions_where;
use crate::rules::leasing::lease::{self, Grant, using};
use crate::rules::runs::workspace::{abort, authority, get, own};
use crate::surfaces::Surface;
use crate::values::id::{IdKind, LeaseId, WorkspaceId};
use crate::values::principal::{Caller, Principal};
use crate::values::text::Text;
use crate::values::time::Timestamp;

/// Folders that nobody edits by hand.
const NOT_EDITED: &[&str] = &[".git", ".althing"];

/// What has to be recorded before files are changed.
#[derive(Debug, Default)]
struct Needed {
    /// The paths to claim.
    claim: Vec<Surface>,
    /// The caller's leases that are due for renewal.
    renew: Vec<(LeaseId, Arc<Lease>)>,
}

pub(crate) fn decide_use(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Use,
) -> Result<Reply, DecisionError> {
    let Needed { claim, renew } = needed(tx.state(), tx.now(), caller, args)?;
    let claimed = match Surfaces::new(claim) {
        Ok(surfaces) => Some(open(tx, caller, args, surfaces)?),
        // There is nothing to claim: paths are never too many or too wild.
        Err(_) => None,
    };
    let cause = claimed.as_ref().and_then(|_| tx.entries().last()).map(|entry| entry.id.clone());
    let renewed = match agent::not_revoked(tx.state(), &caller.principal) {
        Ok(()) => using::renew_each(tx, caller, renew, cause)?,
        Err(_) => Vec::new(),
    };
    let view = |id: &LeaseId| tx.state().leases.get(id).map(|lease| LeaseView::of(id, lease));
    let claimed = claimed.as_ref().and_then(view);
    Ok(Reply::Used(Box::new(Used { claimed, renewed })))
}

fn needed(state: &State, now: Timestamp, caller: &Caller, args: &Use) -> Result<Needed, Refusal> {
    let paths = args.paths.as_slice();
    if let Some(path) = paths.iter().find(|path| is_not_edited(path)) {
        return Err(Refusal::denied(Rule::GitOwn, format!("{path} is not to be edited")));
    }
    let workspace = match &args.workspace {
        Some(_) => Some(at_work(state, caller, args)?),
        None => None,
    };
    let is_other = |id: &LeaseId, of: &Principal| {
        of != &caller.principal && !workspace.as_ref().is_some_and(|at| is_above(state, id, at))
    };
    let held = held(state, now, &caller.principal, paths);
    let is_part = |path: &Surface| held.iter().any(|(_, lease)| has_part(lease, path));
    let mut taken = collisions_where(state, now, paths, &is_other);
    taken.retain(|other| !(other.surface.is_part_of(&other.wanted) && is_part(&other.wanted)));
    if let Some(first) = taken.first() {
        let gone = first.host_gone.map(|gone| format!("; {}", gone.words(now)));
        let message = lease::collision_message(first, taken.len()) + &gone.unwrap_or_default();
        return Err(Refusal::collision(message, Details::Collisions(taken)));
    }
    let is_held = |path: &Surface| held.iter().any(|(_, own)| covers(own, path)) || is_part(path);
    let free: Vec<Surface> = paths.iter().filter(|path| !is_held(path)).cloned().collect();
    let claim = match (args.unheld, free.first()) {
        (Unheld::Refuse, Some(first)) => {
            let message = format!("{} has not claimed {first}", caller.principal);
            return Err(Refusal::denied(Rule::ClaimFirst, message));
        }
        (Unheld::Claim, Some(_)) if !workspace.is_some_and(|at| is_covered(state, &at)) => free,
        _ => Vec::new(),
    };
    let renew = held.into_iter().filter(|(_, lease)| using::is_used(lease, now)).collect();
    Ok(Needed { claim, renew })
}

/// Whether a path lies in a folder that nobody edits by hand.
fn is_not_edited(path: &Surface) -> bool {
    let mut names = path.as_str().split('/');
    names.any(|name| NOT_EDITED.iter().any(|own| name.eq_ignore_ascii_case(own)))
}

/// The workspace that the files are changed in: one of the caller's that has not ended, with authority
/// over them.
fn at_work(state: &State, caller: &Caller, args: &Use) -> Result<WorkspaceId, Refusal> {
    let id = own(state, caller, args.workspace.as_ref())?;
    let known = get(state, &id)?;
    if known.status.is_terminal() {
        return Err(abort::ended(&id, known.status));
    }
    let paths = args.paths.as_slice();
    if let Some(beyond) = sight::beyond_authority(known, paths).filter(|_| !args.outside) {
        let message = format!("workspace {id} may not change {beyond}");
        let own = known.charter.authority.iter().map(ToString::to_string);
        return Err(Refusal::denied(Rule::Authority, message).allowing(own));
    }
    Ok(id)
}

/// Whether a lease is held in a workspace above another one.
fn is_above(state: &State, lease: &LeaseId, below: &WorkspaceId) -> bool {
    let held_in = state.leases.get(lease).and_then(|lease| lease.workspace.as_ref());
    held_in.is_some_and(|at| super::sight::is_above(state, at, below))
}

/// Whether the lease of a workspace above covers what is changed in a workspace.
fn is_covered(state: &State, at: &WorkspaceId) -> bool {
    let parent = state.workspaces.get(at).and_then(|known| known.parent.as_ref());
    parent.is_some_and(|parent| authority::covering(state, parent).is_some())
}

/// The live leases of a holder that have to do with these paths.
fn held(
    state: &State,
    now: Timestamp,
    holder: &Principal,
    paths: &[Surface],
) -> Vec<(LeaseId, Arc<Lease>)> {
    let own = |id: &LeaseId, of: &Principal| of == holder && state.is_live(id, now);
    let met = state.surfaces.meeting(paths, usize::MAX, &own);
    let known = met.iter().filter_map(|id| state.leases.get_key_value(id));
    let known = known.map(|(id, lease)| (id.clone(), lease.clone()));
    let counts =
        |lease: &Lease| paths.iter().any(|path| covers(lease, path) || has_part(lease, path));
    known.filter(|(_, lease)| counts(lease)).collect()
}

fn covers(lease: &Lease, path: &Surface) -> bool {
    lease.surfaces.as_slice().iter().any(|own| own.covers_file(path))
}

fn has_part(lease: &Lease, path: &Surface) -> bool {
    lease.surfaces.as_slice().iter().any(|own| own.is_part_of(path))
}

/// Claims what nobody holds: in the workspace, with which it ends, or in the caller's session.
fn open(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    args: &Use,
    surfaces: Surfaces,
) -> Result<LeaseId, DecisionError> {
    let Some(workspace) = &args.workspace else {
        let open = Open {
            purpose: args.purpose.clone(),
            replace: false,
            request_id: None,
            reuse: None,
            surfaces,
            task: None,
            ttl_s: args.ttl_s,
        };
        return match lease::grant(tx, caller, &open)? {
            Grant::Opened(id) | Grant::Reused(id) => Ok(id),
            Grant::Before(view) => Ok(view.lease),
        };
    };
    agent::not_revoked(tx.state(), &caller.principal)?;
    let known = tx.state().workspaces.get(workspace).ok_or(ApplyError::Unknown("the workspace"))?;
    let plan = known.charter.task.as_ref().and_then(|task| tx.state().task_record(task));
    let task = plan.map(|plan| Text::lossy(&plan.id.to_string()));
    let (id, ttl_s) = (LeaseId::from(tx.mint(IdKind::Lease)), Ttl::LONGEST);
    let event = Event::LeaseOpened(Opened {
        epoch: tx.state().epoch + 1,
        expires_at: tx.now().after(ttl_s.span()),
        holder: caller.principal.clone(),
        lease: id.clone(),
        purpose: args.purpose.clone(),
        request: None,
        surfaces,
        task,
        ttl_s,
    });
    tx.note(Some(workspace), caller.principal.clone().into(), event)?;
    Ok(id)
}
