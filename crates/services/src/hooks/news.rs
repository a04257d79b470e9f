//! What an agent is told at the moments its hooks allow: messages, news and where it stands, never more
//! than a number of tokens, and each message once.

use althing_dialects::frugal::haid::called;
use althing_dialects::frugal::tokens;
use althing_dialects::memory::item::brief;
use althing_kernel::agent::{Beat, Register};
use althing_kernel::envelope::Priority;
use althing_kernel::lease::Release;
use althing_kernel::query::{Answer, LeaseList, Query};
use althing_kernel::records::view::{Changes, MemoryAnswer, RecordView};
use althing_kernel::records::{Kind, Record};
use althing_kernel::{Command, Principal, WorkspaceId};
use althing_workshop::hosts::Hosts;
use std::collections::BTreeSet;

use super::words::EDITED;
use crate::context::ProjectContext;
use crate::error::Error;
use crate::mail::{self, Letter, LetterKind, Waiting, text_of};
use crate::native::{self, Worded as _, Work, in_hand};
use crate::project::label;

/// The longest line about a record, in characters.
const LINE_CHARS: usize = 160;

/// The most records that are told as news.
const NEWS_MAX: u32 = 8;

/// The kinds of records that are news to others.
const NEWS: &[Kind] = &[Kind::Constraint, Kind::Decision, Kind::Trap];

/// Words for an agent, within a number of tokens.
#[derive(Debug, Default)]
pub struct Told {
    text: String,
    cap: u64,
}

impl Told {
    fn within(cap: u64) -> Self {
        Told { text: String::new(), cap }
    }

    /// Adds a line if it fits. Returns whether it did.
    fn add(&mut self, line: &str) -> bool {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        let longer = format!("{}{gap}{line}", self.text);
        // A token has at least one byte, so a short text need not be counted.
        let fits = longer.len() as u64 <= self.cap || tokens::count(&longer) <= self.cap;
        if fits {
            self.text = longer;
        }
        fits
    }

    /// The words, if there are any.
    pub fn text(self) -> Option<String> {
        Some(self.text).filter(|text| !text.is_empty())
    }
}

/// A session begins: the agent reports in, and is told its name, where it stands, its messages and news.
pub fn session(
    context: &ProjectContext,
    tool: &str,
    cap: u64,
    workspace: Option<&WorkspaceId>,
) -> Result<Told, Error> {
    let client = context.client()?;
    client
        .execute(Command::AgentRegister(Register { tool: label(tool), ..Register::default() }))?;
    let mut told = Told::within(cap);
    let me = called(client.principal());
    told.add(&format!(
        "Althing: several agents work in this repository. You are {me}; commands take `--as {me}`. Files you edit \
         are claimed for you; an edit of what somebody else holds is refused."
    ));
    letters(context, &mut told, workspace)?;
    news(context, &mut told)?;
    for line in native::overview(context)?.text().lines() {
        told.add(line);
    }
    // It reports in, and from here on what it was told is no news.
    client.execute(Command::AgentHeartbeat(Beat { looked: true }))?;
    Ok(told)
}

/// A prompt was given: the agent is told new messages and news. Nothing is recorded if there are none.
pub fn prompt(
    context: &ProjectContext,
    cap: u64,
    workspace: Option<&WorkspaceId>,
) -> Result<Told, Error> {
    let mut told = Told::within(cap);
    letters(context, &mut told, workspace)?;
    if news(context, &mut told)? {
        context.execute(Command::AgentHeartbeat(Beat { looked: true }))?;
    }
    Ok(told)
}

/// Something that the agent should do before it ends, if there is anything: urgent messages, or a task in
/// hand that it has not handed in. A workspace on a branch is judged and merged once its agent has ended.
pub fn stop(context: &ProjectContext, cap: u64) -> Result<Told, Error> {
    let mut told = Told::within(cap);
    let waiting = mail::waiting(context)?;
    let urgent = waiting.letters.iter().filter(|own| own.priority < Priority::Normal);
    let me = called(context.named()?);
    for letter in urgent {
        told.add(&format!(
            "Unread: {}. Read it with `althing inbox --take --as {me}`.",
            letter.line()
        ));
    }
    let task = match in_hand(context)? {
        Some(Work::Workspace(own)) if own.branch.is_some() => None,
        Some(Work::Workspace(own)) => Some(own.workspace.to_string()),
        Some(Work::Task { task, .. }) => Some(task.id.label()),
        None => None,
    };
    if let Some(task) = task {
        told.add(&format!(
            "You still have {task} in hand. Finish it, then hand it in with `althing done --as {me}`, or say why \
             you cannot: `althing blocked 'WHY' --as {me}`. If it is finished and handed in otherwise, just end."
        ));
    }
    Ok(told)
}

/// A session has ended: files that were claimed only because they were edited are released. What the agent
/// claimed itself, and its tasks, stay.
pub fn ended(context: &ProjectContext) -> Result<usize, Error> {
    let holder = Some(context.named()?.clone());
    let held = match context.ask(&Query::LeaseList(LeaseList { holder, surfaces: None }))? {
        Answer::Leases(held) => held,
        other => return Err(Error::unexpected(&other)),
    };
    let engine = context.opened()?;
    let world = engine.world()?;
    let in_run = |at: &Option<WorkspaceId>| {
        at.as_ref().is_some_and(|at| world.state.workspace(at).is_some())
    };
    let mut released = 0;
    for lease in held {
        let is_edited = lease.purpose.as_deref().is_some_and(|why| why.starts_with(EDITED));
        if is_edited && !in_run(&lease.workspace) {
            context.execute(Command::LeaseRelease(Release { epoch: None, lease: lease.lease }))?;
            released += 1;
        }
    }
    Ok(released)
}

