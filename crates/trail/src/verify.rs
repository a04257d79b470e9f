//! Verification: walks a trail from its first entry and reports the first fault.
//!
//! Each entry is read, and the entry that *should* stand there is made anew from its event; the two
//! must be the same bytes. That one comparison covers the canonical form, both chains, the
//! anchoring of one in the other, sequence numbers and streams. The kernel then decides again what
//! was asked for and must make the same entries, so an event that the rules do not lead to is
//! noticed even if it is hashed and signed correctly. Entries of earlier versions of the rules are
//! applied, but not decided again: that begins at the entry that says that today's rules hold. After
//! each commit the root and the link to the commit before are compared with its head. The signature
//! of the newest head vouches for all older ones, because each head names the one before it; where
//! a key took over from another, the last head of the old one is checked too. Every signature can
//! be checked on its own, at the cost of one verification each.

use althing_kernel::adoption::RULES_VERSION;
use althing_kernel::archive::{Number, ReplayBase};
use althing_kernel::audit::{self, Auditor, Breach};
use althing_kernel::{Actor, ApplyError, Command, Event, Principal, PublicKey, Stamped, State};
use std::collections::HashSet;

use crate::chain::{Builder, Chain, ChainImage, Misplaced};
use crate::commit::Commit;
use crate::entry::{Entry, EntryError};
use crate::hash::{Domain, Hash};
use crate::head::{Head, HeadError, SignedHead};
use crate::request::{Asked, SignatureError};
use crate::stub::{Stub, StubError};

