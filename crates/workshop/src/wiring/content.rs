//! What a file has to contain: put in, found again, taken out.

use super::agents::{Change, Op, is_own_command};
use super::blocks::{self, Marks};
use super::draft::Draft;
use super::json::Json;
use super::jsonc::{self, JsoncError, Kind, Node};

/// The beginning of a JSON file that was not there.
const EMPTY_OBJECT: &str = "{}\n";

/// Why a file is left as it is.
pub(super) type Why = String;

/// Whether everything that is wanted is in a text.
pub(super) fn is_in(text: &str, change: &Change) -> Result<bool, Why> {
    Ok(match change {
        Change::Own { content, .. } => text == content,
        Change::Block { marks, body } => {
            let wanted = marks.block(body);
            marks.find(text).is_some_and(|own| text[own].replace("\r\n", "\n") == wanted)
        }
        Change::Json(_) if text.trim().is_empty() => false,
        Change::Json(ops) => {
            let root = jsonc::parse(text).map_err(|error| why(&error))?;
            ops.iter().all(|op| match op {
                Op::Member(path, key, _) => root.at(path).is_some_and(|own| own.get(key).is_some()),
                Op::Element(path, key, value) => {
                    let list = root.at(path).and_then(|own| own.get(key));
                    list.is_some_and(|list| {
                        list.items().iter().any(|own| is_same(text, own, value))
                    })
                }
            })
        }
    })
}

fn why(error: &JsoncError) -> Why {
    error.to_string()
}

/// Whether a value in a text is this one.
fn is_same(text: &str, node: &Node, value: &Json) -> bool {
    match (&node.kind, value) {
        (Kind::Object(members, _), Json::Object(wanted)) => {
            members.len() == wanted.len()
                && wanted
                    .iter()
                    .all(|(key, value)| node.get(key).is_some_and(|own| is_same(text, own, value)))
        }
        (Kind::Array(items, _), Json::Array(wanted)) => {
            items.len() == wanted.len()
                && items.iter().zip(wanted).all(|(own, value)| is_same(text, own, value))
        }
        (Kind::Text(own), Json::Text(wanted)) => own == wanted,
        (Kind::Other, Json::Number(_) | Json::Bool(_)) => {
            text[node.span.clone()] == value.compact()
        }
        // Any other pair is of two kinds.
        _ => false,
    }
}

/// Puts what is wanted into a text. Returns the new text, what was added, and which members of a JSON
/// file are new.
pub(super) fn put_in(text: &str, change: &Change) -> Result<(Draft, Vec<String>), Why> {
    let mut draft = Draft::new(text);
    let mut members = Vec::new();
    match change {
        Change::Own { content, .. } => draft.insert(0, content),
        Change::Block { marks, body } => {
            if *marks == Marks::Hash {
                check_toml(text)?;
            }
            blocks::append(&mut draft, &marks.block(body));
        }
        Change::Json(ops) => {
            if text.trim().is_empty() {
                draft.insert(text.len(), EMPTY_OBJECT);
            }
            for op in ops {
                members.extend(new_members(
                    &jsonc::parse(&draft.text).map_err(|error| why(&error))?,
                    op,
                ));
                match op {
                    Op::Member(path, key, value) => jsonc::set(&mut draft, path, key, value),
                    Op::Element(path, key, value) => jsonc::push(&mut draft, path, key, value),
                }
                .map_err(|error| why(&error))?;
            }
        }
    }
    Ok((draft, members))
}

/// The members on the way of something wanted that are not there yet, outermost first.
fn new_members(root: &Node, op: &Op) -> Vec<String> {
    let (Op::Member(path, key, _) | Op::Element(path, key, _)) = op;
    let names: Vec<&str> = path.iter().copied().chain([*key]).collect();
    let paths = (1..=names.len()).map(|length| &names[..length]);
    paths.filter(|path| root.at(path).is_none()).map(|path| path.join("/")).collect()
}

/// Refuses a TOML file that cannot be read, or that has the server already: twice would break it.
fn check_toml(text: &str) -> Result<(), Why> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let line =
            error.span().map_or(1, |at| text[..at.start.min(text.len())].matches('\n').count() + 1);
        format!("line {line} is not TOML: {}", error.message())
    })?;
    let server = table.get("mcp_servers").and_then(|servers| servers.get("althing"));
    match server {
        Some(_) => Err("it has a server of that name that is not ours".to_owned()),
        None => Ok(()),
    }
}

