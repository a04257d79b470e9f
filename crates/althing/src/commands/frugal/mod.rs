//! `althing symbol`, `fact`, `capsule`, `brief`, `haid`, `validate`, `shims`

pub(crate) mod tokens;

use althing_dialects::frugal::brief::{Asked, Mode, list as cleaned};
use althing_dialects::frugal::message::{self, MESSAGE_BYTES_MAX};
use althing_kernel::Command;
use althing_kernel::blackboard::capsule::Write;
use althing_kernel::blackboard::view::HydratedView;
use althing_kernel::blackboard::{Handle, fact, symbol};
use althing_services::ErrorKind;
use althing_services::frugal::capsules::written_out;
use althing_services::frugal::check_client;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

use super::Outcome;
use crate::app::App;
use crate::cli::{
    BriefArgs, CapsuleCommand, FactCommand, HaidArgs, ShimsArgs, SymbolCommand, ValidateArgs,
};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::frugal::{Order, build, counted};
use crate::haid::own_haid;
use crate::heimdall::shims::{self, Fate};
use crate::input::{read_file, stdin_text};
use crate::table::{free_text, whole};
use crate::typed::{handle, label, text};

/// The exit code of a brief whose references could not be looked up.
const NOT_VERIFIED: u8 = 3;

/// Shows something: as JSON, or as a line.
fn show<T: Serialize>(app: &App, own: &T, line: impl FnOnce(&T) -> String) -> Result<(), Error> {
    if app.out.json { app.out.value(own) } else { app.out.line(line(own)) }
}

/// Shows a list: as JSON, or as a table.
fn table<T: Serialize>(
    app: &App,
    list: &[T],
    titles: [&str; 2],
    row: impl Fn(&T) -> [String; 2],
) -> Result<(), Error> {
    if app.out.json {
        return app.out.value(&list);
    }
    let rows: Vec<Vec<String>> = list.iter().map(|own| row(own).to_vec()).collect();
    let [first, second] = titles;
    app.out.table(&[whole(first), free_text(second)], &rows)
}

pub(crate) fn symbol(app: &App, command: &SymbolCommand) -> Result<(), Error> {
    let context = CommandContext::open_to_look_up(app)?;
    match command {
        SymbolCommand::Set { id, value } => {
            let set = symbol::Set { id: label(id)?, value: text(value)? };
            context.order(Command::SymbolSet(set.clone()))?;
            show(app, &set, |own| format!("{} = {}", own.id, own.value))
        }
        SymbolCommand::Get { id } => {
            let missing = || Error::not_found(format!("unknown symbol id: {id}"));
            let found = context.symbol(label(id)?)?.ok_or_else(missing)?;
            show(app, &found, |own| own.value.to_string())
        }
        SymbolCommand::Reverse { value } => {
            let missing = || Error::not_found(format!("no symbol resolves to value: {value}"));
            let found = context.symbol_for(value)?.ok_or_else(missing)?;
            show(app, &found, |own| own.id.to_string())
        }
        SymbolCommand::List => table(app, &context.symbols()?, ["ID", "STANDS FOR"], |own| {
            [own.id.to_string(), own.value.to_string()]
        }),
    }
}

pub(crate) fn fact(app: &App, command: &FactCommand) -> Result<(), Error> {
    let context = CommandContext::open_to_look_up(app)?;
    let get = |key: &String| {
        let missing = || Error::not_found(format!("no fact for key: {key}"));
        context.fact(label(key)?)?.ok_or_else(missing)
    };
    match command {
        FactCommand::Set { key, value } => {
            let set = fact::Set { key: label(key)?, value: text(value)? };
            context.order(Command::FactSet(set.clone()))?;
            show(app, &set, |own| format!("{} = {}", own.key, own.value))
        }
        FactCommand::Get { key } => show(app, &get(key)?, |own| own.value.to_string()),
        FactCommand::Delete { key } => {
            let found = get(key)?;
            context.order(Command::FactDelete(fact::Delete { key: found.key }))?;
            show(app, &json!({ "deleted": key }), |_| format!("deleted {key}"))
        }
        FactCommand::List => table(app, &context.facts()?, ["KEY", "FACT"], |own| {
            [own.key.to_string(), own.value.to_string()]
        }),
    }
}

