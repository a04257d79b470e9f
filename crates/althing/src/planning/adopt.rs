//! Taking over what somebody wrote into the files: as entries, in the name of whoever asks.

use althing_dialects::frugal::planning::{
    self, CAPSULES, Entries, read_capsule, read_entries, read_strings,
};
use althing_engine::{Client, Engine};
use althing_kernel::Command;
use althing_kernel::blackboard::{fact, symbol};
use serde_json::Value;
use std::collections::BTreeMap;

use super::Planning;
use crate::error::Error;
use crate::typed::{label, text};

/// The files of names and texts.
const SYMBOLS: &str = "protocol/symbols.json";
const FACTS: &str = "blackboard.json";

/// Turns what was written by hand into commands and has them carried out. Returns how many.
/// Symbols, facts and capsules can be taken over; of the rest nobody can tell what was meant.
pub(crate) fn adopt(
    planning: &Planning,
    engine: &Engine,
    client: &Client,
) -> Result<Vec<String>, Error> {
    let report = planning.look(engine)?;
    let mut refused = Vec::new();
    for path in report.edited.iter().chain(&report.unknown) {
        let text = match planning.read(path) {
            Ok(text) => text.unwrap_or_default(),
            Err(failure) => {
                refused.push(failure.message().to_owned());
                continue;
            }
        };
        if let Some(why) = unreadable(path, &text, report.unknown.contains(path)) {
            refused.push(format!("{path}: {why}"));
            continue;
        }
        if !planning.is_as_edited(engine, path)? {
            refused.push(format!(
                "{path}: others changed what it shows since it was edited; take over by hand what \
                 is still wanted"
            ));
            continue;
        }
        let entries = match entries(path, &text) {
            Ok(entries) => entries,
            Err(why) => {
                refused.push(format!("{path}: {why}"));
                continue;
            }
        };
        refused.extend(entries.bad.iter().map(|(name, why)| format!("{path}: {name:?}: {why}")));
        for (name, command) in meant(engine, path, &text, &entries)? {
            let done = command.and_then(|command| Ok(client.execute(command)?));
            if let Err(error) = done {
                refused.push(format!("{path}: {name}: {error}"));
            }
        }
    }
    Ok(refused)
}

/// Why nothing of a file can be taken over, where that is not said by setting it aside.
fn unreadable(path: &str, text: &str, is_foreign: bool) -> Option<String> {
    let Some(name) = path.strip_prefix(CAPSULES).and_then(|name| name.strip_prefix('/')) else {
        return is_foreign.then(|| "only capsules can be taken over; move it away".to_owned());
    };
    let Some(capsule) = read_capsule(text) else {
        return Some("it is not written as a capsule is; see `althing capsule show ID`".to_owned());
    };
    // Otherwise a file could take the place of any other capsule.
    let id = capsule["id"].as_str().unwrap_or_default();
    let is_own = name.strip_suffix(".md") == Some(id);
    (!is_own).then(|| format!("it says id {id:?}, and its name says otherwise; make them the same"))
}

/// The entries of a file of names and texts; another has none.
fn entries(path: &str, text: &str) -> Result<Entries, String> {
    match path {
        SYMBOLS => read_entries(text, "symbols"),
        FACTS => read_entries(text, "facts"),
        _ => Ok(Entries::default()),
    }
}

/// A command by its name, or why it cannot be made.
type Meant = (&'static str, Result<Command, Error>);

/// The commands that would lead to the content a file has.
fn meant(engine: &Engine, path: &str, text: &str, entries: &Entries) -> Result<Vec<Meant>, Error> {
    let all = &entries.good;
    let world = engine.world()?;
    let blackboard = world.state.blackboard();
    Ok(match path {
        SYMBOLS => {
            let known: BTreeMap<String, String> = blackboard
                .symbols()
                .map(|own| (own.id.to_string(), own.value.to_string()))
                .collect();
            let new = all.iter().filter(|(id, value)| known.get(id) != Some(value));
            new.map(|(id, value)| ("symbol.set", set_symbol(id, value))).collect()
        }
        FACTS => {
            let known: BTreeMap<String, String> = blackboard
                .facts()
                .map(|own| (own.key.to_string(), own.value.to_string()))
                .collect();
            // A line that cannot be read still counts as present.
            let there = || all.iter().chain(&entries.bad);
            let gone = known.keys().filter(|key| !there().any(|(own, _)| own == *key));
            let gone = gone.map(|key| ("fact.delete", delete_fact(key)));
            let new = all.iter().filter(|(key, value)| known.get(key) != Some(value));
            let new = new.map(|(key, value)| ("fact.set", set_fact(key, value)));
            gone.chain(new).collect()
        }
        capsule if capsule.starts_with(CAPSULES) => read_capsule(text)
            .map(|capsule| ("capsule.write", write(capsule)))
            .into_iter()
            .collect(),
        _ => Vec::new(),
    })
}

fn set_symbol(id: &str, value: &str) -> Result<Command, Error> {
    Ok(Command::SymbolSet(symbol::Set { id: label(id)?, value: text(value)? }))
}

fn set_fact(key: &str, value: &str) -> Result<Command, Error> {
    Ok(Command::FactSet(fact::Set { key: label(key)?, value: text(value)? }))
}

fn delete_fact(key: &str) -> Result<Command, Error> {
    Ok(Command::FactDelete(fact::Delete { key: label(key)? }))
}

fn write(capsule: Value) -> Result<Command, Error> {
    let read = serde_json::from_value(capsule);
    read.map(Command::CapsuleWrite).map_err(Error::unreadable)
}

/// Whether two texts of a file mean the same, so that nothing is lost with the first.
pub(crate) fn mean_the_same(path: &str, one: &str, other: &str) -> bool {
    let strings = |name| {
        let (one, other) = (read_strings(one, name), read_strings(other, name));
        one.is_some() && one == other
    };
    match path {
        SYMBOLS => strings("symbols"),
        FACTS => strings("facts"),
        capsule if capsule.starts_with(planning::CAPSULES) => {
            let (one, other) = (read_capsule(one), read_capsule(other));
            one.is_some() && one == other
        }
        _ => false,
    }
}
