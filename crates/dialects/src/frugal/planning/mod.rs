//! The files under `.planning/`: their paths and contents.
//!
//! They show the trail to people and to tools that read files. Everything here is a function from
//! the state to text. Nothing here writes: the writer asks [`touched`] which file an entry changes,
//! [`file`] for its content, and [`line`] for additions to a log.

mod json;
mod logs;
mod records;

pub use json::Entries;
pub use logs::{Log, is_look_up, line};
pub use records::{as_capsule, in_force};

use althing_kernel::blackboard::Handle;
use althing_kernel::blackboard::view::{CapsuleView, DisputeView};
use althing_kernel::event::{AgentEvent, BlackboardEvent, EventRoom, LeaseEvent};
use althing_kernel::lease::Lease;
use althing_kernel::text::Text;
use althing_kernel::{Event, LeaseId, Principal, State, Timestamp};
use std::collections::BTreeSet;

use super::capsule;
use super::claim::Claim;
use super::haid::{Haid, called, slug};
use crate::moment::{date, utc};

/// A file that is rewritten as a whole when its content changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum File {
    /// `protocol/symbols.json`
    Symbols,
    /// `blackboard.json`
    Facts,
    /// `protocol/baselines.json`
    Baselines,
    /// `ledger/agents.json`
    Agents,
    /// `ledger/invariants.md`: constraints and traps of the memory, while there are any
    Invariants,
    /// `protocol/capsules/ID.md`
    Capsule(Handle),
    /// `ledger/claims/HOLDER.json`, which is there while something is held
    Claim(Principal),
    /// `ledger/conflicts/DATE-ID.md`
    Conflict(Handle),
}

/// File of the invariants.
pub const INVARIANTS: &str = "ledger/invariants.md";
/// Folder of capsules.
pub const CAPSULES: &str = "protocol/capsules";
/// Folder of claims.
pub const CLAIMS: &str = "ledger/claims";
/// Folder of disputes.
pub const CONFLICTS: &str = "ledger/conflicts";
/// Folder where agents leave hand-overs; nothing of the trail is there.
pub const COMPLETED: &str = "ledger/completed";
/// The folder that marks a project as using these files.
pub const MARK: &str = "protocol";

/// The folders of the layout.
pub const FOLDERS: [&str; 4] = [CAPSULES, CLAIMS, CONFLICTS, COMPLETED];

/// The file that an entry changes. `after` is the state after it, or later.
pub fn touched(after: &State, event: &Event) -> Option<File> {
    match event.room() {
        EventRoom::Blackboard(event) => of_blackboard(event),
        EventRoom::Agent(event) => of_agents(event),
        EventRoom::Lease(event) => of_leases(after, event),
        EventRoom::Memory(event) => {
            records::may_change_invariants(event).then_some(File::Invariants)
        }
        EventRoom::Admin(_)
        | EventRoom::User(_)
        | EventRoom::Workspace(_)
        | EventRoom::Message(_)
        | EventRoom::Plan(_)
        | EventRoom::Approval(_) => None,
    }
}

fn of_blackboard(event: BlackboardEvent<'_>) -> Option<File> {
    match event {
        BlackboardEvent::SymbolSet(_) => Some(File::Symbols),
        BlackboardEvent::FactSet(_) | BlackboardEvent::FactDeleted(_) => Some(File::Facts),
        BlackboardEvent::LedgerBaselined(_) => Some(File::Baselines),
        BlackboardEvent::CapsuleWritten(body) => Some(File::Capsule(body.id.clone())),
        BlackboardEvent::DisputeRaised(body) => Some(File::Conflict(body.id.clone())),
        // These stand in the logs.
        BlackboardEvent::DecisionAppended(_)
        | BlackboardEvent::LedgerLogged(_)
        | BlackboardEvent::MessageNoted(_) => None,
    }
}

fn of_agents(event: AgentEvent<'_>) -> Option<File> {
    match event {
        AgentEvent::AgentRegistered(_)
        | AgentEvent::AgentDescribed(_)
        | AgentEvent::AgentHeartbeat(_)
        | AgentEvent::AgentRevoked(_)
        | AgentEvent::AgentReinstated(_) => Some(File::Agents),
        AgentEvent::SessionOpened(_)
        | AgentEvent::SessionConnected(_)
        | AgentEvent::SessionDisconnected(_)
        | AgentEvent::SessionKept(_)
        | AgentEvent::SessionClosed(_)
        | AgentEvent::AuthenticationSucceeded(_)
        | AgentEvent::AuthenticationFailed(_) => None,
    }
}

