//! An agent of the demo: a process that claims a file, works on it, and gives it back.

use althing_engine::{Client, Engine, EngineError};
use althing_kernel::lease::{Open, Release, Surfaces, Ttl};
use althing_kernel::query::{Answer, LeaseCheck, LeaseView, Query};
use althing_kernel::text::Text;
use althing_kernel::{Command, RefusalKind, Reply, Surface};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use super::FILES;
use crate::app::App;
use crate::cli::DemoAgent;
use crate::error::Error;

/// How long leases last here: short, so that a crash is over soon.
const TTL_SECS: i128 = 2;
const WORK: Duration = Duration::from_millis(25);
const WAIT: Duration = Duration::from_millis(40);

pub(crate) fn run(app: &App, args: &DemoAgent) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    let client = project.client(app, &engine)?;
    if let Some(file) = &args.hang_on {
        claim(&client, file, "about to crash")?;
        std::thread::sleep(Duration::from_mins(10));
        return Ok(());
    }
    if let Some(file) = &args.wait_for {
        while !work_on(&engine, &client, project.root(), file)? {
            std::thread::sleep(WAIT);
        }
        return Ok(());
    }
    // Everybody begins somewhere else, so that the race is for all files and not a queue.
    let offset = client.principal().to_string().bytes().map(usize::from).sum::<usize>();
    let mut next = offset;
    let mut done = 0;
    while done < args.rounds {
        let file = FILES[next % FILES.len()];
        next += 1;
        if work_on(&engine, &client, project.root(), file)? {
            done += 1;
        } else {
            std::thread::sleep(WAIT);
        }
    }
    Ok(())
}

/// One piece of work: claim, work, write, give back. `false` if somebody else holds the file.
fn work_on(engine: &Engine, client: &Client, root: &Path, file: &str) -> Result<bool, Error> {
    let Some(lease) = claim(client, file, "demo work")? else { return Ok(false) };
    std::thread::sleep(WORK);
    if is_still_mine(engine, &lease)? {
        let line = format!("{} {}\n", lease.epoch, client.principal());
        let opened = std::fs::OpenOptions::new().append(true).open(root.join(file));
        opened
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .map_err(|error| Error::unavailable(format!("{file}: {error}")))?;
    }
    let release = Release { epoch: Some(lease.epoch), lease: lease.lease };
    client.execute(Command::LeaseRelease(release))?;
    Ok(true)
}

/// Whether the lease is good, by its epoch: what a careful worker asks before it writes.
fn is_still_mine(engine: &Engine, lease: &LeaseView) -> Result<bool, Error> {
    let surfaces = Surfaces::new(lease.surfaces.clone());
    let surfaces = surfaces.map_err(|error| Error::usage(error.to_string()))?;
    let check =
        LeaseCheck { holder: Some(lease.holder.clone()), epoch: Some(lease.epoch), surfaces };
    match engine.ask(&Query::LeaseCheck(check))? {
        Answer::Check(report) => Ok(report.epoch_valid == Some(true)),
        _ => Ok(false),
    }
}

fn claim(client: &Client, file: &str, purpose: &str) -> Result<Option<LeaseView>, Error> {
    let usage = |error: &dyn std::fmt::Display| Error::usage(error.to_string());
    let surface = Surface::new(file).map_err(|error| usage(&error))?;
    let command = Command::LeaseOpen(Open {
        replace: false,
        request_id: None,
        reuse: None,
        purpose: Some(Text::lossy(purpose)),
        surfaces: Surfaces::new(vec![surface]).map_err(|error| usage(&error))?,
        task: None,
        ttl_s: Some(Ttl::new(TTL_SECS).map_err(|error| usage(&error))?),
    });
    match client.execute(command) {
        Ok(Reply::Lease(lease)) => Ok(Some(lease)),
        Ok(_) => Ok(None),
        Err(EngineError::Refused(no)) if no.kind == RefusalKind::Collision => Ok(None),
        Err(error) => Err(error.into()),
    }
}
