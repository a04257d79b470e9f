//! Access to content and checkpoints: authenticates viewers, checks permissions, and withholds
//! damaged content.
//!
//! A query without a name comes from the person at the machine. A query with a name is answered
//! only if the key of that name is on this machine, and with what that agent may read.

use althing_kernel::access::{self, NoteRefused, Viewer};
use althing_kernel::checkpoint::Checkpoint;
use althing_kernel::id::AnyId;
use althing_kernel::integration::Decision;
use althing_kernel::integration::conflict::Resolution;
use althing_kernel::integrity::{
    ActionTaken, IntegrityViolation, NoteViolation, SubjectType, Violation,
};
use althing_kernel::seal;
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Blob, CheckpointId, Command, Principal, Refusal, RefusalKind, Rule, Stamped, State,
};
use althing_trail::Entry;
use std::collections::BTreeSet;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::identity::keyring::Keyring;
use crate::identity::message_keys::MessageKeys;
use crate::screen::masked;
use crate::snapshot::world::READ_BYTES;
use crate::store::blobs::{Blobs, Stored};

/// Prefix of a reference to content.
const CITED: &str = "sha256:";

/// Viewers and content.
impl Engine {
    /// Fails if the viewer's name is bound to a key that is not on this machine.
    pub(crate) fn check_viewer(
        &self,
        state: &State,
        viewer: Viewer<'_>,
    ) -> Result<(), EngineError> {
        let keys = Keyring::of(self.home());
        let here = match viewer {
            None | Some(Principal::System) => true,
            Some(Principal::Agent(name)) => match state.agent(name) {
                None => true,
                Some(known) => keys.agent(name)?.is_some_and(|own| own.key().public() == known.key),
            },
            // A query does not decrypt a person's key; having the file is all that can be checked.
            Some(Principal::User(user)) => state.user(user).is_none() || keys.has_user(user),
        };
        let Some(who) = viewer.filter(|_| !here) else { return Ok(()) };
        self.note_unauthentic(who.clone(), "its key is not here", "question")?;
        let message = format!("{who} is registered, but the key is not on this machine");
        Err(EngineError::KeyMissing(message))
    }

    /// Fails if a viewer may not read all content, and records the refusal.
    pub fn check_reads_all_content(&self, viewer: Viewer<'_>) -> Result<(), EngineError> {
        let state = &self.world()?.state;
        self.check_viewer(state, viewer)?;
        match viewer {
            Some(who) if !access::reads_all_content(state, viewer) => {
                let message = format!("{who} may not read all that is stored here");
                Err(self.refuse(who, "content", Rule::ContentShown, message))
            }
            _ => Ok(()),
        }
    }

    /// Reads content by its name, if the viewer may. Content they may not read looks missing,
    /// whether or not it exists.
    pub fn content(&self, blob: &Blob, viewer: Viewer<'_>) -> Result<Vec<u8>, EngineError> {
        let state = &self.world()?.state;
        self.check_viewer(state, viewer)?;
        if let Some(who) = viewer
            && !access::reads_all_content(state, viewer)
            && !self.cited(state, viewer, blob)?.readable
        {
            let message = format!("there is no content {blob} that {who} may read");
            return Err(self.refuse(who, "blob.get", Rule::ContentShown, message));
        }
        Blobs::of(self.home()).get(blob)
    }

    /// All content a viewer may read.
    pub fn contents(&self, viewer: Viewer<'_>) -> Result<Vec<Stored>, EngineError> {
        let state = &self.world()?.state;
        self.check_viewer(state, viewer)?;
        let mut stored = Blobs::of(self.home()).list()?;
        if !access::reads_all_content(state, viewer) {
            let mut own = BTreeSet::new();
            self.each_entry(CITED, &mut |entry| {
                if access::reads_cited(state, viewer, entry) {
                    own.extend(entry.draft.event.blobs().into_iter().cloned());
                }
            })?;
            stored.retain(|stored| own.contains(&stored.blob));
        }
        Ok(stored)
    }

    /// Fails if an agent names content of somebody else, since naming it would make it readable.
    pub(crate) fn check_cites(&self, agent: &AgentName, blob: &Blob) -> Result<(), EngineError> {
        let state = &self.world()?.state;
        let own = Principal::Agent(agent.clone());
        if access::reads_all_content(state, Some(&own)) {
            return Ok(());
        }
        let cited = self.cited(state, Some(&own), blob)?;
        if cited.readable || !cited.at_all {
            return Ok(());
        }
        let message = format!("agent {agent} may not read the content {blob}, nor pass it on");
        Err(self.refuse(&own, "blob.cite", Rule::ContentCited, message))
    }

    /// Records a refusal that no command led to, and returns it.
    fn refuse(&self, who: &Principal, what: &str, rule: Rule, message: String) -> EngineError {
        let (what, masked) = (Text::lossy(what), Text::lossy(&masked(&message)));
        let note = NoteRefused { message: masked, requester: who.clone(), rule, what };
        match self.execute_own(Command::AccessRefused(note)) {
            Ok(_) => Refusal::denied(rule, message).into(),
            Err(error) => error,
        }
    }
}

/// Whether content is cited, and by what.
#[derive(Default)]
struct Cited {
    at_all: bool,
    /// By something the viewer may read.
    readable: bool,
}

