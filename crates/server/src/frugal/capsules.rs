//! `read_capsules`

use althing_dialects::frugal::capsule::{Said, render};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

use super::{Ledger, stamp_of};
use crate::desk::{Call, Identity};
use crate::fault::Fault;

/// The longest hand-off record that is read, in bytes.
const RECORD_BYTES_MAX: u64 = 256 * 1024;

/// Arguments of `read_capsules`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadCapsules {
    id: Option<String>,
    #[serde(rename = "client_identity")]
    _client: Option<String>,
}

pub(super) fn read(
    ledger: &Ledger,
    call: &Call<'_>,
    who: &Identity,
    args: ReadCapsules,
) -> Result<Value, Fault> {
    let mut capsules = completed(&ledger.planning.join("ledger/completed"));
    let listed = call.desk.ask(who, "capsule.list", &json!({}))?;
    let folder = ledger.planning.join("protocol/capsules");
    for capsule in listed.as_array().into_iter().flatten() {
        let id = capsule["id"].as_str().unwrap_or_default();
        capsules.push(json!({
            "id": id,
            "source": "protocol",
            "path": folder.join(format!("{id}.md")),
            "body": written_out(capsule),
        }));
    }
    if let Some(wanted) = args.id {
        capsules.retain(|capsule| capsule["id"] == wanted);
    }
    Ok(json!({ "count": capsules.len(), "capsules": capsules }))
}

/// The hand-off records that people and agents left, by name. A folder that is not there has none.
fn completed(folder: &Path) -> Vec<Value> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let is_record = |path: &&std::path::PathBuf| {
        path.extension().is_some_and(|ending| ending == "md")
            && path.file_name().is_some_and(|name| name != "README.md")
            && path.metadata().is_ok_and(|data| data.is_file() && data.len() <= RECORD_BYTES_MAX)
    };
    let record = |path: &std::path::PathBuf| {
        let body = std::fs::read(path).ok()?;
        Some(json!({
            "id": path.file_stem()?.to_string_lossy(),
            "source": "completed",
            "path": path,
            "body": String::from_utf8_lossy(&body),
        }))
    };
    paths.iter().filter(is_record).filter_map(record).collect()
}

/// A capsule as its file has it.
fn written_out(capsule: &Value) -> String {
    let depends: Vec<String> =
        serde_json::from_value(capsule["depends"].clone()).unwrap_or_default();
    render(&Said {
        id: capsule["id"].as_str().unwrap_or_default(),
        depends: &depends,
        ts: &stamp_of(&capsule["written_at"]),
        what: capsule["what"].as_str().unwrap_or_default(),
        place: capsule["where"].as_str(),
        decision: capsule["decision"].as_str(),
        gotcha: capsule["gotcha"].as_str(),
    })
}