/// A text without what was put into it, found by what it is: for a file that was changed since. `members`
/// are those that were new when it was put in.
pub(super) fn take_out(text: &str, change: &Change, members: &[String]) -> Result<String, Why> {
    match change {
        Change::Own { .. } => Ok(text.to_owned()),
        Change::Block { marks, .. } => {
            Ok(blocks::remove(text, *marks).unwrap_or_else(|| text.to_owned()))
        }
        Change::Json(_) if text.trim().is_empty() => Ok(text.to_owned()),
        Change::Json(ops) => {
            let mut text = text.to_owned();
            for op in ops {
                text = match op {
                    Op::Member(path, key, _) => without_member(&text, path, key, members)?,
                    Op::Element(path, key, _) => without_elements(&text, path, key)?,
                };
            }
            without_empty(&text, members)
        }
    }
}

/// A text without a member, if that was new when it was put in.
fn without_member(text: &str, path: &[&str], key: &str, members: &[String]) -> Result<String, Why> {
    let full = path.iter().copied().chain([key]).collect::<Vec<_>>().join("/");
    if !members.contains(&full) {
        return Ok(text.to_owned());
    }
    remove_member(text, &full)
}

fn remove_member(text: &str, path: &str) -> Result<String, Why> {
    let root = jsonc::parse(text).map_err(|error| why(&error))?;
    let names: Vec<&str> = path.split('/').collect();
    let Some((key, above)) = names.split_last() else { return Ok(text.to_owned()) };
    let Some(object) = root.at(above) else { return Ok(text.to_owned()) };
    let Kind::Object(members, _) = &object.kind else { return Ok(text.to_owned()) };
    let number = members.iter().rposition(|own| own.key == *key);
    let left = number.and_then(|number| jsonc::take_out(text, object, number));
    Ok(left.unwrap_or_else(|| text.to_owned()))
}

/// A text without the hooks in an array that are ours.
fn without_elements(text: &str, path: &[&str], key: &str) -> Result<String, Why> {
    let mut text = text.to_owned();
    loop {
        let root = jsonc::parse(&text).map_err(|error| why(&error))?;
        let Some(list) = root.at(path).and_then(|own| own.get(key)) else { return Ok(text) };
        let left = list.items().iter().enumerate().find_map(|(number, group)| {
            if is_own_hook(group) {
                return jsonc::take_out(&text, list, number);
            }
            // Somebody put a hook of theirs beside ours.
            let hooks = group.get("hooks")?;
            let own = hooks.items().iter().position(is_own_hook)?;
            jsonc::take_out(&text, hooks, own)
        });
        match left {
            Some(left) => text = left,
            None => return Ok(text),
        }
    }
}

/// Whether a hook, or every hook of a group, is ours.
fn is_own_hook(node: &Node) -> bool {
    let command = ["command", "bash"].iter().find_map(|key| node.get(key)?.text());
    if let Some(command) = command {
        return is_own_command(command);
    }
    let hooks = node.get("hooks").map(Node::items).unwrap_or_default();
    !hooks.is_empty() && hooks.iter().all(is_own_hook)
}

/// A text without the objects and arrays that were new and are empty again, innermost first.
fn without_empty(text: &str, members: &[String]) -> Result<String, Why> {
    let mut text = text.to_owned();
    let mut paths: Vec<&String> = members.iter().collect();
    paths.sort_by_key(|path| std::cmp::Reverse(path.matches('/').count()));
    for path in paths {
        let root = jsonc::parse(&text).map_err(|error| why(&error))?;
        let node = root.at(&path.split('/').collect::<Vec<_>>());
        let is_empty = node.is_some_and(|node| {
            let inside = &text[node.span.clone()];
            matches!(node.kind, Kind::Object(..) | Kind::Array(..))
                && inside.trim_matches(['{', '}', '[', ']']).trim().is_empty()
        });
        if is_empty {
            text = remove_member(&text, path)?;
        }
    }
    Ok(text)
}

/// Whether nothing of anybody is in a text that was made for what was put in.
pub(super) fn is_blank(text: &str, change: &Change) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim();
    match change {
        Change::Json(ops) => {
            let bare: String = text.split_whitespace().collect();
            let version = |op: &Op| matches!(op, Op::Member(_, "version", _));
            bare.is_empty()
                || bare == "{}"
                || (bare == "{\"version\":1}" && ops.iter().any(version))
        }
        Change::Own { .. } | Change::Block { .. } => text.is_empty(),
    }
}
