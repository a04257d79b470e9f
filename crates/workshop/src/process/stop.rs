//! Stopping an attempt's process, with everything it started.

use std::path::Path;
use std::time::{Duration, Instant};

use super::ending::{end_all, kill_all};
use super::files::{self, Files};
use super::record::{Process, Spec, StopOrder};
use super::start::take_lock;
use super::status::{Status, status};
use super::table::Scope;
use crate::error::WorkshopError;

/// How often to look whether it is over.
const LOOK: Duration = Duration::from_millis(20);
/// How long the supervising process may take after everything was ended.
const PATIENCE: Duration = Duration::from_secs(30);

/// Stops the agent: SIGTERM to its group, and after the grace time SIGKILL to every process of the
/// attempt, in whatever session it is. Returns once nothing of it runs. Stopping what does not
/// run does nothing; whoever is killed in between repeats it.
pub fn stop(folder: &Path, grace: Duration) -> Result<Status, WorkshopError> {
    let files = Files::of(folder);
    match status(folder)? {
        Status::NotStarted | Status::Ended(_) => {}
        Status::Running(running) => {
            files::write(&files.stop(), &StopOrder { turn: running.turn })?;
            stop_running(&files, running.turn, grace)?;
        }
        Status::Lost(_) => stop_lost(&files, grace)?,
    }
    status(folder)
}

fn stop_running(files: &Files, turn: u32, grace: Duration) -> Result<(), WorkshopError> {
    let begun = Instant::now();
    let (mut is_asked, mut is_killed) = (false, false);
    while is_running(files, turn)? {
        let process: Option<Process> = files::read(&files.process())?;
        if let Some(process) = process.filter(|own| own.turn == turn && own.agent.is_some()) {
            let scope = Scope::new(&process.workspace, Some(process.shim), process.agent);
            if !is_asked {
                scope.ask_to_end();
                is_asked = true;
            } else if !is_killed && begun.elapsed() >= grace {
                kill_all(&scope);
                is_killed = true;
            }
        }
        if begun.elapsed() >= grace.saturating_add(PATIENCE) {
            let folder = files.folder().display();
            return Err(WorkshopError::new(format!("{folder}: the agent's processes do not end")));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

fn is_running(files: &Files, turn: u32) -> Result<bool, WorkshopError> {
    Ok(matches!(status(files.folder())?, Status::Running(running) if running.turn == turn))
}

fn stop_lost(files: &Files, grace: Duration) -> Result<(), WorkshopError> {
    // Whoever starts it anew meanwhile ends what is left, too.
    let Some(_lock) = take_lock(files)? else { return Ok(()) };
    let process: Option<Process> = files::read(&files.process())?;
    let spec: Option<Spec> = files::read(&files.start())?;
    let agent = process.as_ref().and_then(|process| process.agent.clone());
    let workspace = process.map(|own| own.workspace).or(spec.map(|spec| spec.workspace));
    let Some(workspace) = workspace else { return Ok(()) };
    let left = end_all(&Scope::new(&workspace, None, agent), grace);
    if left.stuck.is_empty() {
        return Ok(());
    }
    Err(WorkshopError::new(format!("processes {:?} do not end", left.stuck)))
}
