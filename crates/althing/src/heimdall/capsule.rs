//! `heimdall-capsule`: what was done, in ten lines.

use althing_dialects::frugal::brief::list as ids;
use althing_dialects::frugal::planning::CAPSULES;
use althing_kernel::blackboard::Handle;
use althing_kernel::blackboard::capsule::Write;
use althing_kernel::blackboard::view::CapsuleView;
use althing_kernel::{Command, Rule};
use althing_services::frugal::capsules::written_out;
use std::collections::BTreeMap;

use super::args::{Args, unexpected, unknown};
use super::{Stop, context, lines, log, order};
use crate::command_context::CommandContext;
use crate::typed::{handle, text};

pub(super) const HELP: &str = "\
heimdall-capsule: what was done, in at most ten lines

  heimdall-capsule write <id> --what T [--where W] [--decision D] [--gotcha G] [--depends a,b]
  heimdall-capsule show <id>
  heimdall-capsule list
  heimdall-capsule deps <id>
  heimdall-capsule hydrate <id>...      what these build on and they, dependencies first

Exit codes: 0 done, 1 not found or refused, 2 wrong usage or too long.
";

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    let first = args.next();
    match first.as_deref() {
        Some("write") => write(args),
        Some("show") => {
            let id = args.next().ok_or_else(|| Stop::usage("show needs <id>"))?;
            args.end()?;
            Ok(written_out(&get(&context()?, &id)?))
        }
        Some("list") => {
            args.end()?;
            Ok(lines(context()?.capsules()?.iter().map(|own| own.id.to_string())))
        }
        Some("deps") => {
            let id = args.next().ok_or_else(|| Stop::usage("deps needs <id>"))?;
            args.end()?;
            let context = context()?;
            let own = get(&context, &id)?;
            let found = context.capsule_deps(vec![own.id])?;
            // Missing dependencies are listed first, where they would stand in the order.
            let all =
                found.into_iter().flat_map(|found| found.missing.into_iter().chain(found.ids));
            Ok(lines(all.map(|id| id.to_string())))
        }
        Some("hydrate") => hydrate(args),
        _ => Err(unknown(first)),
    }
}

/// A capsule that has to be there.
fn get(context: &CommandContext<'_>, id: &str) -> Result<CapsuleView, Stop> {
    // Text that cannot be an id names no capsule.
    let found = Handle::new(id).ok().map(|id| context.capsule(id)).transpose()?.flatten();
    found.ok_or_else(|| Stop::error(1, format!("no capsule: {id}")))
}

fn write(mut args: Args) -> Result<String, Stop> {
    let id = args.next().ok_or_else(|| Stop::usage("write needs <id>"))?;
    let mut given = BTreeMap::new();
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--what" | "--where" | "--decision" | "--gotcha" | "--depends" => {
                let value = args.value(&flag)?;
                if !value.is_empty() {
                    given.insert(flag, value);
                }
            }
            other => return Err(unexpected(other)),
        }
    }
    let Some(what) = given.get("--what") else {
        let message = "--what is required (a capsule must say what changed)";
        return Err(Stop::error(2, message));
    };
    let Ok(own) = Handle::new(&id) else {
        let message = format!(
            "{id:?} is no capsule id: 1 to 64 letters, digits or . _ -, beginning with a letter or digit"
        );
        return Err(Stop::error(2, message));
    };
    let depends = given.get("--depends").map(|list| ids(list)).unwrap_or_default();
    let field = |name: &str| given.get(name).map(String::as_str);
    let write = Write {
        decision: field("--decision").map(text).transpose()?,
        depends: depends.iter().map(|id| handle(id)).collect::<Result<_, _>>()?,
        gotcha: field("--gotcha").map(text).transpose()?,
        id: own,
        what: text(what)?,
        place: field("--where").map(text).transpose()?,
    };
    let lines = write.lines();
    let context = context()?;
    order(&context, Command::CapsuleWrite(write)).map_err(|failure| match failure.rule() {
        Rule::CapsuleLines => Stop::error(2, failure.message()),
        _ => failure.into(),
    })?;
    Ok(match context.project.planning().written(&format!("{CAPSULES}/{id}.md")) {
        Some(path) => format!("wrote {} ({lines} lines)\n", path.display()),
        None => format!("recorded {id} ({lines} lines)\n"),
    })
}

fn hydrate(mut args: Args) -> Result<String, Stop> {
    let asked = args.rest();
    if asked.is_empty() {
        return Err(Stop::usage("hydrate needs <id>..."));
    }
    let context = context()?;
    let no = |id: &str| Stop::error(1, format!("no capsule: {id}"));
    let handles = asked.iter().map(|id| Handle::new(id).map_err(|_| no(id)));
    let handles = handles.collect::<Result<Vec<Handle>, Stop>>()?;
    let Some(found) = context.hydrated(handles)? else {
        return Err(no(&asked[0]));
    };
    if let Some(unknown) = found.unknown.first() {
        return Err(no(unknown.as_str()));
    }
    let text = found.capsules.iter().map(written_out).collect::<Vec<_>>().join("\n");
    log::looked(&context, "capsule", "hydrate", &asked.join(" "));
    match found.missing.as_slice() {
        [] => Ok(text),
        missing => {
            let err = lines(missing.iter().map(|id| format!("error: no capsule: {id}")));
            Err(Stop { out: text, err, code: 1, ..Stop::default() })
        }
    }
}
