//! Beginning a run: the run itself, its branch, and the tasks of the plan. A run that was cut off is
//! gone on with.

use althing_kernel::approvals::Wish;
use althing_kernel::git::BranchName as RecordedBranch;
use althing_kernel::records::{Kind, Record};
use althing_kernel::run::{Hold, SetHold, Start};
use althing_kernel::task::graph::{Plan, Planned};
use althing_kernel::task::orders::Approve;
use althing_kernel::workspace::Timeout;
use althing_kernel::workspace::branch::SetBranch;
use althing_kernel::{Blob, Command, Content, Reply, Rule, State, WorkspaceId};
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::git::ref_name::BranchName;
use althing_workshop::git::refs::Swap;
use althing_workshop::repository::{Effect, Finding, RepositoryError};
use std::time::Duration;

use super::prepare::{commit_id, git, run_name};
use super::queue;
use super::settings::Options;
use super::shared::Shared;
use crate::context::ProjectContext;
use crate::error::Error;

/// A run that goes on.
#[derive(Clone, Debug)]
pub struct Begun {
    /// The root of the run.
    pub root: WorkspaceId,
    /// Whether it began before.
    pub resumed: bool,
    /// What is worth knowing about the repository.
    pub notes: Vec<String>,
}

/// Begins a run, or goes on with the one there is. `starter` is who asks for it: a person, or where
/// there are no people any agent.
pub fn begin(
    shared: &Shared,
    starter: &ProjectContext,
    plan: Option<&Plan>,
    highway: Option<Wish>,
    options: &Options,
) -> Result<Begun, Error> {
    let lead = shared.lead();
    let (base, notes) = base(shared, options)?;
    // Runners that begin at the same time share one run, and plan its tasks once.
    let _lock = queue::wait_lock(shared)?;
    if plan.is_none() && lead.present()?.state.root().is_none() {
        return Err(Error::not_found("there is no run to go on with")
            .with_rule(Rule::RunNeeded)
            .hint("Begin one with a plan: `althing run PLAN --agents NAME`."));
    }
    lead.execute(Command::AgentRegister(althing_kernel::agent::Register::default()))?;
    let (root, resumed) = match current(shared, &lead.present()?.state)? {
        Some(root) => (root, true),
        None => (start(shared, starter, highway)?, false),
    };
    on_branch(shared, &lead, &root, &base)?;
    if let Some(plan) = plan {
        add(&lead, starter, &with_timeouts(plan, shared.settings.timeout))?;
    }
    let go_on = SetHold { hold: Hold::None, reason: None };
    lead.execute(Command::RunHold(go_on))?;
    Ok(Begun { root, resumed, notes })
}

/// The commit to begin with, and what is worth knowing about the repository. One that worktrees
/// cannot be made in is refused.
fn base(shared: &Shared, options: &Options) -> Result<(ObjectId, Vec<String>), Error> {
    let unfit = |error: RepositoryError| Error::unavailable(error.to_string()).hint(error.hint());
    let survey = shared.repository().survey().map_err(unfit)?;
    let under_way = |finding: &&Finding| matches!(finding, Finding::UnderWay(_));
    if let Some(finding) = survey.findings.iter().find(under_way).filter(|_| options.base.is_none())
    {
        let hint =
            "Finish or abort it first, or say which commit to begin with: `--base REVISION`.";
        return Err(Error::unavailable(finding.text()).hint(hint));
    }
    let notes = survey
        .with_effect(Effect::Notice)
        .map(althing_workshop::repository::Finding::text)
        .collect();
    let base = match &options.base {
        None => survey.base().map_err(unfit)?,
        Some(named) => {
            let found = shared.repository().resolve(named).map_err(git)?;
            found.ok_or_else(|| Error::not_found(format!("there is no commit {named:?}")))?
        }
    };
    Ok((base, notes))
}

impl Shared {
    /// Refuses a repository in which no run can be begun, or a branch that is not there.
    pub fn check_repository(&self, options: &Options) -> Result<(), Error> {
        base(self, options)?;
        let Some(into) = &options.into else { return Ok(()) };
        let branch = BranchName::new(into).map_err(git)?;
        match self.repository().refs().read(&branch.full()).map_err(git)? {
            Some(_) => Ok(()),
            None => Err(Error::not_found(format!("there is no branch {into}"))
                .hint(format!("Make it first: `git branch {into}`. Nothing was changed."))),
        }
    }
}

