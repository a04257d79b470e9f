//! `althing memory`, `remember`, `ask`, `board`: the same verbs that hosts call, for people.

mod get;
mod lanes;
mod outcome;
mod page;
mod show;
mod words;

use althing_dialects::memory::{entity, lane, moment};
use althing_engine::screen::repeated;
use althing_engine::trail_query::{ENTRIES_MAX, TrailQuery};
use althing_kernel::records::{Kind, RecordId};
use althing_services::ErrorKind;
use althing_services::memory::{self, Verb, Verbs};
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::app::App;
use crate::cli::{
    Ask, BoardArgs, MemoryCommand, MemoryContext, MemoryCreate, MemoryFind, MemoryHarvest,
    MemoryTransition, MemoryUpdate, MemoryWork, REMEMBERED, Remember,
};
use crate::command_context::CommandContext;
use crate::error::{Error, exit_code};
use crate::input;
use crate::naming::Naming;
use crate::place::Place;
use crate::span::parse_secs;
use crate::surfaces;
use words::{Sheet, sheet};

/// Arguments with the paths that people typed where they stand, seen from the project's root.
fn seen_here(place: &Place, mut args: Value) -> Result<Value, Error> {
    let seen = |value: &mut Value| -> Result<(), Error> {
        if let Some(text) = value.as_str() {
            *value = surfaces::scope(place, text)?.into();
        }
        Ok(())
    };
    for name in ["scope", "path"] {
        args.get_mut(name).map_or(Ok(()), seen)?;
    }
    args.pointer_mut("/filter/scope").map_or(Ok(()), seen)?;
    for scope in args.get_mut("scopes").and_then(Value::as_object_mut).into_iter().flatten() {
        seen(scope.1)?;
    }
    let paths = args.pointer_mut("/data/related_paths").and_then(Value::as_array_mut);
    for path in paths.into_iter().flatten() {
        seen(path)?;
    }
    if let Some(worktree) = args.get_mut("worktree")
        && let Some(text) = worktree.as_str()
        && let Ok(absolute) = std::path::absolute(text)
    {
        *worktree = absolute.display().to_string().into();
    }
    Ok(args)
}

/// Replaces a unique part of a session's id by the whole id. Sessions that ended are found too.
/// Numbers, times and ages are left as they are.
fn name_session(context: &CommandContext<'_>, since: &mut Value) -> Result<(), Error> {
    let Some(text) = since.as_str() else { return Ok(()) };
    let is_other = text.trim_start_matches('#').bytes().all(|byte| byte.is_ascii_digit())
        || moment::read(text).is_some()
        || parse_secs(text).is_ok();
    if is_other {
        return Ok(());
    }
    let engine = context.engine()?;
    let opened = TrailQuery {
        kinds: vec![althing_kernel::Kind::SessionOpened],
        limit: Some(ENTRIES_MAX),
        last: true,
        ..TrailQuery::default()
    };
    let found = opened.find(&mut *engine.reader()?)?;
    let ids = found.iter().filter_map(|one| one.entry.stamped.draft.workspace.as_ref());
    if let Some(id) = Naming::of(ids).find(text)? {
        *since = id.into();
    }
    Ok(())
}

/// Does something, in the words of the command that was typed.
fn call(
    context: &CommandContext<'_>,
    verb: Verb,
    typed: Sheet,
    args: &Value,
) -> Result<Value, Error> {
    Verbs::new(&context.request)?.call(verb, args).map_err(|failure| {
        let way = memory::hint_for(verb, &failure);
        // Programs get ids as everywhere; labels are for people.
        let failure = with_label(failure).reworded(|message| {
            if context.out().json { typed.named(message) } else { typed.readable(message) }
        });
        match way {
            Some(way) => failure.hint(typed.way_out(&way)),
            None => failure,
        }
    })
}

/// A failure of a verb, with the name that this dialect has for its kind.
fn with_label(failure: Error) -> Error {
    let label = memory::kind(&failure);
    failure.labelled(label)
}

/// Arguments without what was not given.
fn given(args: &Value) -> Value {
    let own = args.as_object().cloned().unwrap_or_default();
    let is_given = |(name, value): &(String, Value)| match value {
        Value::Null => false,
        // The only switch that is on where nothing is said.
        Value::Bool(false) => name == "compact",
        Value::Array(list) => !list.is_empty(),
        _ => true,
    };
    Value::Object(own.into_iter().filter(is_given).collect())
}

/// The entity that an id is of.
fn entity_of(id: &str) -> Result<Value, Error> {
    let read: Result<RecordId, _> = id.trim().parse();
    read.map(|id| json!(id.kind)).map_err(|_| {
        let id = repeated(id.trim());
        let failure =
            Error::usage(format!("{id:?} is not the id of a record; write one such as pln#42"));
        failure.hint(
            "`althing memory find KIND` lists the records of a kind, with their ids.".to_owned(),
        )
    })
}

