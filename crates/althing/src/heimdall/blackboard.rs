//! `heimdall-blackboard`: facts.

use althing_kernel::Command;
use althing_kernel::blackboard::fact;
use althing_kernel::blackboard::view::FactView;

use super::args::{Args, unknown};
use super::{Stop, context, lines, log, order};
use crate::typed::{label, text};

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
            let set = fact::Set { key: label(&key)?, value: text(&value)? };
            order(&context()?, Command::FactSet(set))?;
            Ok(format!("{key} = {value}\n"))
        }
        Some("get") => get(args),
        Some("del") => {
            let key = args.next().ok_or_else(|| Stop::error(2, "del needs <key>"))?;
            args.end()?;
            let (context, named) = (context()?, label(&key)?);
            // Deleting what is not there is no failure.
            if context.fact(named.clone())?.is_some() {
                order(&context, Command::FactDelete(fact::Delete { key: named }))?;
            }
            Ok(format!("deleted {key}\n"))
        }
        Some("list") => {
            args.end()?;
            let line = |fact: &FactView| format!("{}\t{}", fact.key, fact.value);
            Ok(lines(context()?.facts()?.iter().map(line)))
        }
        _ => Err(unknown(first)),
    }
}

fn get(mut args: Args) -> Result<String, Stop> {
    let key = args.next().ok_or_else(|| Stop::error(2, "get needs <key>"))?;
    args.end()?;
    let context = context()?;
    // Text that cannot be a key names no fact.
    let found = label(&key).ok().map(|key| context.fact(key)).transpose()?.flatten();
    let found = found.ok_or_else(|| Stop::error(1, format!("no fact for key: {key}")))?;
    log::looked(&context, "blackboard", "get", &key);
    Ok(format!("{}\n", found.value))
}
