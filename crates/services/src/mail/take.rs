//! Taking letters: envelopes out of inboxes, messages acknowledged, handoffs accepted.

use althing_kernel::envelope::Priority;
use althing_kernel::envelope::inbox::{Mail, Take};
use althing_kernel::records::transition::Move;
use althing_kernel::records::view::MemoryReply;
use althing_kernel::records::{Kind, RecordId, Status};
use althing_kernel::{Command, Reply, WorkspaceId};

use super::{Letter, LetterKind, text_of, waiting, workspaces};
use crate::context::ProjectContext;
use crate::error::Error;

/// The mail that was taken from one workspace.
pub type TakenMail = Mail;

/// Letters that were taken, each on record as taken.
pub struct Taken {
    /// The letters with their texts, most urgent first.
    pub letters: Vec<Letter>,
    /// The mail of each workspace, with signals and news besides envelopes.
    pub mails: Vec<Mail>,
    /// How many letters are left.
    pub left: usize,
}

/// Takes up to `max` letters of the caller, most urgent first. With `only`, the inbox of that
/// workspace and no other.
pub fn take(
    context: &ProjectContext,
    max: u16,
    only: Option<&WorkspaceId>,
) -> Result<Taken, Error> {
    let who = context.named()?.clone();
    let mut room = usize::from(max);
    let mut taken = Taken { letters: Vec::new(), mails: Vec::new(), left: 0 };
    let mut places: Vec<WorkspaceId> =
        workspaces(context, &who)?.into_iter().map(|own| own.workspace).collect();
    if let Some(only) = only {
        places = vec![only.clone()];
    }
    for workspace in places {
        let Some(max) = u16::try_from(room).ok().filter(|max| *max > 0) else { break };
        let take = Take { max: Some(max), workspace: Some(workspace) };
        let mail = match context.execute(Command::InboxTake(take))? {
            Reply::Mail(mail) => mail,
            other => return Err(Error::unexpected(&other)),
        };
        room = room.saturating_sub(mail.envelopes.len());
        let blobs = context.blobs();
        taken.letters.extend(mail.envelopes.iter().map(|sent| {
            let text = text_of(&blobs, &sent.payload.content);
            Letter::of_envelope(sent, text)
        }));
        taken.mails.push(mail);
    }
    let open = waiting(context)?.letters.into_iter();
    let records: Vec<Letter> =
        open.filter(|letter| !matches!(letter.kind, LetterKind::Envelope(_))).collect();
    for letter in records.iter().take(room) {
        taken.letters.push(acknowledge(context, &letter.id)?);
    }
    // Read in the order they were written.
    taken.letters.sort_by(|a, b| (a.priority, a.at, &a.id).cmp(&(b.priority, b.at, &b.id)));
    taken.left = waiting(context)?.letters.len();
    Ok(taken)
}

/// Takes one letter by its id: acknowledges a message, accepts a handoff. Envelopes are taken in
/// their order, with [`take`].
pub fn take_one(context: &ProjectContext, id: &str) -> Result<Letter, Error> {
    if id.starts_with("env_") {
        let message = format!("{id} is an envelope; those are taken in order, most urgent first");
        return Err(Error::usage(message).hint("Leave the id out to take what waits."));
    }
    acknowledge(context, id)
}

fn acknowledge(context: &ProjectContext, id: &str) -> Result<Letter, Error> {
    let id: RecordId = id.parse().map_err(Error::unreadable)?;
    let to = match id.kind {
        Kind::Handoff => Status::Accepted,
        _ => Status::Acknowledged,
    };
    match context.execute(Command::MemoryMove(Box::new(Move::plain(id, to))))? {
        Reply::Memory(reply) => match *reply {
            MemoryReply::Moved(moved) => {
                let record =
                    moved.record.ok_or_else(|| Error::defect("a moved record is missing"))?;
                Ok(Letter::of_record(&record, Priority::Normal))
            }
            other => Err(Error::unexpected(&other)),
        },
        other => Err(Error::unexpected(&other)),
    }
}
