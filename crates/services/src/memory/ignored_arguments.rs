//! Arguments without an effect. They are accepted, because callers know them from other
//! implementations of the protocol or meant them for another intent, and a warning names them.

use althing_dialects::memory::entity;
use serde_json::Value;

use super::Verb;

/// Arguments of a verb that never have an effect.
pub(super) fn without_effect(verb: Verb) -> &'static [&'static str] {
    match verb {
        // Output formats of other implementations; there is one format here.
        Verb::Context => {
            &["format", "digest", "profile", "explain", "host", "allHosts", "includeAgentTooling"]
        }
        // Agents are started by hand.
        Verb::Coordinate => &["autoExecute", "preflight"],
        Verb::Dispatch => &["autoExecute", "model"],
        // Repeating these verbs is safe without a request id.
        Verb::Sweep | Verb::Harvest => &["request_id", "client_request_id"],
        _ => &[],
    }
}

/// Arguments that only have an effect with certain intents: the arguments, and the intents.
type Only = (&'static [&'static str], &'static [&'static str]);

const WORK: &[Only] = &[(&["ttl", "advisory"], &["execute"])];
const CONTEXT: &[Only] = &[
    (&["since"], &["delta"]),
    (&["path", "query", "task", "maxItems", "matching", "includePending"], &["memory"]),
];
const TRANSITION: &[Only] = &[(&["coordinator_override"], &["claim"])];
const COORDINATE: &[Only] = &[
    (&["task"], &["assign", "consult", "review", "ideate"]),
    (
        &["targetAgents", "scopes", "threadId"],
        &["assign", "consult", "review", "ideate", "reroute"],
    ),
    (&["scope", "allow_dirty", "ref"], &["assign", "review", "reroute"]),
    (&["planId"], &["assign", "consult", "review", "ideate", "summarize"]),
    (&["worktree", "lane"], &["assign", "reroute"]),
    (&["assignmentId"], &["reroute"]),
    (&["open_loop"], &["review", "ideate"]),
];
const DISPATCH: &[Only] = &[
    (&["sequenceId", "agents", "lanes", "capacity"], &["analysis", "execute"]),
    (&["maxAssignments", "allow_dirty"], &["execute"]),
    (&["handoffId", "reviewer", "openLoop"], &["review"]),
];
const LOOP: &[Only] = &[
    (&["kind", "slots", "stop_conditions", "planId", "allow_orphan"], &["open"]),
    (&["outcome"], &["complete_turn"]),
    (&["phase"], &["advance"]),
    (&["artifact"], &["add_artifact"]),
    (&["status"], &["close"]),
    (&["assignmentId"], &["bind"]),
    (&["to_agent"], &["takeover"]),
    (&["verdict"], &["verify"]),
    (&["messageId"], &["provide_input"]),
];

/// The argument that names the intent of a verb, its default, and the arguments that depend on it.
fn table(verb: Verb) -> Option<(&'static str, &'static str, &'static [Only])> {
    match verb {
        Verb::Work => Some(("intent", "", WORK)),
        Verb::Context => Some(("kind", "", CONTEXT)),
        Verb::Transition => Some(("entity", "", TRANSITION)),
        Verb::Coordinate => Some(("intent", "", COORDINATE)),
        Verb::Dispatch => Some(("intent", "execute", DISPATCH)),
        Verb::Loop => Some(("intent", "", LOOP)),
        _ => None,
    }
}

/// A warning that names the arguments without an effect, if there are any.
pub(super) fn ignored(verb: Verb, given: &Value) -> Option<String> {
    let names = without_effect(verb).iter().copied().filter(|name| !given[*name].is_null());
    let names: Vec<&str> = names.collect();
    let never = (!names.is_empty()).then(|| names.join(", "));
    let parts: Vec<String> = never.into_iter().chain(out_of_place(verb, given)).collect();
    (!parts.is_empty()).then(|| format!("ignored: {}", parts.join("; ")))
}

/// Names the arguments without an effect for this intent.
fn out_of_place(verb: Verb, given: &Value) -> Option<String> {
    let (sort, usual, table) = table(verb)?;
    let word = match given[sort].as_str() {
        Some(text) if sort == "entity" => entity::named(text).ok()?.as_str().to_owned(),
        Some(text) => text.trim().replace('-', "_"),
        None => usual.to_owned(),
    };
    let own = given.as_object()?;
    let is_given =
        |name: &str| own.iter().any(|(own, value)| alike(own, name) && says_something(value));
    let unfit = table.iter().filter(|(_, words)| !words.contains(&word.as_str()));
    let unfit = unfit.flat_map(|(names, _)| names.iter()).filter(|name| is_given(name));
    let names: Vec<String> = unfit.map(|name| format!("'{name}'")).collect();
    let (mean, word) = (if names.len() == 1 { "means" } else { "mean" }, word.replace('_', "-"));
    (!names.is_empty()).then(|| format!("{} {mean} nothing with {word}", names.join(", ")))
}

/// Whether two names differ only in spelling, such as `planId` and `plan_id`.
fn alike(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
    plain(one) == plain(other)
}

/// Whether a value differs from the default.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty() && text != "false",
        Value::Array(list) => !list.is_empty(),
        Value::Object(parts) => !parts.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use althing_dialects::memory::form;
    use althing_kernel::records::Kind;

    #[test]
    fn tables_name_arguments_and_words_that_there_are() {
        for verb in Verb::ALL {
            let Some((sort, _, table)) = table(verb) else { continue };
            let schema = verb.schema();
            let properties = schema["properties"].as_object().unwrap();
            let choices = form::choices(&properties[sort]);
            for (names, words) in table {
                for name in *names {
                    let other = verb == Verb::Context && *name == "task";
                    assert!(properties.contains_key(*name) || other, "{} {name}", verb.tool());
                }
                for word in *words {
                    let is_kind =
                        sort == "entity" && Kind::ALL.iter().any(|own| own.as_str() == *word);
                    assert!(is_kind || choices.contains(word), "{} {word}", verb.tool());
                }
            }
        }
    }
}
