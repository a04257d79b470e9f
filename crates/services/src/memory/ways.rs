//! Ways out: what helps whoever was told no. What that is is settled here; each door says it in
//! words that can be typed there.

use althing_dialects::frugal::planning::called;
use althing_dialects::memory::moment::utc;
use althing_dialects::memory::words::{first_id, from_now, with_haids};
use althing_kernel::records::{Kind, RecordId};
use althing_kernel::{Principal, Rule};
use serde_json::{Map, Value, json};

use super::{Verb, Verbs};
use crate::error::{ErrorKind, Held};
use crate::fault::Fault;

/// What helps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    /// To see what there is of a kind.
    Look(Kind),
    /// To see which agents there are.
    Agents,
    /// To see what the verb takes.
    Usage(Verb),
    /// To see what a thing has.
    Show(RecordId),
    /// To see how something is now.
    Read(RecordId),
    /// To take one of these steps, if there are any.
    Step(Vec<String>),
    /// To have lanes keep apart.
    Apart,
    /// To wait for whoever holds it, or to take something else.
    Wait,
    /// To give the fields that the kind has.
    Fields,
    /// To name something that is there and fits.
    Refer,
    /// To commit first, or to say that it does not matter.
    Commit,
    /// To ask whoever it belongs to.
    Ask(RecordId, Option<String>),
    /// To do without the session that was named.
    Session,
}

/// What helps with a failure of a verb, where something can be said beside its rule.
pub fn way(verb: Verb, fault: &Fault) -> Option<Way> {
    match (fault.kind(), fault.rule()) {
        _ if fault.code() == Some("agent_validation_failed") => Some(Way::Agents),
        (ErrorKind::Usage, _) => Some(Way::Usage(verb)),
        (ErrorKind::NotFound, _) if fault.allowed().is_some() => {
            first_id(fault.message()).map(Way::Show)
        }
        (ErrorKind::NotFound, Rule::NotFound | Rule::RecordKnown) => missing(fault).map(Way::Look),
        (ErrorKind::Collision, _) if fault.code() == Some("lanes_collide") => Some(Way::Apart),
        (ErrorKind::Collision, _) => Some(Way::Wait),
        (_, Rule::RecordVersion) => first_id(fault.message()).map(Way::Read),
        (_, Rule::RecordStep | Rule::RecordOver | Rule::LeaseLive) => {
            Some(Way::Step(fault.allowed()?.to_vec()))
        }
        (_, Rule::LaneCommitted) => Some(Way::Commit),
        (_, Rule::RecordOwner) => {
            let id = first_id(fault.message())?;
            Some(Way::Ask(id, fault.owner().map(str::to_owned)))
        }
        (_, Rule::SessionOwned) => Some(Way::Session),
        (_, Rule::RecordField) if matches!(verb, Verb::Create | Verb::Update) => Some(Way::Fields),
        (_, Rule::RecordField) => Some(Way::Usage(verb)),
        (_, Rule::RecordLinks) => Some(Way::Refer),
        _ => None,
    }
}

/// The kind of what is not there.
fn missing(fault: &Fault) -> Option<Kind> {
    fault.entity().or_else(|| first_id(fault.message()).map(|id| id.kind))
}

/// Says that something is not there.
pub(super) fn unknown(id: RecordId) -> Fault {
    let end = if id.kind.is_stored() { "; it may be archived" } else { "" };
    let message = format!("there is no {} {}{end}", id.kind, id.label());
    Fault::not_found(message).with(json!({ "id": id })).about(id.kind)
}

