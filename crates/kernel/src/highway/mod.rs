//! The highway: how people watch, approve, interrupt and answer, without stopping anything.
//!
//! What a person wants to see before it happens waits at a gate ([`gate`]); what an agent cannot
//! decide comes as an escalation ([`escalation`]); what a person wants to say goes in as an
//! injected envelope ([`inject`]). A run has one setting that says which gates are there, how
//! long each waits and what happens then. Watching needs no setting: it is the trail.

pub mod escalation;
pub mod gate;
pub mod inject;
pub mod request;
pub mod resolve;
pub mod view;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::event::Event;
use crate::id::{TaskId, WorkspaceId};
use crate::principal::Caller;
use crate::refusal::Refusal;
use crate::rule::Rule;
use crate::state::{ApplyError, State};
use crate::task::{self, Task};
use crate::time::Timestamp;
use crate::turn::{Halt, Reply, Turn};
use crate::workspace::{self, Timeout};

/// What a gate stands before. In alphabetical order, since it is a key in what is written.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GateType {
    /// The settling of a conflict.
    ConflictResolution,
    /// An envelope's way into the inbox.
    EnvelopeDelivery,
    /// A merge.
    Integration,
    /// The taking up of a task.
    TaskApproval,
    /// The abort of a workspace.
    WorkspaceAbort,
    /// The creation of a workspace.
    WorkspaceCreate,
}

impl GateType {
    /// All six.
    pub const ALL: [GateType; 6] = [
        GateType::ConflictResolution,
        GateType::EnvelopeDelivery,
        GateType::Integration,
        GateType::TaskApproval,
        GateType::WorkspaceAbort,
        GateType::WorkspaceCreate,
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            GateType::ConflictResolution => "conflict_resolution",
            GateType::EnvelopeDelivery => "envelope_delivery",
            GateType::Integration => "integration",
            GateType::TaskApproval => "task_approval",
            GateType::WorkspaceAbort => "workspace_abort",
            GateType::WorkspaceCreate => "workspace_create",
        }
    }
}

impl std::fmt::Display for GateType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// What happens at a gate that nobody answers in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateFallback {
    /// It is let through.
    Approve,
    /// It is turned back.
    Reject,
    /// The coordinator decides.
    EscalateToCoordinator,
}

/// What happens to an escalation that nobody answers in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EscalationFallback {
    /// The agent is told to go on as it sees fit.
    Approve,
    /// The workspace is failed.
    Reject,
    /// The coordinator deals with it.
    DelegateToCoordinator,
}

/// How long a gate waits, and what happens then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatePolicy {
    /// What happens if nobody answers.
    pub fallback: GateFallback,
    /// How long it waits, in seconds; for ever, if null.
    pub timeout_s: Option<Timeout>,
}

/// What happens to escalations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalationPolicy {
    /// Whether they reach people at all.
    pub enabled: bool,
    /// What happens if nobody answers.
    pub fallback: EscalationFallback,
    /// How long they wait, in seconds; for ever, if null.
    pub timeout_s: Option<Timeout>,
}

/// The settings people start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// People watch; plans wait half a minute for them and then go on.
    Autonomous,
    /// Plans and merges wait a quarter of an hour, then the coordinator decides.
    Supervised,
    /// Nothing moves without a person.
    Gated,
}

impl Preset {
    /// All three.
    pub const ALL: [Preset; 3] = [Preset::Autonomous, Preset::Supervised, Preset::Gated];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Preset::Autonomous => "autonomous",
            Preset::Supervised => "supervised",
            Preset::Gated => "gated",
        }
    }
}

const SHORT: Timeout = Timeout::known::<30>();
const MEDIUM: Timeout = Timeout::known::<900>();

/// Which gates there are in a run, and what happens at them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Highway {
    /// What happens to escalations.
    pub escalation: EscalationPolicy,
    /// How gates work where nothing else is said.
    pub gate_defaults: GatePolicy,
    /// How single types of gates work.
    pub gate_overrides: BTreeMap<GateType, GatePolicy>,
    /// The gates there are.
    pub gates: BTreeSet<GateType>,
    /// Whether people may send envelopes from outside.
    pub injection: bool,
}

impl Default for Highway {
    /// What a run has where nothing was said: plans wait a quarter of an hour for a person, then
    /// the coordinator decides.
    fn default() -> Self {
        let fallback = GateFallback::EscalateToCoordinator;
        Highway {
            escalation: EscalationPolicy {
                enabled: true,
                fallback: EscalationFallback::DelegateToCoordinator,
                timeout_s: Some(MEDIUM),
            },
            gate_defaults: GatePolicy { fallback, timeout_s: Some(MEDIUM) },
            gate_overrides: BTreeMap::new(),
            gates: BTreeSet::from([GateType::TaskApproval]),
            injection: true,
        }
    }
}

