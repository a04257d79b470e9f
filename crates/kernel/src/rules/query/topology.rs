//! Queries along the structures of a run: the tree, visibility, send rights and task dependencies.
//!
//! The structures are independent of each other, so each has its own query. A query leaves no trace
//! in the workspaces it is about. An agent sees only what it may read.

use std::collections::BTreeSet;

use crate::model::query::Answer;
use crate::model::runs::right::{Right, RightView};
use crate::model::runs::task::Task;
use crate::model::runs::task::view::TaskView;
use crate::model::runs::workspace::Workspace;
use crate::model::runs::workspace::view::WorkspaceView;
use crate::rules::query::work::{Asked, missing};
use crate::rules::runs::workspace::{change, peer, sight};
use crate::values::id::{TaskId, WorkspaceId};

pub(crate) use crate::model::query::topology::*;

impl WorkspaceList {
    /// Whether a workspace has the position in the tree that the query asks for.
    fn is_placed(&self, asked: Asked<'_>, id: &WorkspaceId, known: &Workspace) -> bool {
        let above = |above, below| sight::is_above(asked.state, above, below);
        let beside = |other: &WorkspaceId| {
            let other_parent = asked.state.workspaces.get(other).map(|other| &other.parent);
            other != id && known.parent.is_some() && other_parent == Some(&known.parent)
        };
        self.above.as_ref().is_none_or(|from| above(id, from))
            && self.below.as_ref().is_none_or(|top| above(top, id))
            && self.beside.as_ref().is_none_or(beside)
            && !(self.leaves && asked.state.children_of(id).next().is_some())
    }

    /// Whether a peer or the standing root has the place in the tree that the query asks for.
    fn is_placed_outside(&self, asked: Asked<'_>, view: &WorkspaceView) -> bool {
        let is_peer = |id: &WorkspaceId| asked.state.sessions.contains_key(id);
        self.above.as_ref().is_none_or(|from| view.is_standing_root() && is_peer(from))
            && self.below.as_ref().is_none_or(|top| view.parent.as_ref() == Some(top))
            && self.beside.as_ref().is_none_or(|other| {
                view.peer.is_some() && is_peer(other) && *other != view.workspace
            })
            && !(self.leaves && view.is_standing_root())
    }

    fn fits_outside(&self, asked: Asked<'_>, view: &WorkspaceView) -> bool {
        self.agent.as_ref().is_none_or(|agent| view.agent.as_ref() == Some(agent))
            && self.status.is_none_or(|status| view.status == status)
            && !self.orphans
            && self.originator.as_ref().is_none_or(|by| view.originator == *by)
            && self.owner.as_ref().is_none_or(|of| view.owner == *of)
            && self.group.is_none()
            && self.role.as_ref().is_none_or(|role| view.role == *role)
            && self.is_placed_outside(asked, view)
    }

    pub(crate) fn fits(&self, asked: Asked<'_>, id: &WorkspaceId, known: &Workspace) -> bool {
        let charter = &known.charter;
        self.agent.as_ref().is_none_or(|agent| known.agent.as_ref() == Some(agent))
            && self.status.is_none_or(|status| known.status == status)
            && !(self.live && known.status.is_terminal())
            && !(self.live && asked.stands_alone(id))
            && !(self.orphans && (known.orphan_of.is_none() || known.status.is_terminal()))
            && self.originator.as_ref().is_none_or(|by| charter.originator == *by)
            && self.owner.as_ref().is_none_or(|of| known.owner == *of)
            && self.group.as_ref().is_none_or(|group| charter.group.as_ref() == Some(group))
            && self.role.as_ref().is_none_or(|role| charter.role == *role)
            && self.is_placed(asked, id, known)
    }
}

