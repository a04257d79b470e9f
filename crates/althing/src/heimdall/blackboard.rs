//! `heimdall-blackboard`: facts.

use althing_services::ErrorKind;
use serde_json::json;

use super::args::{Args, unknown};
use super::{Stop, desk, lines, log};

pub(super) const HELP: &str = "\
heimdall-blackboard: facts that were found out once

  heimdall-blackboard set <key> <value>
  heimdall-blackboard get <key>
  heimdall-blackboard del <key>
  heimdall-blackboard list

Exit codes: 0 done, 1 not found, 2 wrong usage.
";

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    let first = args.next();
    match first.as_deref() {
        Some("set") => {
            let (Some(key), Some(value)) = (args.next(), args.next()) else {
                return Err(Stop::error(2, "set needs <key> <value>"));
            };
            args.end()?;
            desk()?.act("fact.set", &json!({ "key": key, "value": value }))?;
            Ok(format!("{key} = {value}\n"))
        }
        Some("get") => get(args),
        Some("del") => {
            let key = args.next().ok_or_else(|| Stop::error(2, "del needs <key>"))?;
            args.end()?;
            let desk = desk()?;
            // Deleting what is not there is no failure.
            if desk.ask("fact.get", &json!({ "key": key }))?.is_some() {
                desk.act("fact.delete", &json!({ "key": key }))?;
            }
            Ok(format!("deleted {key}\n"))
        }
        Some("list") => {
            args.end()?;
            let facts = desk()?.list("fact.list")?;
            let line = |fact: &serde_json::Value| {
                let text = |name: &str| fact[name].as_str().unwrap_or_default().to_owned();
                format!("{}\t{}", text("key"), text("value"))
            };
            Ok(lines(facts.iter().map(line)))
        }
        _ => Err(unknown(first)),
    }
}

fn get(mut args: Args) -> Result<String, Stop> {
    let key = args.next().ok_or_else(|| Stop::error(2, "get needs <key>"))?;
    args.end()?;
    let desk = desk()?;
    let found = match desk.ask("fact.get", &json!({ "key": key })) {
        Err(failure) if failure.kind() == ErrorKind::Usage => None,
        other => other?,
    };
    let value = found.as_ref().and_then(|found| found["value"].as_str());
    let value = value.ok_or_else(|| Stop::error(1, format!("no fact for key: {key}")))?;
    log::looked(&desk, "blackboard", "get", &key);
    Ok(format!("{value}\n"))
}