impl Engine {
    /// Searches the trail for entries that cite content.
    fn cited(&self, state: &State, viewer: Viewer<'_>, blob: &Blob) -> Result<Cited, EngineError> {
        let mut cited = Cited::default();
        self.each_entry(&blob.to_string(), &mut |entry| {
            if entry.draft.event.blobs().contains(&blob) {
                cited.at_all = true;
                cited.readable |= access::reads_cited(state, viewer, entry);
            }
        })?;
        Ok(cited)
    }

    /// Visits every entry whose line contains a text.
    fn each_entry(&self, text: &str, visit: &mut dyn FnMut(&Stamped)) -> Result<(), EngineError> {
        let mut log = self.reader()?;
        let mut after = 0;
        loop {
            let commits = log.tail(after, READ_BYTES)?;
            let Some(last) = commits.last() else { return Ok(()) };
            after = last.last;
            for line in commits.iter().flat_map(althing_trail::Commit::entries) {
                if line.contains(text) {
                    let damaged = |error: althing_trail::entry::EntryError| EngineError::Damaged {
                        seq: after,
                        what: error.to_string(),
                    };
                    visit(&Entry::read(line).map_err(damaged)?.stamped);
                }
            }
        }
    }
}

/// Integrity of checkpoints.
impl Engine {
    /// Fails if a checkpoint is not the one its workspace made, or its content does not match its
    /// name.
    pub(crate) fn check_shown(&self, state: &State, id: &CheckpointId) -> Result<(), EngineError> {
        let Some(made) = state.checkpoint(id) else { return Ok(()) };
        if !self.is_as_made(state, id)? {
            let message = format!("checkpoint {id} is not what its workspace made");
            let proof = made.integrity.map(|own| own.proof.to_string());
            let found = IntegrityViolation {
                action_taken: ActionTaken::Rejected,
                actual: Text::lossy("another checkpoint than the trail has"),
                expected: Text::lossy(proof.as_deref().unwrap_or("a proof")),
                subject_id: AnyId::from(id),
                subject_type: SubjectType::Checkpoint,
                violation: if proof.is_some() {
                    Violation::HashMismatch
                } else {
                    Violation::ProofMissing
                },
            };
            return Err(self.violated(found, message));
        }
        self.check_content(id, made, &|blobs, blob| blobs.has(blob).is_ok_and(|has| !has))
    }

    /// Checks a checkpoint by its proof, or by its entry in the trail if the proof was made with
    /// another runtime's key or this runtime's key is missing.
    fn is_as_made(&self, state: &State, id: &CheckpointId) -> Result<bool, EngineError> {
        let key = Keyring::of(self.home()).runtime()?;
        if key.is_some_and(|key| seal::is_proven(&MessageKeys::of(&key), state, id)) {
            return Ok(true);
        }
        let mut same = false;
        self.each_entry(id.as_str(), &mut |entry| {
            same |= seal::is_as_recorded(state, id, entry);
        })?;
        Ok(same)
    }

    /// Fails if a merge needs content that is damaged or missing. The kernel checks that it is the
    /// checkpoint that was made.
    pub(crate) fn check_merged(&self, command: &Command) -> Result<(), EngineError> {
        let source = match command {
            Command::IntegrationDecide(args) if args.decision == Decision::Accept => {
                &args.workspace
            }
            Command::ConflictResolve(args) if args.strategy == Resolution::CoordinatorResolve => {
                &args.workspace
            }
            // Any other command merges nothing, or brings the merged files along.
            _ => return Ok(()),
        };
        let world = self.world()?;
        // While a merge is open this checkpoint stays the final one: the workspace makes no more.
        let id = world.state.workspace(source).and_then(|own| own.latest_final.as_ref());
        let made = id.and_then(|id| world.state.checkpoint(id).map(|made| (id, made)));
        made.map_or(Ok(()), |(id, made)| self.check_content(id, made, &|_, _| false))
    }

    fn check_content(
        &self,
        id: &CheckpointId,
        made: &Checkpoint,
        may_lack: &dyn Fn(&Blobs, &Blob) -> bool,
    ) -> Result<(), EngineError> {
        let blobs = Blobs::of(self.home());
        let bad = made.blobs().find(|blob| !blobs.is_sound(blob) && !may_lack(&blobs, blob));
        let Some(bad) = bad else { return Ok(()) };
        let gone = !blobs.has(bad)?;
        let found = IntegrityViolation {
            action_taken: ActionTaken::Rejected,
            actual: Text::lossy(if gone { "nothing" } else { "something else" }),
            expected: Text::lossy(&bad.to_string()),
            subject_id: AnyId::from(id),
            subject_type: SubjectType::Checkpoint,
            violation: Violation::HashMismatch,
        };
        let lacks = if gone { "gone" } else { "damaged" };
        let message = format!("the content {bad} of checkpoint {id} is {lacks}");
        Err(self.violated(found, message))
    }

    /// Records a violation, and returns the refusal.
    fn violated(&self, found: IntegrityViolation, message: String) -> EngineError {
        match self.execute_own(Command::RuntimeViolated(NoteViolation(found))) {
            Ok(_) => Refusal::of(RefusalKind::Integrity, Rule::CheckpointProven, message).into(),
            Err(error) => error,
        }
    }
}
