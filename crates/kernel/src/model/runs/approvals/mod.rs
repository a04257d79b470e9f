//! Settings of human approvals (the "highway"): gates, escalations, timeouts and fallbacks.

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

/// The type of action that a gate guards. Sorted by name, since it is a key in what is written.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GateType {
    /// Resolving a conflict.
    ConflictResolution,
    /// Delivering an envelope.
    EnvelopeDelivery,
    /// Merging work.
    Integration,
    /// Approving a task.
    TaskApproval,
    /// Aborting a workspace.
    WorkspaceAbort,
    /// Creating a workspace.
    WorkspaceCreate,
}

impl GateType {
    /// All six types.
    pub const ALL: [GateType; 6] = [
        GateType::ConflictResolution,
        GateType::EnvelopeDelivery,
        GateType::Integration,
        GateType::TaskApproval,
        GateType::WorkspaceAbort,
        GateType::WorkspaceCreate,
    ];

    /// The name.
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

/// The fallback for a gate that nobody answers in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateFallback {
    /// The action is approved.
    Approve,
    /// The action is rejected.
    Reject,
    /// The coordinator decides.
    EscalateToCoordinator,
}

impl GateFallback {
    /// Whether the action can proceed although no person approved it.
    pub fn passes_people(self) -> bool {
        match self {
            GateFallback::Approve | GateFallback::EscalateToCoordinator => true,
            GateFallback::Reject => false,
        }
    }
}

/// The fallback for an escalation that nobody answers in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EscalationFallback {
    /// The agent is told to proceed at its own discretion.
    Approve,
    /// The workspace fails.
    Reject,
    /// The coordinator handles it.
    DelegateToCoordinator,
}

impl EscalationFallback {
    /// Whether the agent proceeds although no person answered it.
    pub fn passes_people(self) -> bool {
        match self {
            EscalationFallback::Approve | EscalationFallback::DelegateToCoordinator => true,
            EscalationFallback::Reject => false,
        }
    }
}

/// The timeout and fallback of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GatePolicy {
    /// The fallback after the timeout.
    pub fallback: GateFallback,
    /// The timeout in seconds; `null` waits forever.
    pub timeout_s: Option<Timeout>,
}

/// The policy for escalations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalationPolicy {
    /// Whether escalations reach people at all.
    pub enabled: bool,
    /// The fallback after the timeout.
    pub fallback: EscalationFallback,
    /// The timeout in seconds; `null` waits forever.
    pub timeout_s: Option<Timeout>,
}

/// A preset of the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Plans wait half a minute for approval and then proceed. Only a person can choose it.
    Autonomous,
    /// Plans and merges wait a quarter of an hour, then the coordinator decides. Only a person can
    /// choose it.
    Supervised,
    /// Every type of action waits for a person, without a timeout.
    Gated,
}

impl Preset {
    /// All three presets.
    pub const ALL: [Preset; 3] = [Preset::Autonomous, Preset::Supervised, Preset::Gated];

    /// The name.
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

/// The approval settings of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalSettings {
    /// The policy for escalations.
    pub escalation: EscalationPolicy,
    /// The default policy of gates.
    pub gate_defaults: GatePolicy,
    /// The policies of individual gate types.
    pub gate_overrides: BTreeMap<GateType, GatePolicy>,
    /// The gate types in use.
    pub gates: BTreeSet<GateType>,
    /// Whether people may inject envelopes from outside.
    pub injection: bool,
}

/// The policy for escalations that no person changed: they wait until a person answers.
const ESCALATIONS_WAIT: EscalationPolicy =
    EscalationPolicy { enabled: true, fallback: EscalationFallback::Reject, timeout_s: None };

impl Default for ApprovalSettings {
    /// The default settings: plans wait a quarter of an hour for a person and are rejected if nobody
    /// answers; escalations wait until somebody does.
    fn default() -> Self {
        let (fallback, timeout_s) = (GateFallback::Reject, Some(MEDIUM));
        ApprovalSettings {
            escalation: ESCALATIONS_WAIT,
            gate_defaults: GatePolicy { fallback, timeout_s },
            gate_overrides: BTreeMap::new(),
            gates: BTreeSet::from([GateType::TaskApproval]),
            injection: true,
        }
    }
}

