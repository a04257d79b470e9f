//! The memory dialect as tools, alone or together with all others.

use althing_dialects::memory::PROTOCOL;
use althing_kernel::Door;
use althing_services::frugal::{Ledger, identify};
use althing_services::memory::{Verb, Verbs, failure};
use serde_json::{Value, json};

use crate::dialect::{Dialect, Speech, Tool};
use crate::frugal;
use crate::native;
use crate::wacp;

/// The name the server gives to hosts.
const SERVER: &str = "althing-memory";

/// How this dialect answers.
const SPEECH: Speech = Speech {
    attribution: "agent",
    failure: |fault| {
        let error = json!({ "schema_version": PROTOCOL, "error": failure(fault) });
        (error.clone(), error)
    },
    text: Value::to_string,
    door: Door::McpMemory,
};

/// The dialect.
pub fn dialect(ledger: Ledger) -> Dialect {
    Dialect {
        server: SERVER,
        version: env!("CARGO_PKG_VERSION"),
        instructions: "Shared memory of this project (Brainclaw protocol 0.1). Begin with \
            bclaw_work; claim a scope with intent execute before you edit there. Remember what the \
            next one has to know with bclaw_create.",
        tools: tools(),
        identify: Box::new(move |call| identify(&ledger, call)),
        speech: &SPEECH,
        protocol: Some(("brainclaw", PROTOCOL)),
    }
}

/// All dialects at once, in the instructions of this one.
pub fn with_others(ledger: Ledger) -> Dialect {
    let mut all = dialect(ledger.clone());
    all.server = "althing";
    all.tools.extend(frugal::dialect(ledger).tools);
    all.tools.extend(wacp::tools());
    all.tools.extend(native::tools());
    all
}

fn tools() -> Vec<Tool> {
    let tool = |verb: Verb| {
        let tool = Tool::reading_itself(
            verb.tool(),
            verb.description(),
            &SPEECH,
            verb.schema(),
            move |context, given| Verbs::new(context)?.call(verb, &given),
        );
        if verb.reads() { tool.reading() } else { tool }
    };
    Verb::ALL.into_iter().map(tool).collect()
}
