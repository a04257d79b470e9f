//! Obstacles: the kernel's reasons for not offering a lane, in this dialect's codes and words.

use althing_dialects::frugal::haid::called;
use althing_engine::EngineError;
use althing_kernel::forecast;
use althing_kernel::query::Collision;
use althing_kernel::records::RecordId;
use althing_kernel::records::offer::{Lane, LaneCollision, PlanTaken};
use althing_kernel::refusal::Details;
use althing_kernel::{AgentName, Principal, Refusal, Rule};
use serde_json::{Value, json};

use super::Verbs;
use super::lanes::shown;
use super::session::Present;
use crate::error::{Error, Held};

/// The reason why a lane is not offered.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    pub(super) agent: String,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) data: Value,
    /// The surface in the way, if somebody holds it.
    pub(super) held: Option<Box<Held>>,
}

impl Obstacle {
    pub(super) fn shown(&self) -> Value {
        let Obstacle { agent, code, message, data, held: _ } = self;
        json!({ "agent": agent, "code": code, "reason": message, "data": data })
    }

    /// The error to return if nothing was offered.
    pub(super) fn error(&self, message: String) -> Error {
        match self.code {
            "scope_already_claimed" | "lanes_collide" => Error::collision(message),
            "plan_already_assigned" | "plan_is_over" => Error::refused(Rule::PlanTaken, message),
            _ => Error::not_found(message),
        }
    }
}

/// The kernel's answer to an offer of a lane, before it is made.
pub(super) enum Forecast {
    /// It would be accepted.
    Free,
    /// It would be refused because of this lane.
    LeftOut(Obstacle),
    /// It would be refused whatever the lane.
    Refused(Refusal),
}

impl Verbs<'_> {
    /// Asks the kernel whether a lane can be offered together with others.
    pub(super) fn forecast(
        &self,
        present: &Present,
        others: &[Lane],
        lane: &Lane,
    ) -> Result<Forecast, Error> {
        let (me, Present { state, now, .. }) = (self.principal(), present);
        let refused = forecast::obstacle(state, *now, &me, others, lane);
        let Some(refusal) = refused.map_err(EngineError::from)? else { return Ok(Forecast::Free) };
        let told = lane.fields.agent.as_ref().and_then(|agent| translated(&me, agent, &refusal));
        Ok(told.map_or(Forecast::Refused(refusal), Forecast::LeftOut))
    }
}

/// A refusal in this dialect's words, if it is about one lane.
fn translated(me: &Principal, agent: &AgentName, refusal: &Refusal) -> Option<Obstacle> {
    let (code, message, data) = match &refusal.details {
        Details::Collisions(met) => return met.first().map(|own| claimed(me, agent, own)),
        Details::Lanes(met) => {
            ("lanes_collide", named(met), met.iter().map(lane_collision).collect())
        }
        Details::Plan(taken) => plan_taken(taken),
        Details::None {} if refusal.rule == Rule::NoOverlap => {
            ("scope_already_claimed", refusal.message.clone(), Value::Null)
        }
        Details::None {} | Details::Findings(_) | Details::Allowed(_) => return None,
    };
    Some(Obstacle { agent: shown(agent), code, message, data, held: None })
}

/// A lease in the way of a lane.
fn claimed(me: &Principal, agent: &AgentName, met: &Collision) -> Obstacle {
    let (claim, holder) = (RecordId::claim(met.epoch), called(&met.holder));
    let promised = met.offered_to.clone().map(Principal::Agent);
    let whose = match &promised {
        None if met.holder == *me => {
            "which you hold yourself and which is larger than the lane: release it first".to_owned()
        }
        Some(to) if *to != met.holder => {
            format!("which is offered to {} and held by {holder} until it is accepted", called(to))
        }
        _ => format!("which {holder} holds"),
    };
    let Collision { surface, wanted, expires_at, .. } = met;
    Obstacle {
        agent: shown(agent),
        code: "scope_already_claimed",
        message: format!("{wanted} meets {surface}, {whose} ({claim})"),
        data: json!({
            "claim_id": claim, "holder": holder, "surface": surface, "wanted": wanted,
            "offered_to": promised.as_ref().map(called), "expires_at": expires_at,
        }),
        held: Some(Box::new(Held { holder, surface: surface.clone(), until: *expires_at })),
    }
}

/// The code, message and data for a plan that somebody has, or that has ended.
fn plan_taken(taken: &PlanTaken) -> (&'static str, String, Value) {
    match taken {
        PlanTaken::Over { plan_id, status } => (
            "plan_is_over",
            format!("{plan_id} is {status} and cannot be assigned"),
            json!({ "plan_id": plan_id, "status": status }),
        ),
        PlanTaken::Assigned { plan_id, agent, assignment_id } => {
            let agent = agent.as_ref().map(shown).unwrap_or_default();
            let id = assignment_id.map(|id| format!(" ({id})")).unwrap_or_default();
            let message = format!("{plan_id} is assigned to {agent}{id}");
            let data = json!({ "assignment_id": assignment_id, "agent": agent });
            ("plan_already_assigned", message, data)
        }
        PlanTaken::Claimed { plan_id, holder, claim_id } => {
            let agent = called(holder);
            let message = format!("{plan_id} is worked on by {agent} ({claim_id})");
            let data = json!({ "claim_id": claim_id, "agent": agent });
            ("plan_already_assigned", message, data)
        }
    }
}

/// Two lanes of one request that overlap, as shown to callers.
pub(super) fn lane_collision(own: &LaneCollision) -> Value {
    let LaneCollision { lanes, scopes, common_path } = own;
    json!({ "lanes": lanes.each_ref().map(shown), "scopes": scopes, "common_path": common_path })
}

/// Names lanes that overlap.
pub(super) fn named(met: &[LaneCollision]) -> String {
    let one = |own: &LaneCollision| {
        let ([one, other], [a, b]) = (own.lanes.each_ref().map(shown), &own.scopes);
        format!("{a} of {one} meets {b} of {other}")
    };
    met.iter().map(one).collect::<Vec<String>>().join("; ")
}
