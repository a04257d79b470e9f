//! The frugal dialect as tools: six of them around claims, capsules, decisions and conflicts, for
//! any host that can start a process.

use althing_kernel::Door;
use althing_services::frugal::{Ledger, SERVER, capsules, claims, conflicts, decisions, identify};
use std::sync::Arc;

use crate::dialect::{Dialect, Speech, Tool};

/// The version of the published tools.
const VERSION: &str = "1.0.0";

/// The dialect.
pub fn dialect(ledger: Ledger) -> Dialect {
    let ledger = Arc::new(ledger);
    let own = ledger.clone();
    Dialect {
        server: SERVER,
        version: VERSION,
        instructions: "Claim surfaces before you edit them and release them when done. On a \
            collision stop and ask; do not work around a claim.",
        tools: tools(&ledger),
        identify: Box::new(move |call| identify(&own, call)),
        speech: &SPEECH,
        protocol: None,
    }
}

/// How this dialect answers.
const SPEECH: Speech = Speech {
    attribution: "haid",
    failure: |fault| (fault.text(), serde_json::json!({ "error": fault.object() })),
    text: |answer| serde_json::to_string_pretty(answer).unwrap_or_else(|error| error.to_string()),
    door: Door::McpFrugal,
};

fn tools(ledger: &Arc<Ledger>) -> Vec<Tool> {
    let [claims, capsules, conflicts] = [ledger.clone(), ledger.clone(), ledger.clone()];
    vec![
        Tool::new("read_claims", "List every agent's active claims.", &SPEECH, claims::read)
            .reading(),
        Tool::new(
            "make_claim",
            "Claim paths, globs or path#symbol before editing: all of them or, on a collision, none.",
            &SPEECH,
            move |call, who, args| claims::make(&claims, call, who, args),
        ),
        Tool::new("release_claim", "Release all your claims.", &SPEECH, claims::release),
        Tool::new(
            "read_capsules",
            "Read capsules, hand-off records, decisions, constraints and traps: all, or one by id.",
            &SPEECH,
            move |call, who, args| capsules::read(&capsules, call, who, args),
        )
        .reading(),
        Tool::new(
            "append_decision",
            "Record a decision for everybody.",
            &SPEECH,
            decisions::append,
        ),
        Tool::new(
            "raise_conflict_pr",
            "Put a conflict over surfaces before people: branch conflict/<id> with both intents, \
             the displaced work kept on a branch of its own.",
            &SPEECH,
            move |call, who, args| conflicts::raise(&conflicts, call, who, args),
        ),
    ]
}
