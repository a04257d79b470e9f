//! A long trail: opening it, replaying it, verifying it, proving entries, and what it weighs.

use althing_engine::core::{Core, Job};
use althing_engine::mint::RandomMint;
use althing_engine::{Engine, Home, Keyring, Options, SystemClock, World, snapshot, verify};
use althing_kernel::lease::{Open, Release, Surfaces};
use althing_kernel::{AgentName, Caller, Command, LeaseId, Principal, PublicKey, Reply, Surface};
use althing_trail::log::sqlite::{SqliteLog, SqliteReader};
use althing_trail::proof::Inclusion;
use althing_trail::verify::Options as VerifyOptions;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::Path;
use std::process::Command as Process;
use std::time::Instant;

use super::machine::hashes_per_second;
use super::processes::spawn_times;
use super::stats::{number, repeat};
use super::{Row, Setup, failed};
use crate::{Error, out};

/// How many leases stay live in the long trail.
const LIVE: usize = 1_000;
const BATCH: usize = 500;

pub(super) fn run(setup: &Setup) -> Result<Vec<Row>, Error> {
    let folder = setup.folder.join("trail");
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let home = Home::new(&folder.join(".althing"));
    let built = Instant::now();
    let entries = build(&home, setup.entries)?;
    let build_rate = number(entries) / built.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(home.store()).map_or(0, |data| data.len());
    let line = usize::try_from(bytes / entries).unwrap_or(600);
    let hash_rate = hashes_per_second(&vec![7; line]);
    let says = format!("{entries} entries, {LIVE} live leases, {line} B per entry on disk");

    let mut reader = SqliteReader::open(home.store()).map_err(failed)?;
    let start = Instant::now();
    let mut world = World::default();
    world.catch_up(&mut reader)?;
    let replay = number(entries) / start.elapsed().as_secs_f64();
    let start = Instant::now();
    verify::verify(&home, &mut reader, VerifyOptions::default(), &mut |_, _| {})?.sound()?;
    let verified = number(entries) / start.elapsed().as_secs_f64();
    drop(world);

    let mut seq = 0;
    let mut proofs = repeat(setup.time / 4, || {
        seq = (seq + 7_919) % entries;
        Inclusion::make(&mut reader, seq + 1).map(|_| ())
    })
    .map_err(failed)?;
    let probed = ask_probe(&home)?;
    let check = |_| ["check", "src/free.rs"].map(str::to_owned).to_vec();
    let mut checks = spawn_times(&setup.program, &folder, setup.time / 2, check)?;
    let mut empty =
        spawn_times(&setup.program, &folder, setup.time / 4, |_| vec!["--version".to_owned()])?;

    let mut rows = vec![
        Row::new("write it, 500 commands per commit", build_rate, "entries per s").detail(says),
        Row::new("replay", replay, "entries per s").beside("SHA-256 of as many bytes", hash_rate),
        Row::new("verify", verified, "entries per s").beside("SHA-256 of as many bytes", hash_rate),
        Row::new("prove an entry", proofs.percentile_us(0.5), "µs"),
        Row::new("open with a snapshot", probed.open_us / 1e3, "ms"),
        Row::new("`althing check` on it", checks.percentile_us(0.5) / 1e3, "ms")
            .beside("ms for an empty process", empty.percentile_us(0.5) / 1e3),
    ];
    if let Some(kib) = probed.memory_kib {
        rows.push(Row::new("memory with it open", number(kib) / 1024.0, "MiB resident"));
    }
    Ok(rows)
}

/// Writes a long trail: claims and releases of two hundred agents.
fn build(home: &Home, entries: u64) -> Result<u64, Error> {
    Engine::create(home, "bench", &Options::default())?;
    let key = Keyring::of(home).runtime_or_new()?;
    let log = Box::new(SqliteLog::open(home.store()).map_err(failed)?);
    let mint = Box::new(RandomMint::new().map_err(failed)?);
    let mut core = Core::new(log, key, mint, World::default());
    let mut live: VecDeque<(Caller, LeaseId)> = VecDeque::new();
    let mut number = 0;
    while core.world().seq() < entries {
        let jobs =
            (0..BATCH).map(|_| job(&mut live, &mut number)).collect::<Result<Vec<_>, _>>()?;
        let settled = core.run(&SystemClock, &jobs)?;
        for (job, verdict) in jobs.into_iter().zip(settled.verdicts) {
            if let (
                Command::LeaseOpen(_),
                althing_engine::core::Verdict::Done(Reply::Lease(lease)),
            ) = (&job.command, verdict)
            {
                live.push_back((job.caller, lease.lease));
            }
        }
    }
    snapshot::save(home, core.world())?;
    Ok(core.world().seq())
}

fn job(live: &mut VecDeque<(Caller, LeaseId)>, number: &mut u32) -> Result<Job, Error> {
    if live.len() > LIVE
        && let Some((caller, lease)) = live.pop_front()
    {
        let command = Command::LeaseRelease(Release { epoch: None, lease });
        return Ok(Job { caller, command, asked: None, door: None });
    }
    *number += 1;
    let name = AgentName::new(&format!("agent{}", *number % 200)).map_err(failed)?;
    let mut key = [0; 32];
    key[..4].copy_from_slice(&(*number % 200).to_be_bytes());
    let caller = Caller {
        principal: Principal::Agent(name),
        key: PublicKey::from_bytes(key),
        session: None,
    };
    let text = format!("src/module{}/file{}.rs", *number % 997, *number % 9_973);
    let surfaces = Surfaces::new(vec![Surface::new(&text).map_err(failed)?]).map_err(failed)?;
    let open = Open {
        purpose: None,
        replace: false,
        request_id: None,
        reuse: None,
        surfaces,
        task: None,
        ttl_s: None,
    };
    Ok(Job { caller, command: Command::LeaseOpen(open), asked: None, door: None })
}

/// Measurements of a fresh process that opens the project.
#[derive(Serialize, Deserialize)]
struct Probed {
    open_us: f64,
    memory_kib: Option<u64>,
}

fn ask_probe(home: &Home) -> Result<Probed, Error> {
    let program = std::env::current_exe().map_err(failed)?;
    let mut best: Option<Probed> = None;
    // The first run warms the disk cache; a cold disk is not what is measured here.
    for _ in 0..5 {
        let output =
            Process::new(&program).arg("bench-probe").arg(home.root()).output().map_err(failed)?;
        let probed: Probed = serde_json::from_slice(&output.stdout).map_err(failed)?;
        if best.as_ref().is_none_or(|best| probed.open_us < best.open_us) {
            best = Some(probed);
        }
    }
    best.ok_or_else(|| failed("no answer"))
}

pub(super) fn probe(home: &Path) -> Result<(), Error> {
    let start = Instant::now();
    let engine = Engine::open(&Home::new(home), Options::default())?;
    let open_us = start.elapsed().as_secs_f64() * 1e6;
    let probed = Probed { open_us, memory_kib: resident_kib() };
    drop(engine);
    out::value(&probed)
}

/// How much memory this process takes, where the system says so in a file.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
