//! The trail alone: making, reading and verifying entries, heads and proofs.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark that fails should stop")]

use althing_kernel::event::Draft;
use althing_kernel::lease::{Opened, Surfaces, Ttl};
use althing_kernel::{
    Actor, AgentName, Caller, Command, Event, IdKind, Mint, Principal, State, Stream, Surface,
    Timestamp, Transaction, WorkspaceId,
};
use althing_kernel::{EntryId, LeaseId, Stamped};
use althing_trail::chain::{Builder, Chain};
use althing_trail::log::memory::MemoryLog;
use althing_trail::proof::Inclusion;
use althing_trail::verify::{Options, Verifier};
use althing_trail::{Commit, Entry, Log as _, SecretKey};
use divan::counter::ItemsCount;
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

fn key() -> SecretKey {
    SecretKey::from_seed(&[1; 32])
}

fn agent() -> Caller {
    let principal = Principal::Agent(AgentName::new("alice").unwrap());
    Caller { principal, key: key().public(), session: None }
}

/// A trail of claims, so many per commit.
fn commits(entries: u64, per_commit: u64) -> Vec<Commit> {
    let (mut state, mut chain, mut mint) = (State::default(), Chain::default(), Counter(0));
    let mut commits = Vec::new();
    let system = Caller { principal: Principal::System, key: key().public(), session: None };
    let create = serde_json::json!({ "name": "bench", "project": "bench" });
    let create = Command::ProjectCreate(serde_json::from_value(create).unwrap());
    let mut number = 0;
    while chain.seq() < entries {
        let now = Timestamp::from_micros(1_700_000_000_000_000 + chain.seq());
        let mut turn = Transaction::begin(state, now, &mut mint);
        if chain.seq() == 0 {
            turn.decide(&system, &create).unwrap();
        }
        for _ in 0..per_commit {
            number += 1;
            let args = format!(r#"{{"surfaces":["src/module{}/file{number}.rs"]}}"#, number % 100);
            let command = Command::read("lease.open", &args).unwrap().unwrap();
            turn.decide(&agent(), &command).unwrap();
        }
        let made;
        (state, made) = turn.finish();
        let mut builder = Builder::begin(chain);
        for entry in &made {
            builder.add(entry, None).unwrap();
        }
        let (commit, next) = builder.finish(&key()).unwrap();
        commits.push(commit);
        chain = next;
    }
    commits
}

fn stamped() -> Stamped {
    let event = Event::LeaseOpened(Opened {
        epoch: 42,
        expires_at: Timestamp::from_micros(1_700_000_005_400_000),
        holder: agent().principal,
        lease: LeaseId::new("lease_06c17hb0ybcs444a0s6gq4p3gb").unwrap(),
        purpose: None,
        request: None,
        surfaces: Surfaces::new(vec![Surface::new("src/module/file.rs").unwrap()]).unwrap(),
        task: None,
        ttl_s: Ttl::default(),
    });
    Stamped {
        id: EntryId::new("06c17hb0ybcs444a0s6gq4p3gb").unwrap(),
        at: Timestamp::from_micros(1_700_000_000_000_000),
        door: None,
        draft: Draft {
            actor: Actor::Principal(agent().principal),
            workspace: Some(WorkspaceId::new("ws_06c17hb0ybcvvf0twgtmy4d3b9").unwrap()),
            stream: Stream::agent(&AgentName::new("alice").unwrap()),
            correlation: None,
            causation: None,
            event,
        },
    }
}

#[divan::bench]
fn seal_an_entry(bencher: Bencher<'_, '_>) {
    let chain = Chain::default();
    let entry = stamped();
    bencher.counter(ItemsCount::new(100usize)).bench(|| {
        let mut builder = Builder::begin(chain.clone());
        for _ in 0..100 {
            builder.add(black_box(&entry), None).unwrap();
        }
        builder.bytes()
    });
}

#[divan::bench]
fn read_an_entry(bencher: Bencher<'_, '_>) {
    let commits = commits(10, 1);
    let line = commits[5].entries().last().unwrap().to_owned();
    bencher.bench(|| Entry::read(black_box(&line)).unwrap());
}

#[divan::bench(args = [1, 64, 512])]
fn verify_entries_per_commit(bencher: Bencher<'_, '_>, per_commit: u64) {
    let commits = commits(5_000, per_commit);
    let entries = commits.last().unwrap().last;
    bencher.counter(ItemsCount::new(entries)).bench(|| {
        let mut verifier = Verifier::new(Options::default());
        for commit in &commits {
            verifier.check(commit).unwrap();
        }
        verifier.finish().unwrap()
    });
}

#[divan::bench]
fn sign_a_head(bencher: Bencher<'_, '_>) {
    let head = althing_trail::Head {
        project: althing_kernel::ProjectId::new("bench").unwrap(),
        size: 1,
        root: althing_trail::tree::empty(),
        prev: None,
    };
    let key = key();
    bencher.bench(|| black_box(&head).clone().sign(&key));
}

#[divan::bench]
fn prove_an_entry_in_memory(bencher: Bencher<'_, '_>) {
    let mut log = MemoryLog::default();
    for commit in commits(2_000, 50) {
        log.append(commit.first - 1, &commit).unwrap();
    }
    bencher.bench_local(|| Inclusion::make(&mut log, 777).unwrap());
}