/// Fields as people give them: `name=value`, JSON taken as such.
fn fields(set: &[String]) -> Result<Map<String, Value>, Error> {
    let field = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Error::usage(format!("--set {text:?}: write FIELD=VALUE, such as priority=high"))
        })?;
        let value = match serde_json::from_str::<Value>(value) {
            Ok(read) if !read.is_string() => read,
            _ => value.into(),
        };
        Ok((name.trim().to_owned(), value))
    };
    set.iter().map(field).collect()
}

pub(crate) fn run(app: &App, command: &MemoryCommand) -> Result<Outcome, Error> {
    let (verb, args) = match command {
        MemoryCommand::Work(own) => (Verb::Work, work(own)),
        MemoryCommand::Context(own) => (Verb::Context, context(own)),
        MemoryCommand::Find(own) => (Verb::Find, find(own)),
        MemoryCommand::Get(own) => {
            let entity = entity_of(&own.id)?;
            let budget = own.budget_tokens;
            (Verb::Get, json!({ "entity": entity, "id": own.id, "budget_tokens": budget }))
        }
        MemoryCommand::Create(own) => (Verb::Create, create(own)?),
        MemoryCommand::Update(own) => (Verb::Update, update(own)?),
        MemoryCommand::Transition(own) => (Verb::Transition, transition(own)?),
        MemoryCommand::CompleteStep { plan, step } => {
            (Verb::CompleteStep, json!({ "planId": plan, "stepId": step }))
        }
        MemoryCommand::Remove { id, reason } => {
            let entity = entity_of(id)?;
            (Verb::Remove, json!({ "entity": entity, "id": id, "reason": reason }))
        }
        MemoryCommand::Coordinate(own) => (Verb::Coordinate, lanes::coordinate(own)?),
        MemoryCommand::Dispatch(own) => (Verb::Dispatch, lanes::dispatch(own)),
        MemoryCommand::Loop(own) => (Verb::Loop, lanes::rounds(own)?),
        MemoryCommand::Sweep(own) => (Verb::Sweep, json!({ "dryRun": own.dry_run })),
        MemoryCommand::Harvest(MemoryHarvest { schema: Some(of), .. }) => {
            app.out.value(&match of.as_str() {
                "heartbeat" => lane::heartbeat_schema(),
                _ => lane::schema(),
            })?;
            return Ok(Outcome::Done);
        }
        MemoryCommand::Harvest(own) => (Verb::Harvest, lanes::harvest(own)),
    };
    let context = CommandContext::open_as_own(app)?;
    let mut args = seen_here(&context.project.place, given(&args))?;
    if let Some(since) = args.get_mut("since") {
        name_session(&context, since)?;
    }
    let typed = sheet(verb);
    let answer = call(&context, verb, typed, &args)?;
    show::answer(app, verb, typed, &answer)?;
    if answer["claim_status"] == "conflict" && answer["status"] == "partial" {
        return Ok(Outcome::Partial(exit_code(ErrorKind::Collision)));
    }
    if answer["status"] == "partial" {
        return Ok(Outcome::Partial(exit_code(ErrorKind::Refused)));
    }
    Ok(Outcome::Done)
}

/// The word for a choice, as people write it. Verbs take it with dashes as well.
fn word<T: ValueEnum>(choice: &T) -> String {
    choice.to_possible_value().map(|own| own.get_name().to_owned()).unwrap_or_default()
}

fn work(own: &MemoryWork) -> Value {
    json!({
        "intent": word(&own.intent), "scope": own.scope, "planId": own.plan, "task": own.task,
        "ttl": own.ttl, "advisory": own.advisory, "compact": !own.full,
        "budget_tokens": own.budget_tokens,
    })
}

fn context(own: &MemoryContext) -> Value {
    json!({
        "kind": word(&own.kind), "since": own.since, "path": own.path, "query": own.query,
        "maxItems": own.max_items, "includePending": own.pending,
        "budget_tokens": own.budget_tokens,
    })
}

fn find(own: &MemoryFind) -> Value {
    let filter = json!({
        "status": own.status, "tags": own.tags, "author": own.author, "plan_id": own.plan,
        "source": own.source, "agent": own.of_agent, "to": own.to, "assignee": own.assignee,
        "scope": own.scope,
        "includeLegacy": own.legacy, "minAutoReflectConfidence": own.min_confidence,
        "limit": own.limit, "offset": own.offset,
    });
    json!({ "entity": own.entity, "filter": given(&filter), "budget_tokens": own.budget_tokens })
}

