//! Types of `work`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::transition::PlanStatus;
use crate::model::leasing::lease;
use crate::model::leasing::view::{Collision, LeaseView};
use crate::values::id::{LeaseId, WorkspaceId};
use crate::values::text::Text;

/// `work.begin`: begins to work. Opens the caller's session if none is open, claims surfaces if
/// that is asked for, and renews the caller's leases that have used up a quarter of their time.
///
/// A lease of the caller's that covers exactly the same surfaces is gone on with. If somebody else
/// holds a part of them, the session is opened all the same, the refusal of the claim is an entry
/// of the same commit, and the reply says who is in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// What to claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<lease::Open>,
    /// What the agent calls its end of the session; its standing session if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Text<128>>,
    /// Note that the agent has seen what is remembered up to now.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub looked: bool,
}

/// `work.finish`: gives a claim back and says what becomes of the plan it was held for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// The epoch the caller believes to hold; refused if it is not the lease's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// Which lease.
    pub lease: LeaseId,
    /// What becomes of the plan. It is done only if nothing else is claimed for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_status: Option<PlanStatus>,
}

/// How a claim stands that came with `work.begin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimStatus {
    /// None was asked for.
    None,
    /// It was opened.
    Created,
    /// The caller had it.
    Existing,
    /// The same request was answered before, and what it opened is over.
    Over,
    /// Somebody else holds a part of it.
    Conflict,
}

/// What `work.begin` replies with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Begun {
    /// The caller's session; people have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
    /// Whether it was opened just now.
    pub session_opened: bool,
    /// How the claim stands.
    pub claim_status: ClaimStatus,
    /// The claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<LeaseView>,
    /// The leases in the way of it.
    pub collisions: Vec<Collision>,
    /// The leases that were renewed because their holder is at work.
    pub renewed: Vec<LeaseId>,
}

/// What `work.finish` replies with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finished {
    /// The lease, as it was.
    pub claim: LeaseView,
    /// What followed, the end of the lease too.
    pub side_effects: Vec<Effect>,
}
