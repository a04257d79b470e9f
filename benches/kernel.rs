//! The kernel alone: reading surfaces, finding overlaps, deciding and applying.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark that fails should stop")]

use althing_kernel::lease::{Open, Surfaces, Ttl};
use althing_kernel::project::Create;
use althing_kernel::query::{LeaseCheck, Query, answer};
use althing_kernel::text::Text;
use althing_kernel::{
    AgentName, Caller, Command, IdKind, Mint, Principal, ProjectId, PublicKey, State, Surface,
    Timestamp, Transaction,
};
use divan::{Bencher, black_box};
use std::sync::Arc;

fn main() {
    divan::main();
}

struct Counter(u64);

impl Mint for Counter {
    fn mint(&mut self, _: IdKind, _: Timestamp) -> Arc<str> {
        self.0 += 1;
        format!("{:026}", self.0).into()
    }
}

const NOW: Timestamp = Timestamp::MAX;

fn now() -> Timestamp {
    Timestamp::from_micros(NOW.micros() / 4)
}

fn agent(number: u32) -> Caller {
    let name = AgentName::new(&format!("agent{number}")).unwrap();
    let mut key = [0; 32];
    key[..4].copy_from_slice(&number.to_be_bytes());
    Caller { principal: Principal::Agent(name), key: PublicKey::from_bytes(key), session: None }
}

fn surfaces(text: &str) -> Surfaces {
    Surfaces::new(vec![Surface::new(text).unwrap()]).unwrap()
}

fn open(text: &str) -> Command {
    let ttl_s = Some(Ttl::new(86_400).unwrap());
    Command::LeaseOpen(Open {
        purpose: None,
        replace: false,
        request_id: None,
        surfaces: surfaces(text),
        task: None,
        ttl_s,
    })
}

/// A state with many live leases: mostly files, now and then a folder or a glob.
fn with_live(live: u32) -> (State, Counter) {
    let mut mint = Counter(0);
    let mut turn = Transaction::begin(State::default(), now(), &mut mint);
    let key = PublicKey::from_bytes([9; 32]);
    let system = Caller { principal: Principal::System, key, session: None };
    let create = Create { name: Text::lossy("bench"), project: ProjectId::new("bench").unwrap() };
    turn.decide(&system, &Command::ProjectCreate(create)).unwrap();
    for n in 0..live {
        let surface = match n % 10 {
            0 => format!("docs/chapter{n}/**"),
            1 => format!("tests/suite{n}/*.rs"),
            _ => format!("src/module{}/file{n}.rs", n % 997),
        };
        let outcome = turn.decide(&agent(n % 200), &open(&surface)).unwrap();
        assert!(outcome.result.is_ok());
    }
    let (state, _) = turn.finish();
    (state, mint)
}

const LIVE: [u32; 3] = [10, 1_000, 100_000];

#[divan::bench(args = ["src/module/file.rs", "src/**/test_*.rs", "{src,lib}/[a-z]*.rs"])]
fn read_surface(bencher: Bencher<'_, '_>, text: &str) {
    bencher.bench(|| Surface::new(black_box(text)).unwrap());
}

#[divan::bench]
fn two_globs_overlap(bencher: Bencher<'_, '_>) {
    let a = Surface::new("src/**/test_*.rs").unwrap();
    let b = Surface::new("src/*/[a-z]*_unit.rs").unwrap();
    bencher.bench(|| black_box(&a).common_path(black_box(&b)));
}

#[divan::bench(args = LIVE)]
fn check_a_path(bencher: Bencher<'_, '_>, live: u32) {
    let (state, _) = with_live(live);
    let holder = Some(agent(201).principal);
    let surfaces = surfaces("src/module500/new.rs");
    let query = Query::LeaseCheck(LeaseCheck { holder, epoch: None, surfaces });
    bencher.bench(|| answer(&state, now(), black_box(&query)));
}

#[divan::bench(args = LIVE)]
fn check_a_glob(bencher: Bencher<'_, '_>, live: u32) {
    let (state, _) = with_live(live);
    let holder = Some(agent(201).principal);
    let surfaces = surfaces("src/module500/new*.r?");
    let query = Query::LeaseCheck(LeaseCheck { holder, epoch: None, surfaces });
    bencher.bench(|| answer(&state, now(), black_box(&query)));
}

#[divan::bench(args = LIVE)]
fn decide_and_apply_a_claim(bencher: Bencher<'_, '_>, live: u32) {
    let (state, mut mint) = with_live(live);
    let (caller, command) = (agent(0), open("src/module500/new.rs"));
    bencher.bench_local(|| {
        let mut turn = Transaction::begin(state.clone(), now(), &mut mint);
        let outcome = turn.decide(&caller, &command).unwrap();
        assert!(outcome.result.is_ok());
        turn.finish()
    });
}

#[divan::bench(args = LIVE)]
fn decide_and_apply_a_hundred_claims_in_one_turn(bencher: Bencher<'_, '_>, live: u32) {
    let (state, mut mint) = with_live(live);
    let caller = agent(0);
    let commands: Vec<Command> = (0..100).map(|n| open(&format!("src/module{n}/new.rs"))).collect();
    bencher.bench_local(|| {
        let mut turn = Transaction::begin(state.clone(), now(), &mut mint);
        for command in &commands {
            turn.decide(&caller, command).unwrap();
        }
        turn.finish()
    });
}
