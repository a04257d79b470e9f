//! `althing memory`, `remember`, `ask`, `board`: the same verbs that hosts call, for people.

mod get;
mod lanes;
mod outcome;
mod page;
mod show;
mod words;

use althing_dialects::memory::data::{Written, map_paths};
use althing_dialects::memory::filter::{Criteria, map_scope};
use althing_dialects::memory::{entity, lane, moment};
use althing_engine::screen::repeated;
use althing_engine::trail_query::{ENTRIES_MAX, TrailQuery};
use althing_kernel::blackboard::Label;
use althing_kernel::records::field::{Artifact, Few};
use althing_kernel::records::{Kind, RecordId};
use althing_kernel::text::Text;
use althing_services::ErrorKind;
use althing_services::memory::args::{
    self, CompleteStep, Context, Create, Find, Get, Intent, Remove, Sight, Sweep, Transition,
    Update, Work,
};
use althing_services::memory::{self, Request, Verb, Verbs};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Outcome;
use crate::app::App;
use crate::cli::{
    Ask, BoardArgs, MemoryCommand, MemoryContext, MemoryCreate, MemoryFind, MemoryGet,
    MemoryHarvest, MemoryIntent, MemorySight, MemoryTransition, MemoryUpdate, MemoryWork,
    REMEMBERED, Remember,
};
use crate::command_context::CommandContext;
use crate::error::{Error, exit_code};
use crate::input;
use crate::naming::Naming;
use crate::place::Place;
use crate::span::parse_secs;
use crate::surfaces;
use words::{Sheet, sheet};

/// Replaces the paths that people typed where they stand by those seen from the project's root.
fn seen_here(place: &Place, request: &mut Request) -> Result<(), Error> {
    let seen = |text: &mut String| -> Result<(), Error> {
        *text = surfaces::scope(place, text)?;
        Ok(())
    };
    match request {
        Request::Work(own) => own.scope.iter_mut().try_for_each(seen),
        Request::Context(own) => own.path.iter_mut().try_for_each(seen),
        Request::Find(own) => map_scope(&mut own.filter, |scope| surfaces::scope(place, scope)),
        Request::Create(own) => map_paths(&mut own.data, |path| surfaces::scope(place, path)),
        Request::Coordinate(own) => {
            own.scope.iter_mut().chain(own.scopes.values_mut()).try_for_each(seen)?;
            if let Some(worktree) = &mut own.worktree
                && let Ok(absolute) = std::path::absolute(&worktree)
            {
                *worktree = absolute.display().to_string();
            }
            Ok(())
        }
        Request::Get(_)
        | Request::Update(_)
        | Request::Transition(_)
        | Request::CompleteStep(_)
        | Request::Remove(_)
        | Request::Dispatch(_)
        | Request::Loop(_)
        | Request::Sweep(_)
        | Request::Harvest(_) => Ok(()),
    }
}

/// Replaces a unique part of a session's id by the whole id. Sessions that ended are found too.
/// Numbers, times and ages are left as they are.
fn name_session(context: &CommandContext<'_>, since: &mut String) -> Result<(), Error> {
    let text = since.as_str();
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
        *since = id.to_owned();
    }
    Ok(())
}

/// Carries out a request, in the words of the command that was typed.
fn call(context: &CommandContext<'_>, typed: Sheet, request: Request) -> Result<Value, Error> {
    let verb = request.verb();
    Verbs::new(&context.request)?.perform(request).map_err(|failure| {
        // Programs get ids as everywhere; labels are for people.
        let words = |message: &str| {
            if context.out().json { typed.named(message) } else { typed.readable(message) }
        };
        in_words(verb, typed, failure, words)
    })
}

/// A failure of a verb, in the words of the command that was typed.
fn in_words(verb: Verb, typed: Sheet, failure: Error, words: impl FnOnce(&str) -> String) -> Error {
    let way = memory::hint_for(verb, &failure);
    let failure = with_label(failure).reworded(words);
    match way {
        Some(way) => failure.hint(typed.way_out(&way)),
        None => failure,
    }
}

/// A word of a closed set that was typed for an argument of a verb.
fn chosen<W: DeserializeOwned>(
    verb: Verb,
    name: &str,
    text: Option<&String>,
) -> Result<Option<W>, Error> {
    let read = text.map(|text| args::word(name, text)).transpose();
    let typed = sheet(verb);
    read.map_err(|failure| in_words(verb, typed, failure, |message| typed.named(message)))
}

/// A failure of a verb, with the name that this dialect has for its kind.
fn with_label(failure: Error) -> Error {
    let label = memory::kind(&failure);
    failure.labelled(label)
}

