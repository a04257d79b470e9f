//! Types of `offer`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::effect::Effect;
use crate::model::knowledge::records::field::{Few, Fields};
use crate::model::knowledge::records::kind::RecordId;
use crate::model::knowledge::records::record::Body;
use crate::model::knowledge::records::view;
use crate::model::knowledge::records::view::MemoryReply;
use crate::model::leasing::lease::surfaces::Surfaces;
use crate::model::leasing::lease::{Lease, Ttl};
use crate::values::content::Blob;
use crate::values::id::WorkspaceId;
use crate::values::idempotency::Mark;
use crate::values::label::Label;
use crate::values::text::Text;

/// The most agents that one request offers work to.
pub const LANES_MAX: usize = 32;

/// Work for one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// What the assignment says besides its text; its `agent` is needed, its claim and its message
    /// come with the offer.
    pub fields: Fields,
    /// What is claimed for it until it is accepted, in the caller's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surfaces: Option<Surfaces>,
    /// What is to be done.
    pub text: Body,
    /// The conversation that the message belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Label>,
    /// For how many seconds it is claimed (default 90 minutes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_s: Option<Ttl>,
}

/// `memory.offer`: offers work to agents, each with a claim, an assignment and a message. All of it
/// is done or nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The hash of what the request was at its door. With it, the same `request_id` is the same
    /// request although the lanes would be others by now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Blob>,
    /// The work, for each agent.
    pub lanes: Few<Lane, LANES_MAX>,
    /// What the caller calls this request; asked again within a day, it is done once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Label>,
}

/// A lane that was offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfferedLane {
    /// The assignment.
    pub assignment: RecordId,
    /// The fencing epoch of what was claimed, unless the agent has it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<u64>,
    /// What the assignment says besides its text.
    pub fields: Fields,
    /// The message.
    pub message: RecordId,
    /// What it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surfaces: Option<Surfaces>,
    /// What is to be done.
    pub text: Body,
    /// The conversation that the message belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<Label>,
    /// For how many seconds it is claimed.
    pub ttl_s: Ttl,
}

/// `memory.offered`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offered {
    /// What followed.
    pub effects: Vec<Effect>,
    /// The lanes.
    pub lanes: Vec<OfferedLane>,
    /// The request that led to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Mark>,
    /// The session it was written in.
    #[serde(default, skip_serializing_if = "crate::model::knowledge::records::create::is_default")]
    pub session: Option<WorkspaceId>,
}

impl Offered {}

/// What a lease is opened with because of a step of a record.
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
        message: lane.message,
    };
    MemoryReply::Offered(view::OfferedReply { offers: body.lanes.iter().map(offer).collect() })
}
