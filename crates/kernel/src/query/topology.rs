//! Questions along the structures of a run: the tree, who sees whom, who may write to whom, what
//! has to be done before what.
//!
//! The structures are independent of each other, so each has its own question. The one that is
//! looked at hears nothing of it. An agent that asks by name finds what it may read and no more.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use super::Answer;
use super::work::{Asked, missing};
use crate::id::{TaskId, WorkspaceId};
use crate::name::AgentName;
use crate::right::{Right, RightView};
use crate::task::Task;
use crate::task::view::TaskView;
use crate::token::RoleName;
use crate::workspace::group::GroupName;
use crate::workspace::{Party, Status, Workspace, sight};

/// `workspace.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WorkspaceList {
    /// Only those above this one, up to the root.
    pub above: Option<WorkspaceId>,
    /// Only those bound to this agent.
    pub agent: Option<AgentName>,
    /// Only those below this one, down to the leaves.
    pub below: Option<WorkspaceId>,
    /// Only those with the same workspace above them as this one.
    pub beside: Option<WorkspaceId>,
    /// Only those of this group.
    pub group: Option<GroupName>,
    /// Only those with nothing below them.
    pub leaves: bool,
    /// Only those that have not ended.
    pub live: bool,
    /// Only those that lost their parent and go on, and were given no other.
    pub orphans: bool,
    /// Only those this user caused, or `system`.
    #[schemars(with = "Option<String>")]
    pub originator: Option<Party>,
    /// Only those this user answers for, or `system`.
    #[schemars(with = "Option<String>")]
    pub owner: Option<Party>,
    /// Only those of this role.
    pub role: Option<RoleName>,
    /// Only those in this state.
    pub status: Option<Status>,
}

/// `right.list`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RightList {
    /// Only rights this workspace holds: whom it may write to.
    pub from: Option<WorkspaceId>,
    /// Only rights to this workspace: who may write to it.
    pub to: Option<WorkspaceId>,
    /// Only rights this workspace holds, and those to it.
    pub workspace: Option<WorkspaceId>,
}

/// `task.deps`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskDeps {
    /// Also what those depend on, and so on.
    #[serde(default)]
    pub all: bool,
    /// The other way round: what waits for this task.
    #[serde(default)]
    pub dependents: bool,
    /// Which task.
    pub task: TaskId,
}

/// Why one workspace sees another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// It is the same.
    Itself,
    /// The one that is seen is below the other.
    Below,
    /// It was shown.
    Shown,
}

/// One side of what is seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SightView {
    /// The workspace.
    pub workspace: WorkspaceId,
    /// Its role.
    pub role: RoleName,
    /// The agent bound to it.
    pub agent: Option<AgentName>,
    /// The state it is in.
    pub status: Status,
    /// Why it is seen, or sees.
    pub because: Because,
}

impl WorkspaceList {
    /// Whether a workspace has its place where the question asks for it.
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

    pub(super) fn fits(&self, asked: Asked<'_>, id: &WorkspaceId, known: &Workspace) -> bool {
        let charter = &known.charter;
        self.agent.as_ref().is_none_or(|agent| known.agent.as_ref() == Some(agent))
            && self.status.is_none_or(|status| known.status == status)
            && !(self.live && known.status.is_terminal())
            && !(self.orphans && (known.orphan_of.is_none() || known.status.is_terminal()))
            && self.originator.as_ref().is_none_or(|by| charter.originator == *by)
            && self.owner.as_ref().is_none_or(|of| known.owner == *of)
            && self.group.as_ref().is_none_or(|group| charter.group.as_ref() == Some(group))
            && self.role.as_ref().is_none_or(|role| charter.role == *role)
            && self.is_placed(asked, id, known)
    }

    /// The workspaces the question starts from, which whoever asks must be able to read.
    pub(super) fn anchors(&self) -> impl Iterator<Item = &WorkspaceId> {
        [&self.above, &self.below, &self.beside].into_iter().flatten()
    }
}

impl RightList {
    fn fits(&self, right: &Right) -> bool {
        let about = |id: &WorkspaceId| right.holder == *id || right.target == *id;
        self.from.as_ref().is_none_or(|from| right.holder == *from)
            && self.to.as_ref().is_none_or(|to| right.target == *to)
            && self.workspace.as_ref().is_none_or(about)
    }
}

impl Asked<'_> {
    fn knows(self, id: &WorkspaceId) -> bool {
        self.state.workspaces.contains_key(id) && self.reads(id)
    }

    /// The rights that lead out of and into workspaces. One reads those of either end.
    pub(super) fn rights(self, list: &RightList) -> Answer {
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

    /// Why one workspace sees another, if it does.
    fn because(self, viewer: &WorkspaceId, target: &WorkspaceId) -> Option<Because> {
        if viewer == target {
            Some(Because::Itself)
        } else if sight::is_above(self.state, viewer, target) {
            Some(Because::Below)
        } else {
            sight::sees(self.state, viewer, target).then_some(Because::Shown)
        }
    }

    /// What a workspace sees.
    pub(super) fn sees(self, id: &WorkspaceId) -> Answer {
        self.sight(id, |other| self.because(id, other))
    }

    /// Who sees a workspace. It is not told that somebody asked.
    pub(super) fn seen_by(self, id: &WorkspaceId) -> Answer {
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

    /// What a task depends on, or what waits for it; what comes first, first.
    pub(super) fn task_deps(self, asked: &TaskDeps) -> Answer {
        let Some(task) = self.state.tasks.get(&asked.task).filter(|task| self.reads_task(task))
        else {
            return missing("task", &asked.task);
        };
        let next = |id: &TaskId, task: &Task| -> Vec<TaskId> {
            if !asked.dependents {
                return task.depends_on.clone();
            }
            let all = self.state.tasks_in(&task.graph);
            let waits = |other: &&TaskId| {
                self.state.tasks.get(*other).is_some_and(|other| other.depends_on.contains(id))
            };
            all.filter(waits).cloned().collect()
        };
        let mut found: BTreeSet<TaskId> = BTreeSet::new();
        let mut open = next(&asked.task, task);
        while let Some(id) = open.pop() {
            let Some(task) = self.state.tasks.get(&id) else { continue };
            if found.insert(id.clone()) && asked.all {
                open.extend(next(&id, task));
            }
        }
        let views = self.in_order(&found);
        Answer::Tasks(views)
    }

    /// Tasks of one graph, each after those it depends on. A task may be planned before what it
    /// depends on, so the order of planning does not tell.
    fn in_order(self, wanted: &BTreeSet<TaskId>) -> Vec<TaskView> {
        let mut left: Vec<(&TaskId, &Task)> = wanted
            .iter()
            .filter_map(|id| self.state.tasks.get(id).map(|task| (id, task.as_ref())))
            .collect();
        left.sort_by_key(|(_, task)| task.at);
        let mut placed: BTreeSet<&TaskId> = BTreeSet::new();
        let mut views = Vec::with_capacity(left.len());
        while !left.is_empty() {
            let free = |(_, task): &(&TaskId, &Task)| {
                task.depends_on.iter().all(|on| placed.contains(on) || !wanted.contains(on))
            };
            // The kernel lets no cycle in; without one something is always free.
            let Some(at) = left.iter().position(free) else { break };
            let (id, task) = left.remove(at);
            placed.insert(id);
            if self.reads_task(task) {
                views.push(TaskView::of(self.state, id, task));
            }
        }
        views
    }
}