fn of_leases(after: &State, event: LeaseEvent<'_>) -> Option<File> {
    let holder = match event {
        LeaseEvent::LeaseOpened(body) => &body.holder,
        LeaseEvent::LeaseReleased(body) => &body.holder,
        LeaseEvent::LeaseExpired(body) => &body.holder,
        LeaseEvent::LeaseForced(body) => &body.holder,
        // If the lease has ended since, the entry that ended it names the holder.
        LeaseEvent::LeaseRenewed(body) => {
            let own = |(id, _): &(&LeaseId, &Lease)| **id == body.lease;
            &after.leases().find(own)?.1.holder
        }
    };
    Some(File::Claim(holder.clone()))
}

/// All files that there may be.
pub fn all(state: &State) -> BTreeSet<File> {
    let blackboard = state.blackboard();
    let fixed = [File::Symbols, File::Facts, File::Baselines, File::Agents, File::Invariants];
    fixed
        .into_iter()
        .chain(blackboard.capsules().map(|own| File::Capsule(own.id)))
        .chain(blackboard.disputes().into_iter().map(|own| File::Conflict(own.id)))
        .chain(state.leases().map(|(_, lease)| File::Claim(lease.holder.clone())))
        .collect()
}

/// Path and content of a file. No content means that it should not exist.
pub fn file(state: &State, file: &File) -> Option<(String, Option<String>)> {
    let blackboard = state.blackboard();
    Some(match file {
        File::Symbols => {
            let all = blackboard.symbols().map(|own| (own.id.to_string(), own.value.to_string()));
            (
                "protocol/symbols.json".to_owned(),
                Some(json::strings(super::VERSION, "symbols", all)),
            )
        }
        File::Facts => {
            let all = blackboard.facts().map(|own| (own.key.to_string(), own.value.to_string()));
            ("blackboard.json".to_owned(), Some(json::strings(super::VERSION, "facts", all)))
        }
        File::Baselines => {
            let all = blackboard.baselines().into_iter();
            let all = all.map(|own| (own.role.to_string(), own.tokens.to_string()));
            let text = json::object(super::VERSION, "baselines", all);
            ("protocol/baselines.json".to_owned(), Some(text))
        }
        File::Agents => ("ledger/agents.json".to_owned(), Some(agents(state))),
        File::Invariants => (INVARIANTS.to_owned(), records::invariants(state)),
        File::Capsule(id) => {
            let view = blackboard.hydrate(std::slice::from_ref(id)).capsules.pop()?;
            (capsule_path(id), Some(capsule_text(&view)))
        }
        File::Claim(holder) => (claim_path(holder), claim(state, holder).map(|own| own.text())),
        File::Conflict(id) => {
            let view = blackboard.dispute(id)?;
            (conflict_path(view.raised_at, id), Some(conflict(&view)))
        }
    })
}

/// Path of a capsule.
pub fn capsule_path(id: &Handle) -> String {
    format!("{CAPSULES}/{id}.md")
}

/// The text of a capsule's file.
pub fn capsule_text(view: &CapsuleView) -> String {
    let depends: Vec<String> = view.depends.iter().map(ToString::to_string).collect();
    capsule::render(&capsule::CapsuleText {
        id: view.id.as_str(),
        depends: &depends,
        ts: &utc(view.written_at),
        what: &view.what,
        place: view.place.as_deref(),
        decision: view.decision.as_deref(),
        gotcha: view.gotcha.as_deref(),
    })
}

/// Path of a holder's claim. Agents without a HAID get a name that cannot collide.
pub fn claim_path(holder: &Principal) -> String {
    let name = called(holder).replace(['/', ':'], "_");
    let known = matches!(holder, Principal::Agent(own) if Haid::of_agent(own.as_str()).is_some());
    if known {
        return format!("{CLAIMS}/{name}.json");
    }
    // Two names may become equal when they are made file names.
    let hash = althing_kernel::Blob::of(holder.to_string().as_bytes()).hex();
    format!("{CLAIMS}/other_{name}-{}.json", &hash[..6])
}

