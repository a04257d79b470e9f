//! JSON with comments, read with its places and changed as text.
//!
//! Files of people keep their comments, order, indentation, line breaks and trailing commas: nothing is
//! written anew, members and elements are only put in and taken out.

use serde_json::{Map, Value};
use std::ops::Range;

use super::draft::Draft;
use super::json::{Json, Style, quoted};

/// The deepest nesting that is read.
const DEPTH_MAX: usize = 64;

/// A file that is not JSON, or not of the shape it has to be of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum JsoncError {
    /// The text is no JSON.
    #[error("line {line} is not JSON: {what}")]
    Syntax { line: usize, what: &'static str },
    /// A member is of another type than agents read there.
    #[error("{0:?} is not what agents read there")]
    Shape(String),
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Object(Vec<Member>, Tail),
    Array(Vec<Node>, Tail),
    Text(String),
    Other,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) key: String,
    pub(super) span: Range<usize>,
    pub(super) value: Node,
}

/// The commas of a list: one after each item, if there is one.
type Tail = Vec<Option<usize>>;

impl Node {
    /// A member of an object. Of several with one name the last counts, as for most readers.
    pub(super) fn get(&self, key: &str) -> Option<&Node> {
        let Kind::Object(members, _) = &self.kind else { return None };
        members.iter().rev().find(|own| own.key == key).map(|own| &own.value)
    }

    pub(super) fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::Array(items, _) => items,
            _ => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value at a path of members.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The places of the items of a list, and the commas after them.
    fn list(&self) -> Option<(Vec<Range<usize>>, &Tail)> {
        match &self.kind {
            Kind::Object(members, tail) => {
                Some((members.iter().map(|own| own.span.clone()).collect(), tail))
            }
            Kind::Array(items, tail) => {
                Some((items.iter().map(|own| own.span.clone()).collect(), tail))
            }
            // Any other kind has no members.
            _ => None,
        }
    }
}

