//! Durable commands per second, with few and many callers waiting at the same time.

use althing_engine::{Client, Engine, Home, Options, Signing};
use althing_kernel::lease::{Open, Release, Surfaces};
use althing_kernel::{AgentName, Command, Reply, Surface};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::machine::{percentiles, sqlite_commits, sqlite_rows_per_second, syncs};
use super::stats::{Times, number};
use super::{Row, Setup, failed};
use crate::Error;

pub(super) fn run(setup: &Setup) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    let mut one_by_one = syncs(&setup.folder, setup.time / 2)?;
    let sync_rate = 1e6 / one_by_one.percentile_us(0.5);
    for &callers in &setup.callers {
        for signing in [Signing::Channel, Signing::Each] {
            rows.extend(measure(setup, callers, Waiting::InThreads, signing, sync_rate)?);
            if callers > 1 {
                rows.extend(measure(setup, callers, Waiting::Shared, signing, sync_rate)?);
            }
        }
    }
    Ok(rows)
}

fn measure(
    setup: &Setup,
    callers: u32,
    waiting: Waiting,
    signing: Signing,
    sync_rate: f64,
) -> Result<Vec<Row>, Error> {
    let name = format!("commands-{callers}-{waiting:?}-{signing:?}");
    let home = Home::new(&setup.folder.join(name));
    let patient = Options { patience: Duration::from_mins(2), ..Options::default() };
    Engine::create(&home, "bench", &patient)?;
    let engine = Engine::open(&home, patient)?;
    let clients =
        (0..callers).map(|n| client(&engine, n, signing)).collect::<Result<Vec<_>, _>>()?;
    // Let everybody arrive before the clock runs.
    drive(&clients, waiting, Duration::from_millis(200))?;
    let before = sizes(&engine)?;
    // The limit is measured around the figure, so that a disk that changes its mind meanwhile
    // is not held against either.
    let bytes = average_entry(&engine)?;
    let limit_before = sqlite_rows_per_second(&setup.folder, bytes, callers, setup.time / 3)?;
    let started = Instant::now();
    let mut times = drive(&clients, waiting, setup.time)?;
    let seconds = started.elapsed().as_secs_f64();
    let limit_after = sqlite_rows_per_second(&setup.folder, bytes, callers, setup.time / 3)?;
    let after = sizes(&engine)?;

    let limit = f64::midpoint(limit_before, limit_after);
    let rate = number(times.count()) / seconds;
    let per_commit = number(after.0 - before.0) / number(after.1 - before.1);
    let how = match signing {
        Signing::Channel => "",
        Signing::Each => ", signed",
    };
    let where_ = match waiting {
        Waiting::InThreads => "",
        Waiting::Shared => " in 2 threads",
    };
    let noun = if callers == 1 { "caller" } else { "callers" };
    let detail = format!(
        "{}; {per_commit:.0} per commit; {:.1} x one sync per command",
        percentiles(&mut times),
        rate / sync_rate
    );
    let row =
        Row::new(format!("{callers} {noun}{where_}{how}"), rate, "commands per s").detail(detail);
    let mut rows =
        vec![row.beside(format!("rows of {bytes} B in SQLite, {callers} per commit"), limit)];
    if callers == 1 {
        let mut raw = sqlite_commits(&setup.folder, bytes, 1, setup.time / 2)?;
        rows.push(
            Row::new(
                format!("1 caller{how}, half of all commands within"),
                times.percentile_us(0.5),
                "µs",
            )
            .beside("µs for a SQLite commit of a row", raw.percentile_us(0.5)),
        );
    }
    Ok(rows)
}

fn client(engine: &Engine, number: u32, signing: Signing) -> Result<Client, Error> {
    let name = AgentName::new(&format!("caller-{number}")).map_err(failed)?;
    Ok(engine.client(engine.agent(&name)?, signing))
}

/// Entries and commits so far.
fn sizes(engine: &Engine) -> Result<(u64, u64), Error> {
    let mut log = engine.reader()?;
    let (mut entries, mut commits) = (0, 0);
    loop {
        let page = log.tail(entries, 4 << 20).map_err(failed)?;
        let Some(last) = page.last() else { return Ok((entries, commits)) };
        entries = last.last;
        commits += page.len() as u64;
    }
}

