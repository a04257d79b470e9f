//! Hints: the next step after a failure. This module chooses the hint; each door words it as a
//! command that can be typed there.

use althing_dialects::frugal::haid::called;
use althing_dialects::memory::moment::utc;
use althing_dialects::memory::words::{first_id, from_now, with_haids};
use althing_kernel::records::{Kind, RecordId};
use althing_kernel::{Principal, Rule};
use serde_json::{Map, Value, json};

use super::{Verb, Verbs};
use crate::error::{Error, ErrorKind, Held};

/// A next step after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hint {
    /// List the records of a kind.
    Look(Kind),
    /// List the agents.
    Agents,
    /// Look up the arguments of the verb.
    Usage(Verb),
    /// Look up the parts of a record, such as its steps.
    Show(RecordId),
    /// Read the current version of a record and try again.
    Read(RecordId),
    /// Take one of these steps; none if the record is final.
    Step(Vec<String>),
    /// Give each lane a scope of its own.
    Apart,
    /// Wait for the holder, or choose another scope.
    Wait,
    /// Use the fields that the kind has.
    Fields,
    /// Refer to an existing record of the right kind.
    Refer,
    /// Commit first, or allow uncommitted files.
    Commit,
    /// Ask the owner of the record, by name if known.
    Ask(RecordId, Option<String>),
    /// Leave out the session.
    Session,
}

/// Chooses a hint for a failed verb, if there is a better one than the rule's.
pub fn hint_for(verb: Verb, error: &Error) -> Option<Hint> {
    if error.code() == Some("agent_validation_failed") {
        return Some(Hint::Agents);
    }
    match error.kind() {
        ErrorKind::Usage => Some(Hint::Usage(verb)),
        ErrorKind::NotFound if error.allowed().is_some() => {
            first_id(error.message()).map(Hint::Show)
        }
        ErrorKind::NotFound if matches!(error.rule(), Rule::NotFound | Rule::RecordKnown) => {
            missing(error).map(Hint::Look)
        }
        ErrorKind::Collision if error.code() == Some("lanes_collide") => Some(Hint::Apart),
        ErrorKind::Collision => Some(Hint::Wait),
        _ => hint_of_rule(verb, error),
    }
}

fn hint_of_rule(verb: Verb, error: &Error) -> Option<Hint> {
    match error.rule() {
        Rule::RecordVersion => first_id(error.message()).map(Hint::Read),
        Rule::RecordStep | Rule::RecordOver | Rule::LeaseLive => {
            Some(Hint::Step(error.allowed()?.to_vec()))
        }
        Rule::LaneCommitted => Some(Hint::Commit),
        Rule::RecordOwner => {
            let id = first_id(error.message())?;
            Some(Hint::Ask(id, error.owner().map(str::to_owned)))
        }
        Rule::SessionOwned => Some(Hint::Session),
        Rule::RecordField if matches!(verb, Verb::Create | Verb::Update) => Some(Hint::Fields),
        Rule::RecordField => Some(Hint::Usage(verb)),
        Rule::RecordLinks => Some(Hint::Refer),
        // Any other rule has a hint that fits every verb.
        _ => None,
    }
}

/// The kind of the record that was not found.
fn missing(error: &Error) -> Option<Kind> {
    error.entity().or_else(|| first_id(error.message()).map(|id| id.kind))
}

/// An error for a record that was not found.
pub(super) fn unknown(id: RecordId) -> Error {
    let end = if id.kind.is_stored() { "; it may be archived" } else { "" };
    let message = format!("there is no {} {}{end}", id.kind, id.label());
    Error::not_found(message).with(json!({ "id": id })).about(id.kind)
}