/// The run there is, if the runner leads it.
fn current(shared: &Shared, state: &State) -> Result<Option<WorkspaceId>, Error> {
    let Some(root) = state.root() else { return Ok(None) };
    let known = state.workspaces().find(|(id, _)| *id == root).map(|(_, known)| known);
    let is_own =
        known.is_some_and(|known| known.charter.pool && known.agent.as_ref() == Some(&shared.lead));
    if is_own {
        return Ok(Some(root.clone()));
    }
    let leader = known.and_then(|known| known.agent.as_ref()).map(ToString::to_string);
    let leader = leader.unwrap_or_else(|| "the system".to_owned());
    let message = format!("there is another run, led by {leader}");
    let hint = "End it with `althing coordinator stop`, or let it come to its end.";
    Err(Error::refused(Rule::OneCoordinator, message).hint(hint))
}

fn start(
    shared: &Shared,
    starter: &ProjectContext,
    highway: Option<Wish>,
) -> Result<WorkspaceId, Error> {
    // Where there are people, only they start runs; otherwise the runner does it itself.
    let is_person = matches!(starter.principal(), Some(althing_kernel::Principal::User(_)));
    let start = Start { agent: Some(shared.lead.clone()), highway, pool: true, ..Start::default() };
    let lead = shared.lead();
    let by = if is_person { starter } else { &lead };
    let reply = by.execute(Command::RunStart(start)).map_err(|error| {
        if error.rule() == Rule::PostGiven {
            error.hint("Only people start runs here: repeat it with `--user NAME`.")
        } else {
            error
        }
    })?;
    match reply {
        Reply::Workspace(view) => Ok(view.workspace),
        other => Err(Error::unexpected(&other)),
    }
}

/// Puts the run on its branch, which is made.
fn on_branch(
    shared: &Shared,
    lead: &ProjectContext,
    root: &WorkspaceId,
    base: &ObjectId,
) -> Result<(), Error> {
    let state = lead.present()?.state;
    let known = state.workspaces().find(|(id, _)| *id == root).map(|(_, known)| known);
    if known.is_some_and(|known| known.branch.is_some()) {
        return Ok(());
    }
    let name = format!("althing/{}/_merged", run_name(root));
    let branch = BranchName::new(&name).map_err(git)?;
    let refs = shared.repository().refs();
    let base = match refs.swap(&branch.full(), base, None, "althing: begin").map_err(git)? {
        Swap::Done => base.clone(),
        // A process that was killed made it.
        Swap::Moved { now: Some(now) } => now,
        Swap::Moved { now: None } => return Err(Error::unavailable(format!("{name} is gone"))),
    };
    let set = SetBranch {
        base: commit_id(&base)?,
        branch: RecordedBranch::new(&name).map_err(Error::unreadable)?,
        workspace: root.clone(),
    };
    lead.execute(Command::WorkspaceBranch(set)).map(drop)
}

/// The plan, in which every task says how long an attempt may take.
fn with_timeouts(plan: &Plan, timeout: Duration) -> Plan {
    let default = Timeout::new(timeout.as_secs().into()).ok();
    let mut plan = plan.clone();
    for task in &mut plan.tasks {
        let terms = task.terms.get_or_insert_default();
        terms.timeout_s = terms.timeout_s.or(default);
    }
    plan
}

/// Plans the tasks, unless the run has them already.
fn add(lead: &ProjectContext, starter: &ProjectContext, plan: &Plan) -> Result<(), Error> {
    let state = lead.present()?.state;
    if plan.tasks.iter().all(|task| is_planned(&state, task)) {
        return Ok(());
    }
    let reply = lead.execute(Command::TaskGraph(plan.clone()))?;
    let Reply::Graph(made) = reply else { return Err(Error::unexpected(&reply)) };
    let approve = Approve { graph: Some(made.graph), tasks: Vec::new() };
    let is_person = matches!(starter.principal(), Some(althing_kernel::Principal::User(_)));
    let by = if is_person { starter } else { lead };
    match by.execute(Command::TaskApprove(approve)) {
        // People are asked; the tasks wait until they answered.
        Err(error) if error.rule() == Rule::TaskWaits => Ok(()),
        other => other.map(drop),
    }
}

/// Whether the current run has a task as it is planned.
fn is_planned(state: &State, task: &Planned) -> bool {
    let blob = match &task.description {
        Content::Text(text) => Blob::of(text.as_bytes()),
        Content::Blob(blob) => blob.clone(),
    };
    let is_same = |own: &Record| {
        let part = own.task();
        let description = part.and_then(|part| part.description.as_ref());
        own.terms() == task.terms.as_deref() && description == Some(&blob)
    };
    let mut all = state.memory().newest(Kind::Plan, None);
    all.any(|own| state.is_governed(own) && is_same(own))
}