/// How many bytes an entry of this workload takes, its share of the head included.
fn average_entry(engine: &Engine) -> Result<usize, Error> {
    let mut log = engine.reader()?;
    let (mut bytes, mut after) = (0, 0);
    loop {
        let page = log.tail(after, 4 << 20).map_err(failed)?;
        let Some(last) = page.last() else { break };
        after = last.last;
        bytes += page.iter().map(althing_trail::Commit::bytes).sum::<usize>();
    }
    Ok(bytes / usize::try_from(after).unwrap_or(1).max(1))
}

/// How callers wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// Each blocks a thread of its own.
    InThreads,
    /// Two threads serve them all, as a server's would.
    Shared,
}

/// Everybody claims and releases a file of their own, over and over.
fn drive(clients: &[Client], waiting: Waiting, time: Duration) -> Result<Times, Error> {
    let deadline = Instant::now() + time;
    let per_thread = match waiting {
        Waiting::InThreads => 1,
        Waiting::Shared => clients.len().div_ceil(2),
    };
    let results: Vec<Result<Times, Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .chunks(per_thread)
            .enumerate()
            .map(|(n, clients)| {
                let first = n * per_thread;
                std::thread::Builder::new().stack_size(256 << 10).spawn_scoped(
                    scope,
                    move || match (waiting, clients) {
                        (Waiting::InThreads, [client]) => work(client, first, deadline),
                        _ => serve(clients, first, deadline),
                    },
                )
            })
            .collect();
        let join = |thread: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
            let joined = thread.map_err(failed)?.join();
            joined.unwrap_or_else(|_| Err(failed("a caller panicked")))
        };
        threads.into_iter().map(join).collect()
    });
    let mut all = Times::default();
    for times in results {
        all.extend(times?);
    }
    Ok(all)
}

/// The file a caller works on.
fn surfaces(number: usize) -> Result<Surfaces, Error> {
    let surface = Surface::new(&format!("src/module{number}/file.rs")).map_err(failed)?;
    Surfaces::new(vec![surface]).map_err(failed)
}

fn open(surfaces: &Surfaces) -> Command {
    let surfaces = surfaces.clone();
    Command::LeaseOpen(Open {
        purpose: None,
        replace: false,
        request_id: None,
        reuse: None,
        surfaces,
        task: None,
        ttl_s: None,
    })
}

fn release(reply: Reply) -> Result<Command, Error> {
    match reply {
        Reply::Lease(lease) => {
            Ok(Command::LeaseRelease(Release { epoch: None, lease: lease.lease }))
        }
        _ => Err(failed("not a lease")),
    }
}

/// One caller that blocks its thread.
fn work(client: &Client, number: usize, deadline: Instant) -> Result<Times, Error> {
    let mut times = Times::default();
    let surfaces = surfaces(number)?;
    while Instant::now() < deadline {
        let start = Instant::now();
        let reply = client.execute(open(&surfaces))?;
        times.add(start.elapsed());
        let start = Instant::now();
        client.execute(release(reply)?)?;
        times.add(start.elapsed());
    }
    Ok(times)
}

/// Many callers served by one thread: each has one command under way at any time.
fn serve(clients: &[Client], first: usize, deadline: Instant) -> Result<Times, Error> {
    let mut times = Times::default();
    let (send, receive) = mpsc::channel();
    let submit = |at: usize, command: Command, opens: bool| {
        let (send, start) = (send.clone(), Instant::now());
        let done = Box::new(move |answer| {
            // The thread stays until everybody is answered.
            let _ = send.send((at, opens, start, answer));
        });
        clients[at].submit(command, done)
    };
    let files = (0..clients.len()).map(|at| surfaces(first + at)).collect::<Result<Vec<_>, _>>()?;
    for (at, file) in files.iter().enumerate() {
        submit(at, open(file), true)?;
    }
    let mut under_way = clients.len();
    while under_way > 0 {
        let (at, opened, start, answer) = receive.recv().map_err(failed)?;
        times.add(start.elapsed());
        let reply: Reply = answer?;
        if opened {
            submit(at, release(reply)?, false)?;
        } else if Instant::now() < deadline {
            submit(at, open(&files[at]), true)?;
        } else {
            under_way -= 1;
        }
    }
    Ok(times)
}
