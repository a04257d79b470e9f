//! `heimdall-resolve`: symbols.

use althing_kernel::Command;
use althing_kernel::blackboard::symbol;
use althing_kernel::blackboard::view::SymbolView;

use super::args::Args;
use super::{Stop, context, lines, log, order};
use crate::typed::{label, text};

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
            let line = |own: &SymbolView| format!("{}\t{}", own.id, own.value);
            Ok(lines(context()?.symbols()?.iter().map(line)))
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
    let set = symbol::Set { id: label(&id)?, value: text(&value)? };
    order(&context()?, Command::SymbolSet(set))?;
    Ok(format!("{id} = {value}\n"))
}

fn look_up(id: &str) -> Result<String, Stop> {
    let context = context()?;
    // Text that cannot be an id names no symbol.
    let found = label(id).ok().map(|id| context.symbol(id)).transpose()?.flatten();
    let found = found.filter(|found| !found.value.as_str().is_empty());
    let found = found.ok_or_else(|| Stop::error(1, format!("unknown symbol id: {id}")))?;
    log::looked(&context, "resolve", "lookup", id);
    Ok(format!("{}\n", found.value))
}

fn reverse(mut args: Args) -> Result<String, Stop> {
    let value = args.next().ok_or_else(|| Stop::usage("--reverse needs <value>"))?;
    args.end()?;
    let context = context()?;
    let none = || Stop::error(1, format!("no symbol resolves to value: {value}"));
    let id = context.symbol_for(&value)?.ok_or_else(none)?.id;
    log::looked(&context, "resolve", "reverse", &format!("{value}->{id}"));
    Ok(format!("{id}\n"))
}
