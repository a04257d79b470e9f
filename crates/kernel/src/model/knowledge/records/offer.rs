//! Offers of work to agents: an assignment, a message and a provisional claim for each.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Few, Fields};
use crate::model::knowledge::records::record::Body;
use crate::model::knowledge::records::view;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::knowledge::records::vocabulary::Status;
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::leasing::lease::{Lease, Ttl};
use crate::registry::record_id::RecordId;
use crate::surfaces::Surface;
use crate::values::content::Blob;
use crate::values::id::WorkspaceId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::Principal;
use crate::values::text::Text;

/// The most agents that one request can offer work to.
pub(crate) const LANES_MAX: usize = 32;

/// The work offered to one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// The fields of the assignment. `agent` is required; the claim and the message are set by the
    /// offer.
    pub fields: Fields,
    /// The surfaces to claim in the caller's name until the offer is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surfaces: Option<Surfaces>,
    /// The task.
    pub text: Body,
    /// The message thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Label>,
    /// The time to live of the claim, in seconds (default 90 minutes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// Two lanes of one offer that overlap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaneCollision {
    /// Their agents, in the order of the lanes.
    pub lanes: [AgentName; 2],
    /// The surface of each that overlaps one of the other.
    pub scopes: [Surface; 2],
    /// A path that both cover.
    pub common_path: Option<String>,
}

/// The reason why a plan cannot be given to anybody.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanTaken {
    /// It has ended.
    Over {
        /// The plan.
        plan_id: RecordId,
        /// Its state.
        status: Status,
    },
    /// It is assigned already.
    Assigned {
        /// The plan.
        plan_id: RecordId,
        /// The agent that has it.
        agent: Option<AgentName>,
        /// The assignment.
        assignment_id: Option<RecordId>,
    },
    /// Somebody has claimed files for it.
    Claimed {
        /// The plan.
        plan_id: RecordId,
        /// The holder of the claim.
        holder: Principal,
        /// The claim.
        claim_id: RecordId,
    },
}

/// `memory.offer`: offers work to agents, each with a claim, an assignment and a message. It
/// succeeds or fails as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The hash of the original request. With it, a repeated `request_id` counts as the same
    /// request even if its lanes would be computed differently by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Blob>,
    /// The work offered, one lane per agent.
    pub lanes: Few<Lane, LANES_MAX>,
    /// Idempotency key: a repeat within a day returns the first answer and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
}

/// A lane that was offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedLane {
    /// The assignment.
    pub assignment: RecordId,
    /// The fencing epoch of the claim, unless the agent already holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<u64>,
    /// The fields of the assignment.
    pub fields: Fields,
    /// The message.
    pub message: RecordId,
    /// The surfaces claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surfaces: Option<Surfaces>,
    /// The task.
    pub text: Body,
    /// The message thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Label>,
    /// The time to live of the claim, in seconds.
    pub ttl_s: Ttl,
}

/// `memory.offered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    /// The side effects.
    pub effects: Vec<Effect>,
    /// The lanes.
    pub lanes: Vec<OfferedLane>,
    /// The idempotency mark of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The session it was written in.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub session: Option<WorkspaceId>,
}

/// The terms of a lease that is opened because of a record's step.
pub(crate) struct Terms {
    pub(crate) purpose: Option<Text<1000>>,
    pub(crate) surfaces: Surfaces,
    pub(crate) task: Option<Text<128>>,
    pub(crate) ttl: Ttl,
}

impl Terms {
    pub(crate) fn of(lease: &Lease) -> Self {
        Terms {
            purpose: lease.purpose.clone(),
            surfaces: lease.surfaces.clone(),
            task: lease.task.clone(),
            ttl: lease.ttl,
        }
    }
}

pub(crate) fn reply(body: &Offered) -> MemoryReply {
    let offer = |lane: &OfferedLane| view::LaneReply {
        agent: lane.fields.agent.clone(),
        assignment: lane.assignment,
        claim: lane.claim.map(RecordId::claim),
        message: Some(lane.message),
    };
    MemoryReply::Offered(view::OfferedReply { offers: body.lanes.iter().map(offer).collect() })
}