/// Reads a text. An empty one is an error: what belongs into it is up to the caller.
pub(super) fn parse(text: &str) -> Result<Node, JsoncError> {
    let mut reader = Reader { text, at: 0 };
    if text.starts_with('\u{feff}') {
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.blank()?;
    let node = reader.value(0)?;
    reader.blank()?;
    if reader.at < text.len() {
        return Err(reader.error("something follows the value"));
    }
    Ok(node)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn error(&self, what: &'static str) -> JsoncError {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        JsoncError::Syntax { line: before.matches('\n').count() + 1, what }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips blanks and comments.
    fn blank(&mut self) -> Result<(), JsoncError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                let end = trimmed.find("*/").ok_or_else(|| self.error("a comment has no end"))?;
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Node, JsoncError> {
        if depth > DEPTH_MAX {
            return Err(self.error("it is nested too deep"));
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Kind::Text(self.string()?),
            _ => self.plain()?,
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Result<Kind, JsoncError> {
        let mut members = Vec::new();
        let tail = self.list(b'}', |reader| {
            let start = reader.at;
            if reader.peek() != Some(b'"') {
                return Err(reader.error("a member has no name in quotes"));
            }
            let key = reader.string()?;
            reader.blank()?;
            if reader.peek() != Some(b':') {
                return Err(reader.error("a name without a colon"));
            }
            reader.at += 1;
            reader.blank()?;
            let value = reader.value(depth + 1)?;
            members.push(Member { key, span: start..reader.at, value });
            Ok(())
        })?;
        Ok(Kind::Object(members, tail))
    }

    fn array(&mut self, depth: usize) -> Result<Kind, JsoncError> {
        let mut items = Vec::new();
        let tail = self.list(b']', |reader| {
            items.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Kind::Array(items, tail))
    }

    fn list(
        &mut self,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), JsoncError>,
    ) -> Result<Tail, JsoncError> {
        let mut tail = Tail::new();
        self.at += 1;
        loop {
            self.blank()?;
            if self.peek() == Some(close) {
                self.at += 1;
                return Ok(tail);
            }
            if tail.last().is_some_and(Option::is_none) {
                return Err(self.error("a comma is missing"));
            }
            item(self)?;
            self.blank()?;
            let comma = (self.peek() == Some(b',')).then_some(self.at);
            self.at += usize::from(comma.is_some());
            tail.push(comma);
        }
    }

    fn string(&mut self) -> Result<String, JsoncError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None | Some(b'\n') => return Err(self.error("a text has no end")),
                Some(b'"') => break,
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
        let literal = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(literal).map_err(|_| self.error("a text is not valid"))
    }

    fn plain(&mut self) -> Result<Kind, JsoncError> {
        let rest = self.rest();
        let is_end = |c: char| c.is_whitespace() || ",]}/".contains(c);
        let word = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        let value = serde_json::from_str::<Value>(word);
        if word.is_empty() || value.is_err() {
            return Err(self.error("a value is expected"));
        }
        self.at += word.len();
        Ok(Kind::Other)
    }
}

/// The value of a text, without its comments and places.
pub(crate) fn value(text: &str) -> Result<Value, String> {
    fn plain(node: &Node, text: &str) -> Value {
        match &node.kind {
            Kind::Object(members, _) => members
                .iter()
                .map(|own| (own.key.clone(), plain(&own.value, text)))
                .collect::<Map<String, Value>>()
                .into(),
            Kind::Array(items, _) => items.iter().map(|own| plain(own, text)).collect(),
            Kind::Text(own) => own.as_str().into(),
            // Only what can be read became a node.
            Kind::Other => text
                .get(node.span.clone())
                .and_then(|own| serde_json::from_str(own).ok())
                .unwrap_or_default(),
        }
    }
    parse(text).map(|node| plain(&node, text)).map_err(|error| error.to_string())
}

/// Puts a member into the object at a path. Objects on the way that are missing are made. Nothing
/// happens if the member is there.
pub(super) fn set(
    draft: &mut Draft,
    path: &[&'static str],
    key: &'static str,
    value: &Json,
) -> Result<(), JsoncError> {
    let root = parse(&draft.text)?;
    match deepest(&root, path)? {
        (node, []) if node.get(key).is_some() => Ok(()),
        (node, missing) => {
            let (first, value) = wrapped(missing, key, value.clone());
            add(draft, node, Some(first), &value)
        }
    }
}

/// Puts an element at the end of the array at a path. What is missing on the way is made.
pub(super) fn push(
    draft: &mut Draft,
    path: &[&'static str],
    key: &'static str,
    value: &Json,
) -> Result<(), JsoncError> {
    let root = parse(&draft.text)?;
    let (node, missing) = deepest(&root, path)?;
    match node.get(key).filter(|_| missing.is_empty()) {
        Some(own) if matches!(own.kind, Kind::Array(..)) => add(draft, own, None, value),
        Some(_) => Err(JsoncError::Shape(key.to_owned())),
        None => {
            let (first, value) = wrapped(missing, key, Json::Array(vec![value.clone()]));
            add(draft, node, Some(first), &value)
        }
    }
}

/// The deepest object that is there on a path, and the members that are missing below it.
fn deepest<'n, 'p>(
    root: &'n Node,
    path: &'p [&'static str],
) -> Result<(&'n Node, &'p [&'static str]), JsoncError> {
    let mut node = root;
    let mut rest = path;
    while let Some((key, more)) = rest.split_first()
        && let Some(next) = node.get(key)
    {
        (node, rest) = (next, more);
    }
    let name = path[..path.len() - rest.len()].last().copied().unwrap_or("the file");
    match node.kind {
        Kind::Object(..) => Ok((node, rest)),
        _ => Err(JsoncError::Shape(name.to_owned())),
    }
}

/// A value inside objects for the missing members, and the name of the outermost.
fn wrapped(missing: &[&'static str], key: &'static str, value: Json) -> (&'static str, Json) {
    let names: Vec<&'static str> = missing.iter().copied().chain([key]).collect();
    let (first, inner) =
        names.split_first().map_or((key, &[] as &[_]), |(first, rest)| (*first, rest));
    let value = inner.iter().rev().fold(value, |value, name| Json::Object(vec![(*name, value)]));
    (first, value)
}

/// Adds an item at the end of a list.
fn add(draft: &mut Draft, list: &Node, key: Option<&str>, value: &Json) -> Result<(), JsoncError> {
    let Some((items, tail)) = list.list() else {
        return Err(JsoncError::Shape(key.unwrap_or("the list").to_owned()));
    };
    let text = draft.text.clone();
    let style = Style::of(&text);
    let name = key.map(|key| format!("{}: ", quoted(key))).unwrap_or_default();
    let inside = &text[list.span.start + 1..list.span.end - 1];
    let after = list.span.start + 1 + inside.trim_end().len();
    let base = indent_at(&text, list.span.start);
    let has_comma = tail.last().is_some_and(Option::is_some);
    if !items.is_empty() && !inside.contains('\n') {
        // A list on one line stays on one line.
        let item = format!("{name}{}", value.compact());
        let item = if has_comma { format!(" {item},") } else { format!(", {item}") };
        draft.insert(after, &item);
        return Ok(());
    }
    let indent = match items.first() {
        Some(first) if starts_line(&text, first.start) => indent_at(&text, first.start),
        _ => format!("{base}{}", style.unit),
    };
    let mut item = format!("{}{indent}{name}{}", style.line, value.pretty(&style, &indent));
    if has_comma {
        item.push(',');
    }
    if !text[after..list.span.end - 1].contains('\n') {
        item.push_str(style.line);
        item.push_str(&base);
    }
    draft.insert(after, &item);
    if let Some(last) = items.last().filter(|_| !has_comma) {
        // Before the new item, so the place is still right.
        draft.insert(last.end, ",");
    }
    Ok(())
}

/// The blanks at the beginning of the line of a place.
fn indent_at(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..at].chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// Whether only blanks come before a place in its line.
fn starts_line(text: &str, at: usize) -> bool {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[line..at].trim().is_empty() && line > 0
}

/// Takes an item out of a list: the item, its comma, and the line if nothing else is on it.
pub(super) fn take_out(text: &str, list: &Node, number: usize) -> Option<String> {
    let (items, tail) = list.list()?;
    let item = items.get(number)?;
    let comma = tail.get(number).copied().flatten();
    let before = number.checked_sub(1).and_then(|number| tail.get(number).copied().flatten());
    let end = comma.map_or(item.end, |comma| comma + 1);
    let start = if starts_line(text, item.start) {
        let line = text[..item.start].rfind('\n').unwrap_or(item.start);
        if text[..line].ends_with('\r') { line - 1 } else { line }
    } else {
        item.start
            - (text[..item.start].len() - text[..item.start].trim_end_matches([' ', '\t']).len())
    };
    // Without a comma of its own it was the last: the one before it must not stay.
    let before = before.filter(|_| comma.is_none()).map(|before| before..before + 1);
    let start = before.as_ref().map_or(start, |comma| start.max(comma.end));
    let parts: Vec<Range<usize>> = before.into_iter().chain(std::iter::once(start..end)).collect();
    super::draft::without(text, &parts)
}

#[cfg(test)]
mod tests;
