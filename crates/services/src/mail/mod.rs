//! The one inbox of an agent or a person: everything addressed to them, whichever door it came by.
//!
//! A [`Letter`] is a message or a handoff of the memory, or an envelope in the inbox of a workspace
//! the agent works in. They are listed together, most urgent first, and taken with one verb. The
//! command line and the tools of every dialect call these functions; nothing is stored here.

mod send;
mod take;

use althing_dialects::frugal::haid::called;
use althing_dialects::memory::item::brief;
use althing_engine::Blobs;
use althing_kernel::content::Blob;
use althing_kernel::envelope::view::EnvelopeView;
use althing_kernel::envelope::{Origin, Priority};
use althing_kernel::query::{Answer, InboxList, InboxView, Query, WorkspaceList};
use althing_kernel::records::{Kind, Record, Status};
use althing_kernel::workspace::Party;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Principal, Timestamp, WorkspaceId, envelope, workspace};
use serde::Serialize;

pub use send::{Address, Outgoing, Sent, send};
pub use take::{Taken, TakenMail, take, take_one};

use crate::context::{Present, ProjectContext};
use crate::error::Error;

/// The longest beginning of a text in a list or a notice, in characters.
const BEGINNING_CHARS: usize = 90;

/// A kind of letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LetterKind {
    /// A message of the memory: sent by anybody to an agent or a person.
    Message,
    /// Work handed over.
    Handoff,
    /// An envelope of this type, in the inbox of a workspace.
    Envelope(String),
}

impl LetterKind {
    /// The word for it.
    pub fn as_str(&self) -> &str {
        match self {
            LetterKind::Message => "message",
            LetterKind::Handoff => "handoff",
            LetterKind::Envelope(kind) => kind,
        }
    }
}

/// A letter that waits, or that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Letter {
    /// The id: of a record, or of an envelope.
    pub id: String,
    /// The id as people write it.
    pub label: String,
    /// Its kind.
    pub kind: LetterKind,
    /// The sender.
    pub from: String,
    /// When it was sent.
    pub at: Timestamp,
    /// How soon it should be read.
    pub priority: Priority,
    /// The text. That of an envelope is shown once it is taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether it still waits.
    pub open: bool,
    /// The thread, or the letter it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The workspace whose inbox it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
}

impl Letter {
    fn of_record(record: &Record, priority: Priority) -> Self {
        let fields = &record.fields;
        let kind = match record.id.kind {
            Kind::Handoff => LetterKind::Handoff,
            _ => LetterKind::Message,
        };
        Letter {
            id: record.id.to_string(),
            label: record.id.label(),
            kind,
            from: called(&record.author),
            at: record.created_at,
            priority,
            text: Some(record.text.to_string()),
            open: record.status == Status::Open,
            thread: fields.thread.as_ref().map(ToString::to_string),
            workspace: None,
        }
    }

    fn of_envelope(sent: &EnvelopeView, text: Option<String>) -> Self {
        let from = match (sent.origin, &sent.originator) {
            (Origin::Human, Party::User(person)) => format!("user:{person}"),
            _ => sent.from.to_string(),
        };
        Letter {
            id: sent.envelope.to_string(),
            label: sent.envelope.to_string(),
            kind: LetterKind::Envelope(sent.kind.to_string()),
            from,
            at: sent.created_at,
            priority: sent.priority,
            text,
            open: !sent.taken,
            thread: sent.in_reply_to.as_ref().map(ToString::to_string),
            workspace: Some(sent.to.clone()),
        }
    }

    /// The letter in one line: kind, id, sender and the beginning of its text, if that may be shown.
    pub fn line(&self) -> String {
        let Letter { label, from, .. } = self;
        let pressing = match self.priority {
            Priority::Blocking => " (blocking)",
            Priority::Urgent => " (urgent)",
            Priority::Normal => "",
        };
        let text = self.text.as_deref().map_or_else(String::new, |text| {
            let words: Vec<&str> = text.split_whitespace().collect();
            format!(": {}", brief(&words.join(" "), BEGINNING_CHARS))
        });
        format!("{} {label} from {from}{pressing}{text}", self.kind.as_str())
    }
}