/// The entity that an id is of.
fn entity_of(id: &str) -> Result<Kind, Error> {
    let read: Result<RecordId, _> = id.trim().parse();
    read.map(|id| id.kind).map_err(|_| {
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
    if let MemoryCommand::Harvest(MemoryHarvest { schema: Some(of), .. }) = command {
        app.out.value(&match of.as_str() {
            "heartbeat" => lane::heartbeat_schema(),
            _ => lane::schema(),
        })?;
        return Ok(Outcome::Done);
    }
    let mut request = request(command)?;
    let context = CommandContext::open_as_own(app)?;
    seen_here(&context.project.place, &mut request)?;
    if let Request::Context(Context { since: Some(since), .. }) = &mut request {
        name_session(&context, since)?;
    }
    let verb = request.verb();
    let typed = sheet(verb);
    let answer = call(&context, typed, request)?;
    show::answer(app, verb, typed, &answer)?;
    if answer["claim_status"] == "conflict" && answer["status"] == "partial" {
        return Ok(Outcome::Partial(exit_code(ErrorKind::Collision)));
    }
    if answer["status"] == "partial" {
        return Ok(Outcome::Partial(exit_code(ErrorKind::Refused)));
    }
    Ok(Outcome::Done)
}

/// The request that a command asks for.
fn request(command: &MemoryCommand) -> Result<Request, Error> {
    Ok(match command {
        MemoryCommand::Work(own) => Request::Work(work(own)),
        MemoryCommand::Context(own) => Request::Context(context(own)),
        MemoryCommand::Find(own) => Request::Find(find(own)?),
        MemoryCommand::Get(MemoryGet { id, budget_tokens }) => Request::Get(Get {
            entity: entity_of(id)?,
            id: id.clone(),
            budget_tokens: *budget_tokens,
        }),
        MemoryCommand::Create(own) => Request::Create(create(own)?),
        MemoryCommand::Update(own) => Request::Update(update(own)?),
        MemoryCommand::Transition(own) => Request::Transition(Box::new(transition(own)?)),
        MemoryCommand::CompleteStep { plan, step } => Request::CompleteStep(CompleteStep {
            plan: plan.clone(),
            step: step.clone(),
            request_id: None,
        }),
        MemoryCommand::Remove { id, reason } => Request::Remove(Remove {
            entity: entity_of(id)?,
            id: id.clone(),
            reason: reason.clone(),
            purge: None,
            request_id: None,
        }),
        MemoryCommand::Coordinate(own) => Request::Coordinate(Box::new(lanes::coordinate(own)?)),
        MemoryCommand::Dispatch(own) => Request::Dispatch(lanes::dispatch(own)),
        MemoryCommand::Loop(own) => Request::Loop(Box::new(lanes::rounds(own)?)),
        MemoryCommand::Sweep(own) => Request::Sweep(Sweep { dry_run: own.dry_run }),
        MemoryCommand::Harvest(own) => Request::Harvest(lanes::harvest(own)),
    })
}

fn work(own: &MemoryWork) -> Work {
    Work {
        intent: match own.intent {
            MemoryIntent::Execute => Intent::Execute,
            MemoryIntent::Consult => Intent::Consult,
            MemoryIntent::Resume => Intent::Resume,
            MemoryIntent::Review => Intent::Review,
        },
        scope: own.scope.clone(),
        plan: own.plan.clone(),
        task: own.task.clone(),
        advisory: own.advisory,
        compact: Some(!own.full),
        request_id: None,
        budget_tokens: own.budget_tokens,
        ttl: own.ttl.clone().map(Value::from),
        message: None,
        target: None,
    }
}

fn context(own: &MemoryContext) -> Context {
    Context {
        kind: match own.kind {
            MemorySight::Memory => Sight::Memory,
            MemorySight::Execution => Sight::Execution,
            MemorySight::Board => Sight::Board,
            MemorySight::BoardSummary => Sight::BoardSummary,
            MemorySight::Delta => Sight::Delta,
        },
        since: own.since.clone(),
        path: own.path.clone(),
        query: own.query.clone(),
        items_max: own.max_items,
        budget_tokens: own.budget_tokens,
        chars_max: None,
        matching: false,
        pending: own.pending,
    }
}

fn find(own: &MemoryFind) -> Result<Find, Error> {
    let typed = sheet(Verb::Find);
    let wrong = |error: String| {
        in_words(Verb::Find, typed, Error::usage(error), |message| typed.named(message))
    };
    let criteria = Criteria {
        status: own.status.clone(),
        tags: own.tags.clone(),
        author: own.author.clone(),
        plan_id: own.plan.clone(),
        source: own.source.clone(),
        agent: own.of_agent.clone(),
        to: own.to.clone(),
        assignee: own.assignee.clone(),
        scope: own.scope.clone(),
        legacy: own.legacy,
        confidence: own.min_confidence,
        limit: own.limit,
        offset: own.offset,
    };
    Ok(Find {
        entity: entity::named(&own.entity).map_err(wrong)?,
        filter: criteria.into(),
        limit: None,
        offset: None,
        fields: Vec::new(),
        budget_tokens: own.budget_tokens,
    })
}

/// The text and the tags of a record, to be set with its other fields.
fn written(text: Option<&String>, tags: &[String]) -> Map<String, Value> {
    Written { text: text.cloned(), tags: tags.to_vec(), related_paths: Vec::new() }.into()
}

fn create(own: &MemoryCreate) -> Result<Create, Error> {
    let mut data = match &own.data {
        None => Map::new(),
        Some(text) => json_object("--data", text)?,
    };
    data.append(&mut fields(&own.set)?);
    data.append(&mut written(own.text.as_ref(), &own.tags));
    // The kinds are told before the fields of one.
    let entity = entity::named(&own.entity);
    let entity = entity.map_err(|error| Error::usage(sheet(Verb::Create).named(&error)))?;
    Ok(Create { entity, data, request_id: own.request_id.clone() })
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

fn update(own: &MemoryUpdate) -> Result<Update, Error> {
    let mut patch = fields(&own.set)?;
    patch.append(&mut written(own.text.as_ref(), &own.tags));
    patch.extend(own.clear.iter().map(|name| (name.clone(), Value::Null)));
    Ok(Update {
        entity: entity_of(&own.id)?,
        id: own.id.clone(),
        patch,
        expected_version: own.expected_version,
        request_id: None,
    })
}

fn transition(own: &MemoryTransition) -> Result<Transition, Error> {
    let artifact = |text: &String| {
        let (sort, place) = lanes::pair("--artifact", text)?;
        let wrong =
            |error: &dyn std::fmt::Display| Error::usage(format!("--artifact {text:?}: {error}"));
        Ok(Artifact {
            description: None,
            reference: Text::new(place).map_err(|error| wrong(&error))?,
            kind: Label::new(sort).map_err(|error| wrong(&error))?,
        })
    };
    let artifacts = own.artifacts.iter().map(artifact).collect::<Result<_, Error>>()?;
    let too_many = |error: String| Error::usage(format!("--artifact: {error}"));
    Ok(Transition {
        entity: entity_of(&own.id)?,
        id: own.id.clone(),
        to: Some(own.to.clone()),
        status: None,
        reason: own.reason.clone(),
        plan_status: chosen(Verb::Transition, "planStatus", own.plan_status.as_ref())?,
        merged_into: own.merged_into.clone(),
        coordinator_override: own.overrides,
        expected_version: own.expected_version,
        to_agent: None,
        artifacts: Few::new(artifacts).map_err(too_many)?,
        forced: false,
        request_id: None,
    })
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
    let (tags, related_paths) = (own.tags.clone(), own.paths.clone());
    let mut request = Request::Create(Create {
        entity: remembered(&own.kind)?,
        data: Written { text: Some(text), tags, related_paths }.into(),
        request_id: None,
    });
    let context = CommandContext::open_as_own(app)?;
    seen_here(&context.project.place, &mut request)?;
    let answer = call(&context, words::REMEMBER, request)?;
    show::answer(app, Verb::Create, words::REMEMBER, &answer)
}

pub(crate) fn ask(app: &App, own: &Ask) -> Result<(), Error> {
    let mut request = Request::Context(Context {
        query: Some(own.question.clone()),
        path: own.path.clone(),
        items_max: Some(own.limit),
        matching: true,
        ..Context::of(Sight::Memory)
    });
    let context = CommandContext::open_as_own(app)?;
    seen_here(&context.project.place, &mut request)?;
    let answer = call(&context, words::ASK, request)?;
    show::answer(app, Verb::Context, words::ASK, &answer)
}

pub(crate) fn board(app: &App, own: &BoardArgs) -> Result<(), Error> {
    let kind = if own.summary { Sight::BoardSummary } else { Sight::Board };
    let context = CommandContext::open_as_own(app)?;
    let answer = call(&context, words::BOARD, Request::Context(Context::of(kind)))?;
    show::answer(app, Verb::Context, words::BOARD, &answer)
}
