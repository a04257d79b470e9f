//! A memory that has grown: what a first look, a board and a change cost at three sizes.
//!
//! The sizes of the first two are those that the protocol's reference publishes figures for; the
//! third is what a busy project may come to in years.

use althing_engine::{Client, Engine, Home, Options, Signing, api};
use althing_kernel::{AgentName, Command};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use super::host::Host;
use super::machine::percentiles;
use super::stats::{Times, repeat};
use super::{Row, Setup, failed};
use crate::Failure;

/// How many records of which kind a project has.
struct Volume {
    name: &'static str,
    plans: usize,
    handoffs: usize,
    claims: usize,
    /// Constraints, decisions and traps.
    others: usize,
    /// The most milliseconds a first look or a context is to take.
    aim_ms: f64,
}

const VOLUMES: [Volume; 3] = [
    Volume { name: "medium", plans: 200, handoffs: 500, claims: 450, others: 300, aim_ms: 10.0 },
    Volume { name: "large", plans: 500, handoffs: 1_500, claims: 900, others: 900, aim_ms: 10.0 },
    Volume {
        name: "100k",
        plans: 20_000,
        handoffs: 40_000,
        claims: 900,
        others: 39_100,
        aim_ms: 50.0,
    },
];

impl Volume {
    fn records(&self) -> u64 {
        (self.plans + self.handoffs + self.claims + self.others) as u64
    }
}

/// The times of the answers at one size.
struct Measured {
    work: Times,
    memory: Times,
    board: Times,
    update: Times,
    characters: usize,
    /// Milliseconds of the first question, for which a server reads the store and makes its index.
    first_ms: f64,
}

pub(super) fn run(setup: &Setup) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let mut smallest_update = None;
    for volume in VOLUMES.iter().filter(|volume| volume.records() <= setup.entries) {
        let folder = setup.folder.join(format!("memory-{}", volume.name));
        std::fs::create_dir_all(&folder).map_err(failed)?;
        fill(&Home::new(&folder.join(".althing")), volume)?;
        let mut got = measure(&folder, setup)?;
        for (what, times) in [
            ("work", &mut got.work),
            ("context memory", &mut got.memory),
            ("context board", &mut got.board),
        ] {
            let p50 = times.percentile_us(0.5) / 1e3;
            let row = Row::new(format!("{what}, {}", volume.name), p50, "ms");
            let row = row.detail(percentiles(times));
            rows.push(row.beside("ms aimed at", volume.aim_ms));
        }
        let p50 = got.update.percentile_us(0.5) / 1e3;
        let first = *smallest_update.get_or_insert(p50);
        let row = Row::new(format!("update one plan, {}", volume.name), p50, "ms");
        rows.push(row.detail(percentiles(&mut got.update)).beside("ms at the first size", first));
        rows.push(Row::new(
            format!("a first look, {}", volume.name),
            super::stats::number(got.characters),
            "characters",
        ));
        let name = format!("a server's first answer, {}", volume.name);
        rows.push(Row::new(name, got.first_ms, "ms"));
    }
    Ok(rows)
}

fn measure(folder: &Path, setup: &Setup) -> Result<Measured, Failure> {
    let mut host = Host::start(&setup.program, folder, "memory", "bench")?;
    let consult = json!({ "intent": "consult" });
    let begun = Instant::now();
    let characters = host.call("bclaw_work", &consult)?["content"].to_string().len();
    let first_ms = begun.elapsed().as_secs_f64() * 1e3;
    let mut times = |tool: &str, arguments: &dyn Fn(u32) -> Value| {
        let mut number = 0;
        repeat(setup.time, || {
            number += 1;
            host.call(tool, &arguments(number)).map(drop)
        })
    };
    let work = times("bclaw_work", &|_| consult.clone())?;
    let at = |n: u32| json!({ "kind": "memory", "path": format!("src/part{}/file.rs", n % 97) });
    let memory = times("bclaw_context", &at)?;
    let board = times("bclaw_context", &|_| json!({ "kind": "board" }))?;
    let change = |n: u32| {
        let id = format!("pln#{}", n % 200 + 1);
        json!({ "entity": "plan", "id": id, "patch": { "text": format!("Plan as of {n}") } })
    };
    let update = times("bclaw_update", &change)?;
    host.end()?;
    Ok(Measured { work, memory, board, update, characters, first_ms })
}

/// Makes a project of a size, through the same tools that hosts use.
fn fill(home: &Home, volume: &Volume) -> Result<(), Failure> {
    Engine::create(home, "bench", &Options::default())?;
    let engine = Engine::open(home, Options::default())?;
    let name = AgentName::new("filler").map_err(failed)?;
    let client = engine.client(engine.agent(&name)?, Signing::Each);
    let filler = Filler { client, refused: Arc::default() };
    for n in 0..volume.plans {
        let kind = ["feat", "fix", "chore"][n % 3];
        filler.create("plan", n, &json!({ "type": kind, "related_paths": [path(n)] }))?;
    }
    for n in 0..volume.handoffs {
        let narrative = "What was done, what is left, and where to look. ".repeat(40);
        filler.create("handoff", n, &json!({ "narrative": narrative }))?;
    }
    for n in 0..volume.others {
        let kind = ["constraint", "decision", "trap"][n % 3];
        filler.create(kind, n, &json!({ "related_paths": [path(n)] }))?;
    }
    for n in 0..volume.claims {
        let surface = format!("claimed/{n}.rs");
        filler.submit("lease.open", &json!({ "surfaces": [surface], "ttl_s": 14_400 }))?;
    }
    filler.end()
}

fn path(n: usize) -> String {
    format!("src/part{}/file.rs", n % 97)
}

/// The client that fills a project, and its number of refusals.
struct Filler {
    client: Client,
    refused: Arc<AtomicUsize>,
}

impl Filler {
    fn create(&self, kind: &str, n: usize, fields: &Value) -> Result<(), Failure> {
        let topic = ["parser", "cache", "login", "billing", "search", "export", "queue"][n % 7];
        let text =
            format!("About the {topic}, number {n}: what to keep in mind when it is changed");
        let args = json!({ "kind": kind, "text": text, "tags": [topic], "fields": fields });
        self.submit("memory.create", &args)
    }

    fn submit(&self, name: &str, args: &Value) -> Result<(), Failure> {
        let refused = self.refused.clone();
        let done = Box::new(move |answer: althing_engine::queue::Answer| {
            if answer.is_err() {
                refused.fetch_add(1, Ordering::Relaxed);
            }
        });
        self.client.submit(command(name, args)?, done)?;
        Ok(())
    }

    /// Waits for the last: it is answered after all that came before.
    fn end(self) -> Result<(), Failure> {
        self.client.execute(command("lease.open", &json!({ "surfaces": ["last"] }))?)?;
        match self.refused.load(Ordering::Relaxed) {
            0 => Ok(()),
            refused => Err(failed(format!("{refused} records were refused"))),
        }
    }
}

fn command(name: &str, args: &Value) -> Result<Command, Failure> {
    match api::read(name, &args.to_string())? {
        api::Request::Command(command) => Ok(*command),
        _ => Err(failed(format!("{name} is no command"))),
    }
}