pub(crate) fn capsule(app: &App, command: &CapsuleCommand) -> Result<(), Error> {
    let context = CommandContext::open_to_look_up(app)?;
    match command {
        CapsuleCommand::Write(args) => {
            let field = |given: &Option<String>| given.as_deref().map(text).transpose();
            let write = Write {
                decision: field(&args.decision)?,
                depends: handles(&args.depends)?,
                gotcha: field(&args.gotcha)?,
                id: handle(&args.id)?,
                what: text(&args.what)?,
                place: field(&args.place)?,
            };
            let made = context.order(Command::CapsuleWrite(write))?;
            show(app, &made, |_| format!("wrote capsule {}", args.id))
        }
        CapsuleCommand::Show { id } => {
            let missing = || Error::not_found(format!("no capsule: {id}"));
            let found = context.capsule(handle(id)?)?.ok_or_else(missing)?;
            show(app, &found, |own| written_out(own).trim_end().to_owned())
        }
        CapsuleCommand::List => table(app, &context.capsules()?, ["ID", "WHAT"], |own| {
            [own.id.to_string(), own.what.clone()]
        }),
        CapsuleCommand::Deps { ids } => {
            let found = context.capsule_deps(handles(ids)?)?.ok_or_else(|| gone("capsule.deps"))?;
            all_there(&found.unknown, &found.missing, &found)?;
            let line = |id: &Handle| id.to_string();
            show(app, &found, |own| own.ids.iter().map(line).collect::<Vec<_>>().join("\n"))
        }
        CapsuleCommand::Hydrate { ids } => {
            let found = context.hydrated(handles(ids)?)?.ok_or_else(|| gone("capsule.hydrate"))?;
            all_there(&found.unknown, &found.missing, &found)?;
            let texts = |own: &HydratedView| {
                let texts: Vec<String> = own.capsules.iter().map(written_out).collect();
                texts.join("\n").trim_end().to_owned()
            };
            show(app, &found, texts)
        }
    }
}

fn handles(ids: &[String]) -> Result<Vec<Handle>, Error> {
    ids.iter().map(|id| handle(id)).collect()
}

/// A question that always has an answer was left without one.
fn gone(question: &str) -> Error {
    Error::defect(format!("{question} was not answered"))
}

/// Refuses what leaves out a capsule: one that is asked for or built on and not there.
fn all_there(unknown: &[Handle], missing: &[Handle], found: &impl Serialize) -> Result<(), Error> {
    let Some(id) = unknown.iter().chain(missing).next() else { return Ok(()) };
    let details = serde_json::to_value(found).unwrap_or_default();
    Err(Error::not_found(format!("no capsule: {id}")).with(details))
}

pub(crate) fn brief(app: &App, args: &BriefArgs) -> Result<Outcome, Error> {
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
    let looked = CommandContext::open_to_look_up(app)
        .and_then(|context| build(&context, &order).map(|built| (context, built)));
    let (context, built) = match looked {
        // Could not look, which is not the same as not there.
        Err(failure) if matches!(failure.kind(), ErrorKind::Unavailable | ErrorKind::Integrity) => {
            let _ = app.out.report(&failure);
            return Ok(Outcome::Partial(NOT_VERIFIED));
        }
        looked => looked?,
    };
    let brief = built.map_err(|long| {
        let message = format!(
            "the brief has {} tokens with everything left out that can be, and may have {}",
            long.tokens, long.tokens_max
        );
        Error::refused(althing_kernel::Rule::Limits, message)
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
        let count = crate::output::counted(refs.len() as u64, "reference leads", "references lead");
        let message = format!("the brief is incomplete: {count} nowhere");
        return Err(Error::not_found(message)
            .with(details)
            .hint("Define what is listed, or leave it out."));
    }
    let tokens = counted(&context, &brief.text, (&args.role, "delta_brief"), Some(&args.task))?;
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

pub(crate) fn haid(app: &App, args: &HaidArgs) -> Result<(), Error> {
    let project = app.project()?;
    let own = own_haid(project.root())?;
    let haid = match &args.role {
        None => own,
        Some(role) => {
            check_client(project.settings.memory_secrets.value, role)?;
            let none = || Error::usage(format!("{role:?} has no letter or digit"));
            own.spawn(role).ok_or_else(none)?
        }
    };
    let agent = crate::haid::agent_name(&haid)?;
    if app.out.json {
        return app.out.value(&json!({ "haid": haid.as_str(), "agent": agent }));
    }
    app.out.line(if args.as_agent { agent.as_str() } else { haid.as_str() })
}

pub(crate) fn validate(app: &App, args: &ValidateArgs) -> Result<(), Error> {
    let Some(file) = &args.file else { return app.out.value(&message::schema()) };
    let content = if file == Path::new("-") {
        stdin_text(&app.globals, "the message", MESSAGE_BYTES_MAX as u64)?
    } else {
        read_file(file)?
    };
    let (report, _) = message::report(content.as_bytes());
    if report.valid {
        return if app.out.json { app.out.value(&report) } else { app.out.line("valid") };
    }
    let details = json!({ "errors": report.errors });
    let message = format!("not a message: {}", report.errors.join("; "));
    let failure = Error::refused(althing_kernel::Rule::Usage, message);
    Err(failure.with(details).hint("`althing validate --schema` prints what messages are."))
}

pub(crate) fn shims(app: &App, args: &ShimsArgs) -> Result<(), Error> {
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
        let message =
            format!("not overwritten, because they are not Althing's: {}", foreign.join(", "));
        let failure = Error::refused(althing_kernel::Rule::Usage, message);
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
