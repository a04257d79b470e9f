//! Creation of workspaces: checked as a whole, then created with rights and directive.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::machine::coordinator;
use crate::machine::state::{Deadline, State};
use crate::machine::transaction::{DecisionError, Transaction};
use crate::model::runs::approvals::GateType;
use crate::model::runs::approvals::request::Request;
use crate::model::runs::envelope::{Origin, Payload};
use crate::model::runs::run::Hold;
use crate::model::runs::taxonomy::Base;
use crate::model::runs::workspace::budget::Percent;
use crate::model::runs::workspace::group::MEMBERS_MAX;
use crate::model::runs::workspace::liveness::Pulse;
use crate::model::runs::workspace::meter::{Amount, Meter};
use crate::model::runs::workspace::{
    Charter, IDLE_TIMEOUT_DEFAULT, LIST_MAX, LIVE_MAX, Party, Priority, Status, TIMEOUT_DEFAULT,
    Workspace,
};
use crate::protocol::event::{Event, Stamped};
use crate::protocol::refusal::{Record, Refusal};
use crate::protocol::reply::Reply;
use crate::registry::apply_error::ApplyError;
use crate::registry::record_id;
use crate::registry::rule::Rule;
use crate::rules::identity::user;
use crate::rules::leasing::handover;
use crate::rules::runs::admission::Need;
use crate::rules::runs::approvals::gate;
use crate::rules::runs::approvals::gate::{Stop, Way};
use crate::rules::runs::task::follow;
use crate::rules::runs::workspace::authority::Wanted;
use crate::rules::runs::workspace::{authority, draw, sight};
use crate::rules::runs::{admission, envelope, task, workspace};
use crate::values::content::Blob;
use crate::values::id::{EnvelopeId, GateId, IdKind, WorkspaceId};
use crate::values::name::AgentName;
use crate::values::principal::{Caller, Principal};
use crate::values::time::{Span, Timestamp};
use crate::values::token::RoleName;

pub use crate::model::runs::workspace::create::*;

/// A refusal that is recorded as a rejected workspace.
fn reject(reason: RejectReason, refusal: Refusal) -> Refusal {
    refusal.recorded(Record::Workspace(reason))
}

fn rejected(reason: RejectReason, rule: Rule, message: impl Into<String>) -> Refusal {
    reject(reason, Refusal::denied(rule, message))
}

pub(crate) fn decide_create(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    create: &Create,
) -> Result<Reply, DecisionError> {
    made(tx, caller, create)
}

/// Creates a workspace, or opens a gate for its creation; replies with either.
pub(crate) fn made(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    create: &Create,
) -> Result<Reply, DecisionError> {
    match make(tx, caller, create, None)? {
        Made::Workspace(id) => tx.workspace_reply(&id),
        Made::Waits(gate) => tx.gate_reply(&gate),
    }
}

/// The outcome of a request to create a workspace.
pub(crate) enum Made {
    Workspace(WorkspaceId),
    Waits(GateId),
}

