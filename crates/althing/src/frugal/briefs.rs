//! Building a brief from what the project knows, and counting it.

use althing_dialects::frugal::brief::{self, Asked, Brief, Capsule, Material, Symbol, TooLong};
use althing_dialects::frugal::capsule::{Said, render};
use althing_dialects::frugal::invariants::{Found, look_up};
use althing_dialects::frugal::planning::utc;
use althing_dialects::frugal::tokens;
use serde_json::{Value, json};
use std::path::{Component, Path};

use super::desk::Desk;
use althing_services::ErrorKind;

use crate::failure::Failure;
use crate::input::read_file;
use althing_kernel::Timestamp;

/// What is asked for.
pub(crate) struct Order {
    pub(crate) asked: Asked,
    pub(crate) symbols: Vec<String>,
    pub(crate) capsules: Vec<String>,
    pub(crate) invariants: Option<String>,
}

/// Builds the brief. It has the same bytes whenever the project knows the same.
pub(crate) fn build(desk: &Desk, order: &Order) -> Result<Result<Brief, TooLong>, Failure> {
    let material = gather(desk, order)?;
    Ok(brief::build(&order.asked, &material, &tokens::count))
}

fn gather(desk: &Desk, order: &Order) -> Result<Material, Failure> {
    let mut material = Material {
        wants_capsules: !order.capsules.is_empty(),
        named_capsules: order.capsules.clone(),
        ..Material::default()
    };
    for id in &order.symbols {
        material.symbols.push(Symbol { id: id.clone(), value: symbol(desk, id)? });
    }
    // An id that no capsule can have is one that no capsule has.
    let (asked, never): (Vec<&String>, Vec<&String>) =
        order.capsules.iter().partition(|id| is_handle(id));
    material.unknown_capsules.extend(never.into_iter().cloned());
    if !asked.is_empty() {
        match desk.ask("capsule.hydrate", &json!({ "ids": asked }))? {
            Some(found) => {
                let texts = |name: &str| strings(&found[name]);
                material.unknown_capsules.extend(texts("unknown"));
                material.missing_dependencies.extend(texts("missing"));
                let capsules = found["capsules"].as_array().map_or(&[][..], Vec::as_slice);
                material.capsules = capsules.iter().map(capsule).collect();
            }
            None => material.unknown_capsules.extend(asked.into_iter().cloned()),
        }
    }
    material.invariants =
        order.invariants.as_ref().map(|text| (text.clone(), invariants(desk, text)));
    Ok(material)
}

/// What a symbol stands for. One that stands for nothing is none.
fn symbol(desk: &Desk, id: &str) -> Result<Option<String>, Failure> {
    let found = match desk.ask("symbol.get", &json!({ "id": id })) {
        Err(failure) if failure.kind() == ErrorKind::Usage => None,
        other => other?,
    };
    let value = found.and_then(|found| found["value"].as_str().map(str::to_owned));
    Ok(value.filter(|value| !value.is_empty()))
}

fn capsule(view: &Value) -> Capsule {
    let id = view["id"].as_str().unwrap_or_default().to_owned();
    Capsule { text: capsule_text(view), id }
}

/// A capsule as the file people read.
pub(crate) fn capsule_text(view: &Value) -> String {
    let depends = strings(&view["depends"]);
    let at = Timestamp::from_micros(view["written_at"].as_u64().unwrap_or_default());
    render(&Said {
        id: view["id"].as_str().unwrap_or_default(),
        depends: &depends,
        ts: &utc(at),
        what: view["what"].as_str().unwrap_or_default(),
        place: view["where"].as_str(),
        decision: view["decision"].as_str(),
        gotcha: view["gotcha"].as_str(),
    })
}

pub(crate) fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

/// `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`
pub(crate) fn is_handle(text: &str) -> bool {
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    begins && text.len() <= 64 && text.bytes().all(fits)
}

/// Looks a reference to invariants up in the project. What leads out of it is not there.
fn invariants(desk: &Desk, text: &str) -> Found {
    let root = desk.project.root();
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

/// Counts a text that was handed out and puts the count on the ledger, with the tokenizer's name.
pub(crate) fn counted(
    desk: &Desk,
    text: &str,
    (role, kind): (&str, &str),
    task: Option<&str>,
) -> Result<u64, Failure> {
    let tokens = tokens::count(text);
    let mut line = json!({
        "role": role, "kind": kind, "tokens": tokens, "tokenizer": tokens::TOKENIZER,
    });
    if let Some(task) = task {
        line["task"] = task.into();
    }
    desk.act("ledger.log", &line)?;
    Ok(tokens)
}