/// Tells the letters that wait: those that fit are taken, the others are named once.
fn letters(
    context: &ProjectContext,
    told: &mut Told,
    workspace: Option<&WorkspaceId>,
) -> Result<(), Error> {
    let waiting = mail::waiting(context)?;
    if waiting.letters.is_empty() {
        return Ok(());
    }
    let who = context.named()?.clone();
    let me = called(&who);
    let hosts = Hosts::of(context.setup().home.root());
    let known = hosts.told(&me);
    let mut named = BTreeSet::new();
    let mut taken: Vec<&Letter> = Vec::new();
    for letter in waiting.letters.iter().filter(|own| !known.contains(&own.id)) {
        let text = text(context, &waiting, letter, workspace);
        let whole = text.is_some_and(|text| told.add(&format!("{}: {text}", head(letter))));
        if whole {
            taken.push(letter);
        } else if told
            .add(&format!("{} (read it: `althing inbox --take --as {me}`)", letter.line()))
        {
            named.insert(letter.id.clone());
        }
    }
    take(context, &taken)?;
    let waits: BTreeSet<String> = waiting.letters.iter().map(|own| own.id.clone()).collect();
    let told_before = known.into_iter().filter(|id| waits.contains(id));
    let all: BTreeSet<String> = told_before.chain(named).collect();
    hosts.tell(&me, &all)?;
    Ok(())
}

fn head(letter: &Letter) -> String {
    let pressing = match letter.priority {
        Priority::Blocking => " (blocking)",
        Priority::Urgent => " (urgent)",
        Priority::Normal => "",
    };
    format!("{} {} from {}{pressing}", letter.kind.as_str(), letter.label, letter.from)
}

/// The text of a letter that is told as a whole. A handoff is only named, since taking it accepts it; so is
/// mail of a workspace whose directive was not taken yet.
fn text(
    context: &ProjectContext,
    waiting: &Waiting,
    letter: &Letter,
    workspace: Option<&WorkspaceId>,
) -> Option<String> {
    match &letter.kind {
        LetterKind::Message => letter.text.clone(),
        LetterKind::Handoff => None,
        LetterKind::Envelope(_) if letter.workspace.as_ref() != workspace => None,
        LetterKind::Envelope(_) => {
            let inbox = waiting.inboxes.iter().flat_map(|own| &own.envelopes);
            let sent = inbox.into_iter().find(|own| own.envelope.as_str() == letter.id)?;
            let engine = context.opened().ok()?;
            let world = engine.world().ok()?;
            let at = world.state.workspace(&sent.to)?;
            let is_new =
                at.charter.directive.as_ref().is_some_and(|own| {
                    waiting.letters.iter().any(|other| other.id == own.as_str())
                });
            text_of(&context.blobs(), &sent.payload.content).filter(|_| !is_new)
        }
    }
}

/// Takes letters that were told: messages are acknowledged, envelopes taken out of their inbox.
fn take(context: &ProjectContext, letters: &[&Letter]) -> Result<(), Error> {
    let envelopes = letters.iter().filter(|own| own.workspace.is_some());
    let places: BTreeSet<&WorkspaceId> =
        envelopes.clone().filter_map(|own| own.workspace.as_ref()).collect();
    for place in places {
        let count = envelopes.clone().filter(|own| own.workspace.as_ref() == Some(place)).count();
        mail::take(context, u16::try_from(count).unwrap_or(u16::MAX), Some(place))?;
    }
    for letter in letters.iter().filter(|own| own.workspace.is_none()) {
        mail::take_one(context, &letter.id)?;
    }
    Ok(())
}

/// Tells what others recorded since the caller last looked. Returns whether there was anything.
fn news(context: &ProjectContext, told: &mut Told) -> Result<bool, Error> {
    let who = context.named()?.clone();
    let Principal::Agent(name) = &who else { return Ok(false) };
    let engine = context.opened()?;
    // Whoever never looked has nothing to compare with.
    let Some(since) = engine.world()?.state.agent(name).and_then(|own| own.looked) else {
        return Ok(false);
    };
    let changes = Changes { limit: Some(100), since };
    let found = match context.ask(&Query::MemoryChanges(changes))? {
        Answer::Memory(MemoryAnswer::Found(found)) => found.items,
        other => return Err(Error::unexpected(&other)),
    };
    let is_news = |own: &&RecordView| NEWS.contains(&own.kind) && own.record.author != who;
    let mut any = false;
    for view in found.iter().filter(is_news).take(NEWS_MAX as usize) {
        any |= told.add(&line(&view.record));
    }
    Ok(any)
}

fn line(record: &Record) -> String {
    let text = brief(record.text.as_str(), LINE_CHARS);
    format!("new {} {} by {}: {text}", record.id.kind, record.id.label(), called(&record.author))
}