/// Checks everything, then creates the workspace, its rights and its directive.
pub(crate) fn make(
    tx: &mut Transaction<'_>,
    caller: &Caller,
    create: &Create,
    reserved: Option<WorkspaceId>,
) -> Result<Made, DecisionError> {
    let create = &named_task(tx.state(), create);
    let parent_id = parent_for(tx.state(), caller, create)?;
    let plan = check(tx.state(), caller, create, &parent_id, tx.stamp())?;
    let context_bytes = plan.context.as_ref().map_or(0, |context| tx.bytes_of(context));
    let mail = tx.bytes_of_payload(&plan.directive);
    let need = Need { workspaces: 1, context: context_bytes, mail: mail.get() };
    match tx.recorded_shortage() {
        Some(refusal) => return Err(refusal.into()),
        None => admission::admit(tx.state(), tx.disk_free(), need, plan.priority)?,
    }
    let id = reserved.unwrap_or_else(|| tx.mint(IdKind::Workspace).into());
    let stop = Stop {
        kind: GateType::WorkspaceCreate,
        subject: (&id).into(),
        workspace: Some(parent_id.clone()),
        task: create.task.clone(),
        request: Some(Request::Create(Box::new(create.clone()))),
    };
    if let Way::Waits(gate) = gate::pass(tx, caller, stop)? {
        return Ok(Made::Waits(gate));
    }
    let directive: EnvelopeId = tx.mint(IdKind::Envelope).into();
    let state = tx.state();
    let parent = workspace::get(state, &parent_id)?;
    let originator = originator_of(state, parent, &caller.principal, create.caused_by.as_ref());
    let owner = create.owner.clone().map_or(parent.owner.clone(), Party::User);
    let authority = create.authority.clone().unwrap_or_else(|| parent.charter.authority.clone());
    let assignment =
        (plan.base == Base::Worker).then(|| state.memory.next(record_id::Kind::Assignment));
    let created = Created {
        agent: Some(create.agent.clone()),
        assignment,
        authority_set: authority,
        budget: create.budget.clone(),
        caused_by: create.caused_by.clone(),
        context: plan.context,
        context_bytes: Amount::new(context_bytes),
        delegate: create.delegate,
        directive: Some(directive.clone()),
        global_trail: create.global_trail,
        group: create.group.clone(),
        idle_timeout_s: create.idle_timeout_s.unwrap_or(IDLE_TIMEOUT_DEFAULT),
        liveness_interval_s: create.liveness_interval_s,
        mounts: create.mounts.clone(),
        originator: originator.clone(),
        owner,
        parent: Some(parent_id.clone()),
        priority: plan.priority,
        role: create.role.clone(),
        run: None,
        task_ref: create.task.clone(),
        timeout_s: Some(create.timeout_s.unwrap_or(TIMEOUT_DEFAULT)),
        visibility_set: create.visibility.clone(),
        warn_at_percent: create.warn_at_percent,
        workspace_id: id.clone(),
    };
    let actor = tx.actor(caller);
    tx.begin_in(&id, actor, Event::WorkspaceCreated(created))?;
    crate::rules::runs::right::grant_at_creation(tx, &parent_id, &id, plan.base)?;
    authority::open(tx, &caller.principal, &id)?;
    if let Some(task) = &create.task {
        follow::on_assigned(tx, task, &id)?;
    }
    let directive = envelope::Directive {
        id: directive,
        from: parent_id,
        to: id.clone(),
        payload: plan.directive,
        originator,
        task: create.task.clone(),
    };
    envelope::send_directive(tx, directive)?;
    Ok(Made::Workspace(id))
}

/// The same request with the id that runs use for its task, if it names the plan.
fn named_task(state: &State, create: &Create) -> Create {
    let known = create.task.as_ref().and_then(|id| state.task_record(id));
    let task = known.map(|known| known.task_id()).or_else(|| create.task.clone());
    Create { task, ..create.clone() }
}

/// The originator of a workspace: the person whose command or message caused it, or else that of
/// its parent.
pub(crate) fn originator_of(
    state: &State,
    parent: &Workspace,
    caller: &Principal,
    caused_by: Option<&EnvelopeId>,
) -> Party {
    let sent = caused_by.and_then(|id| state.envelopes.get(id));
    match (&parent.charter.originator, caller, sent) {
        // A person's command starts work on that person's account.
        (Party::System, Principal::User(user), _) => Party::User(user.clone()),
        (Party::System, _, Some(sent)) => sent.originator.clone(),
        (inherited, ..) => inherited.clone(),
    }
}

/// Whether an envelope's sender can be the originator of a workspace.
pub(crate) fn may_be_caused_by(state: &State, parent: &Workspace, sent: &EnvelopeId) -> bool {
    let human = state.envelopes.get(sent).is_some_and(|sent| sent.origin == Origin::Human);
    human && parent.charter.originator == Party::System
}