/// The workspaces outside runs: the peers, and the standing root above them.
impl Asked<'_> {
    /// A peer, or the standing root.
    pub(crate) fn peer(self, id: &WorkspaceId) -> Option<WorkspaceView> {
        if peer::standing_root(self.state).as_ref() == Some(id) {
            return WorkspaceView::of_project(self.state);
        }
        let session = self.state.sessions.get(id).filter(|_| self.reads(id))?;
        Some(WorkspaceView::of_peer(self.state, self.now, id, session))
    }

    /// The peers that a query asks for. The standing root is listed if there are any below it.
    pub(crate) fn peers(self, list: &WorkspaceList) -> Vec<WorkspaceView> {
        let all = peer::peers(self.state, self.now).filter(|(id, _)| self.reads(id));
        let mut views: Vec<WorkspaceView> = all
            .map(|(id, session)| WorkspaceView::of_peer(self.state, self.now, id, session))
            .collect();
        // The standing root is a stored workspace once there was an attempt below it.
        let stored = |root: &WorkspaceId| self.state.workspaces.contains_key(root);
        let is_stored = peer::standing_root(self.state).as_ref().is_some_and(stored);
        if !views.is_empty() && !is_stored {
            views.extend(WorkspaceView::of_project(self.state));
        }
        views.retain(|view| list.fits_outside(self, view));
        views
    }

    /// Whether a workspace is the standing root and nothing below it goes on.
    fn stands_alone(self, id: &WorkspaceId) -> bool {
        self.state.is_standing(id)
            && peer::peers(self.state, self.now).next().is_none()
            && change::live_children(self.state, id).is_empty()
    }

    fn knows(self, id: &WorkspaceId) -> bool {
        self.state.workspaces.contains_key(id) && self.reads(id)
    }

    /// The rights held by and to workspaces; visible to readers of either end.
    pub(crate) fn rights(self, list: &RightList) -> Answer {
        let named = [&list.workspace, &list.from, &list.to].into_iter().flatten();
        let (known, unknown): (Vec<_>, Vec<_>) = named.partition(|id| self.knows(id));
        if let (true, Some(id)) = (known.is_empty(), unknown.first()) {
            return missing("workspace", *id);
        }
        let mut ids: Vec<_> = match known.first() {
            Some(one) => {
                let (held, about) = (self.state.rights_held_by(one), self.state.rights_about(one));
                held.into_iter().chain(about).collect()
            }
            None => self.state.rights.keys().cloned().collect(),
        };
        ids.sort();
        ids.dedup();
        let all = ids.iter().filter_map(|id| self.state.rights.get(id).map(|right| (id, right)));
        let reads = |right: &Right| self.reads(&right.holder) || self.reads(&right.target);
        let fitting = all.filter(|(_, right)| list.fits(right) && reads(right));
        Answer::Rights(fitting.map(|(id, right)| RightView::of(id, right)).collect())
    }

    fn sight_view(self, id: &WorkspaceId, because: Because) -> Option<SightView> {
        let known = self.state.workspaces.get(id).filter(|_| self.reads(id))?;
        Some(SightView {
            workspace: id.clone(),
            role: known.charter.role.clone(),
            agent: known.agent.clone(),
            status: known.status,
            because,
        })
    }

    /// The reason why one workspace can see another, if it can.
    fn because(self, viewer: &WorkspaceId, target: &WorkspaceId) -> Option<Because> {
        if viewer == target {
            Some(Because::Itself)
        } else if sight::is_above(self.state, viewer, target) {
            Some(Because::Below)
        } else {
            sight::sees(self.state, viewer, target).then_some(Because::Shown)
        }
    }

    /// The workspaces that a workspace can see.
    pub(crate) fn sees(self, id: &WorkspaceId) -> Answer {
        self.sight(id, |other| self.because(id, other))
    }

    /// The workspaces that can see a workspace. It is not notified of the query.
    pub(crate) fn seen_by(self, id: &WorkspaceId) -> Answer {
        self.sight(id, |other| self.because(other, id))
    }

    fn sight(self, id: &WorkspaceId, why: impl Fn(&WorkspaceId) -> Option<Because>) -> Answer {
        if !self.knows(id) {
            return missing("workspace", id);
        }
        let all = self.state.workspaces.keys();
        let mut found: Vec<SightView> =
            all.filter_map(|other| self.sight_view(other, why(other)?)).collect();
        let created =
            |id: &WorkspaceId| self.state.workspaces.get(id).map(|w| w.charter.created_at);
        found.sort_by_key(|view| created(&view.workspace));
        Answer::Sight(found)
    }

    /// The dependencies or dependents of a task, in dependency order.
    pub(crate) fn task_deps(self, asked: &TaskDeps) -> Answer {
        let Some(task) = self.state.task(&asked.task).filter(|task| self.reads_task(task)) else {
            return missing("task", &asked.task);
        };
        let next = |task: &Task| -> Vec<TaskId> {
            if !asked.dependents {
                return task.depends_on.clone();
            }
            let waits = |other: &Task| other.depends_on.contains(&task.id);
            self.state.tasks().filter(waits).map(|other| other.id).collect()
        };
        let mut found: BTreeSet<TaskId> = BTreeSet::new();
        let mut open = next(&task);
        while let Some(id) = open.pop() {
            let Some(task) = self.state.task(&id) else { continue };
            if found.insert(id) && asked.all {
                open.extend(next(&task));
            }
        }
        let views = self.in_order(&found);
        Answer::Tasks(views)
    }

    /// Tasks of one graph, each after its dependencies. A plan may list a task before its
    /// dependencies, so the order of planning is not enough.
    fn in_order(self, wanted: &BTreeSet<TaskId>) -> Vec<TaskView> {
        let mut left: Vec<Task> = wanted.iter().filter_map(|id| self.state.task(id)).collect();
        left.sort_by_key(|task| task.at);
        let mut placed: BTreeSet<TaskId> = BTreeSet::new();
        let mut views = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let free = |task: &Task| {
                task.depends_on.iter().all(|on| placed.contains(on) || !wanted.contains(on))
            };
            // The kernel refuses cycles, so some task is always free.
            let Some(at) = left.iter().position(free) else { break };
            let task = left.remove(at);
            placed.insert(task.id.clone());
            if self.reads_task(&task) {
                views.push(TaskView::of(self.state, &task));
            }
        }
        views
    }
}
