//! Many hosts at once: each with a server process of its own, all on one project.

use althing_engine::{Engine, Home, Options, api};
use althing_kernel::query::{Answer, LeaseList, Query};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::host::Host;
use super::machine::{percentiles, syncs};
use super::stats::{Times, number};
use super::{Row, Setup, failed};
use crate::Error;

/// How many hosts there are.
const HOSTS: u32 = 50;
/// The target for fifty hosts together, in claims per second.
const RATE_AIM: f64 = 500.0;

/// How hosts claim.
#[derive(Clone, Copy)]
enum Pace {
    /// Each at its moments, so that all together make [`RATE_AIM`], whether or not the answer to
    /// the claim before came in time.
    Steady,
    /// Each as soon as the claim before was answered.
    FlatOut,
}

/// The measurements of one host.
#[derive(Default)]
struct Got {
    steady: Times,
    flat_out: Times,
    claimed: Vec<String>,
}

pub(super) fn run(setup: &Setup) -> Result<Vec<Row>, Error> {
    let folder = setup.folder.join("mcp");
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let home = Home::new(&folder.join(".althing"));
    Engine::create(&home, "bench", &Options::default())?;
    let mut sync = syncs(&setup.folder, setup.time / 2)?;
    let (got, [steady_secs, flat_out_secs]) = drive(setup, &folder)?;
    sync.extend(syncs(&setup.folder, setup.time / 2)?);
    let wrong = lost_or_doubled(&home, &got)?;
    let (mut steady, mut flat_out) = (Times::default(), Times::default());
    for got in got {
        steady.extend(got.steady);
        flat_out.extend(got.flat_out);
    }
    let rate = |times: &Times, seconds: f64| number(times.count()) / seconds;
    let sync_p99 = sync.percentile_us(0.99) / 1e3;
    Ok(vec![
        Row::new(
            format!("{HOSTS} hosts, each at its moments"),
            rate(&steady, steady_secs),
            "claims per s",
        )
        .detail(percentiles(&mut steady))
        .beside("claims per s asked for", RATE_AIM),
        Row::new("the slowest hundredth of them", steady.percentile_us(0.99) / 1e3, "ms")
            .beside("ms for the slowest hundredth of syncs", sync_p99),
        Row::new(
            format!("{HOSTS} hosts, as fast as they can"),
            rate(&flat_out, flat_out_secs),
            "claims per s",
        )
        .detail(percentiles(&mut flat_out))
        .beside("claims per s aimed at", RATE_AIM),
        Row::new("claims lost or doubled", number(wrong), "claims"),
    ])
}

/// Has all hosts claim for a time, once at each pace. Returns what each got, and how many seconds
/// each part really took.
fn drive(setup: &Setup, folder: &Path) -> Result<(Vec<Got>, [f64; 2]), Error> {
    let ready = Barrier::new(HOSTS as usize + 1);
    std::thread::scope(|scope| {
        let ready = &ready;
        let hosts: Vec<_> =
            (0..HOSTS).map(|n| scope.spawn(move || host(setup, folder, n, ready))).collect();
        ready.wait();
        // Every server loads its tokenizer once; that is no part of a claim.
        let counted = await_counts(&Home::new(&folder.join(".althing")));
        ready.wait();
        let started = Instant::now();
        ready.wait();
        let steady = started.elapsed().as_secs_f64();
        let got: Result<Vec<Got>, Error> = hosts
            .into_iter()
            .map(|host| host.join().unwrap_or_else(|_| Err(failed("a thread gave up"))))
            .collect();
        counted?;
        Ok((got?, [steady, started.elapsed().as_secs_f64() - steady]))
    })
}

/// Waits until what every host was handed first is in the token ledger.
fn await_counts(home: &Home) -> Result<(), Error> {
    let engine = Engine::open(home, Options::default())?;
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let report = api::perform(&engine, None, None, api::read("ledger.report", "{}")?)?;
        let report: Value = serde_json::from_str(report.get()).map_err(failed)?;
        if report["total"]["messages"].as_u64() >= Some(HOSTS.into()) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(failed("what the hosts were handed was not counted in two minutes"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One host: arrives, waits for the others, and claims one file after the other at both paces.
fn host(setup: &Setup, folder: &Path, n: u32, ready: &Barrier) -> Result<Got, Error> {
    let time = setup.time;
    let name = format!("host-{n}");
    let started = Host::start(&setup.program, folder, "frugal", &name);
    let arrived = started.and_then(|mut host| {
        take(&mut host, &format!("warm/{n}.rs"))?;
        Ok(host)
    });
    // Whoever could not come must not keep the others waiting.
    ready.wait();
    ready.wait();
    let mut got = Got::default();
    got.claimed.push(format!("warm/{n}.rs"));
    let steady = arrived.and_then(|mut host| {
        got.steady = claim(&mut host, n, Pace::Steady, time, &mut got.claimed)?;
        Ok(host)
    });
    ready.wait();
    let mut host = steady?;
    got.flat_out = claim(&mut host, n, Pace::FlatOut, time, &mut got.claimed)?;
    host.end()?;
    Ok(got)
}

/// Claims one file after the other for a time. At a steady pace a claim's time begins when it was
/// to be made: what a late answer delays counts as well.
fn claim(
    host: &mut Host,
    n: u32,
    pace: Pace,
    time: Duration,
    claimed: &mut Vec<String>,
) -> Result<Times, Error> {
    let begun = Instant::now();
    let every = Duration::from_secs_f64(f64::from(HOSTS) / RATE_AIM);
    let offset = every * n / HOSTS;
    let mut times = Times::default();
    for number in 0u32.. {
        let start = match pace {
            Pace::FlatOut => Instant::now(),
            Pace::Steady => begun + offset + every * number,
        };
        if start >= begun + time {
            break;
        }
        std::thread::sleep(start.saturating_duration_since(Instant::now()));
        let surface = match pace {
            Pace::Steady => format!("src/{n}/{number}.rs"),
            Pace::FlatOut => format!("lib/{n}/{number}.rs"),
        };
        take(host, &surface)?;
        times.add(start.elapsed());
        claimed.push(surface);
    }
    Ok(times)
}

/// How many claims are held that nobody was told of, or not held by whom they were promised to.
fn lost_or_doubled(home: &Home, got: &[Got]) -> Result<usize, Error> {
    let engine = Engine::open(home, Options::default())?;
    let Answer::Leases(leases) = engine.ask(&Query::LeaseList(LeaseList::default()))? else {
        return Err(failed("an unexpected answer"));
    };
    let mut wrong = 0;
    let mut held = BTreeSet::new();
    for lease in &leases {
        for surface in &lease.surfaces {
            wrong += usize::from(!held.insert((lease.holder.to_string(), surface.to_string())));
        }
    }
    for (n, got) in got.iter().enumerate() {
        let ending = format!("+host-{n}");
        for surface in &got.claimed {
            let own = held.iter().find(|(holder, own)| own == surface && holder.ends_with(&ending));
            match own.cloned() {
                Some(own) => _ = held.remove(&own),
                None => wrong += 1,
            }
        }
    }
    Ok(wrong + held.len())
}

fn take(host: &mut Host, surface: &str) -> Result<(), Error> {
    host.call("make_claim", &json!({ "surfaces": [surface], "task": "bench" })).map(drop)
}