impl ApprovalSettings {
    /// The default settings of a project without people: nothing waits for a person, and an
    /// escalation is the coordinator's after a quarter of an hour.
    pub(crate) fn without_people() -> Self {
        let fallback = EscalationFallback::DelegateToCoordinator;
        ApprovalSettings {
            escalation: EscalationPolicy { enabled: true, fallback, timeout_s: Some(MEDIUM) },
            gates: BTreeSet::new(),
            ..ApprovalSettings::default()
        }
    }

    /// Whether a fallback lets something proceed without a person's answer.
    pub fn passes_people(&self) -> bool {
        let mut policies = self.gate_overrides.values().chain([&self.gate_defaults]);
        policies.any(|policy| policy.fallback.passes_people())
            || self.escalation.fallback.passes_people()
    }

    /// Whether people are asked less than by default: a fallback passes them, a gate that stands by
    /// default is missing, or they can no longer be asked or write.
    pub(crate) fn is_looser_than_default(&self) -> bool {
        self.passes_people()
            || !self.gates.contains(&GateType::TaskApproval)
            || !self.escalation.enabled
            || !self.injection
    }

    /// The settings with every fallback that passes people replaced: gates are rejected, and
    /// escalations wait.
    #[must_use]
    pub(crate) fn passing_nobody(mut self) -> Self {
        for policy in self.gate_overrides.values_mut().chain([&mut self.gate_defaults]) {
            if policy.fallback.passes_people() {
                policy.fallback = GateFallback::Reject;
            }
        }
        if self.escalation.fallback.passes_people() {
            self.escalation =
                EscalationPolicy { enabled: self.escalation.enabled, ..ESCALATIONS_WAIT };
        }
        self
    }

    /// The settings with people asked at least as much as by default.
    #[must_use]
    pub(crate) fn asking_people(self) -> Self {
        let mut settings = self.passing_nobody();
        settings.gates.insert(GateType::TaskApproval);
        settings.escalation.enabled = true;
        settings.injection = true;
        settings
    }

    /// Whether the timeouts and fallbacks are the same as in other settings.
    pub(crate) fn has_policies_of(&self, other: &ApprovalSettings) -> bool {
        let policies = |own: &ApprovalSettings| (own.gate_defaults, own.gate_overrides.clone());
        policies(self) == policies(other) && self.escalation == other.escalation
    }

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
        ApprovalSettings {
            escalation: EscalationPolicy { enabled: true, fallback: escalated, timeout_s },
            gate_defaults: GatePolicy { fallback, timeout_s },
            gate_overrides: BTreeMap::new(),
            gates,
            injection: true,
        }
    }

    /// The preset these settings equal, if any.
    pub fn name(&self) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| ApprovalSettings::preset(*preset) == *self)
    }

    /// The policy of a gate type, or `None` if it is not in use.
    pub fn gate(&self, kind: GateType) -> Option<GatePolicy> {
        let policy = self.gate_overrides.get(&kind).copied().unwrap_or(self.gate_defaults);
        self.gates.contains(&kind).then_some(policy)
    }

    /// The settings with the requested changes applied.
    #[must_use]
    pub fn with(mut self, wish: &Wish) -> Self {
        if let Some(preset) = wish.preset {
            self = ApprovalSettings::preset(preset);
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

/// Requested changes of the settings; fields left out stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    /// The policy for escalations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub escalation: Option<EscalationPolicy>,
    /// The default policy of gates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_defaults: Option<GatePolicy>,
    /// The policies of individual gate types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_overrides: Option<BTreeMap<GateType, GatePolicy>>,
    /// The gate types in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<BTreeSet<GateType>>,
    /// Whether people may inject envelopes from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection: Option<bool>,
    /// The preset to start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
}

impl Wish {
    /// Whether it names timeouts and fallbacks.
    pub(crate) fn names_policies(&self) -> bool {
        self.preset.is_some()
            || self.gate_defaults.is_some()
            || self.gate_overrides.is_some()
            || self.escalation.is_some()
    }
}

/// `highway.configured`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configured {
    /// The new settings. Open gates keep the policy they were triggered with.
    pub highway: ApprovalSettings,
    /// The root of the run.
    pub workspace_id: WorkspaceId,
}