impl Hint {
    /// Words the hint for a model that calls tools.
    fn for_hosts(&self) -> String {
        let find = Verb::Find.tool();
        match self {
            Hint::Look(kind) => {
                format!("`{find} {}` shows what there is.", json!({ "entity": kind }))
            }
            Hint::Agents => {
                let board = json!({ "kind": "board" });
                let tool = Verb::Context.tool();
                format!(
                    "`{tool} {board}` lists the agents; an agent is known once it has worked here."
                )
            }
            Hint::Usage(verb) => format!("{} takes {}.", verb.tool(), arguments(&verb.schema())),
            Hint::Show(id) => {
                let get = json!({ "entity": id.kind, "id": id });
                format!("`{} {get}` shows what it has.", Verb::Get.tool())
            }
            Hint::Read(id) => {
                let get = json!({ "entity": id.kind, "id": id });
                format!("Read it again with `{} {get}`, and try again.", Verb::Get.tool())
            }
            Hint::Step(allowed) => allowed_steps(allowed),
            Hint::Apart => "Give each agent a scope of its own in 'scopes'.".to_owned(),
            Hint::Wait => {
                let claims = json!({ "entity": "claim" });
                format!(
                    "Wait until then, ask the holder to release it, or take a scope that does not \
                     overlap; `{find} {claims}` shows what is held."
                )
            }
            Hint::Fields => format!(
                "Use the fields of its kind, which 'data' of {} lists. Change a state with {}.",
                Verb::Create.tool(),
                Verb::Transition.tool()
            ),
            Hint::Ask(_, Some(owner)) => {
                let ask = json!({ "intent": "consult", "targetAgents": [owner], "task": "…" });
                format!("Ask {owner} with `{} {ask}`.", Verb::Coordinate.tool())
            }
            Hint::Ask(id, None) => {
                let get = json!({ "entity": id.kind, "id": id });
                format!("Ask its owner; `{} {get}` shows who that is.", Verb::Get.tool())
            }
            Hint::Session => {
                format!(
                    "Leave the session out; {} opens one where it is needed.",
                    Verb::Work.tool()
                )
            }
            Hint::Refer => {
                format!("Correct the reference; {} shows a record.", Verb::Get.tool())
            }
            Hint::Commit => {
                "Commit the files that are named, name a commit in 'ref', or set 'allow_dirty'."
                    .to_owned()
            }
        }
    }
}

/// Words the allowed steps, the same at every door.
pub fn allowed_steps(allowed: &[String]) -> String {
    match allowed {
        [] => "It is in a final state: no step is possible.".to_owned(),
        [one] => format!("The only next state is {one}."),
        some => format!("Possible next states: {}.", some.join(", ")),
    }
}

/// The arguments of a tool, required ones first.
fn arguments(schema: &Map<String, Value>) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let required: Vec<&str> = required.into_iter().flatten().filter_map(Value::as_str).collect();
    let names = schema.get("properties").and_then(Value::as_object);
    let optional = names.into_iter().flat_map(Map::keys).map(String::as_str);
    let optional = optional.filter(|name| !required.contains(name));
    let needed = required.iter().map(|name| format!("{name} (required)"));
    needed.chain(optional.map(str::to_owned)).collect::<Vec<String>>().join(", ")
}

impl Verbs<'_> {
    /// Adds holders, owner and a hint to an error, and shows agents by their HAIDs.
    pub(super) fn with_hint(&self, verb: Verb, error: Error) -> Error {
        let held = match error.kind() {
            ErrorKind::Collision => self.held(error.held()),
            _ => String::new(),
        };
        let (error, owned) = self.with_owner(error);
        let error = error.reworded(|message| with_haids(&format!("{message}{held}{owned}")));
        match hint_for(verb, &error) {
            Some(hint) => error.hint(hint.for_hosts()),
            None => error,
        }
    }

    /// Adds the owner to an error about somebody else's record.
    fn with_owner(&self, error: Error) -> (Error, String) {
        let named = first_id(error.message()).filter(|_| error.rule() == Rule::RecordOwner);
        let present = named.and_then(|_| self.present().ok());
        let record = present.as_ref().zip(named);
        let Some(record) = record.and_then(|(present, id)| present.state.memory().record(id))
        else {
            return (error, String::new());
        };
        // The caller may be the author of a record that only its agent may change.
        let agents = record.agent().filter(|_| error.message().contains("is its agent's"));
        let (who, word) = match (agents, &record.author) {
            (Some(agent), _) => (agent, "agent"),
            (None, Principal::Agent(author)) => (author, "author"),
            (None, author) => return (error, format!("; its author is {author}")),
        };
        let who = called(&Principal::Agent(who.clone()));
        let text = format!("; its {word} is {who}");
        (error.owned_by(who), text)
    }

    /// Words who holds which surface until when.
    fn held(&self, held: &[Held]) -> String {
        let now = self.present().map(|present| present.now).unwrap_or_default();
        let say = |Held { holder, surface, until }: &Held| {
            format!("{holder} holds {surface} until {} ({})", utc(*until), from_now(*until, now))
        };
        let mut all: Vec<String> = held.iter().map(say).collect();
        all.dedup();
        if all.is_empty() { String::new() } else { format!("; {}", all.join("; ")) }
    }
}