/// All leases of a holder as one claim.
pub fn claim(state: &State, holder: &Principal) -> Option<Claim> {
    let mut own: Vec<&Lease> =
        state.leases().map(|(_, lease)| lease).filter(|lease| lease.holder == *holder).collect();
    own.sort_by_key(|lease| lease.opened_at);
    let (first, last) = (own.first()?, own.last()?);
    let heard = own.iter().map(|lease| {
        let lived = lease.expires_at.micros().saturating_sub(lease.ttl.span().micros());
        Timestamp::from_micros(lived)
    });
    let surfaces = own.iter().flat_map(|lease| lease.surfaces.as_slice());
    Some(Claim {
        haid: called(holder),
        human: human(state, holder),
        claimed_surfaces: surfaces.map(ToString::to_string).collect(),
        task_ref: super::claim::task_ref(
            last.task.as_ref().map(Text::as_str),
            last.purpose.as_ref().map(Text::as_str),
        ),
        claimed_at: utc(first.opened_at),
        ttl_minutes: last.ttl.secs().div_ceil(60),
        heartbeat: utc(heard.max().unwrap_or(last.opened_at)),
    })
}

impl Claim {
    fn text(&self) -> String {
        // A record of texts and a number can always be serialized.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

fn human(state: &State, who: &Principal) -> String {
    let Principal::Agent(name) = who else { return called(who) };
    let content = state.agent(name).and_then(|agent| agent.about.human.as_ref());
    let haid = || Haid::of_agent(name.as_str()).map(|haid| haid.human().to_owned());
    content.map(ToString::to_string).or_else(haid).unwrap_or_else(|| name.to_string())
}

fn agents(state: &State) -> String {
    let entry = |name: &althing_kernel::AgentName, agent: &althing_kernel::agent::Agent| {
        let who = Principal::Agent(name.clone());
        let haid = Haid::of_agent(name.as_str());
        let suffix = || haid.as_ref().and_then(|haid| haid.role().map(str::to_owned));
        let (about, text) =
            (&agent.about, |own: &althing_kernel::blackboard::Label| own.to_string());
        let role = about.role.as_ref().map(text).or_else(suffix);
        let status = match agent.standing() {
            althing_kernel::agent::Standing::Active => "active",
            althing_kernel::agent::Standing::Revoked => "revoked",
        };
        let unknown = || "unknown".to_owned();
        let fields = [
            ("human", human(state, &who)),
            ("role", role.unwrap_or_else(|| "orchestrator".to_owned())),
            ("tool", about.tool.as_ref().map_or_else(unknown, text)),
            ("tool_version", about.tool_version.as_ref().map_or_else(unknown, text)),
            ("first_seen", utc(agent.registered_at)),
            ("last_heartbeat", utc(agent.heard_at)),
            ("status", status.to_owned()),
        ];
        (called(&who), json::record(&fields))
    };
    let all = state.agents().map(|(name, agent)| entry(name, agent));
    json::object("1.0.0", "agents", all)
}

/// Path of a dispute. An id that is not its own slug gets a few digits of its hash.
pub fn conflict_path(at: Timestamp, id: &Handle) -> String {
    let short = slug(id.as_str());
    let apart = if short == id.as_str() {
        short
    } else {
        let hash = althing_kernel::Blob::of(id.as_str().as_bytes()).hex();
        format!("{short}-{}", &hash[..6])
    };
    format!("{CONFLICTS}/{}-{apart}.md", date(at))
}

/// Indents headings, so that a text cannot begin an entry of its own.
fn no_headings(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        if line.trim_start().starts_with('#') { format!("\\{line}") } else { line.to_owned() }
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// Joins the lines of a text, so that it cannot pass for several.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The branches that keep displaced work, and what to do with them.
fn preserved(view: &DisputeView) -> (String, String) {
    let all = view.preserved_branch.iter().chain(&view.also_preserved);
    let all: Vec<String> = all.map(|branch| format!("`{branch}`")).collect();
    let noun = match all.len() {
        0 => return ("(none)".to_owned(), "No displaced work was kept.".to_owned()),
        1 => "branch",
        _ => "branches",
    };
    let all = all.join(", ");
    let recovery = format!(
        "Restore displaced work from {noun} {all}: cherry-pick its commits once the conflict is \
         settled."
    );
    (format!("{all}  (never deleted)"), recovery)
}

/// Work that is on none of those branches.
fn not_preserved(view: &DisputeView) -> String {
    if view.not_preserved.is_empty() {
        return String::new();
    }
    let lines = view.not_preserved.iter().map(|left| format!("- {}\n", one_line(left)));
    format!("\n## Not preserved\n\n{}", lines.collect::<String>())
}

/// The text of a dispute, for the person who settles it.
pub fn conflict(view: &DisputeView) -> String {
    let by = called(&view.raised_by);
    let displaced = view.displaced.as_ref().map(ToString::to_string);
    let or = |text: Option<String>| text.unwrap_or_else(|| "(unspecified)".to_owned());
    let via = view.via.as_ref().map(|via| format!("  (via {via})")).unwrap_or_default();
    let ((branch, recovery), left) = (preserved(view), not_preserved(view));
    let surfaces: Vec<String> =
        view.surfaces.iter().map(|surface| format!("  - {surface}")).collect();
    let surfaces = surfaces.join("\n");
    format!(
        "# Conflict {id} — {title}\n\n\
         - **Date:** {date}\n\
         - **Overriding HAID:** {by}{via}\n\
         - **Displaced HAID:** {displaced}\n\
         - **Surfaces:**\n{surfaces}\n\n\
         ## Both intents\n\n\
         - **Overriding agent wanted:** {wanted}\n\
         - **Displaced agent wanted:** {other}\n\n\
         ## Resolution\n\n\
         - **Kept:** (to be decided by an owner/maintainer reviewing this PR)\n\
         - **Displaced:** (to be decided)\n\
         - **Preserved on branch:** {branch}\n\n\
         ## Recovery path\n\n{recovery}\n{left}",
        id = view.id,
        title = one_line(&view.title),
        date = date(view.raised_at),
        displaced = or(displaced.clone()),
        wanted = or(view.overriding_intent.as_deref().map(one_line)),
        other = or(view.displaced_intent.as_deref().map(one_line)),
    )
}

/// Reads a file of names and texts that a person edited; `None` if it is invalid.
pub fn read_strings(text: &str, name: &str) -> Option<Vec<(String, String)>> {
    json::read_strings(text, name)
}

/// Reads such a file entry by entry, with the fault of each invalid one.
pub fn read_entries(text: &str, name: &str) -> Result<Entries, String> {
    json::read_entries(text, name)
}

/// Reads a capsule that a person edited, as the arguments of `capsule.write`; `None` if it is
/// invalid.
pub fn read_capsule(text: &str) -> Option<serde_json::Value> {
    let rest = text.strip_prefix("---\n")?;
    let (head, body) = rest.split_once("\n---\n")?;
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    let depends: Vec<&str> =
        field("depends:")?.split(',').map(str::trim).filter(|id| !id.is_empty()).collect();
    let mut content = serde_json::json!({ "id": field("id:")?.trim(), "depends": depends });
    let mut current: Option<&str> = None;
    for line in body.trim_end_matches('\n').split('\n') {
        let begun =
            capsule::FIELDS.iter().find_map(|(mark, key)| Some((*key, line.strip_prefix(mark)?)));
        match (begun, current) {
            (Some((key, text)), _) if content.get(key).is_none() => {
                content[key] = text.into();
                current = Some(key);
            }
            // A value may have several lines.
            (_, Some(key)) => {
                let before = content[key].as_str().unwrap_or_default();
                content[key] = format!("{before}\n{}", capsule::unmarked(line)).into();
            }
            (_, None) => return None,
        }
    }
    content.get("what").is_some().then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_capsule_is_read_back() {
        for what in ["x", "x\nGOTCHA: y", "x\n\\GOTCHA: y", "x\n\\\\WHAT:", "GOTCHA: x\n---\n\\y"] {
            let content = capsule::CapsuleText {
                id: "w1",
                ts: "t",
                what,
                gotcha: Some("g"),
                ..Default::default()
            };
            let read = read_capsule(&capsule::render(&content)).unwrap();
            assert_eq!((read["what"].as_str(), read["gotcha"].as_str()), (Some(what), Some("g")));
        }
    }
}
