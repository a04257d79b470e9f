//! `heimdall-capsule`: what was done, in ten lines.

use althing_kernel::Rule;
use serde_json::{Value, json};

use super::args::{Args, unexpected, unknown};
use super::{Stop, desk, lines, log};
use crate::frugal::{Desk, capsule_text, is_handle, strings};
use althing_dialects::frugal::brief::list as ids;
use althing_dialects::frugal::planning::CAPSULES;

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
            Ok(capsule_text(&get(&desk()?, &id)?))
        }
        Some("list") => {
            args.end()?;
            let capsules = desk()?.list("capsule.list")?;
            Ok(lines(capsules.iter().map(|own| own["id"].as_str().unwrap_or_default().to_owned())))
        }
        Some("deps") => {
            let id = args.next().ok_or_else(|| Stop::usage("deps needs <id>"))?;
            args.end()?;
            let desk = desk()?;
            get(&desk, &id)?;
            let found = desk.ask("capsule.deps", &json!({ "ids": [id] }))?.unwrap_or_default();
            // What is depended on and not there is listed first, as it would come first.
            let all = strings(&found["missing"]).into_iter().chain(strings(&found["ids"]));
            Ok(lines(all))
        }
        Some("hydrate") => hydrate(args),
        _ => Err(unknown(first)),
    }
}

/// A capsule that has to be there.
fn get(desk: &Desk, id: &str) -> Result<Value, Stop> {
    // What cannot be an id is not one.
    let found = if is_handle(id) { desk.ask("capsule.get", &json!({ "id": id }))? } else { None };
    found.ok_or_else(|| Stop::error(1, format!("no capsule: {id}")))
}

fn write(mut args: Args) -> Result<String, Stop> {
    let id = args.next().ok_or_else(|| Stop::usage("write needs <id>"))?;
    let mut said = json!({ "id": id });
    while let Some(flag) = args.next() {
        let name = match flag.as_str() {
            "--what" => "what",
            "--where" => "where",
            "--decision" => "decision",
            "--gotcha" => "gotcha",
            "--depends" => {
                said["depends"] = ids(&args.value(&flag)?).into();
                continue;
            }
            other => return Err(unexpected(other)),
        };
        let value = args.value(&flag)?;
        if !value.is_empty() {
            said[name] = value.into();
        }
    }
    if said.get("what").is_none() {
        let message = "--what is required (a capsule must say what changed)";
        return Err(Stop::error(2, message));
    }
    if !is_handle(&id) {
        let message = format!(
            "{id:?} is no capsule id: 1 to 64 letters, digits or . _ -, beginning with a letter or digit"
        );
        return Err(Stop::error(2, message));
    }
    let lines = capsule_text(&said).lines().count();
    let desk = desk()?;
    desk.act("capsule.write", &said).map_err(|failure| match failure.rule() {
        Rule::CapsuleLines => Stop::error(2, failure.message()),
        _ => failure.into(),
    })?;
    Ok(match desk.project.planning().written(&format!("{CAPSULES}/{id}.md")) {
        Some(path) => format!("wrote {} ({lines} lines)\n", path.display()),
        None => format!("recorded {id} ({lines} lines)\n"),
    })
}

fn hydrate(mut args: Args) -> Result<String, Stop> {
    let asked = args.rest();
    if asked.is_empty() {
        return Err(Stop::usage("hydrate needs <id>..."));
    }
    let desk = desk()?;
    let no = |id: &str| Stop::error(1, format!("no capsule: {id}"));
    if let Some(bad) = asked.iter().find(|id| !is_handle(id)) {
        return Err(no(bad));
    }
    let Some(found) = desk.ask("capsule.hydrate", &json!({ "ids": asked }))? else {
        return Err(no(&asked[0]));
    };
    if let Some(unknown) = strings(&found["unknown"]).first() {
        return Err(no(unknown));
    }
    let capsules = found["capsules"].as_array().map_or(&[][..], Vec::as_slice);
    let text = capsules.iter().map(capsule_text).collect::<Vec<_>>().join("\n");
    log::looked(&desk, "capsule", "hydrate", &asked.join(" "));
    match strings(&found["missing"]).as_slice() {
        [] => Ok(text),
        missing => {
            let err = lines(missing.iter().map(|id| format!("error: no capsule: {id}")));
            Err(Stop { out: text, err, code: 1, help: false })
        }
    }
}
