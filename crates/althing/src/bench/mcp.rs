//! Many hosts at once: each with a server process of its own, all on one project.

use althing_engine::{Engine, Home, Options, door};
use althing_kernel::query::{Answer, LeaseList, Query};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command as Process, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use super::machine::{percentiles, syncs};
use super::stats::{Times, number};
use super::{Row, Setup, failed};
use crate::failure::Failure;

/// How many hosts there are.
const HOSTS: u32 = 50;
/// What fifty hosts together are to reach, in claims per second.
const RATE_AIM: f64 = 500.0;

/// What one host got.
#[derive(Default)]
struct Got {
    times: Times,
    claimed: Vec<String>,
}

pub(super) fn run(setup: &Setup) -> Result<Vec<Row>, Failure> {
    let folder = setup.folder.join("mcp");
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let home = Home::new(&folder.join(".althing"));
    Engine::create(&home, "bench", &Options::default())?;
    let mut sync = syncs(&setup.folder, setup.time / 2)?;
    let (got, seconds) = drive(&folder, setup.time)?;
    sync.extend(syncs(&setup.folder, setup.time / 2)?);
    let wrong = lost_or_doubled(&home, &got)?;
    let mut times = Times::default();
    for got in got {
        times.extend(got.times);
    }
    let sync_p99 = sync.percentile_us(0.99) / 1e3;
    Ok(vec![
        Row::new(
            format!("{HOSTS} hosts claiming"),
            number(times.count()) / seconds,
            "claims per s",
        )
        .detail(percentiles(&mut times))
        .beside("claims per s aimed at", RATE_AIM),
        Row::new("the slowest hundredth of them", times.percentile_us(0.99) / 1e3, "ms")
            .beside("ms for the slowest hundredth of syncs", sync_p99),
        Row::new("claims lost or doubled", number(wrong), "claims"),
    ])
}

/// Has all hosts claim for a time. Returns what each got, and how long it really took.
fn drive(folder: &Path, time: Duration) -> Result<(Vec<Got>, f64), Failure> {
    let ready = Barrier::new(HOSTS as usize + 1);
    std::thread::scope(|scope| {
        let ready = &ready;
        let hosts: Vec<_> =
            (0..HOSTS).map(|n| scope.spawn(move || claim(folder, n, ready, time))).collect();
        ready.wait();
        // Every server loads its tokenizer once; that is no part of a claim.
        let counted = await_counts(&Home::new(&folder.join(".althing")));
        ready.wait();
        counted?;
        let started = Instant::now();
        let got: Result<Vec<Got>, Failure> = hosts
            .into_iter()
            .map(|host| host.join().unwrap_or_else(|_| Err(failed("a thread gave up"))))
            .collect();
        Ok((got?, started.elapsed().as_secs_f64()))
    })
}

/// Waits until what every host was handed first is in the token ledger.
fn await_counts(home: &Home) -> Result<(), Failure> {
    let engine = Engine::open(home, Options::default())?;
    let deadline = Instant::now() + Duration::from_mins(2);
    loop {
        let report = door::perform(&engine, None, None, door::read("ledger.report", "{}")?)?;
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

/// One host: arrives, waits for the others, and claims one file after the other.
fn claim(folder: &Path, n: u32, ready: &Barrier, time: Duration) -> Result<Got, Failure> {
    let arrived = Host::start(folder, n).and_then(|mut host| {
        host.claim(&format!("warm/{n}.rs"))?;
        Ok(host)
    });
    // Whoever could not come must not keep the others waiting.
    ready.wait();
    ready.wait();
    let (mut host, mut got) = (arrived?, Got::default());
    got.claimed.push(format!("warm/{n}.rs"));
    let deadline = Instant::now() + time;
    for number in 0.. {
        let surface = format!("src/{n}/{number}.rs");
        let start = Instant::now();
        host.claim(&surface)?;
        got.times.add(start.elapsed());
        got.claimed.push(surface);
        if Instant::now() >= deadline {
            break;
        }
    }
    host.end()?;
    Ok(got)
}

/// How many claims are held that nobody was told of, or not held by whom they were promised to.
fn lost_or_doubled(home: &Home, got: &[Got]) -> Result<usize, Failure> {
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

/// A host and the server process it started.
struct Host {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
}

impl Host {
    fn start(folder: &Path, n: u32) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(failed)?;
        let mut server = Process::new(&program)
            .args(["mcp", "--dialect", "frugal"])
            .current_dir(folder)
            .env("ALTHING_HOME", folder.join(".althing"))
            .env_remove("ALTHING_AGENT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
            return Err(failed("a process without pipes"));
        };
        let mut host = Host { server, input, output: BufReader::new(output), next_id: 0 };
        let client = json!({ "name": format!("host-{n}"), "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        host.ask("initialize", &params)?;
        Ok(host)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, Failure> {
        self.next_id += 1;
        let request =
            json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        let mut line = request.to_string();
        line.push('\n');
        self.input.write_all(line.as_bytes()).map_err(failed)?;
        let mut answer = String::new();
        self.output.read_line(&mut answer).map_err(failed)?;
        let answer: Value = serde_json::from_str(&answer).map_err(failed)?;
        Ok(answer["result"].clone())
    }

    fn claim(&mut self, surface: &str) -> Result<(), Failure> {
        let arguments = json!({ "surfaces": [surface], "task": "bench" });
        let result =
            self.ask("tools/call", &json!({ "name": "make_claim", "arguments": arguments }))?;
        if result["isError"] == json!(false) { Ok(()) } else { Err(failed(result)) }
    }

    fn end(self) -> Result<(), Failure> {
        let Host { mut server, input, .. } = self;
        drop(input);
        let status = server.wait().map_err(failed)?;
        if status.success() { Ok(()) } else { Err(failed(status)) }
    }
}
