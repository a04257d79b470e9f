//! The engine: replay, and the whole path of a command with and without a disk.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark that fails should stop")]

use althing_engine::core::{Core, Job, Verdict};
use althing_engine::mint::RandomMint;
use althing_engine::{Engine, Home, Keyring, Options, Signing, SystemClock, World};
use althing_kernel::{AgentName, Caller, Command, Principal, PublicKey, Reply};
use althing_trail::log::memory::MemoryLog;
use althing_trail::{Commit, SecretKey};
use divan::Bencher;
use divan::counter::ItemsCount;
use std::collections::VecDeque;

fn main() {
    divan::main();
}

fn agent(number: u64) -> Caller {
    let name = AgentName::new(&format!("agent{number}")).unwrap();
    let mut key = [0; 32];
    key[..8].copy_from_slice(&number.to_be_bytes());
    Caller { principal: Principal::Agent(name), key: PublicKey::from_bytes(key), session: None }
}

fn claim(number: u64) -> Job {
    let args = format!(r#"{{"surfaces":["src/module{}/file{number}.rs"]}}"#, number % 997);
    let command = Command::read("lease.open", &args).unwrap().unwrap();
    Job { caller: agent(number % 200), command, asked: None, door: None }
}

/// A writer on a log in memory, with its project set up.
fn core(log: &MemoryLog) -> Core {
    let key = SecretKey::from_seed(&[1; 32]);
    let caller = Caller { principal: Principal::System, key: key.public(), session: None };
    let mint = Box::new(RandomMint::new().unwrap());
    let mut core = Core::new(Box::new(log.clone()), key, mint, World::default());
    let create = serde_json::json!({ "name": "bench", "project": "bench" });
    let command = Command::ProjectCreate(serde_json::from_value(create).unwrap());
    core.run(&SystemClock, &[Job { caller, command, asked: None, door: None }]).unwrap();
    core
}

/// A trail of claims and releases in which a thousand leases stay live.
fn commits(entries: u64) -> Vec<Commit> {
    let log = MemoryLog::default();
    let mut core = core(&log);
    let mut live = VecDeque::new();
    let mut number = 0;
    while core.world().seq() < entries {
        let jobs: Vec<Job> = (0..64)
            .map(|_| {
                if live.len() > 1_000 {
                    return live.pop_front().unwrap();
                }
                number += 1;
                claim(number)
            })
            .collect();
        let settled = core.run(&SystemClock, &jobs).unwrap();
        for (job, verdict) in jobs.into_iter().zip(settled.verdicts) {
            if let Verdict::Done(Reply::Lease(lease)) = verdict
                && matches!(job.command, Command::LeaseOpen(_))
            {
                let args = format!(r#"{{"lease":"{}"}}"#, lease.lease);
                let command = Command::read("lease.release", &args).unwrap().unwrap();
                live.push_back(Job { command, ..job });
            }
        }
    }
    log.all()
}

#[divan::bench]
fn replay(bencher: Bencher<'_, '_>) {
    let commits = commits(20_000);
    let entries = commits.last().unwrap().last;
    bencher.counter(ItemsCount::new(entries)).bench(|| {
        let mut world = World::default();
        for commit in &commits {
            world.replay(commit).unwrap();
        }
        world
    });
}

#[divan::bench(args = [1, 64, 512])]
fn commands_per_commit_without_a_disk(bencher: Bencher<'_, '_>, batch: u64) {
    let log = MemoryLog::default();
    let mut core = core(&log);
    let mut number = 0;
    bencher.counter(ItemsCount::new(batch)).bench_local(|| {
        let jobs: Vec<Job> = (0..batch).map(|n| claim(number + n)).collect();
        number += batch;
        core.run(&SystemClock, &jobs).unwrap()
    });
}

#[divan::bench(sample_count = 1000)]
fn one_durable_command(bencher: Bencher<'_, '_>) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path());
    Engine::create(&home, "bench", &Options::default()).unwrap();
    let engine = Engine::open(&home, Options::default()).unwrap();
    let credential = Keyring::of(&home).agent_or_new(&AgentName::new("alice").unwrap()).unwrap();
    let client = engine.client(credential, Signing::Each);
    let mut number = 0;
    bencher.bench_local(|| {
        number += 1;
        client.execute(claim(number).command).unwrap()
    });
}