fn create(own: &MemoryCreate) -> Result<Value, Error> {
    let mut data = match &own.data {
        None => Map::new(),
        Some(text) => json_object("--data", text)?,
    };
    data.append(&mut fields(&own.set)?);
    if let Some(text) = &own.text {
        data.insert("text".to_owned(), text.as_str().into());
    }
    if !own.tags.is_empty() {
        data.insert("tags".to_owned(), own.tags.clone().into());
    }
    // The kinds are told before the fields of one.
    let entity = entity::named(&own.entity);
    let entity = entity.map_err(|error| Error::usage(sheet(Verb::Create).named(&error)))?;
    Ok(json!({ "entity": entity, "data": data, "request_id": own.request_id }))
}

/// A JSON object that was typed.
fn json_object(option: &str, text: &str) -> Result<Map<String, Value>, Error> {
    let wrong = |why: &str| Error::usage(format!("{option} is no JSON object: {why}"));
    match serde_json::from_str(text) {
        Ok(Value::Object(own)) => Ok(own),
        Ok(Value::Array(_)) => Err(wrong("it is a list; write {\"text\": …}")),
        Ok(_) => Err(wrong("it is a single value; write {\"text\": …}")),
        Err(error) => Err(wrong(&format!("it cannot be read at column {}", error.column()))),
    }
}

fn update(own: &MemoryUpdate) -> Result<Value, Error> {
    let mut patch = fields(&own.set)?;
    if let Some(text) = &own.text {
        patch.insert("text".to_owned(), text.as_str().into());
    }
    if !own.tags.is_empty() {
        patch.insert("tags".to_owned(), own.tags.clone().into());
    }
    patch.extend(own.clear.iter().map(|name| (name.clone(), Value::Null)));
    Ok(json!({
        "entity": entity_of(&own.id)?, "id": own.id, "patch": patch,
        "expected_version": own.expected_version,
    }))
}

fn transition(own: &MemoryTransition) -> Result<Value, Error> {
    let artifact = |text: &String| {
        let (sort, place) = lanes::pair("--artifact", text)?;
        Ok(json!({ "type": sort, "ref": place }))
    };
    let artifacts: Vec<Value> = own.artifacts.iter().map(artifact).collect::<Result<_, Error>>()?;
    Ok(json!({
        "artifacts": artifacts,
        "entity": entity_of(&own.id)?, "id": own.id, "to": own.to, "reason": own.reason,
        "planStatus": own.plan_status, "merged_into": own.merged_into,
        "coordinator_override": own.overrides, "expected_version": own.expected_version,
    }))
}

/// The kind of what is to be remembered, one that a text alone makes.
fn remembered(text: &str) -> Result<Kind, Error> {
    let names: Vec<&str> = REMEMBERED.iter().map(|kind| kind.as_str()).collect();
    let names = names.join(", ");
    match entity::named(text) {
        Ok(kind) if REMEMBERED.contains(&kind) => Ok(kind),
        Ok(kind) => {
            let (one, command) = (kind.article(), format!("`althing memory create {kind}`"));
            let message = format!("--kind is one of {names}; {one} {kind} takes more than a text");
            Err(Error::usage(message).hint(format!("{command} makes one.")))
        }
        Err(_) => {
            let text = repeated(text);
            let failure = Error::usage(format!("--kind is one of {names}, not {text:?}"));
            Err(failure.hint("`althing remember --help` shows its arguments.".to_owned()))
        }
    }
}

/// Most text that is read from standard input. A record has less; the kernel says how much.
const TEXT_BYTES_MAX: u64 = 1 << 16;

pub(crate) fn remember(app: &App, own: &Remember) -> Result<(), Error> {
    let text = match own.text.as_str() {
        "-" => input::stdin_text(&app.globals, "the text", TEXT_BYTES_MAX)?.trim_end().to_owned(),
        given => given.to_owned(),
    };
    let mut data = json!({ "text": text, "tags": own.tags });
    if !own.paths.is_empty() {
        data["related_paths"] = own.paths.clone().into();
    }
    let args = json!({ "entity": remembered(&own.kind)?, "data": data });
    let context = CommandContext::open_as_own(app)?;
    let args = seen_here(&context.project.place, args)?;
    let answer = call(&context, Verb::Create, words::REMEMBER, &args)?;
    show::answer(app, Verb::Create, words::REMEMBER, &answer)
}

pub(crate) fn ask(app: &App, own: &Ask) -> Result<(), Error> {
    let args = json!({
        "kind": "memory", "query": own.question, "path": own.path, "maxItems": own.limit,
        "matching": true,
    });
    let context = CommandContext::open_as_own(app)?;
    let args = seen_here(&context.project.place, given(&args))?;
    let answer = call(&context, Verb::Context, words::ASK, &args)?;
    show::answer(app, Verb::Context, words::ASK, &answer)
}

pub(crate) fn board(app: &App, own: &BoardArgs) -> Result<(), Error> {
    let kind = if own.summary { "board_summary" } else { "board" };
    let context = CommandContext::open_as_own(app)?;
    let answer = call(&context, Verb::Context, words::BOARD, &json!({ "kind": kind }))?;
    show::answer(app, Verb::Context, words::BOARD, &answer)
}
