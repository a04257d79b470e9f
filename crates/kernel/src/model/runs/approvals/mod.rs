//! Types of `approvals`: state, arguments of commands and bodies of events.

pub(crate) mod escalation;
pub(crate) mod gate;
pub(crate) mod inject;
pub(crate) mod request;
pub(crate) mod resolve;
pub(crate) mod view;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::model::runs::workspace::Timeout;
use crate::values::id::WorkspaceId;

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