impl Highway {
    /// The settings of a preset.
    pub fn preset(preset: Preset) -> Self {
        let (fallback, escalated) = match preset {
            Preset::Autonomous => {
                (GateFallback::Approve, EscalationFallback::DelegateToCoordinator)
            }
            Preset::Supervised => (GateFallback::EscalateToCoordinator, EscalationFallback::Reject),
            Preset::Gated => (GateFallback::Reject, EscalationFallback::Reject),
        };
        let (timeout_s, gates) = match preset {
            Preset::Autonomous => (Some(SHORT), BTreeSet::from([GateType::TaskApproval])),
            Preset::Supervised => {
                (Some(MEDIUM), BTreeSet::from([GateType::TaskApproval, GateType::Integration]))
            }
            Preset::Gated => (None, BTreeSet::from(GateType::ALL)),
        };
        Highway {
            escalation: EscalationPolicy { enabled: true, fallback: escalated, timeout_s },
            gate_defaults: GatePolicy { fallback, timeout_s },
            gate_overrides: BTreeMap::new(),
            gates,
            injection: true,
        }
    }

    /// The preset it is, if nothing was changed about one.
    pub fn name(&self) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| Highway::preset(*preset) == *self)
    }

    /// How a gate works, if there is one of that type.
    pub fn gate(&self, kind: GateType) -> Option<GatePolicy> {
        let policy = self.gate_overrides.get(&kind).copied().unwrap_or(self.gate_defaults);
        self.gates.contains(&kind).then_some(policy)
    }

    /// The same, with what somebody wants to be different.
    #[must_use]
    pub fn with(mut self, wish: &Wish) -> Self {
        if let Some(preset) = wish.preset {
            self = Highway::preset(preset);
        }
        if let Some(defaults) = wish.gate_defaults {
            self.gate_defaults = defaults;
        }
        if let Some(gates) = &wish.gates {
            self.gates.clone_from(gates);
        }
        if let Some(overrides) = &wish.gate_overrides {
            self.gate_overrides.clone_from(overrides);
        }
        if let Some(escalation) = wish.escalation {
            self.escalation = escalation;
        }
        if let Some(injection) = wish.injection {
            self.injection = injection;
        }
        self
    }
}

/// What somebody wants of a highway; what is left out stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// What happens to escalations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<EscalationPolicy>,
    /// How gates work where nothing else is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_defaults: Option<GatePolicy>,
    /// How single types of gates work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_overrides: Option<BTreeMap<GateType, GatePolicy>>,
    /// The gates there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<BTreeSet<GateType>>,
    /// Whether people may send envelopes from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection: Option<bool>,
    /// The preset to start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
}

/// `highway.configured`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configured {
    /// How it is from now on. Gates that are open go on as they were.
    pub highway: Highway,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}

pub(crate) fn decide_configure(
    turn: &mut Turn<'_>,
    caller: &Caller,
    wish: &Wish,
) -> Result<Reply, Halt> {
    let root = workspace::root(turn.state())?.clone();
    may_configure(turn.state(), caller)?;
    let highway = Highway::clone(&turn.state().highway).with(wish);
    let event = Event::HighwayConfigured(Configured { highway, workspace_id: root.clone() });
    turn.note(Some(&root), caller.principal.clone().into(), event)?;
    for draft in unasked(turn.state()) {
        gate::on_planned(turn, &draft)?;
    }
    Ok(Reply::Highway(Box::new(view::HighwayView::of(turn.state()))))
}

/// Plans that nobody was asked about yet.
fn unasked(state: &State) -> Vec<TaskId> {
    let unasked = |id: &TaskId, task: &Task| {
        let subject = id.into();
        task.status == task::Status::Draft
            && task::is_of_this_run(state, task)
            && state.open_gate(GateType::TaskApproval, &subject).is_none()
            && gate::closed_by_fallback(state, GateType::TaskApproval, &subject).is_none()
    };
    let drafts = state.tasks().filter(|(id, task)| unasked(id, task));
    let mut drafts: Vec<(Timestamp, TaskId)> =
        drafts.map(|(id, task)| (task.at, id.clone())).collect();
    drafts.sort();
    drafts.into_iter().map(|(_, id)| id).collect()
}

/// People set their own gates. Where nobody has signed up the coordinator does: nobody is there
/// whom it could keep out.
pub(crate) fn may_configure(state: &State, caller: &Caller) -> Result<(), Refusal> {
    use crate::capability::{Deed, may};
    match &caller.principal {
        crate::Principal::User(user) => may(state, user, Deed::CreateWorkspace, None),
        principal if state.users.is_empty() && workspace::is_coordinator(state, principal) => {
            Ok(())
        }
        principal => {
            let message = format!("{principal} may not change what people want to be asked about");
            Err(Refusal::denied(Rule::PersonDecides, message))
        }
    }
}

pub(crate) fn apply_configured(
    state: &mut State,
    configured: &Configured,
) -> Result<(), ApplyError> {
    if state.root.as_ref() != Some(&configured.workspace_id) {
        return Err(ApplyError::Mismatch("the root of the run"));
    }
    state.highway = Arc::new(configured.highway.clone());
    Ok(())
}

/// What no longer makes sense is closed: gates whose subject is gone, escalations of workspaces
/// that have ended. Asked after every command and everything that fell due, so that no way of
/// ending anything is forgotten.
pub(crate) fn sweep(turn: &mut Turn<'_>) -> Result<(), ApplyError> {
    if !turn.state().gates.is_empty() {
        gate::sweep(turn)?;
    }
    if !turn.state().escalations.is_empty() {
        escalation::sweep(turn)?;
    }
    Ok(())
}
