//! Compaction of a long trail: how fast entries move, and whether a writer notices.

use althing_engine::compact::{self, Outcome, Request};
use althing_engine::core::{Core, Job};
use althing_engine::mint::RandomMint;
use althing_engine::{
    Client, Engine, Home, Keyring, Options, Signing, SystemClock, World, snapshot,
};
use althing_kernel::{AgentName, Caller, Command, Principal, PublicKey, Reply, Span, WorkspaceId};
use althing_trail::log::sqlite::SqliteLog;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::stats::{Times, number};
use super::{Row, Setup, failed};
use crate::Error;

/// How many workspaces the entries are of.
const WORKSPACES: u64 = 200;
/// How many of them do something in one commit.
const PER_COMMIT: usize = 20;
/// How many of them are moved while somebody writes.
const WHILE_WRITING: u64 = 20;

pub(super) fn run(setup: &Setup) -> Result<Vec<Row>, Error> {
    let home = Home::new(&setup.folder.join("archive"));
    let entries = build(&home, setup.entries)?;
    let engine = Engine::open(&home, Options::default())?;
    let writer = engine.client(engine.agent(&named("writer")?)?, Signing::Channel);
    write(&writer, &AtomicBool::new(false), Duration::from_millis(200))?;
    let mut alone = write(&writer, &AtomicBool::new(false), setup.time)?;
    let (mut beside, shared) = write_beside_compaction(&engine, &writer, setup.time * 5)?;
    let begun = Instant::now();
    let rest = compaction(&engine, u64::MAX)?;
    let seconds = begun.elapsed().as_secs_f64();

    let says = format!(
        "{} of {entries} entries, {:.0} MB to {:.0} MB",
        rest.archived,
        number(rest.bytes) / 1e6,
        number(rest.file_bytes) / 1e6
    );
    let meanwhile = format!("{} entries were to be moved meanwhile", shared.archived);
    Ok(vec![
        Row::new("move entries to an archive", number(rest.archived) / seconds, "entries per s")
            .detail(says),
        Row::new("a writer meanwhile, 99 of 100", beside.percentile_us(0.99), "µs")
            .beside("µs without", alone.percentile_us(0.99))
            .detail(meanwhile),
        Row::new("a writer meanwhile, half of all", beside.percentile_us(0.5), "µs")
            .beside("µs without", alone.percentile_us(0.5)),
    ])
}

fn compaction(engine: &Engine, limit: u64) -> Result<Outcome, Error> {
    let request = Request { workspace: None, older_than: Span::default(), limit, dry_run: false };
    Ok(compact::run(engine, &request, &mut |_, _| {})?)
}

/// Has somebody write for as long as a compaction takes, but not longer than that.
fn write_beside_compaction(
    engine: &Engine,
    writer: &Client,
    time: Duration,
) -> Result<(Times, Outcome), Error> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let compacting = scope.spawn(|| {
            let done = compaction(engine, WHILE_WRITING);
            over.store(true, Ordering::Release);
            done
        });
        let times = write(writer, &over, time);
        let done = compacting.join().map_err(|_| failed("the compaction came to a bad end"))??;
        Ok((times?, done))
    })
}

/// Claims and releases a file, over and over.
fn write(writer: &Client, over: &AtomicBool, time: Duration) -> Result<Times, Error> {
    let mut times = Times::default();
    let deadline = Instant::now() + time;
    while Instant::now() < deadline && !over.load(Ordering::Acquire) {
        let open = read("lease.open", &json!({ "surfaces": ["src/a.rs"] }))?;
        let start = Instant::now();
        let reply = writer.execute(open)?;
        times.add(start.elapsed());
        let Reply::Lease(lease) = reply else { return Err(failed("not a lease")) };
        let release = read("lease.release", &json!({ "lease": lease.lease }))?;
        let start = Instant::now();
        writer.execute(release)?;
        times.add(start.elapsed());
    }
    Ok(times)
}

fn read(name: &str, args: &Value) -> Result<Command, Error> {
    let command =
        Command::read(name, &args.to_string()).ok_or_else(|| failed("no such command"))?;
    command.map_err(failed)
}

fn named(name: &str) -> Result<AgentName, Error> {
    AgentName::new(name).map_err(failed)
}

/// Somebody at work in a workspace.
struct Worker {
    caller: Caller,
    workspace: WorkspaceId,
}

/// Writes a long trail: many workers that stop and go on, and then the end of their run.
fn build(home: &Home, entries: u64) -> Result<u64, Error> {
    Engine::create(home, "bench", &Options::default())?;
    let key = Keyring::of(home).runtime_or_new()?;
    let system = Caller { principal: Principal::System, key: key.public(), session: None };
    let log = Box::new(SqliteLog::open(home.store()).map_err(failed)?);
    let mint = Box::new(RandomMint::new().map_err(failed)?);
    let mut core = Core::new(log, key, mint, World::default());
    let mut one = |caller: &Caller, name: &str, args: &Value| -> Result<Reply, Error> {
        let (caller, command) = (caller.clone(), read(name, args)?);
        Ok(core.run_own(&SystemClock, Job { caller, command, asked: None, door: None })?)
    };
    one(&system, "run.start", &json!({}))?;
    let mut workers = Vec::new();
    for n in 0..WORKSPACES {
        let name = format!("agent{n}");
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&n.to_be_bytes());
        let principal = Principal::Agent(named(&name)?);
        let caller = Caller { principal, key: PublicKey::from_bytes(bytes), session: None };
        one(&caller, "agent.register", &json!({}))?;
        let args = json!({ "agent": name, "role": "worker", "directive": { "content": {
            "blob": format!("sha256:{}", "7".repeat(64)) } } });
        let Reply::Workspace(made) = one(&system, "workspace.create", &args)? else {
            return Err(failed("not a workspace"));
        };
        one(&caller, "signal.emit", &json!({ "type": "ready" }))?;
        workers.push(Worker { caller, workspace: made.workspace });
    }
    let mut stops = true;
    while core.world().seq() < entries {
        for some in workers.chunks(PER_COMMIT) {
            core.run(&SystemClock, &round(some, stops)?)?;
        }
        let take = read("inbox.take", &json!({ "max": WORKSPACES }))?;
        core.run_own(
            &SystemClock,
            Job { caller: system.clone(), command: take, asked: None, door: None },
        )?;
        stops = !stops;
    }
    let end = read("run.end", &json!({ "force": true, "reason": "measured" }))?;
    core.run_own(&SystemClock, Job { caller: system, command: end, asked: None, door: None })?;
    snapshot::save(home, core.world())?;
    Ok(core.world().seq())
}

/// Everybody stops, or goes on.
fn round(workers: &[Worker], stops: bool) -> Result<Vec<Job>, Error> {
    let kind = if stops { "blocked" } else { "started" };
    let job = |worker: &Worker| {
        let args =
            json!({ "type": kind, "reason": "to be measured", "workspace": worker.workspace });
        let command = read("signal.emit", &args)?;
        Ok(Job { caller: worker.caller.clone(), command, asked: None, door: None })
    };
    workers.iter().map(job).collect()
}
