//! Budgets, groups and silence in simulated runs: given at creation, used, raised, given up.

use althing_kernel::workspace::Status;
use serde_json::{Value, json};

use super::Harness;
use super::runs::Asked;
use super::scene::Scene;

const GROUPS: [&str; 3] = ["parsers", "tests", "docs"];
const PRIORITIES: [&str; 4] = ["critical", "interactive", "normal", "background"];

/// Adds limits, a watchdog or a group to some workspaces.
pub(super) fn allow(harness: &mut Harness, args: &mut Value) {
    if harness.random.one_in(4) {
        let tokens = 50 + harness.random.below(400);
        args["budget"] = match harness.random.below(4) {
            0 => json!({ "token_limit": tokens, "trail_limit": 8_000 + tokens * 60 }),
            1 => json!({ "token_limit": tokens, "compute_timeout": tokens * 200_000 }),
            _ => json!({ "token_limit": tokens }),
        };
    }
    if harness.random.one_in(3) {
        args["group"] = (*harness.random.pick(&GROUPS)).into();
    }
    if harness.random.one_in(5) {
        args["liveness_interval_s"] = (1 + harness.random.below(30)).into();
    }
}

/// A command about usage.
pub(super) fn ask(harness: &mut Harness, scene: &Scene) -> Option<Asked> {
    let caller = scene.coordinator(harness);
    let seen = match harness.random.below(8) {
        0 => scene.any(harness)?,
        _ => scene.one(harness, &[Status::Active, Status::Blocked])?,
    };
    Some(match harness.random.below(24) {
        0..=12 => {
            let args = json!({ "workspace": seen.id, "tokens": 1 + harness.random.below(60) });
            let own = harness.random.one_in(2);
            (if own { seen.worker() } else { caller }, "meter.report", args)
        }
        13..=18 => {
            let limits = json!({ "token_limit": 100 + harness.random.below(600) });
            let args = json!({ "workspace": seen.id, "limits": limits });
            (caller, "workspace.modify_budget", args)
        }
        19..=21 => {
            let priority = *harness.random.pick(&PRIORITIES);
            let args = json!({ "workspace": seen.id, "priority": priority });
            (caller, "workspace.set_priority", args)
        }
        22 => {
            let (group, priority) =
                (*harness.random.pick(&GROUPS), *harness.random.pick(&PRIORITIES));
            (caller, "workspace.batch_priority", json!({ "group": group, "priority": priority }))
        }
        _ if harness.random.one_in(4) => {
            let group = *harness.random.pick(&GROUPS);
            (caller, "workspace.batch_abort", json!({ "group": group, "reason": "simulated" }))
        }
        _ => (seen.worker(), "workspace.batch_abort", json!({ "group": "nobody" })),
    })
}