/// Fault of an entry, or of the commit that ends with it.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// A commit does not begin right after the one before.
    #[error("the commit begins at entry {found}, where {expected} comes next")]
    Gap {
        /// Entry that comes next.
        expected: u64,
        /// Entry it begins with.
        found: u64,
    },
    /// A commit does not hold the entries it claims.
    #[error("the commit says it ends at entry {claimed}, but ends at {found}")]
    Extent {
        /// Last entry it claims.
        claimed: u64,
        /// Last entry it holds.
        found: u64,
    },
    /// Not an entry.
    #[error("{0}")]
    Unreadable(#[from] EntryError),
    /// Not at its place in the chain.
    #[error("{0}")]
    Misplaced(#[from] Misplaced),
    /// The hash does not match the content.
    #[error("its hash does not fit its content")]
    Hash,
    /// The local hash does not match the content.
    #[error("its local hash does not fit its content")]
    LocalHash,
    /// Right content, but not in canonical form.
    #[error("it is not written in canonical form")]
    NotCanonical,
    /// Impossible after the entries before.
    #[error("it cannot follow from the state before it: {0}")]
    CannotFollow(#[from] ApplyError),
    /// Breaks a rule.
    #[error("the rules do not allow it: {0}")]
    Forbidden(#[from] Breach),
    /// The caller's signature is invalid.
    #[error("{0}")]
    Proof(#[from] SignatureError),
    /// The caller's signature was made with another key than the caller's.
    #[error("it is signed with another key than its actor's")]
    ProofKey,
    /// Done in a person's name without their signature.
    #[error("it is done in a person's name, but the person did not sign it")]
    ProofMissing,
    /// A caller's signature is used a second time.
    #[error("its caller's signature was used before")]
    ProofReused,
    /// The decision was cut off here, and nothing made up for it.
    #[error("what has to follow it is missing, and no recovery came after it")]
    Unfinished,
    /// The head cannot be read.
    #[error("the head of its commit: {0}")]
    Head(#[from] HeadError),
    /// The head belongs to another project.
    #[error("the head of its commit is that of another project")]
    HeadProject,
    /// The head is for another number of entries.
    #[error("the head of its commit is for {found} entries, not {expected}")]
    HeadSize {
        /// Number of entries there are.
        expected: u64,
        /// Number of entries it claims.
        found: u64,
    },
    /// The head has another root.
    #[error("the head of its commit has another root than the entries")]
    HeadRoot,
    /// The head does not name the commit before.
    #[error("the head of its commit does not name the commit before it")]
    HeadPrev,
    /// The head contains more than the runtime wrote.
    #[error("the head of its commit is not in the form the runtime writes")]
    HeadForm,
    /// The head is not signed by the runtime.
    #[error("the head of its commit is not signed with the runtime's key")]
    HeadSignature,
    /// A kept head has another root at that size.
    #[error("a head kept earlier has another root for these entries")]
    KeptRoot,
    /// A kept head covers more entries than there are.
    #[error(
        "a head kept earlier covers {kept} entries, but the trail ends here: entries were cut off"
    )]
    KeptBeyond {
        /// Number of entries the kept head covers.
        kept: u64,
    },
    /// A kept head belongs to another trail.
    #[error("a head kept earlier is that of another project")]
    KeptProject,
    /// A kept head is not signed by a key this trail ever had.
    #[error("a head kept earlier is not signed with a key of this trail")]
    KeptSignature,
    /// The trail is empty.
    #[error("there are no entries; every trail has at least one")]
    Empty,
    /// The entry is in a deleted archive, and no replay base says what it led to.
    #[error("it was in archive {0}, which is gone, and replay does not begin behind it")]
    Gone(Number),
    /// Something else stands in the place of the entry.
    #[error("{0}")]
    Stub(#[from] StubError),
    /// The replay base does not match the trail.
    #[error("the state that replay begins with is not the one the trail says")]
    ReplayBase,
    /// A key that is not among those expected.
    #[error("the trail is signed with {found}, which is not an expected key")]
    ForeignKey {
        /// The key found.
        found: PublicKey,
    },
}

/// The first fault of a trail.
#[derive(Debug, thiserror::Error)]
#[error("entry {seq}: {fault}")]
pub struct Finding {
    /// Entry of the fault; 0 stands for the trail as a whole.
    pub seq: u64,
    /// The fault.
    pub fault: Fault,
}

/// Checks to make besides the chains.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Check every head's signature and every caller's, not only the newest head's.
    pub every_signature: bool,
    /// Heads kept from earlier; each must be part of this trail.
    pub kept: Vec<SignedHead>,
    /// The keys the trail may be signed with; any key if empty. A takeover by another key is on
    /// record, but nobody who held the old key has vouched for it.
    pub keys: Vec<PublicKey>,
    /// Whether a recovery is about to follow, so that a decision may be cut off.
    pub before_recovery: bool,
}

/// Summary of the checks made.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Checked {
    /// Entries read, hashed, chained and applied.
    pub entries: u64,
    /// Commits whose head, root and link were compared.
    pub commits: u64,
    /// Head signatures verified one by one.
    pub head_signatures: u64,
    /// Callers' signatures verified.
    pub caller_signatures: u64,
    /// Kept heads found in the trail.
    pub kept_heads: u64,
    /// The keys that signed heads, in order.
    pub keys: Vec<PublicKey>,
    /// Entries whose archive was deleted: their places in the chains and the tree were checked, not
    /// their content.
    pub pruned: u64,
    /// Entries that could not be audited against the rules, because earlier ones are deleted.
    pub unaudited: u64,
    /// The entry from which on today's rules hold and were asked; none if the whole trail is of an
    /// earlier version.
    pub audited_from: Option<u64>,
}

/// The base that replay begins with once archives were deleted.
#[derive(Clone, Debug)]
pub struct Base {
    /// Position of the base, and the hash of its file.
    pub replay_base: ReplayBase,
    /// The chain at that position.
    pub chain: ChainImage,
    /// The state at that position.
    pub state: State,
}

/// A verification in progress.
pub struct Verifier {
    options: Options,
    chain: Chain,
    auditor: Auditor,
    newest: Option<String>,
    /// Hashes of the requests that callers signed so far; only kept if every signature is checked.
    requests: HashSet<Hash>,
    checked: Checked,
    /// The base to continue from after the deleted entries, if there are any.
    base: Option<Base>,
    /// Whether an entry is deleted, so that the state is unknown until the base.
    state_unknown: bool,
    base_reached: Option<ReplayBase>,
    key: Option<PublicKey>,
    hashes: Vec<Hash>,
    /// The last entry of a decision that was cut off, until a recovery makes up for it.
    unfinished: Option<u64>,
}

impl Verifier {
    /// Begins at the first entry of a trail some of whose archives were deleted.
    pub fn with_base(options: Options, base: Option<Base>) -> Self {
        Verifier { base, ..Verifier::new(options) }
    }

    /// Begins at the first entry.
    pub fn new(mut options: Options) -> Self {
        options.kept.sort_by_key(|kept| kept.head().size);
        Verifier {
            options,
            chain: Chain::default(),
            auditor: Auditor::default(),
            newest: None,
            requests: HashSet::new(),
            checked: Checked::default(),
            base: None,
            state_unknown: false,
            base_reached: None,
            key: None,
            hashes: Vec::new(),
            unfinished: None,
        }
    }

    /// Continues after entries that were verified before, from the state they led to.
    pub fn resume(options: Options, chain: Chain, state: State) -> Self {
        let key = state.project().map(|project| project.runtime_key);
        Verifier { chain, auditor: Auditor::new(state), key, ..Verifier::new(options) }
    }

    /// Checks the next commit.
    pub fn check(&mut self, commit: &Commit) -> Result<(), Finding> {
        let next = self.chain.seq() + 1;
        if commit.first != next {
            return Err(found_at(next, Fault::Gap { expected: next, found: commit.first }));
        }
        let mut builder = Builder::begin(std::mem::take(&mut self.chain));
        let (mut entries, mut requests) = (Vec::new(), Vec::new());
        for line in commit.slots() {
            let seq = builder.chain().seq() + 1;
            let checked = if Stub::is_in(line) {
                self.check_stub(&mut builder, line)
            } else {
                self.check_form(&mut builder, line).map(|entry| {
                    entries.push(entry.stamped);
                    requests.push(entry.asked);
                })
            };
            let checked = checked.and_then(|()| self.check_kept(builder.chain()));
            checked.map_err(|fault| found_at(seq, fault))?;
            self.checked.entries += 1;
        }
        (self.chain, self.hashes) = builder.into_parts();
        let last = self.chain.seq();
        if commit.last != last {
            let fault = Fault::Extent { claimed: commit.last, found: last };
            return Err(found_at(last, fault));
        }
        self.check_entries(next, &entries, &requests)?;
        self.check_head(commit).map_err(|fault| found_at(last, fault))?;
        self.continue_from_base().map_err(|fault| found_at(last, fault))
    }

    /// Checks what the entries of a commit say, decision by decision.
    fn check_entries(
        &mut self,
        first: u64,
        entries: &[Stamped],
        requests: &[Option<Asked>],
    ) -> Result<(), Finding> {
        if self.state_unknown {
            self.checked.unaudited += entries.len() as u64;
            return Ok(());
        }
        let (mut from, mut next) = (0, None);
        while let (Some(rest), Some(asked)) = (entries.get(from..), requests.get(from..))
            && let Some(entry) = rest.first()
        {
            let at = |place: usize| first + (from + place) as u64;
            from += if self.is_audited(entry) {
                // The next request is read once, however many deadlines come before it.
                if next.as_ref().is_none_or(|(place, _)| *place < from) {
                    let place = asked.iter().position(Option::is_some);
                    let read = place.and_then(|place| Some((place, asked.get(place)?.as_ref()?)));
                    next = match read {
                        Some((place, asked)) => {
                            let command = asked.command();
                            let command =
                                command.map_err(|error| found_at(at(place), error.into()))?;
                            Some((from + place, command))
                        }
                        None => None,
                    };
                }
                let command = next.as_ref().map(|(place, command)| (place - from, command));
                match self.check_decision(rest, asked, command) {
                    Ok(entries) => entries,
                    // A commit ends in the middle of a decision: a crash of a store that is not
                    // atomic, or a forgery. A recovery on record makes up for it.
                    Err((place, Fault::Forbidden(Breach::Missing { .. }))) => {
                        self.unfinished = Some(at(place));
                        let checked = self.check_part(rest, asked);
                        checked.map_err(|(place, fault)| found_at(at(place), fault))?
                    }
                    Err((place, fault)) => return Err(found_at(at(place), fault)),
                }
            } else {
                let checked = self.check_earlier(entry, asked.first().and_then(Option::as_ref));
                checked.map_err(|fault| found_at(at(0), fault))?;
                1
            };
        }
        Ok(())
    }

    /// Whether today's rules led to an entry: they hold in the trail, or begin to with the entry.
    fn is_audited(&self, entry: &Stamped) -> bool {
        let hold = self.state().project().is_some_and(|project| project.rules.are_current());
        hold || match &entry.draft.event {
            Event::ProjectCreated(body) => body.rules == Some(RULES_VERSION),
            Event::RulesAdopted(body) => body.version == RULES_VERSION,
            // Any other entry leaves the rules as they are.
            _ => false,
        }
    }

    /// Audits the decision that some entries begin with. Returns how many of them belong to it.
    fn check_decision(
        &mut self,
        entries: &[Stamped],
        requests: &[Option<Asked>],
        command: Option<(usize, &Command)>,
    ) -> Result<usize, (usize, Fault)> {
        let place = command.map(|(place, _)| place);
        let asked = place.and_then(|place| Some((place, requests.get(place)?.as_ref()?)));
        let request = asked.zip(command).map(|((entry, asked), (_, command))| audit::Asked {
            entry,
            command,
            session: asked.session(),
            key: asked.signature().map(|signature| &signature.key),
        });
        let audited = self.auditor.audit(entries, request);
        let audited = audited.map_err(|(place, breach)| (place, Fault::from(breach)))?;
        // Entries of a deadline carry no request, and those of a command carry one.
        let own = place.filter(|_| audited.by.is_some());
        let mut requests = requests.iter().take(audited.entries).enumerate();
        let stray = requests.find(|(at, asked)| asked.is_some() && Some(*at) != own);
        if let Some((at, _)) = stray {
            return Err((at, Breach::Misplaced.into()));
        }
        let made = entries.iter().take(audited.entries);
        if made.into_iter().any(|e| matches!(e.draft.event, Event::RecoveryCompleted(_))) {
            self.unfinished = None;
        }
        if let (Some(by), Some((place, asked))) = (&audited.by, asked) {
            // A caller who was not authentic signed with a key that is not the name's: that is why.
            let own = entries.get(place).map(|entry| &entry.draft.event);
            if !matches!(own, Some(Event::AuthenticationFailed(_))) {
                self.check_caller(by, asked).map_err(|fault| (place, fault))?;
            }
        }
        Ok(audited.entries)
    }

    /// Applies the part of a decision that is on record. Returns how many entries it has.
    fn check_part(
        &mut self,
        entries: &[Stamped],
        requests: &[Option<Asked>],
    ) -> Result<usize, (usize, Fault)> {
        for (place, (entry, asked)) in entries.iter().zip(requests).enumerate() {
            let checked = self.check_earlier(entry, asked.as_ref());
            checked.map_err(|fault| (place, fault))?;
        }
        Ok(entries.len())
    }

    /// Applies an entry of an earlier version of the rules, and checks its caller's signature.
    fn check_earlier(&mut self, entry: &Stamped, asked: Option<&Asked>) -> Result<(), Fault> {
        self.auditor.apply(entry)?;
        let Actor::Principal(by) = &entry.draft.actor else { return Ok(()) };
        match asked {
            Some(asked) => self.check_caller(by, asked),
            // A person's command made one entry then, which they signed.
            None if matches!(by, Principal::User(_)) => self.check_missing(),
            None => Ok(()),
        }
    }

    /// Adds an entry whose archive is deleted. Its hashes count for the chains and the tree.
    fn check_stub(&mut self, builder: &mut Builder, line: &str) -> Result<(), Fault> {
        let stub = Stub::read(line)?;
        let seq = builder.chain().seq() + 1;
        if self.base.as_ref().is_none_or(|base| base.replay_base.seq < seq) {
            return Err(Fault::Gone(stub.archive));
        }
        builder.skip(&stub);
        self.state_unknown = true;
        self.checked.pruned += 1;
        Ok(())
    }

    /// Continues from the base once all entries before it are walked. The base must come from these
    /// very entries.
    fn continue_from_base(&mut self) -> Result<(), Fault> {
        let seq = self.chain.seq();
        let Some(base) = self.base.as_ref().filter(|base| base.replay_base.seq <= seq) else {
            return Ok(());
        };
        let same = base.replay_base.seq == seq && base.chain == self.chain.image();
        let known = self.state_unknown || base.state.image() == self.state().image();
        if !same || !known {
            return Err(Fault::ReplayBase);
        }
        self.auditor = Auditor::new(base.state.clone());
        self.base_reached = self.base.take().map(|base| base.replay_base);
        self.state_unknown = false;
        Ok(())
    }

    /// Compares the chain with the kept heads of this size.
    fn check_kept(&self, chain: &Chain) -> Result<(), Fault> {
        let size = chain.seq();
        for kept in self.options.kept.iter().filter(|kept| kept.head().size == size) {
            // A head of another project is reported at the end.
            let own = chain.project() == Some(&kept.head().project);
            if own && kept.head().root != chain.frontier().root() {
                return Err(Fault::KeptRoot);
            }
        }
        Ok(())
    }

    /// Checks that a line is the entry that should stand here, in canonical form.
    fn check_form(&mut self, builder: &mut Builder, line: &str) -> Result<Entry, Fault> {
        let entry = Entry::read(line)?;
        builder.chain().expects(&entry)?;
        builder.add(&entry.stamped, entry.asked.as_ref()).map_err(EntryError::Form)?;
        let made = builder.last_line();
        if made != line.as_bytes() {
            return Err(difference(made, &entry));
        }
        match &entry.stamped.draft.event {
            Event::ProjectCreated(body) => self.key = Some(body.runtime_key),
            Event::RuntimeRekeyed(body) => self.key = Some(body.new_key),
            // Any other entry leaves the runtime's key as it is.
            _ => {}
        }
        Ok(entry)
    }

    /// Checks that a caller signed its request, with the key its name is bound to. Agents may be
    /// authenticated by their channel instead; people always sign.
    fn check_caller(&mut self, by: &Principal, asked: &Asked) -> Result<(), Fault> {
        let Some(signature) = asked.signature() else {
            return if matches!(by, Principal::User(_)) { self.check_missing() } else { Ok(()) };
        };
        if !self.options.every_signature {
            return Ok(());
        }
        let Some(project) = self.auditor.state().project() else { return Ok(()) };
        signature.check(&project.id, by)?;
        let (key, nonce) = (signature.key, signature.nonce.as_bytes());
        let request = Hash::of(Domain::Command, &[key.as_bytes(), nonce]);
        if !self.requests.insert(request) {
            return Err(Fault::ProofReused);
        }
        let bound = match by {
            Principal::Agent(name) => self.auditor.state().agent(name).map(|a| a.key),
            Principal::User(id) => self.auditor.state().user(id).map(|u| u.key),
            Principal::System => Some(project.runtime_key),
        };
        if bound != Some(key) {
            return Err(Fault::ProofKey);
        }
        self.checked.caller_signatures += 1;
        Ok(())
    }

    fn check_missing(&self) -> Result<(), Fault> {
        if self.options.every_signature { Err(Fault::ProofMissing) } else { Ok(()) }
    }

    fn check_head(&mut self, commit: &Commit) -> Result<(), Fault> {
        let expected = self.chain.head().ok_or(Fault::HeadProject)?;
        if !expected.is_head_in(&commit.head) {
            return Err(head_difference(&expected, &commit.head));
        }
        self.note_key()?;
        if self.options.every_signature {
            self.check_signature(&SignedHead::parse(&commit.head)?)?;
        }
        self.chain.close(&commit.head);
        self.newest = Some(commit.head.clone());
        self.checked.commits += 1;
        Ok(())
    }

    fn note_key(&mut self) -> Result<(), Fault> {
        let Some(key) = self.key else { return Ok(()) };
        if self.checked.keys.last() != Some(&key) {
            if !self.options.keys.is_empty() && !self.options.keys.contains(&key) {
                return Err(Fault::ForeignKey { found: key });
            }
            // The new key cannot vouch for commits before it took over.
            if !self.options.every_signature
                && let Some(last_of_old_key) = self.newest.take()
            {
                self.check_signature(&SignedHead::parse(&last_of_old_key)?)?;
            }
            self.checked.keys.push(key);
        }
        Ok(())
    }

    fn check_signature(&mut self, head: &SignedHead) -> Result<(), Fault> {
        match self.checked.keys.last() {
            Some(key) if head.is_signed_by(key) => {
                self.checked.head_signatures += 1;
                Ok(())
            }
            _ => Err(Fault::HeadSignature),
        }
    }

    /// The hashes of the entries of the commit that was checked last.
    pub fn hashes(&self) -> &[Hash] {
        &self.hashes
    }

    /// Whether an entry is deleted, so that the state is unknown here.
    pub fn is_state_unknown(&self) -> bool {
        self.state_unknown
    }

    /// The state after the entries so far.
    pub fn state(&self) -> &State {
        self.auditor.state()
    }

    /// The chain after the entries so far.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Makes the checks that need the whole trail, and returns the summary.
    pub fn finish(mut self) -> Result<Checked, Finding> {
        let last = self.unfinished.unwrap_or_else(|| self.chain.seq());
        let rules = self.state().project().map(|project| project.rules);
        self.checked.audited_from =
            rules.filter(|rules| rules.are_current()).map(|rules| rules.since);
        self.check_end().map_err(|fault| found_at(last, fault))?;
        Ok(self.checked)
    }

    fn check_end(&mut self) -> Result<(), Fault> {
        if self.chain.seq() == 0 {
            return Err(Fault::Empty);
        }
        if self.unfinished.is_some() && !self.options.before_recovery {
            return Err(Fault::Unfinished);
        }
        // The deletion of archives records the replay base in the trail.
        let recorded =
            self.base_reached.is_none() || self.base_reached.as_ref() == self.state().replay_base();
        if self.base.is_some() || !recorded {
            return Err(Fault::ReplayBase);
        }
        if !self.options.every_signature
            && let Some(newest) = self.newest.take()
        {
            self.check_signature(&SignedHead::parse(&newest)?)?;
        }
        for kept in &self.options.kept {
            if self.chain.project() != Some(&kept.head().project) {
                return Err(Fault::KeptProject);
            }
            if kept.head().size > self.chain.seq() {
                return Err(Fault::KeptBeyond { kept: kept.head().size });
            }
            if !self.checked.keys.iter().any(|key| kept.is_signed_by(key)) {
                return Err(Fault::KeptSignature);
            }
            self.checked.kept_heads += 1;
        }
        Ok(())
    }
}

/// Names how a head differs from the expected one.
fn head_difference(expected: &Head, text: &str) -> Fault {
    let signed = match SignedHead::parse(text) {
        Ok(signed) => signed,
        Err(error) => return error.into(),
    };
    let head = signed.head();
    if head.project != expected.project {
        Fault::HeadProject
    } else if head.size != expected.size {
        Fault::HeadSize { expected: expected.size, found: head.size }
    } else if head.root != expected.root {
        Fault::HeadRoot
    } else if head.prev != expected.prev {
        Fault::HeadPrev
    } else {
        Fault::HeadForm
    }
}

/// Names how a line differs from the expected one.
fn difference(made: &[u8], entry: &Entry) -> Fault {
    let made = std::str::from_utf8(made).ok().and_then(|line| Entry::read(line).ok());
    match made {
        Some(made) if made.local != entry.local => Fault::LocalHash,
        Some(made) if made.hash != entry.hash => Fault::Hash,
        _ => Fault::NotCanonical,
    }
}

fn found_at(seq: u64, fault: Fault) -> Finding {
    Finding { seq, fault }
}
