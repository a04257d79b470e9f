//! People in simulated runs: their gate settings, answers and messages.

use althing_kernel::approvals::GateType;
use althing_kernel::workspace::Status;
use serde_json::{Value, json};

use super::Harness;
use super::runs::{Asked, blob};
use super::scene::{AGENTS, Scene, agent, somebody};

const GATE_FALLBACKS: [&str; 3] = ["approve", "reject", "escalate_to_coordinator"];
const ESCALATION_FALLBACKS: [&str; 3] = ["approve", "reject", "delegate_to_coordinator"];
const PRESETS: [&str; 3] = ["autonomous", "supervised", "gated"];

fn policy(harness: &mut Harness) -> Value {
    let mut policy = json!({ "fallback": *harness.random.pick(&GATE_FALLBACKS) });
    if !harness.random.one_in(5) {
        policy["timeout_s"] = (1 + harness.random.below(90)).into();
    }
    policy
}

/// Any mix of gates; now and then an unchanged preset.
pub(super) fn wish(harness: &mut Harness) -> Value {
    if harness.random.one_in(4) {
        return json!({ "preset": *harness.random.pick(&PRESETS) });
    }
    let gates: Vec<GateType> =
        GateType::ALL.into_iter().filter(|_| harness.random.one_in(3)).collect();
    let mut wish = json!({ "gates": gates, "gate_defaults": policy(harness) });
    if harness.random.one_in(3) {
        let kind = harness.random.pick(&GateType::ALL).as_str();
        wish["gate_overrides"] = json!({ kind: policy(harness) });
    }
    if harness.random.one_in(2) {
        wish["escalation"] = json!({
            "enabled": !harness.random.one_in(5),
            "fallback": *harness.random.pick(&ESCALATION_FALLBACKS),
            "timeout_s": 1 + harness.random.below(60),
        });
    }
    wish["injection"] = (!harness.random.one_in(6)).into();
    wish
}

/// A command of a person, on their own or as an answer.
pub(super) fn ask(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    Some(match harness.random.below(44) {
        0 => {
            let caller = if harness.random.one_in(8) {
                agent(harness.random.below(AGENTS))
            } else {
                somebody(harness)
            };
            (caller, "highway.configure", wish(harness))
        }
        1..=6 => inject(harness, scene)?,
        7..=16 => answer(harness, scene)?,
        17..=20 => again(harness, scene)?,
        _ => resolve(harness, scene)?,
    })
}

fn inject(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let to = match harness.random.below(4) {
        0 => scene.some_id(harness),
        _ => scene.one(harness, &[Status::Idle, Status::Active, Status::Blocked])?.id.to_string(),
    };
    let kind = *harness.random.pick(&["directive", "feedback", "query", "hint", "riddle"]);
    let args = json!({ "to": to, "type": kind, "payload": { "content": blob(harness) } });
    Some((scene.person_or_not(harness), "highway.inject", args))
}

fn answer(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    if scene.escalations.is_empty() {
        return None;
    }
    let id = harness.random.pick(&scene.escalations).clone();
    let response = *harness.random.pick(&["envelope", "envelope", "abort", "delegation"]);
    let mut args = json!({ "escalation": id, "response": response });
    if response == "envelope" && !harness.random.one_in(10) {
        args["payload"] = json!({ "content": blob(harness) });
    }
    Some((scene.person_or_not(harness), "escalation.answer", args))
}

/// Asks again about what nobody answered.
fn again(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    if scene.unanswered.is_empty() {
        return None;
    }
    let args = json!({ "gate": harness.random.pick(&scene.unanswered) });
    let caller = match harness.random.below(4) {
        0 => scene.person_or_not(harness),
        1 => agent(harness.random.below(AGENTS)),
        _ => scene.coordinator(harness),
    };
    Some((caller, "gate.ask", args))
}

fn resolve(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    // Mostly the oldest; some are left to their fallbacks.
    let open = match harness.random.below(3) {
        0 if !scene.left.is_empty() => {
            let args = json!({ "gate": harness.random.pick(&scene.left), "action": "approve" });
            return Some((scene.coordinator(harness), "gate.resolve", args));
        }
        _ if scene.gates.is_empty() => return None,
        1 if harness.random.one_in(2) => &scene.gates[0],
        // Merges are rarer than plans and messages, and matter as much.
        1 => {
            let merge = scene.gates.iter().find(|(_, kind)| *kind == GateType::Integration);
            merge.unwrap_or(&scene.gates[0])
        }
        _ => harness.random.pick(&scene.gates),
    };
    let (gate, kind) = open.clone();
    let args = match harness.random.below(10) {
        0..=4 => json!({ "gate": gate, "action": "approve" }),
        5 => json!({ "gate": gate, "action": "approve", "modifications": {} }),
        6 | 7 => json!({ "gate": gate, "action": "reject", "reason": "simulated" }),
        _ => {
            let changed = modifications(harness, kind);
            json!({ "gate": gate, "action": "modify", "modifications": changed })
        }
    };
    Some((scene.person_or_not(harness), "gate.resolve", args))
}

/// Mostly modifications that are allowed at such a gate.
fn modifications(harness: &mut Harness, kind: GateType) -> Value {
    match kind {
        GateType::TaskApproval if harness.random.one_in(2) => json!({ "name": "better" }),
        GateType::TaskApproval => json!({ "description": blob(harness), "priority": "elevated" }),
        GateType::EnvelopeDelivery => json!({ "payload": { "content": blob(harness) } }),
        GateType::WorkspaceCreate if harness.random.one_in(2) => {
            json!({ "budget": { "token_limit": 100 + harness.random.below(500) } })
        }
        GateType::WorkspaceCreate => json!({ "workspace_priority": "background" }),
        _ => json!({ "merged": [{ "path": "src/a", "content": blob(harness) }] }),
    }
}
