//! `transition` of an assignment to `progress`: no state, but word of how the work goes, and a sign
//! of life.

use althing_dialects::memory::entity;
use althing_kernel::records::Kind;
use serde_json::{Value, json};

use super::Verbs;
use super::args::Transition;
use crate::fault::Fault;

/// What is said instead of a state.
pub(super) const WORD: &str = "progress";

impl Verbs<'_> {
    pub(super) fn progress(&self, args: &Transition) -> Result<Value, Fault> {
        let unfit = [
            ("planStatus", args.plan_status.is_some()),
            ("merged_into", args.merged_into.is_some()),
            ("to_agent", args.to_agent.is_some()),
            ("forced", args.forced),
        ];
        if let Some((name, _)) = unfit.iter().find(|(_, given)| *given) {
            return Err(Fault::usage(format!("'{name}' does not go with {WORD}")));
        }
        let id = entity::id(Kind::Assignment, &args.id).map_err(Fault::usage)?;
        let mut command = json!({ "id": id });
        for (name, value) in [("text", &args.reason), ("request_id", &args.request_id)] {
            if let Some(value) = value {
                command[name] = value.as_str().into();
            }
        }
        if !args.artifacts.is_empty() {
            command["artifacts"] = args.artifacts.clone().into();
        }
        if let Some(version) = args.expected_version {
            command["expected_version"] = version.into();
        }
        let heard = self.act("memory.progress", &command)?;
        let record = &heard["record"];
        Ok(json!({
            "entity": Kind::Assignment,
            "id": id,
            "short_label": id.label(),
            "from": heard["from"],
            "to": heard["to"],
            "changed": args.reason.is_some() || !args.artifacts.is_empty(),
            "version": record["version"],
            "artifacts": record["fields"]["artifacts"].as_array().map_or(0, Vec::len),
            "side_effects": [{ "action": "heartbeat", "entity": Kind::Assignment, "id": id }],
        }))
    }
}