impl Way {
    /// The same for a model that calls tools.
    fn for_hosts(&self) -> String {
        let find = Verb::Find.tool();
        match self {
            Way::Look(kind) => {
                format!("`{find} {}` shows what there is.", json!({ "entity": kind }))
            }
            Way::Agents => {
                let board = json!({ "kind": "board" });
                let tool = Verb::Context.tool();
                format!("`{tool} {board}` shows who is here; each has to have worked here once.")
            }
            Way::Usage(verb) => format!("{} takes {}.", verb.tool(), arguments(&verb.schema())),
            Way::Show(id) => {
                let get = json!({ "entity": id.kind, "id": id });
                format!("`{} {get}` shows what it has.", Verb::Get.tool())
            }
            Way::Read(id) => {
                let get = json!({ "entity": id.kind, "id": id });
                format!("Read it again with `{} {get}`, and ask again.", Verb::Get.tool())
            }
            Way::Step(allowed) => step(allowed),
            Way::Apart => "Give each agent a scope of its own in 'scopes'.".to_owned(),
            Way::Wait => {
                let claims = json!({ "entity": "claim" });
                format!(
                    "Wait until then, ask the holder to release it, or take a scope that does not \
                     overlap; `{find} {claims}` shows what is held."
                )
            }
            Way::Fields => format!(
                "Give the fields of its kind; 'data' of {} tells which. A state is changed with {}.",
                Verb::Create.tool(),
                Verb::Transition.tool()
            ),
            Way::Ask(_, Some(owner)) => {
                let ask = json!({ "intent": "consult", "targetAgents": [owner], "task": "…" });
                format!("Ask {owner} with `{} {ask}`.", Verb::Coordinate.tool())
            }
            Way::Ask(id, None) => {
                let get = json!({ "entity": id.kind, "id": id });
                format!("Ask whose it is; `{} {get}` shows who that is.", Verb::Get.tool())
            }
            Way::Session => {
                format!(
                    "Leave the session out; {} opens one where it is needed.",
                    Verb::Work.tool()
                )
            }
            Way::Refer => {
                format!("Correct the reference that is named; {} shows one.", Verb::Get.tool())
            }
            Way::Commit => {
                "Commit the files that are named, name a commit in 'ref', or set 'allow_dirty'."
                    .to_owned()
            }
        }
    }
}

/// What may be done instead, the same at every door.
pub fn step(allowed: &[String]) -> String {
    match allowed {
        [] => "It is over: there is no step from here.".to_owned(),
        [one] => format!("From here it goes on to {one} only."),
        some => format!("From here it goes on to {}.", some.join(", ")),
    }
}

/// The arguments of a tool, those that are needed first.
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
    /// A failure, with agents by the names they know, what is in the way, and what helps.
    pub(super) fn told(&self, verb: Verb, fault: Fault) -> Fault {
        let held = match fault.kind() {
            ErrorKind::Collision => self.held(fault.held()),
            _ => String::new(),
        };
        let (fault, owned) = self.owned(fault);
        let fault = fault.reworded(|message| with_haids(&format!("{message}{held}{owned}")));
        match way(verb, &fault) {
            Some(way) => fault.hint(way.for_hosts()),
            None => fault,
        }
    }

    /// Whose something is, where it is somebody else's to say.
    fn owned(&self, fault: Fault) -> (Fault, String) {
        let named = first_id(fault.message()).filter(|_| fault.rule() == Rule::RecordOwner);
        let present = named.and_then(|_| self.present().ok());
        let record = present.as_ref().zip(named);
        let Some(record) = record.and_then(|(present, id)| present.state.memory().record(id))
        else {
            return (fault, String::new());
        };
        // Its author may well be the one who asks, if it is the agent who should.
        let agents = record.agent().filter(|_| fault.message().contains("is its agent's"));
        let (who, word) = match (agents, &record.author) {
            (Some(agent), _) => (agent, "agent"),
            (None, Principal::Agent(author)) => (author, "author"),
            (None, author) => return (fault, format!("; its author is {author}")),
        };
        let who = called(&Principal::Agent(who.clone()));
        let text = format!("; its {word} is {who}");
        (fault.owned_by(who), text)
    }

    /// Until when what is in the way is held.
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