/// The parent of the new workspace, or a refusal if the caller may not create below it.
fn parent_for(state: &State, caller: &Caller, create: &Create) -> Result<WorkspaceId, Refusal> {
    let root = coordinator::root(state).map_err(|no| reject(RejectReason::NoRun, no))?;
    let denied = |message: String| {
        let allowed = state.workspaces.iter().filter(|(_, known)| {
            let own = match &caller.principal {
                Principal::Agent(name) => known.agent.as_ref() == Some(name),
                Principal::User(_) | Principal::System => false,
            };
            own && known.charter.delegate && known.status.is_open()
        });
        let below = allowed.take(LIST_MAX).map(|(id, _)| format!("below {id}"));
        rejected(RejectReason::PermissionDenied, Rule::CreateRight, message).allowing(below)
    };
    if coordinator::is_coordinator(state, &caller.principal) {
        return Ok(create.parent.clone().unwrap_or_else(|| root.clone()));
    }
    let own = match &create.parent {
        Some(parent) => parent.clone(),
        None => workspace::own(state, caller, None).map_err(|no| denied(no.message))?,
    };
    let bound = |id: &WorkspaceId| {
        let known = state.workspaces.get(id);
        known.is_some_and(|known| {
            let agent = matches!(&caller.principal, Principal::Agent(name)
                if known.agent.as_ref() == Some(name));
            agent && known.charter.delegate && !known.status.is_terminal()
        })
    };
    if bound(&own)
        || (state.workspaces.contains_key(&own) && workspace::commands(state, caller, &own))
    {
        return Ok(own);
    }
    Err(denied(format!("{} may not create a workspace there", caller.principal)))
}

/// The results of the checks that the creation needs.
struct Plan {
    base: Base,
    priority: Priority,
    context: Option<Blob>,
    directive: Payload,
}

fn check(
    state: &State,
    caller: &Caller,
    create: &Create,
    parent_id: &WorkspaceId,
    now: Timestamp,
) -> Result<Plan, Refusal> {
    let parent = workspace::get(state, parent_id)
        .map_err(|unknown| reject(RejectReason::InvalidParent, unknown))?;
    if !parent.status.is_open() {
        let message = format!("workspace {parent_id} is {} and takes no children", parent.status);
        return Err(rejected(RejectReason::InvalidParent, Rule::CreationSound, message));
    }
    let taxonomy = state.run_of(parent);
    let base = taxonomy.base_of(&create.role).filter(|base| *base != Base::Coordinator);
    let Some(base) = base else {
        let message = format!("the role {} cannot be given to a workspace", create.role);
        let roles = taxonomy.roles().filter(|role| **role != RoleName::coordinator());
        let roles: Vec<String> = roles.map(ToString::to_string).collect();
        let refusal = rejected(RejectReason::InvalidRole, Rule::CreationSound, message);
        return Err(refusal.allowing(roles));
    };
    check_binding(state, caller, create)?;
    if state.live >= LIVE_MAX {
        let message = format!("there are already {LIVE_MAX} live workspaces");
        return Err(rejected(RejectReason::CapacityExhausted, Rule::Limits, message));
    }
    check_lists(create)?;
    if let Some(sent) = create.caused_by.as_ref().filter(|id| !may_be_caused_by(state, parent, id))
    {
        let message = format!("{sent} is not a person's envelope that can cause work here");
        return Err(rejected(RejectReason::InvalidBinding, Rule::CausedBy, message));
    }
    check_resources(state, create)?;
    check_containment(state, create, parent_id, parent)?;
    if base == Base::Worker {
        state.memory.room().map_err(|no| reject(RejectReason::CapacityExhausted, no))?;
    }
    let authority = create.authority.as_deref().unwrap_or(&parent.charter.authority);
    let wanted = Wanted { id: None, parent: parent_id, agent: &create.agent, authority };
    authority::check(state, &caller.principal, &wanted)
        .map_err(|held| reject(RejectReason::AuthorityHeld, held))?;
    draw::may_have(parent, &create.budget, now)
        .map_err(|no| reject(RejectReason::Containment, no))?;
    let task = create.task.as_ref().map(|id| task::bindable(state, id)).transpose();
    let task = task.map_err(|no| reject(RejectReason::InvalidBinding, no))?;
    if let Some(plan) = task.as_ref().and_then(|task| state.task_record(&task.id)) {
        let agent = Principal::Agent(create.agent.clone());
        handover::not_held(state, plan.id, &[&caller.principal, &agent])
            .map_err(|no| reject(RejectReason::InvalidBinding, no))?;
    }
    let priority =
        create.priority.or_else(|| task.as_ref().map(|task| task.priority.of_workspace()));
    let structure =
        |message: String| rejected(RejectReason::InvalidStructure, Rule::CreationSound, message);
    let context = match &create.context {
        None => None,
        Some(content) => {
            let stored = content.blob().cloned();
            Some(stored.ok_or_else(|| structure("the context was not stored first".to_owned()))?)
        }
    };
    let directive = match (&create.directive, task) {
        (Some(directive), _) => directive.stored().map_err(structure)?,
        (None, Some(task)) => task.as_payload(),
        (None, None) => return Err(structure("there is no directive and no task".to_owned())),
    };
    Ok(Plan { base, priority: priority.unwrap_or_default(), context, directive })
}

