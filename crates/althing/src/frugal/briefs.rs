//! Building a brief from what the project knows, and counting it.

use althing_dialects::frugal::brief::{self, Asked, Brief, Capsule, Material, Symbol, TooLong};
use althing_dialects::frugal::invariants::{Found, look_up};
use althing_dialects::frugal::tokens;
use althing_kernel::Command;
use althing_kernel::blackboard::view::CapsuleView;
use althing_kernel::blackboard::{Handle, Label, ledger};
use althing_kernel::workspace::meter::Amount;
use althing_services::frugal::capsules::written_out;
use std::path::{Component, Path};

use crate::command_context::CommandContext;
use crate::error::Error;
use crate::input::read_file;
use crate::typed::label;

/// A request for a brief.
pub(crate) struct Order {
    pub(crate) asked: Asked,
    pub(crate) symbols: Vec<String>,
    pub(crate) capsules: Vec<String>,
    pub(crate) invariants: Option<String>,
}

/// Builds the brief. It has the same bytes whenever the project knows the same.
pub(crate) fn build(
    context: &CommandContext<'_>,
    order: &Order,
) -> Result<Result<Brief, TooLong>, Error> {
    let material = gather(context, order)?;
    Ok(brief::build(&order.asked, &material, &tokens::count))
}

fn gather(context: &CommandContext<'_>, order: &Order) -> Result<Material, Error> {
    let mut material = Material {
        wants_capsules: !order.capsules.is_empty(),
        named_capsules: order.capsules.clone(),
        ..Material::default()
    };
    for id in &order.symbols {
        material.symbols.push(Symbol { id: id.clone(), value: symbol(context, id)? });
    }
    // An id that no capsule can have is one that no capsule has.
    let mut asked = Vec::new();
    for id in &order.capsules {
        match Handle::new(id) {
            Ok(id) => asked.push(id),
            Err(_) => material.unknown_capsules.push(id.clone()),
        }
    }
    if !asked.is_empty() {
        match context.hydrated(asked.clone())? {
            Some(found) => {
                let texts = |ids: Vec<Handle>| ids.into_iter().map(|id| id.to_string());
                material.unknown_capsules.extend(texts(found.unknown));
                material.missing_dependencies.extend(texts(found.missing));
                material.capsules = found.capsules.iter().map(capsule).collect();
            }
            None => material.unknown_capsules.extend(asked.iter().map(ToString::to_string)),
        }
    }
    material.invariants =
        order.invariants.as_ref().map(|text| (text.clone(), invariants(context, text)));
    Ok(material)
}

/// The value of a symbol, or none if it is unknown or empty.
fn symbol(context: &CommandContext<'_>, id: &str) -> Result<Option<String>, Error> {
    // Text that cannot be an id names no symbol.
    let Ok(id) = Label::new(id) else { return Ok(None) };
    let value = context.symbol(id)?.map(|found| found.value.to_string());
    Ok(value.filter(|value| !value.is_empty()))
}

fn capsule(view: &CapsuleView) -> Capsule {
    Capsule { text: written_out(view), id: view.id.to_string() }
}

/// Looks a reference to invariants up in the project. What leads out of it is not there.
fn invariants(context: &CommandContext<'_>, text: &str) -> Found {
    let root = context.project.root();
    look_up(text, &|path: &str| {
        let is_inside =
            |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(path).components().all(is_inside) {
            return Err(format!("no such file in the project: {path}"));
        }
        let path_here = root.join(path);
        if !path_here.is_file() {
            return Err(format!("no such file: {path}"));
        }
        read_file(&path_here).map_err(|failure| failure.message().to_owned())
    })
}

/// A line of the ledger: tokens that a tokenizer counted, or that the caller reports.
pub(crate) fn log_line(
    role: &str,
    kind: &str,
    tokens: u64,
    counted: bool,
) -> Result<ledger::Log, Error> {
    Ok(ledger::Log {
        agent: None,
        kind: label(kind)?,
        messages: None,
        msg_id: None,
        role: label(role)?,
        task: None,
        tokenizer: if counted { Some(label(tokens::TOKENIZER)?) } else { None },
        tokens: Amount::new(tokens),
        tool: None,
    })
}

/// Counts a text that was handed out and puts the count on the ledger, with the tokenizer's name.
pub(crate) fn counted(
    context: &CommandContext<'_>,
    text: &str,
    (role, kind): (&str, &str),
    task: Option<&str>,
) -> Result<u64, Error> {
    let tokens = tokens::count(text);
    let task = task.map(label).transpose()?;
    let line = ledger::Log { task, ..log_line(role, kind, tokens, true)? };
    context.order(Command::LedgerLog(line))?;
    Ok(tokens)
}
