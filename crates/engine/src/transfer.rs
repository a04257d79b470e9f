//! Moving trails as text: export and import.

use althing_trail::export::{Commits, write};
use althing_trail::log::sqlite::SqliteLog;
use althing_trail::verify::{Checked, Finding, Options, Verifier};
use althing_trail::{AppendError, Log as _, LogReader};
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

use crate::aside::Workbench;
use crate::error::EngineError;
use crate::home::Home;
use crate::witness;
use crate::world::READ_BYTES;

/// How long an import waits for its turn in a store that should have no other writer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Writes the trail as JSON lines. `progress` hears how many entries are done, out of how many.
pub fn export(
    log: &mut dyn LogReader,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<u64, EngineError> {
    let total = log.position()?;
    let mut done = 0;
    while done < total {
        let commits = log.tail(done, READ_BYTES)?;
        let Some(last) = commits.last() else { break };
        for commit in commits.iter().filter(|commit| commit.last <= total) {
            let failed = EngineError::file("write", Path::new("the export"));
            write(out, commit).map_err(failed)?;
        }
        done = last.last;
        progress(done.min(total), total);
    }
    out.flush().map_err(EngineError::file("write", Path::new("the export")))?;
    Ok(total)
}

/// Reads a trail from JSON lines into a state folder that has none. The whole trail is verified
/// on the way and appears in its place only if it holds.
pub fn import(
    home: &Home,
    input: impl BufRead,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Checked, EngineError> {
    home.create()?;
    if home.store().exists() {
        refuse_if_there(&mut SqliteLog::create(home.store())?, home)?;
    }
    witness::refuse_if_any(home)?;
    let bench = Workbench::new(home)?;
    let checked = import_into(bench.store(), input, progress)?;
    let mut log = SqliteLog::create(home.store())?;
    let mut replacing = log.replacing(bench.store(), PATIENCE)?;
    // Somebody may have set a project up here meanwhile.
    refuse_if_there(replacing.log(), home)?;
    replacing.finish()?;
    Ok(checked)
}

pub(crate) fn damaged(finding: &Finding) -> EngineError {
    EngineError::Damaged { seq: finding.seq, what: finding.fault.to_string() }
}

fn import_into(
    path: &Path,
    input: impl BufRead,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Checked, EngineError> {
    let mut log = SqliteLog::create(path)?;
    let mut verifier = Verifier::new(Options { every_signature: true, ..Options::default() });
    for commit in Commits::new(input) {
        let commit = commit.map_err(|error| EngineError::Invalid(error.to_string()))?;
        verifier.check(&commit).map_err(|finding| damaged(&finding))?;
        log.append(commit.first - 1, &commit).map_err(|error| match error {
            AppendError::Refused(error) | AppendError::Unknown(error) => {
                EngineError::Unavailable(error)
            }
            AppendError::Conflict => EngineError::Defect("a private store moved on".to_owned()),
        })?;
        progress(commit.last, 0);
    }
    if verifier.chain().seq() == 0 {
        return Err(EngineError::Invalid("there is no trail in the input".to_owned()));
    }
    verifier.finish().map_err(|finding| damaged(&finding))
}

fn refuse_if_there(log: &mut SqliteLog, home: &Home) -> Result<(), EngineError> {
    if log.position()? == 0 {
        return Ok(());
    }
    let path = home.store().display();
    let message = format!("{path} already holds a trail; nothing was changed");
    Err(EngineError::Invalid(message))
}