fn check_binding(state: &State, caller: &Caller, create: &Create) -> Result<(), Refusal> {
    let unbound = |rule, message| rejected(RejectReason::InvalidBinding, rule, message);
    if !state.agents.contains_key(&create.agent) {
        let message = format!("agent {} has never registered", create.agent);
        return Err(unbound(Rule::AgentKnown, message));
    }
    if let Some(owner) = &create.owner {
        user::can_own(state, owner).map_err(|no| reject(RejectReason::InvalidBinding, no))?;
    }
    if coordinator::is_coordinator(state, &caller.principal) {
        return Ok(());
    }
    let only = match create {
        Create { delegate: true, .. } => "only the coordinator grants delegation",
        Create { global_trail: true, .. } => {
            "only the coordinator grants access to the whole trail"
        }
        Create { owner: Some(_), .. } => "only the coordinator chooses the owner of a workspace",
        _ if !is_free_for(state, caller, &create.agent) => {
            "a delegate can only give work to agents without work elsewhere"
        }
        _ => return Ok(()),
    };
    Err(rejected(RejectReason::PermissionDenied, Rule::CreateRight, only))
}

/// Whether an agent works only in workspaces that the caller commands or in the caller's own. An
/// agent bound to a second workspace must name the workspace in each command.
fn is_free_for(state: &State, caller: &Caller, agent: &AgentName) -> bool {
    state.bound_to(agent).all(|id| {
        let own = caller.principal == Principal::Agent(agent.clone());
        own || workspace::commands(state, caller, id)
    })
}

fn check_lists(create: &Create) -> Result<(), Refusal> {
    let authority = create.authority.as_ref().map_or(0, Vec::len);
    let longest = authority.max(create.visibility.len()).max(create.mounts.len());
    if longest > LIST_MAX {
        let message = format!("a list of {longest} is over the limit of {LIST_MAX}");
        return Err(rejected(RejectReason::InvalidStructure, Rule::Limits, message));
    }
    Ok(())
}

/// Checks that limits are above zero, and that the group has a name and room.
fn check_resources(state: &State, create: &Create) -> Result<(), Refusal> {
    let unsound =
        |rule, message: String| Err(rejected(RejectReason::InvalidStructure, rule, message));
    if let Some((dimension, _)) = create.budget.iter().find(|(_, limit)| limit.get() == 0) {
        return unsound(Rule::CreationSound, format!("{dimension} must be above 0"));
    }
    let Some(group) = &create.group else { return Ok(()) };
    if group.is_blank() {
        return unsound(Rule::CreationSound, "the group has no name".to_owned());
    }
    let root = coordinator::root(state).map_err(|no| reject(RejectReason::NoRun, no))?;
    if state.members_of(root, group).take(MEMBERS_MAX).count() >= MEMBERS_MAX {
        return unsound(Rule::Limits, format!("the group has {MEMBERS_MAX} workspaces already"));
    }
    Ok(())
}

/// Checks containment: a child sees and changes nothing that its parent does not.
fn check_containment(
    state: &State,
    create: &Create,
    parent_id: &WorkspaceId,
    parent: &Workspace,
) -> Result<(), Refusal> {
    let breach = |message: String, allowed: Vec<String>| {
        rejected(RejectReason::Containment, Rule::Containment, message).allowing(allowed)
    };
    for wanted in &create.visibility {
        workspace::get(state, wanted)
            .map_err(|unknown| reject(RejectReason::InvalidStructure, unknown))?;
        if !sight::sees(state, parent_id, wanted) {
            let message = format!("its parent {parent_id} does not see workspace {wanted}");
            return Err(breach(message, Vec::new()));
        }
    }
    let wanted = create.authority.as_deref().unwrap_or_default();
    if let Some(beyond) = sight::within_authority(parent, wanted) {
        let message = format!("its parent {parent_id} may not change {beyond}");
        let allowed = parent.charter.authority.iter().map(ToString::to_string).collect();
        return Err(breach(message, allowed));
    }
    Ok(())
}

