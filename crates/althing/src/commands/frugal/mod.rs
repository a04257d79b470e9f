//! `althing symbol`, `fact`, `capsule`, `brief`, `haid`, `validate`, `shims`

pub(crate) mod tokens;

use althing_dialects::frugal::brief::{Asked, Mode, list as cleaned};
use althing_dialects::frugal::message::{self, MESSAGE_BYTES_MAX};
use althing_services::ErrorKind;
use serde_json::{Value, json};
use std::path::Path;

use super::Outcome;
use crate::app::App;
use crate::cli::{
    BriefArgs, CapsuleCommand, FactCommand, HaidArgs, ShimsArgs, SymbolCommand, ValidateArgs,
};
use crate::failure::Failure;
use crate::frugal::shims::{self, Fate};
use crate::frugal::{Desk, Order, build, capsule_text, counted, own_haid, strings};
use crate::input::{read_file, stdin_text};

/// The exit code of a brief whose references could not be looked up.
const NOT_VERIFIED: u8 = 3;

/// The project, which has to be set up.
fn desk(app: &App) -> Result<Desk, Failure> {
    let desk = Desk::new(App::new(app.globals.clone()))?;
    if !desk.is_set_up()? {
        // The usual answer, with the usual way out.
        app.project()?.engine()?;
    }
    Ok(desk)
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// Shows a value: as JSON, or as a line.
fn show(app: &App, value: &Value, line: impl FnOnce(&Value) -> String) -> Result<(), Failure> {
    if app.out.json { app.out.value(value) } else { app.out.line(line(value)) }
}

/// Asks for something that has to be there.
fn get(desk: &Desk, name: &str, args: &Value, missing: String) -> Result<Value, Failure> {
    desk.ask(name, args)?.ok_or_else(|| Failure::not_found(missing))
}

fn table(app: &App, list: &[Value], columns: [(&str, &str); 2]) -> Result<(), Failure> {
    if app.out.json {
        return app.out.value(&list);
    }
    let row = |own: &Value| columns.iter().map(|(_, name)| text(own, name)).collect();
    let rows: Vec<Vec<String>> = list.iter().map(row).collect();
    app.out.table(&columns.map(|(title, _)| title), &rows)
}

pub(crate) fn symbol(app: &App, command: &SymbolCommand) -> Result<(), Failure> {
    let desk = desk(app)?;
    let line = |own: &Value| format!("{} = {}", text(own, "id"), text(own, "value"));
    match command {
        SymbolCommand::Set { id, value } => {
            let set = json!({ "id": id, "value": value });
            desk.act("symbol.set", &set)?;
            show(app, &set, line)
        }
        SymbolCommand::Get { id } => {
            let missing = format!("unknown symbol id: {id}");
            let found = get(&desk, "symbol.get", &json!({ "id": id }), missing)?;
            show(app, &found, |own| text(own, "value"))
        }
        SymbolCommand::Reverse { value } => {
            let missing = format!("no symbol resolves to value: {value}");
            let found = get(&desk, "symbol.reverse", &json!({ "value": value }), missing)?;
            show(app, &found, |own| text(own, "id"))
        }
        SymbolCommand::List => {
            table(app, &desk.list("symbol.list")?, [("ID", "id"), ("STANDS FOR", "value")])
        }
    }
}

pub(crate) fn fact(app: &App, command: &FactCommand) -> Result<(), Failure> {
    let desk = desk(app)?;
    match command {
        FactCommand::Set { key, value } => {
            let set = json!({ "key": key, "value": value });
            desk.act("fact.set", &set)?;
            show(app, &set, |_| format!("{key} = {value}"))
        }
        FactCommand::Get { key } => {
            let missing = format!("no fact for key: {key}");
            let found = get(&desk, "fact.get", &json!({ "key": key }), missing)?;
            show(app, &found, |own| text(own, "value"))
        }
        FactCommand::Delete { key } => {
            let missing = format!("no fact for key: {key}");
            get(&desk, "fact.get", &json!({ "key": key }), missing)?;
            desk.act("fact.delete", &json!({ "key": key }))?;
            show(app, &json!({ "deleted": key }), |_| format!("deleted {key}"))
        }
        FactCommand::List => {
            table(app, &desk.list("fact.list")?, [("KEY", "key"), ("FACT", "value")])
        }
    }
}

pub(crate) fn capsule(app: &App, command: &CapsuleCommand) -> Result<(), Failure> {
    let desk = desk(app)?;
    match command {
        CapsuleCommand::Write(args) => {
            let mut said = json!({ "id": args.id, "what": args.what, "depends": args.depends });
            let rest =
                [("where", &args.place), ("decision", &args.decision), ("gotcha", &args.gotcha)];
            for (name, value) in rest {
                if let Some(value) = value {
                    said[name] = value.as_str().into();
                }
            }
            let made = desk.act("capsule.write", &said)?;
            show(app, &made, |_| format!("wrote capsule {}", args.id))
        }
        CapsuleCommand::Show { id } => {
            let found =
                get(&desk, "capsule.get", &json!({ "id": id }), format!("no capsule: {id}"))?;
            show(app, &found, |own| capsule_text(own).trim_end().to_owned())
        }
        CapsuleCommand::List => {
            table(app, &desk.list("capsule.list")?, [("ID", "id"), ("WHAT", "what")])
        }
        CapsuleCommand::Deps { ids } => {
            let found = closure(&desk, "capsule.deps", ids)?;
            show(app, &found, |own| strings(&own["ids"]).join("\n"))
        }
        CapsuleCommand::Hydrate { ids } => {
            let found = closure(&desk, "capsule.hydrate", ids)?;
            let texts = |own: &Value| {
                let all = own["capsules"].as_array().map_or(&[][..], Vec::as_slice);
                all.iter().map(capsule_text).collect::<Vec<_>>().join("\n").trim_end().to_owned()
            };
            show(app, &found, texts)
        }
    }
}

/// What capsules build on. One that is asked for or built on and not there is said to be so.
fn closure(desk: &Desk, name: &str, ids: &[String]) -> Result<Value, Failure> {
    let found = desk.ask(name, &json!({ "ids": ids }))?.unwrap_or_default();
    let lacking = [strings(&found["unknown"]), strings(&found["missing"])].concat();
    match lacking.first() {
        None => Ok(found),
        Some(id) => Err(Failure::not_found(format!("no capsule: {id}")).with(found)),
    }
}

pub(crate) fn brief(app: &App, args: &BriefArgs) -> Result<Outcome, Failure> {
    let mode = if args.lenient { Mode::Seed } else { Mode::Strict };
    let order = Order {
        asked: Asked {
            task: args.task.clone(),
            spec: args.spec.clone(),
            mode,
            tokens_max: args.max_tokens,
        },
        symbols: cleaned(&args.symbols.join(",")),
        capsules: cleaned(&args.capsules.join(",")),
        invariants: args.invariants.clone(),
    };
    let looked = desk(app).and_then(|desk| build(&desk, &order).map(|built| (desk, built)));
    let (desk, built) = match looked {
        // Could not look, which is not the same as not there.
        Err(failure) if matches!(failure.kind(), ErrorKind::Unavailable | ErrorKind::Integrity) => {
            let _ = app.out.report(&failure);
            return Ok(Outcome::Told(NOT_VERIFIED));
        }
        looked => looked?,
    };
    let brief = built.map_err(|long| {
        let message = format!(
            "the brief has {} tokens with everything left out that can be, and may have {}",
            long.tokens, long.tokens_max
        );
        Failure::refused(althing_kernel::Rule::Limits, message)
    })?;
    let refs: Vec<Value> = brief
        .unresolved
        .iter()
        .map(|no| json!({ "reference": no.reference, "why": no.why }))
        .collect();
    let capsule_lacks = brief.unresolved.iter().any(|no| no.why.contains("capsule"));
    if !refs.is_empty() && (mode == Mode::Strict || capsule_lacks) {
        if !app.out.json {
            app.out.line(brief.text.trim_end())?;
        }
        let details = json!({ "text": brief.text, "unresolved": refs });
        let message = format!("the brief is incomplete: {} lead nowhere", refs.len());
        return Err(Failure::not_found(message)
            .with(details)
            .hint("Define what is listed, or leave it out."));
    }
    let tokens = counted(&desk, &brief.text, (&args.role, "delta_brief"), Some(&args.task))?;
    if app.out.json {
        let tokenizer = althing_dialects::frugal::tokens::TOKENIZER;
        app.out.value(&json!({
            "task": args.task, "text": brief.text, "tokens": tokens, "tokenizer": tokenizer,
            "unresolved": refs, "left_out": brief.left_out,
        }))?;
        return Ok(Outcome::Done);
    }
    app.out.line(brief.text.trim_end())?;
    app.out.note(format!("{tokens} tokens"));
    Ok(Outcome::Done)
}

pub(crate) fn haid(app: &App, args: &HaidArgs) -> Result<(), Failure> {
    let own = own_haid(&app.project()?)?;
    let haid = match &args.role {
        None => own,
        Some(role) => own
            .spawn(role)
            .ok_or_else(|| Failure::usage(format!("{role:?} has no letter or digit")))?,
    };
    let agent = crate::frugal::agent_name(&haid)?;
    if app.out.json {
        return app.out.value(&json!({ "haid": haid.as_str(), "agent": agent }));
    }
    app.out.line(if args.as_agent { agent.as_str() } else { haid.as_str() })
}

pub(crate) fn validate(app: &App, args: &ValidateArgs) -> Result<(), Failure> {
    let Some(file) = &args.file else { return app.out.value(&message::schema()) };
    let text = if file == Path::new("-") {
        stdin_text(app, "the message", MESSAGE_BYTES_MAX as u64)?
    } else {
        read_file(file)?
    };
    let (report, _) = message::report(text.as_bytes());
    if report.valid {
        return if app.out.json { app.out.value(&report) } else { app.out.line("valid") };
    }
    let details = json!({ "errors": report.errors });
    let message = format!("not a message: {}", report.errors.join("; "));
    let failure = Failure::refused(althing_kernel::Rule::Usage, message);
    Err(failure.with(details).hint("`althing validate --schema` prints what messages are."))
}

pub(crate) fn shims(app: &App, args: &ShimsArgs) -> Result<(), Failure> {
    let made = shims::make(&args.dir)?;
    let foreign: Vec<String> = made
        .iter()
        .filter(|(_, fate)| *fate == Fate::Foreign)
        .map(|(path, _)| path.display().to_string())
        .collect();
    let rows: Vec<Value> = made
        .iter()
        .map(|(path, fate)| json!({ "path": path.to_string_lossy(), "fate": fate }))
        .collect();
    if !foreign.is_empty() {
        let message = format!("left alone, being other files: {}", foreign.join(", "));
        let failure = Failure::refused(althing_kernel::Rule::Usage, message);
        return Err(failure
            .with(json!({ "names": rows }))
            .hint("Choose another folder, or move those files away."));
    }
    if app.out.json {
        return app.out.value(&rows);
    }
    for (path, fate) in &made {
        let fate = if *fate == Fate::Made { "made" } else { "there" };
        app.out.line(format!("{fate}  {}", path.display()))?;
    }
    Ok(())
}
