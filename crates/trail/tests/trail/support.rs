//! A small trail to test with: real commands decided by the kernel, chained and signed.

use althing_kernel::{
    AgentName, Caller, Command, IdKind, Mint, Principal, State, Timestamp, Transaction,
};
use althing_trail::chain::{Builder, Chain};
use althing_trail::log::memory::MemoryLog;
use althing_trail::verify::{Checked, Finding, Options, Verifier};
use althing_trail::{Asked, Commit, Log as _, Request, SecretKey, Signature};
use std::sync::Arc;

#[derive(Clone, Default)]
struct Counter(u64);

impl Mint for Counter {
    fn mint(&mut self, kind: IdKind, _: Timestamp) -> Arc<str> {
        self.0 += 1;
        format!("{kind:?}-{:010}", self.0).to_lowercase().into()
    }
}

pub(crate) fn runtime_key() -> SecretKey {
    SecretKey::from_seed(&[1; 32])
}

pub(crate) fn agent_key(name: &str) -> SecretKey {
    let mut seed = [9; 32];
    seed[..name.len()].copy_from_slice(name.as_bytes());
    SecretKey::from_seed(&seed)
}

pub(crate) fn agent(name: &str) -> Caller {
    Caller {
        principal: Principal::Agent(AgentName::new(name).unwrap()),
        key: agent_key(name).public(),
        session: None,
    }
}

/// Builds a trail commit by commit.
#[derive(Clone)]
pub(crate) struct Grower {
    pub(crate) state: State,
    pub(crate) chain: Chain,
    pub(crate) commits: Vec<Commit>,
    mint: Counter,
    now: u64,
}

impl Grower {
    pub(crate) fn new() -> Self {
        let mut grower = Grower {
            state: State::default(),
            chain: Chain::default(),
            commits: Vec::new(),
            mint: Counter::default(),
            now: 1_700_000_000_000_000,
        };
        let create = serde_json::json!({ "name": "p", "project": "p1" });
        let create = Command::ProjectCreate(serde_json::from_value(create).unwrap());
        let system =
            Caller { principal: Principal::System, key: runtime_key().public(), session: None };
        grower.commit(&[(system, create, false)]);
        grower
    }

    /// Goes on from a trail that exists.
    pub(crate) fn after(commits: Vec<Commit>) -> Self {
        let mut verifier = Verifier::new(Options::default());
        for commit in &commits {
            verifier.check(commit).unwrap();
        }
        let (state, chain) = (verifier.state().clone(), verifier.chain().clone());
        let now = state.clock().micros();
        Grower { state, chain, commits, mint: Counter::default(), now }
    }

    /// Has the runtime of these tests take the trail over.
    pub(crate) fn take_over(&mut self) {
        let rekey = serde_json::from_str(r#"{"reason":"another machine"}"#).unwrap();
        let system =
            Caller { principal: Principal::System, key: runtime_key().public(), session: None };
        self.commit(&[(system, Command::RuntimeRekey(rekey), false)]);
    }

    /// Lets time pass before the next commit.
    pub(crate) fn pass(&mut self, secs: u64) {
        self.now += secs * 1_000_000;
    }

    /// The time of the next commit.
    pub(crate) fn next_time(&self) -> u64 {
        self.now + 1_000_000
    }

    /// Decides some commands in one commit. A `true` means its caller signs.
    pub(crate) fn commit(&mut self, commands: &[(Caller, Command, bool)]) -> &Commit {
        self.now += 1_000_000;
        let now = Timestamp::from_micros(self.now);
        let mut turn = Transaction::begin(self.state.clone(), now, &mut self.mint);
        turn.tick(usize::MAX).unwrap();
        let mut requests = Vec::new();
        for (n, (caller, command, signs)) in commands.iter().enumerate() {
            turn.tick(usize::MAX).unwrap();
            let outcome = turn.decide(caller, command).unwrap();
            let request = Request::of(command).unwrap();
            let asked = if *signs {
                let Principal::Agent(name) = &caller.principal else { panic!() };
                let nonce = (self.now + n as u64).to_be_bytes().repeat(2).try_into().unwrap();
                let key = agent_key(name.as_str());
                let project = self.chain.project().unwrap();
                Asked::Signed(Signature::make(&key, project, caller, request, nonce).unwrap())
            } else {
                Asked::unsigned(caller, request)
            };
            requests.extend(outcome.own.map(|own| (own, asked)));
        }
        let (state, entries) = turn.finish();
        let mut builder = Builder::begin(self.chain.clone());
        for (n, entry) in entries.iter().enumerate() {
            let asked = requests.iter().find(|(at, _)| *at == n).map(|(_, asked)| asked);
            builder.add(entry, asked).unwrap();
        }
        let (commit, chain) = builder.finish(&runtime_key()).unwrap();
        (self.state, self.chain) = (state, chain);
        self.commits.push(commit);
        self.commits.last().unwrap()
    }
}

pub(crate) fn claim(surface: &str) -> Command {
    let args = serde_json::json!({ "surfaces": [surface], "ttl_s": 30, "purpose": "tests" });
    Command::read("lease.open", &args.to_string()).unwrap().unwrap()
}

/// A trail with several agents, leases, refusals, expiries, signatures; one commit has many
/// entries.
pub(crate) fn sample(commits: usize) -> Grower {
    let mut grower = Grower::new();
    for n in 0..commits {
        let name = ["alice", "bob", "carol"][n % 3];
        let mut commands = vec![(agent(name), claim(&format!("src/{}.rs", n % 7)), n % 2 == 0)];
        if n % 5 == 0 {
            commands.push((agent("bob"), claim("docs"), true));
            commands.push((agent("carol"), claim("docs/*.md"), false));
        }
        grower.commit(&commands);
    }
    grower
}

pub(crate) fn verify(commits: &[Commit], options: Options) -> Result<Checked, Finding> {
    let mut verifier = Verifier::new(options);
    for commit in commits {
        verifier.check(commit)?;
    }
    verifier.finish()
}

pub(crate) fn in_memory(commits: &[Commit]) -> MemoryLog {
    let mut log = MemoryLog::default();
    for commit in commits {
        log.append(commit.first - 1, commit).unwrap();
    }
    log
}
