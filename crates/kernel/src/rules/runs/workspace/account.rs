//! Reports of resource use: by workspace, by group, and in total.

use std::collections::BTreeMap;

use crate::machine::state::State;
use crate::model::runs::workspace::Workspace;
use crate::model::runs::workspace::group::GroupName;
use crate::values::id::WorkspaceId;
use crate::values::time::Timestamp;

pub use crate::model::runs::workspace::account::*;

/// Sums up the resources used by the matching workspaces.
pub(crate) fn report(
    state: &State,
    now: Timestamp,
    fits: &dyn Fn(&WorkspaceId, &Workspace) -> bool,
) -> MeterReport {
    let mut ordered: Vec<(&WorkspaceId, &Workspace)> = state.workspaces().collect();
    ordered.sort_by_key(|(_, known)| known.charter.created_at);
    let subtrees = subtrees(&ordered, now);
    let mut groups: BTreeMap<Option<&GroupName>, GroupUse> = BTreeMap::new();
    let mut found =
        MeterReport { workspaces: Vec::new(), groups: Vec::new(), total: Used::default() };
    for (id, known) in ordered.into_iter().filter(|(id, known)| fits(id, known)) {
        let own = MeterView::of(now, id, known);
        found.total.add(&own.used);
        let group = known.charter.group.as_ref();
        let sum = groups.entry(group).or_insert_with(|| GroupUse {
            group: group.map(ToString::to_string),
            workspaces: 0,
            live: 0,
            used: Used::default(),
        });
        sum.workspaces += 1;
        sum.live += usize::from(!known.status.is_terminal());
        sum.used.add(&own.used);
        let subtree = subtrees.get(id).copied().unwrap_or_default();
        found.workspaces.push(MeterRow { own, subtree });
    }
    found.groups = groups.into_values().collect();
    found
}

/// The resources used by each workspace and its descendants. Children are younger than their
/// parents, so one pass from the youngest on finds every sum complete.
fn subtrees<'a>(
    ordered: &[(&'a WorkspaceId, &'a Workspace)],
    now: Timestamp,
) -> BTreeMap<&'a WorkspaceId, Used> {
    let mut sums: BTreeMap<&WorkspaceId, Used> = BTreeMap::new();
    for (id, known) in ordered.iter().rev() {
        let sum = sums.entry(id).or_default();
        sum.add(&Used::by(known, now));
        let sum = *sum;
        if let Some(parent) = &known.parent {
            sums.entry(parent).or_default().add(&sum);
        }
    }
    sums
}
