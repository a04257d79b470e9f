//! Starting and finishing work: session, claim and plan status in one command.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::transition::PlanStatus;
use crate::model::leasing::lease;
use crate::model::leasing::view::{Collision, LeaseView};
use crate::values::id::{LeaseId, WorkspaceId};
use crate::values::text::Text;

/// `work.begin`: starts work. Opens the caller's session if none is open, claims surfaces if
/// requested, and renews the caller's leases that have used up a quarter of their time.
///
/// A lease of the caller that covers exactly the same surfaces is reused. If another principal
/// holds some of them, the session is opened all the same, the refusal of the claim is recorded in
/// the same commit, and the reply lists the collisions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// The claim to open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<lease::Open>,
    /// The agent's label for its client; without one the standing session is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
    /// Record that the agent has seen all shared records up to now.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub looked: bool,
}

/// `work.finish`: releases a claim and sets the status of the plan it was held for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// The epoch under which the caller believes to hold the lease; refused if it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// The lease.
    pub lease: LeaseId,
    /// The new status of the plan. It becomes done only if nothing else is claimed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanStatus>,
}

/// The outcome of the claim in `work.begin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    /// No claim was requested.
    None,
    /// The claim was opened.
    Created,
    /// The caller already held it.
    Existing,
    /// The same request was answered before, and the lease it opened has ended.
    Over,
    /// Another principal holds some of the surfaces.
    Conflict,
}

/// The reply to `work.begin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Begun {
    /// The caller's session; people have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
    /// Whether the session was just opened.
    pub session_opened: bool,
    /// The outcome of the claim.
    pub claim_status: ClaimStatus,
    /// The claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<LeaseView>,
    /// The leases that collide with it.
    pub collisions: Vec<Collision>,
    /// The leases that were renewed because their holder is working.
    pub renewed: Vec<LeaseId>,
}

/// The reply to `work.finish`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finished {
    /// The lease, as it was before it ended.
    pub claim: LeaseView,
    /// The side effects, including the end of the lease.
    pub side_effects: Vec<Effect>,
}