/// Everything that waits for somebody.
pub struct Waiting {
    /// The letters, most urgent first, then newest first.
    pub letters: Vec<Letter>,
    /// The inboxes of the workspaces they act in, with signals and news besides envelopes.
    pub inboxes: Vec<InboxView>,
}

/// The letters that wait for the caller. Changes nothing.
pub fn waiting(context: &ProjectContext) -> Result<Waiting, Error> {
    let who = context.named()?.clone();
    let present = context.present()?;
    let mut letters = records(context, &present, &who, false);
    let mut inboxes = Vec::new();
    for workspace in workspaces(context, &who)? {
        let view = inbox(context, workspace.workspace.clone(), false)?;
        letters.extend(view.envelopes.iter().map(|sent| Letter::of_envelope(sent, None)));
        // Mail for a workspace whose agent has not shown up is delivered when it does.
        if workspace.status == workspace::Status::Idle && !workspace.ready {
            let sent = inbox(context, workspace.workspace, true)?.envelopes;
            let held = sent.iter().filter(|sent| sent.status == envelope::Status::Validated);
            letters.extend(held.map(|sent| Letter::of_envelope(sent, None)));
        }
        inboxes.push(view);
    }
    sort(&mut letters);
    Ok(Waiting { letters, inboxes })
}

/// The messages and handoffs to the caller, newest first; with `all`, also those taken before.
pub fn records_to(context: &ProjectContext, all: bool) -> Result<Vec<Letter>, Error> {
    let who = context.named()?.clone();
    let mut letters = records(context, &context.present()?, &who, all);
    sort(&mut letters);
    Ok(letters)
}

fn records(context: &ProjectContext, present: &Present, who: &Principal, all: bool) -> Vec<Letter> {
    let cache = context.project().search_cache();
    let kinds = [Kind::Message, Kind::Handoff].into_iter();
    let ids = kinds.flat_map(|kind| cache.waiting(&present.state, who, kind));
    let records = ids.filter_map(|id| present.state.memory().record(id));
    let wanted = records.filter(|own| (all || own.status == Status::Open) && own.author != *who);
    wanted.map(|record| Letter::of_record(record, Priority::Normal)).collect()
}

/// The open workspaces of a run that an agent acts in. People have none of their own.
pub(crate) fn workspaces(
    context: &ProjectContext,
    who: &Principal,
) -> Result<Vec<WorkspaceView>, Error> {
    let Principal::Agent(agent) = who else { return Ok(Vec::new()) };
    let list = WorkspaceList { agent: Some(agent.clone()), live: true, ..WorkspaceList::default() };
    match context.ask(&Query::WorkspaceList(list))? {
        Answer::Workspaces(all) => Ok(all.into_iter().filter(WorkspaceView::is_of_run).collect()),
        other => Err(Error::unexpected(&other)),
    }
}

/// The inbox of a workspace: the letters that wait, or with `all` those taken before as well, and the
/// signals and news beside them.
pub fn inbox(
    context: &ProjectContext,
    workspace: WorkspaceId,
    all: bool,
) -> Result<InboxView, Error> {
    match context.ask(&Query::InboxList(InboxList { all, workspace }))? {
        Answer::Inbox(view) => Ok(view),
        other => Err(Error::unexpected(&other)),
    }
}

fn sort(letters: &mut [Letter]) {
    letters.sort_by(|a, b| {
        (a.priority, std::cmp::Reverse(a.at), &a.id).cmp(&(
            b.priority,
            std::cmp::Reverse(b.at),
            &b.id,
        ))
    });
}

/// Stored content as text, if it is text.
pub(crate) fn text_of(blobs: &Blobs, content: &Blob) -> Option<String> {
    blobs.get(content).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}
