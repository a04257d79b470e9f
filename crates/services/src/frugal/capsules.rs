//! `read_capsules`

use althing_dialects::frugal::capsule::{CapsuleText, render};
use althing_dialects::frugal::planning::{INVARIANTS, Log, as_capsule, in_force};
use althing_dialects::moment::utc;
use althing_kernel::blackboard::view::{BlackboardAnswer, CapsuleView};
use althing_kernel::query::{Answer, Everything, Query};
use althing_kernel::records::Kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::Ledger;
use crate::context::ProjectContext;
use crate::error::Error;
use crate::project::Identity;

/// Largest part of a hand-off record that is read, in bytes.
const RECORD_BYTES_MAX: usize = 64 * 1024;

/// Arguments of `read_capsules`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadCapsules {
    id: Option<String>,
    #[serde(rename = "client_identity")]
    _client: Option<String>,
}

/// A capsule, a hand-off record or a record of the memory, as the tool lists it.
#[derive(Serialize)]
struct Capsule {
    id: String,
    source: &'static str,
    path: String,
    body: String,
}

/// Reads capsules and hand-off records.
pub fn read(
    ledger: &Ledger,
    context: &ProjectContext,
    _: &Identity,
    args: ReadCapsules,
) -> Result<Value, Error> {
    let mut capsules = completed(&ledger.planning);
    let listed = match context.readable()? {
        Some(_) => match context.ask(&Query::CapsuleList(Everything {}))? {
            Answer::Blackboard(BlackboardAnswer::Capsules(listed)) => listed,
            other => return Err(Error::unexpected(&other)),
        },
        None => Vec::new(),
    };
    let folder = ledger.planning.join("protocol/capsules");
    for capsule in &listed {
        let id = &capsule.id;
        capsules.push(Capsule {
            id: id.to_string(),
            source: "protocol",
            path: folder.join(format!("{id}.md")).display().to_string(),
            body: written_out(capsule),
        });
    }
    let mut records = records(context, &ledger.planning)?;
    if let Some(wanted) = args.id {
        capsules.retain(|capsule| capsule.id == wanted);
        records.retain(|record| record.id == wanted);
    }
    let mut answer = json!({ "count": capsules.len(), "capsules": capsules });
    if !records.is_empty() {
        answer["records"] = json!(records);
    }
    Ok(answer)
}

/// Decisions that stand and active constraints and traps, in the form of capsules.
fn records(context: &ProjectContext, planning: &Path) -> Result<Vec<Capsule>, Error> {
    if context.readable()?.is_none() {
        return Ok(Vec::new());
    }
    let state = context.present()?.state;
    let mut found = Vec::new();
    for (kind, source, file) in [
        (Kind::Decision, "decision", Log::Decisions.path()),
        (Kind::Constraint, "constraint", INVARIANTS),
        (Kind::Trap, "trap", INVARIANTS),
    ] {
        let path = planning.join(file).display().to_string();
        found.extend(in_force(&state, kind).map(|record| Capsule {
            id: record.id.label(),
            source,
            path: path.clone(),
            body: as_capsule(record),
        }));
    }
    Ok(found)
}

/// The hand-off records in the planning folder, sorted by name; empty if the folder is missing.
/// Links are not followed: they may lead out of the project.
fn completed(planning: &Path) -> Vec<Capsule> {
    let ledger = planning.join("ledger");
    let folder = ledger.join("completed");
    if [planning, &ledger, &folder].into_iter().any(Path::is_symlink) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let is_record = |path: &&PathBuf| {
        path.extension().is_some_and(|ending| ending == "md")
            && path.file_name().is_some_and(|name| name != "README.md")
            && path.symlink_metadata().is_ok_and(|data| data.is_file())
    };
    let record = |path: &PathBuf| {
        Some(Capsule {
            id: path.file_stem()?.to_string_lossy().into_owned(),
            source: "completed",
            path: path.display().to_string(),
            body: body(path).ok()?,
        })
    };
    paths.iter().filter(is_record).filter_map(record).collect()
}

/// The text of a record. A long one is cut, with a note at the end.
fn body(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(RECORD_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    let is_long = bytes.len() > RECORD_BYTES_MAX;
    bytes.truncate(RECORD_BYTES_MAX);
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if is_long {
        text.push_str("\n\n(cut after 64 KiB; the rest is in the file)\n");
    }
    Ok(text)
}

/// The text of a capsule's file.
pub fn written_out(capsule: &CapsuleView) -> String {
    let depends: Vec<String> = capsule.depends.iter().map(ToString::to_string).collect();
    render(&CapsuleText {
        id: capsule.id.as_str(),
        depends: &depends,
        ts: &utc(capsule.written_at),
        what: &capsule.what,
        place: capsule.place.as_deref(),
        decision: capsule.decision.as_deref(),
        gotcha: capsule.gotcha.as_deref(),
    })
}
