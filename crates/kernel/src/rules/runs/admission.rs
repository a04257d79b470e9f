//! Admission control: whether resource limits allow one more workspace.
//!
//! A run may be started with limits for four resources. All four are checked when a workspace is to
//! be created, and the refusal names every one that is short. Critical work may exceed the limits a
//! little.

use crate::machine::state::State;
use crate::model::runs::workspace::Priority;
use crate::model::runs::workspace::budget::Percent;
use crate::model::runs::workspace::meter::Amount;
use crate::protocol::refusal::{Record, Refusal};
use crate::registry::rule::Rule;

pub use crate::model::runs::admission::*;

/// The resources one more workspace needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Need {
    pub(crate) workspaces: u64,
    pub(crate) context: u64,
    pub(crate) mail: u64,
}

/// The use of each limited resource, including the additional need.
pub(crate) fn standing(state: &State, disk_free: Option<u64>, need: Need) -> Vec<Standing> {
    let root = state.root.as_ref().and_then(|root| state.workspaces.get(root));
    let Some(limits) = root.and_then(|root| root.charter.limits.clone()) else {
        return Vec::new();
    };
    let live = state.live.saturating_sub(1) as u64;
    let all = [
        (Capacity::Compute, limits.live_workspaces, Some(live + need.workspaces)),
        (Capacity::Memory, limits.context_bytes, Some(state.context + need.context)),
        (Capacity::Network, limits.queued_bytes, Some(state.queued + need.mail)),
        // Unknown free space counts as sufficient.
        (Capacity::Storage, limits.disk_free_bytes, disk_free),
    ];
    let known = all.into_iter().filter_map(|(capacity, limit, measured)| {
        Some(Standing { capacity, limit: limit?, measured: Amount::new(measured?) })
    });
    known.collect()
}

/// Refuses a workspace that exceeds a limit, naming every resource that is short.
pub(crate) fn admit(
    state: &State,
    disk_free: Option<u64>,
    need: Need,
    priority: Priority,
) -> Result<(), Refusal> {
    let root = state.root.as_ref().and_then(|root| state.workspaces.get(root));
    let headroom = root.and_then(|root| root.charter.limits.as_ref()?.critical_headroom_percent);
    let headroom = headroom.unwrap_or(Percent::HEADROOM);
    let short: Vec<Standing> = standing(state, disk_free, need)
        .into_iter()
        .map(|own| if priority == Priority::Critical { widened(own, headroom) } else { own })
        .filter(Standing::is_short)
        .collect();
    if short.is_empty() {
        return Ok(());
    }
    let words = |own: &Standing| {
        let (capacity, limit) = (own.capacity.as_str(), own.limit.get());
        format!("{capacity} ({} where the limit is {limit})", own.measured.get())
    };
    let named: Vec<String> = short.iter().map(words).collect();
    let message = format!("{NO_ROOM}: {}", named.join(", "));
    Err(Refusal::denied(Rule::Capacity, message).recorded(Record::Capacity(short)))
}

fn widened(own: Standing, headroom: Percent) -> Standing {
    let limit = own.limit.get();
    let more = headroom.of(limit);
    let limit = match own.capacity {
        Capacity::Storage => limit.saturating_sub(more),
        _ => limit.saturating_add(more),
    };
    Standing { limit: Amount::new(limit), ..own }
}
