//! Facts about workspaces: role, run, originator, and owners over time.

use althing_kernel::State;
use std::collections::BTreeMap;

use crate::read::row::{Row, text};

/// Facts about a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceInfo {
    /// Its role.
    pub role: String,
    /// Its originator: a user, or `system`.
    pub originator: String,
    /// The root of its run.
    pub run: String,
    /// Its group, if its creation was read and names one.
    pub group: Option<String>,
    /// Its owners, each with the entry since which; the first from the beginning.
    owners: Vec<(u64, String)>,
}

impl WorkspaceInfo {
    /// Its owner at an entry.
    pub fn owner(&self, seq: u64) -> &str {
        let later = self.owners.partition_point(|(since, _)| *since <= seq);
        self.owners.get(later.saturating_sub(1)).map_or("system", |(_, owner)| owner)
    }
}

/// Facts about all workspaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceDirectory(BTreeMap<String, WorkspaceInfo>);

impl WorkspaceDirectory {
    /// The workspaces of a state, without earlier owners.
    pub fn of_state(state: &State) -> Self {
        let place = |known: &althing_kernel::workspace::Workspace| WorkspaceInfo {
            role: known.charter.role.to_string(),
            originator: known.charter.originator.to_string(),
            run: known.charter.root.to_string(),
            group: known.charter.group.as_ref().map(ToString::to_string),
            owners: vec![(0, known.owner.to_string())],
        };
        WorkspaceDirectory(
            state.workspaces().map(|(id, known)| (id.to_string(), place(known))).collect(),
        )
    }

    /// The facts about a workspace, if it belongs to a run.
    pub fn get(&self, workspace: &str) -> Option<&WorkspaceInfo> {
        self.0.get(workspace)
    }

    /// The originator of an entry: the one it names, or that of its workspace.
    pub fn originator(&self, row: &Row<'_>) -> Option<String> {
        // Only these name it themselves; a person's message may travel in the system's run.
        if matches!(&*row.kind, "envelope_created" | "workspace_created") {
            return text(&row.body(), "originator").map(str::to_owned);
        }
        self.of(row).map(|place| place.originator.clone())
    }

    /// The workspace of an entry.
    pub fn of(&self, row: &Row<'_>) -> Option<&WorkspaceInfo> {
        self.get(row.workspace.as_deref()?)
    }

    /// Adds what an entry says about workspaces.
    pub fn learn(&mut self, row: &Row<'_>) {
        match &*row.kind {
            "workspace_created" => self.created(row),
            "workspace_ownership_transferred" => self.handed_over(row),
            _ => {}
        }
    }

    fn created(&mut self, row: &Row<'_>) {
        let body = row.body();
        let Some(id) = text(&body, "workspace_id") else { return };
        let group = text(&body, "group").map(str::to_owned);
        if let Some(known) = self.0.get_mut(id) {
            known.group = group;
            return;
        }
        let above = text(&body, "parent").and_then(|parent| self.0.get(parent));
        let run = above.map_or(id, |place| &place.run).to_owned();
        let field = |name: &str| text(&body, name).unwrap_or("system").to_owned();
        let place = WorkspaceInfo {
            role: field("role"),
            originator: field("originator"),
            run,
            group,
            owners: vec![(0, field("owner"))],
        };
        self.0.insert(id.to_owned(), place);
    }

    fn handed_over(&mut self, row: &Row<'_>) {
        let body = row.body();
        let place = text(&body, "workspace_id").and_then(|id| self.0.get_mut(id));
        let (Some(place), Some(from), Some(to)) =
            (place, text(&body, "from_user"), text(&body, "to_user"))
        else {
            return;
        };
        // The only known owner may be the final one; the entry names the first.
        if let [(_, first)] = place.owners.as_mut_slice() {
            from.clone_into(first);
        }
        if place.owners.last().is_none_or(|(since, _)| *since < row.seq) {
            place.owners.push((row.seq, to.to_owned()));
        }
    }
}
