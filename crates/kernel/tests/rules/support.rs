//! A small world to try the rules in: a project, a clock that tests move, ids that count up.

use althing_kernel::audit::{Asked, Auditor, Breach};
use althing_kernel::content::Blob;
use althing_kernel::envelope::carrier::{Carried, Carrier};
use althing_kernel::query::{Answer, CheckReport, LeaseCheck, LeaseList, LeaseView, Query, answer};
use althing_kernel::seal::{Maker, Proof, Seal};
use althing_kernel::surroundings::Surroundings;
use althing_kernel::{
    AgentName, Caller, Command, Door, EnvelopeId, Event, IdKind, Kind, Mint, Principal, PublicKey,
    Refusal, Reply, Span, Stamped, State, Timestamp, Transaction, UserId, WorkspaceId,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Ids that count up, one row for all kinds.
#[derive(Default)]
pub(crate) struct Counter(u64);

impl Mint for Counter {
    fn mint(&mut self, kind: IdKind, _: Timestamp) -> Arc<str> {
        self.0 += 1;
        format!("{kind:?}-{:010}", self.0).to_lowercase().into()
    }
}

/// Ids of another scheme: no prefix, no common form, and no order but where one is promised.
#[derive(Default)]
struct Scattered(u64);

impl Mint for Scattered {
    fn mint(&mut self, kind: IdKind, _: Timestamp) -> Arc<str> {
        self.0 += 1;
        match kind {
            IdKind::Entry | IdKind::Checkpoint => format!("{:016X}", self.0).into(),
            _ => {
                let mixed = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
                format!("{mixed:x}-{:x}", self.0.reverse_bits()).into()
            }
        }
    }
}

/// Set to run all of this with ids of another scheme.
pub(crate) const OTHER_IDS: &str = "ALTHING_TEST_OTHER_IDS";

fn mint() -> Box<dyn Mint> {
    if std::env::var_os(OTHER_IDS).is_some() {
        Box::new(Scattered::default())
    } else {
        Box::new(Counter::default())
    }
}

/// Proofs made of checksums instead of HMACs, unlikely to be hit by accident.
pub(crate) struct Sums;

impl Seal for Sums {
    fn prove(&self, maker: Maker<'_>, message: &[u8]) -> Proof {
        let parts = [maker.run.as_str().as_bytes(), maker.workspace.as_str().as_bytes(), message];
        let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in parts.iter().flat_map(|part| part.iter().chain(&[0])) {
            sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let mut proof = [0; 32];
        for (place, piece) in proof.chunks_mut(8).enumerate() {
            piece.copy_from_slice(&sum.rotate_left(u32::try_from(place).unwrap()).to_be_bytes());
        }
        Proof::from_bytes(proof)
    }

    fn check(&self, maker: Maker<'_>, message: &[u8], proof: &Proof) -> bool {
        self.prove(maker, message) == *proof
    }
}

/// A carrier that does what it is told, and delivers once there is nothing left to do.
pub(crate) struct Script(VecDeque<Carried>);

impl Script {
    pub(crate) fn of(fates: &[Carried]) -> Box<dyn Carrier> {
        Box::new(Script(fates.iter().copied().collect()))
    }
}

impl Carrier for Script {
    fn carry(&mut self, _: &EnvelopeId, _: u8) -> Carried {
        self.0.pop_front().unwrap_or(Carried::Acknowledged)
    }
}

/// Surroundings in which content is as large as the number its blob is made from, times
/// something.
#[derive(Clone, Copy, Default)]
pub(crate) struct Around {
    pub(crate) bytes: u64,
    pub(crate) disk_free: Option<u64>,
}

impl Surroundings for Around {
    fn bytes_of(&self, blob: &Blob) -> u64 {
        u64::from_str_radix(&blob.hex()[..2], 16).unwrap() * self.bytes
    }

    fn disk_free(&self) -> Option<u64> {
        self.disk_free
    }
}

/// A command on record, with its session and, if the caller signs, the key.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) command: Command,
    session: Option<WorkspaceId>,
    key: Option<PublicKey>,
}

impl Request {
    /// People sign what they ask for; agents and the runtime do not.
    pub(crate) fn of(caller: &Caller, command: &Command) -> Self {
        let signs = matches!(caller.principal, Principal::User(_));
        let (session, key) = (caller.session.clone(), signs.then_some(caller.key));
        Request { command: command.clone(), session, key }
    }
}

/// Audits the decision that begins with the first of some entries. `requests` are those on record,
/// by the entry that carries them.
pub(crate) fn audit_next(
    state: &State,
    entries: &[Stamped],
    requests: &BTreeMap<usize, Request>,
    from: usize,
) -> Result<(State, usize), (usize, Breach)> {
    let asked = requests.range(from..).next().map(|(place, request)| Asked {
        entry: place - from,
        command: &request.command,
        session: request.session.as_ref(),
        key: request.key.as_ref(),
    });
    let mut auditor = Auditor::new(state.clone());
    match auditor.audit(&entries[from..], asked) {
        Ok(audited) => Ok((auditor.state().clone(), from + audited.entries)),
        Err((place, breach)) => {
            assert_eq!(auditor.state().image(), state.image(), "a breach must change nothing");
            Err((from + place, breach))
        }
    }
}

pub(crate) struct World {
    pub(crate) state: State,
    pub(crate) now: Timestamp,
    pub(crate) entries: Vec<Stamped>,
    /// What was asked for, by the entry that carries it.
    pub(crate) requests: BTreeMap<usize, Request>,
    /// The last entries of decisions that a test cut short.
    pub(crate) cut_after: Vec<usize>,
    /// The carrier of envelopes; without one nothing is lost.
    pub(crate) carrier: Option<Box<dyn Carrier>>,
    /// The storage facts given to the kernel.
    pub(crate) around: Around,
    /// The way in of the next requests.
    pub(crate) door: Option<Door>,
    mint: Box<dyn Mint>,
}

pub(crate) fn key(seed: u8) -> PublicKey {
    PublicKey::from_bytes([seed; 32])
}

pub(crate) fn agent(name: &str) -> Caller {
    let seed = name.bytes().fold(1, u8::wrapping_add);
    Caller {
        principal: Principal::Agent(AgentName::new(name).unwrap()),
        key: key(seed),
        session: None,
    }
}

pub(crate) fn user(name: &str) -> Caller {
    let seed = name.bytes().fold(100, u8::wrapping_add);
    Caller { principal: Principal::User(UserId::new(name).unwrap()), key: key(seed), session: None }
}

pub(crate) fn system() -> Caller {
    Caller { principal: Principal::System, key: key(0), session: None }
}

pub(crate) fn in_session(caller: &Caller, session: &WorkspaceId) -> Caller {
    Caller { session: Some(session.clone()), ..caller.clone() }
}

impl World {
    /// A world with a project and one user, `ada`.
    pub(crate) fn new() -> Self {
        let mut world = World::without_project();
        let create = serde_json::from_value(serde_json::json!({ "name": "p", "project": "p1" }));
        world.run_command(&system(), &Command::ProjectCreate(create.unwrap())).unwrap();
        let ada = user("ada");
        world
            .run(&ada, "user.create", &format!(r#"{{"user":"ada","key":"{}"}}"#, ada.key))
            .unwrap();
        world
    }

    pub(crate) fn without_project() -> Self {
        World {
            state: State::default(),
            now: Timestamp::from_micros(1_000_000_000),
            entries: Vec::new(),
            requests: BTreeMap::new(),
            cut_after: Vec::new(),
            carrier: None,
            around: Around::default(),
            door: None,
            mint: mint(),
        }
    }

    /// A copy of this world that continues independently.
    pub(crate) fn fork(&self) -> Self {
        let mut mint = mint();
        // Its ids go on well above those that were given out.
        for _ in 0..self.entries.len() * 4 {
            mint.mint(IdKind::Lease, self.now);
        }
        World {
            state: self.state.clone(),
            now: self.now,
            entries: self.entries.clone(),
            requests: self.requests.clone(),
            cut_after: self.cut_after.clone(),
            carrier: None,
            around: self.around,
            door: self.door,
            mint,
        }
    }

    pub(crate) fn run(
        &mut self,
        caller: &Caller,
        name: &str,
        args: &str,
    ) -> Result<Reply, Refusal> {
        let command = Command::read(name, args).unwrap().unwrap();
        self.run_command(caller, &command)
    }

    pub(crate) fn run_command(
        &mut self,
        caller: &Caller,
        command: &Command,
    ) -> Result<Reply, Refusal> {
        let turn = Transaction::begin(self.state.clone(), self.now, &mut *self.mint);
        let mut turn = turn.within(&self.around).sealed_by(&Sums);
        if let Some(carrier) = &mut self.carrier {
            turn = turn.carried_by(&mut **carrier);
        }
        if !command.precedes_deadlines() {
            assert!(!turn.tick(usize::MAX).unwrap());
        }
        turn.come_through(self.door);
        let outcome = turn.decide(caller, command).unwrap();
        if let Some(own) = outcome.own {
            self.requests.insert(self.entries.len() + own, Request::of(caller, command));
        }
        let (state, entries) = turn.finish();
        self.state = state;
        self.entries.extend(entries);
        // Entries made at one moment are a microsecond apart; the world's clock keeps up.
        self.now = self.now.max(self.state.clock());
        outcome.result
    }

    /// Audits everything on record, decision by decision, and returns the state it leads to. Of a
    /// decision that was cut short the audit must say so.
    pub(crate) fn audited(&self) -> Result<State, (usize, Breach)> {
        let (mut state, mut from) = (State::default(), 0);
        while from < self.entries.len() {
            let cut = self.cut_after.iter().copied().find(|last| *last >= from);
            let known = cut.map_or(self.entries.len(), |last| last + 1);
            (state, from) = match audit_next(&state, &self.entries[..known], &self.requests, from) {
                Err((last, Breach::Missing { .. })) if Some(last) == cut => {
                    for entry in &self.entries[from..=last] {
                        state.apply(entry).unwrap();
                    }
                    (state, last + 1)
                }
                audited => audited?,
            };
        }
        Ok(state)
    }

    /// Audits everything on record with one auditor. Before each decision it is shown a forged one
    /// first, which must change nothing.
    fn audited_in_one_go(&self) -> Auditor {
        let (mut auditor, mut from) = (Auditor::default(), 0);
        while let Some(entry) = self.entries.get(from) {
            let mut forged = entry.clone();
            forged.draft.causation = Some(std::sync::Arc::<str>::from("forged").into());
            let asked = self.requests.range(from..).next().map(|(place, request)| Asked {
                entry: place - from,
                command: &request.command,
                session: request.session.as_ref(),
                key: request.key.as_ref(),
            });
            let mut entries = self.entries[from..].to_vec();
            entries[0] = forged;
            auditor.audit(&entries, asked).unwrap_err();
            from += auditor.audit(&self.entries[from..], asked).unwrap().entries;
        }
        auditor
    }

    /// Everything on record passes the audit and leads to the same state again, which can be stored
    /// and restored.
    pub(crate) fn is_sound(&self) {
        if self.cut_after.is_empty() && self.entries.len() < 500 {
            assert_eq!(self.audited_in_one_go().state().image(), self.state.image());
        }
        let replayed = self.audited().unwrap_or_else(|(place, breach)| {
            panic!("{breach}: {:?}", self.entries[place]);
        });
        assert_eq!(replayed.image(), self.state.image());
        // In the form that snapshots have.
        let stored = postcard::to_allocvec(&self.state.image()).unwrap();
        let restored = State::from_image(postcard::from_bytes(&stored).unwrap()).unwrap();
        assert_eq!(format!("{restored:?}"), format!("{:?}", self.state));
    }

    /// Audits what is on record with one entry put in the place of another.
    pub(crate) fn with(&self, place: usize, forged: Stamped) -> Result<(), Breach> {
        let mut entries = self.entries.clone();
        entries[place] = forged;
        let (mut state, mut from) = (State::default(), 0);
        while from <= place {
            (state, from) =
                audit_next(&state, &entries, &self.requests, from).map_err(|(_, breach)| breach)?;
        }
        Ok(())
    }

    /// Audits one more entry after those on record, which somebody may have asked for.
    pub(crate) fn with_next(
        &self,
        forged: &Stamped,
        request: Option<Request>,
    ) -> Result<(), Breach> {
        let requests = request.into_iter().map(|request| (0, request)).collect();
        let audited = audit_next(&self.state, std::slice::from_ref(forged), &requests, 0);
        audited.map(|_| ()).map_err(|(_, breach)| breach)
    }

    /// Lets time pass and records what is due.
    pub(crate) fn pass(&mut self, secs: u64) {
        self.now = self.now.after(Span::from_secs(secs));
    }

    pub(crate) fn tick(&mut self) {
        let mut turn =
            Transaction::begin(self.state.clone(), self.now, &mut *self.mint).sealed_by(&Sums);
        if let Some(carrier) = &mut self.carrier {
            turn = turn.carried_by(&mut **carrier);
        }
        turn.tick(usize::MAX).unwrap();
        let (state, entries) = turn.finish();
        self.state = state;
        self.entries.extend(entries);
    }

    pub(crate) fn claim(
        &mut self,
        caller: &Caller,
        surfaces: &[&str],
        ttl: u64,
    ) -> Result<LeaseView, Refusal> {
        let args = serde_json::json!({ "surfaces": surfaces, "ttl_s": ttl });
        self.run(caller, "lease.open", &args.to_string()).map(lease_of)
    }

    pub(crate) fn check(&self, holder: Option<&Caller>, surface: &str) -> CheckReport {
        let mut args = serde_json::json!({ "surfaces": [surface] });
        if let Some(holder) = holder {
            args["holder"] = holder.principal.to_string().into();
        }
        let check: LeaseCheck = serde_json::from_value(args).unwrap();
        match answer(&self.state, self.now, &Query::LeaseCheck(check)) {
            Answer::Check(report) => report,
            other => panic!("{other:?}"),
        }
    }

    /// Asks a question by name.
    pub(crate) fn ask(&self, name: &str, args: &str) -> serde_json::Value {
        let query = Query::read(name, args).unwrap().unwrap();
        serde_json::to_value(answer(&self.state, self.now, &query)).unwrap()
    }

    pub(crate) fn leases(&self) -> Vec<LeaseView> {
        match answer(&self.state, self.now, &Query::LeaseList(LeaseList::default())) {
            Answer::Leases(leases) => leases,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.entries.iter().map(|entry| entry.draft.event.kind()).collect()
    }

    pub(crate) fn last(&self) -> &Stamped {
        self.entries.last().unwrap()
    }

    pub(crate) fn last_event(&self) -> &Event {
        &self.last().draft.event
    }
}

pub(crate) fn lease_of(reply: Reply) -> LeaseView {
    match reply {
        Reply::Lease(lease) => lease,
        other => panic!("not a lease: {other:?}"),
    }
}

pub(crate) fn session_of(reply: Reply) -> WorkspaceId {
    match reply {
        Reply::Session(session) => session.workspace,
        other => panic!("not a session: {other:?}"),
    }
}