pub(crate) fn apply_created(
    state: &mut State,
    entry: &Stamped,
    created: &Created,
) -> Result<(), ApplyError> {
    let id = &created.workspace_id;
    if state.workspaces.contains_key(id) {
        return Err(ApplyError::Twice("a workspace's creation"));
    }
    let root = match (&created.parent, &created.run) {
        (None, Some(run)) => {
            crate::rules::runs::run::apply_begun(state, id, run)?;
            id.clone()
        }
        (Some(parent), None) => {
            let parent = state.workspaces.get(parent).ok_or(ApplyError::Unknown("the parent"))?;
            if !parent.status.is_open() {
                return Err(ApplyError::Mismatch("the parent's state"));
            }
            parent.charter.root.clone()
        }
        (None, None) if state.is_standing(id) => id.clone(),
        _ => return Err(ApplyError::Mismatch("the root of the run")),
    };
    let workspace = Workspace {
        charter: Arc::new(charter(entry, created, root)),
        agent: created.agent.clone(),
        owner: created.owner.clone(),
        parent: created.parent.clone(),
        status: if created.parent.is_none() && created.run.is_none() {
            Status::Active
        } else {
            Status::Idle
        },
        since: entry.at,
        ready: false,
        started: false,
        interrupted: None,
        visibility: created.visibility_set.clone(),
        termination: None,
        orphan_of: None,
        moved_from: None,
        owed: None,
        spent: Span::default(),
        priority: created.priority,
        meter: Meter { context: created.context_bytes.get(), ..Meter::default() },
        budget: created.budget.clone(),
        warn_at: created.warn_at_percent.unwrap_or(Percent::WARNING),
        warned: Vec::new(),
        exceeded: None,
        given: BTreeMap::new(),
        pulse: Pulse { last: entry.at, silent: 0 },
        head: None,
        latest_final: None,
        branch: None,
        process: None,
        hold: Hold::default(),
        ended: None,
        reason: None,
        memory: imbl::OrdMap::new(),
        merged: imbl::OrdMap::new(),
    };
    // Work outside runs takes nobody's sight of the rest away.
    if let Some(agent) = created.agent.as_ref().filter(|_| !state.is_open_attempt(&workspace)) {
        state.give_part(agent);
    }
    if let Some(parent) = &created.parent {
        state.children.insert((parent.clone(), entry.at, id.clone()));
        draw::on_created(state, parent, &created.budget);
    }
    state.insert_live(id, workspace);
    Ok(())
}

fn charter(entry: &Stamped, created: &Created, root: WorkspaceId) -> Charter {
    Charter {
        root,
        role: created.role.clone(),
        originator: created.originator.clone(),
        authority: created.authority_set.clone(),
        delegate: created.delegate,
        global_trail: created.global_trail,
        mounts: created.mounts.clone(),
        group: created.group.clone(),
        liveness: created.liveness_interval_s,
        limits: created.run.as_ref().and_then(|run| run.limits.clone()),
        directive: created.directive.clone(),
        context: created.context.clone(),
        pool: created.run.as_ref().is_some_and(|run| run.pool),
        task: created.task_ref.clone(),
        assignment: created.assignment,
        timeout: created.timeout_s,
        idle_timeout: created.idle_timeout_s,
        created_at: entry.at,
        stream: entry.draft.stream.clone(),
    }
}

impl State {
    /// Inserts a workspace and updates the indexes.
    pub(crate) fn insert_live(&mut self, id: &WorkspaceId, workspace: Workspace) {
        if let Some(group) = &workspace.charter.group {
            let (root, at) = (workspace.charter.root.clone(), workspace.charter.created_at);
            self.groups.insert((root, group.clone(), at, id.clone()));
        }
        if !workspace.status.is_terminal() {
            if self.is_standing(&workspace.charter.root) {
                self.live_outside += 1;
            } else {
                self.live += 1;
            }
            self.limited += usize::from(!workspace.budget.is_empty());
            self.context = self.context.saturating_add(workspace.meter.context);
            if workspace.pulse.silent > 0 {
                self.quiet.insert(id.clone());
            }
            if let Some(agent) = &workspace.agent {
                self.bound.insert((agent.clone(), id.clone()));
            }
            self.reschedule(None, workspace.deadline(), &Deadline::Workspace(id.clone()));
        }
        self.workspaces.insert(id.clone(), Arc::new(workspace));
        self.retime(id);
    }
}
