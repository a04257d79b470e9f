//! `heimdall-resolve`: symbols.

use althing_services::ErrorKind;
use serde_json::{Value, json};

use super::args::Args;
use super::{Stop, desk, lines, log};

pub(super) const HELP: &str = "\
heimdall-resolve: short ids for things that are named again and again

  heimdall-resolve set <id> <value>
  heimdall-resolve <id>
  heimdall-resolve --reverse <value>
  heimdall-resolve list

Exit codes: 0 done, 1 not found, 2 wrong usage.
";

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    let first = args.next().ok_or_else(|| Stop::usage("an id or a subcommand is needed"))?;
    match first.as_str() {
        "set" => set(args),
        "list" => {
            args.end()?;
            let symbols = desk()?.list("symbol.list")?;
            let text = |own: &Value, name: &str| own[name].as_str().unwrap_or_default().to_owned();
            let line = |own: &Value| format!("{}\t{}", text(own, "id"), text(own, "value"));
            Ok(lines(symbols.iter().map(line)))
        }
        "--reverse" => reverse(args),
        flag if flag.starts_with("--") => Err(super::args::unexpected(flag)),
        id => {
            args.end()?;
            look_up(id)
        }
    }
}

fn set(mut args: Args) -> Result<String, Stop> {
    let (Some(id), Some(value)) = (args.next(), args.next()) else {
        return Err(Stop::error(2, "set needs <id> <value>"));
    };
    args.end()?;
    if matches!(id.as_str(), "set" | "list" | "-h") || id.starts_with("--") {
        return Err(Stop::error(2, format!("{id} means something else here; choose another id")));
    }
    desk()?.act("symbol.set", &json!({ "id": id, "value": value }))?;
    Ok(format!("{id} = {value}\n"))
}

fn look_up(id: &str) -> Result<String, Stop> {
    let desk = desk()?;
    let unknown = || Stop::error(1, format!("unknown symbol id: {id}"));
    let found = match desk.ask("symbol.get", &json!({ "id": id })) {
        // What cannot be an id is not one.
        Err(failure) if failure.kind() == ErrorKind::Usage => None,
        other => other?,
    };
    let value = found.as_ref().and_then(|found| found["value"].as_str()).unwrap_or_default();
    if value.is_empty() {
        return Err(unknown());
    }
    log::looked(&desk, "resolve", "lookup", id);
    Ok(format!("{value}\n"))
}

fn reverse(mut args: Args) -> Result<String, Stop> {
    let value = args.next().ok_or_else(|| Stop::usage("--reverse needs <value>"))?;
    args.end()?;
    let desk = desk()?;
    let found = desk.ask("symbol.reverse", &json!({ "value": value }))?;
    let id = found.as_ref().and_then(|found| found["id"].as_str());
    let id = id.ok_or_else(|| Stop::error(1, format!("no symbol resolves to value: {value}")))?;
    log::looked(&desk, "resolve", "reverse", &format!("{value}->{id}"));
    Ok(format!("{id}\n"))
}
