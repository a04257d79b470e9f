//! Who reads what, at the doors: names are shown to be true, content goes to those it is for, and
//! what is not what it should be is not shown.
//!
//! A question without a name is that of the person at the machine. One with a name is answered to
//! whoever holds the key the name is bound to, with what that agent may read.

use althing_kernel::access::{self, NoteRefused, Viewer};
use althing_kernel::checkpoint::Checkpoint;
use althing_kernel::id::AnyId;
use althing_kernel::integration::Decision;
use althing_kernel::integration::conflict::Resolution;
use althing_kernel::seal;
use althing_kernel::text::Text;
use althing_kernel::violation::{
    ActionTaken, IntegrityViolation, NoteViolation, SubjectType, Violation,
};
use althing_kernel::{
    AgentName, Blob, CheckpointId, Command, Principal, Refusal, RefusalKind, Rule, Stamped, State,
};
use althing_trail::Entry;
use std::collections::BTreeSet;

use crate::blobs::{Blobs, Stored};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::keyring::Keyring;
use crate::screen::masked;
use crate::secrets::Secrets;
use crate::world::READ_BYTES;

/// How the name of content begins, wherever it is cited.
const CITED: &str = "sha256:";

/// Whoever asks by a name.
impl Engine {
    /// Refuses whoever asks under a name that is bound to a key which is not here.
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
            // A question opens no sealed key; that it is here is all that can be said.
            Some(Principal::User(user)) => state.user(user).is_none() || keys.has_user(user),
        };
        let Some(who) = viewer.filter(|_| !here) else { return Ok(()) };
        self.note_unauthentic(who.clone(), "its key is not here", "question")?;
        let message = format!("{who} is registered, but the key is not on this machine");
        Err(EngineError::KeyMissing(message))
    }

    /// Refuses a viewer who may not read all content, and records that.
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

    /// Content by its name, for those it is for. What is not theirs is not there for others,
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

    /// All content there is for a viewer.
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

    /// Refuses an agent that names content which is somebody else's. Otherwise it would be its
    /// own by being named.
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

    /// Records a refusal that no command led to, and is it.
    fn refuse(&self, who: &Principal, what: &str, rule: Rule, message: String) -> EngineError {
        let (what, said) = (Text::lossy(what), Text::lossy(&masked(&message)));
        let note = NoteRefused { message: said, requester: who.clone(), rule, what };
        match self.execute_own(Command::AccessRefused(note)) {
            Ok(_) => Refusal::denied(rule, message).into(),
            Err(error) => error,
        }
    }
}

/// Where content is cited.
#[derive(Default)]
struct Cited {
    at_all: bool,
    /// By something the viewer may read.
    readable: bool,
}

impl Engine {
    /// The trail is the record of who was given what.
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

    /// Every entry whose line has a text in it.
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

/// Checkpoints are what was made, or are neither shown nor merged.
impl Engine {
    /// Refuses to show a checkpoint that is not what its workspace made, or whose content is not
    /// what it names.
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

    /// By its proof; where that was made with another runtime's key, or this one's is not here,
    /// by the entry that the trail has of it.
    fn is_as_made(&self, state: &State, id: &CheckpointId) -> Result<bool, EngineError> {
        let key = Keyring::of(self.home()).runtime()?;
        if key.is_some_and(|key| seal::is_proven(&Secrets::of(&key), state, id)) {
            return Ok(true);
        }
        let mut same = false;
        self.each_entry(id.as_str(), &mut |entry| {
            same |= seal::is_as_recorded(state, id, entry);
        })?;
        Ok(same)
    }

    /// Refuses a merge of content that is damaged or gone. That it is what was made, the kernel
    /// asks.
    pub(crate) fn check_merged(&self, command: &Command) -> Result<(), EngineError> {
        let source = match command {
            Command::IntegrationDecide(args) if args.decision == Decision::Accept => {
                &args.workspace
            }
            Command::ConflictResolve(args) if args.strategy == Resolution::CoordinatorResolve => {
                &args.workspace
            }
            _ => return Ok(()),
        };
        let world = self.world()?;
        // While a merge is open, this is what it is about: a workspace makes no more checkpoints.
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

    /// Records a violation, and is the refusal that follows from it.
    fn violated(&self, found: IntegrityViolation, message: String) -> EngineError {
        match self.execute_own(Command::RuntimeViolated(NoteViolation(found))) {
            Ok(_) => Refusal::of(RefusalKind::Integrity, Rule::CheckpointProven, message).into(),
            Err(error) => error,
        }
    }
}
