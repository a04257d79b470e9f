//! Parsing of surfaces: validation, normalization and expansion of alternatives.

use std::borrow::Cow;

use crate::surfaces::glob::{CharSet, SegmentGlob, Token, common_name};
use crate::surfaces::pattern::{Pattern, Segment, Symbol};

/// The longest surface, in bytes.
pub const SURFACE_BYTES_MAX: usize = 1024;

/// The longest path segment, in bytes: the limit of file systems.
pub const SEGMENT_BYTES_MAX: usize = 255;

/// The most segments a surface may have.
pub const SEGMENTS_MAX: usize = 128;

/// The most alternatives the braces of one surface may expand to.
pub const ALTERNATIVES_MAX: usize = 32;

/// The longest symbol, in bytes.
pub const SYMBOL_BYTES_MAX: usize = 256;

/// The reason why a text is not a surface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SurfaceError {
    /// The text is empty.
    #[error("a surface is empty; use `.` for the whole project")]
    Empty,
    /// The text exceeds a limit.
    #[error("a surface has {len} {what}, over the limit of {max}")]
    OverLimit {
        /// The quantity that is limited, in words.
        what: &'static str,
        /// The quantity found.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// A control character.
    #[error("the surface {0:?} holds the control character U+{1:04X}")]
    Control(String, u32),
    /// An absolute path, which points outside the project.
    #[error("the surface {0:?} is absolute; surfaces are relative to the project root")]
    Absolute(String),
    /// A `..` segment.
    #[error("the surface {0:?} contains `..`; surfaces stay inside the project")]
    Parent(String),
    /// A malformed glob.
    #[error("the surface {0:?} is not a valid glob: {1}")]
    Glob(String, &'static str),
    /// A malformed symbol.
    #[error("the surface {0:?} has no valid symbol after `#`: {1}")]
    Symbol(String, &'static str),
}

/// A parsed surface: its normal text and the patterns it expands to.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(super) text: String,
    pub(super) patterns: Vec<Pattern>,
}

/// Parses a surface. Its normal text must parse as the same surface: entries hold that text, and an
/// entry that cannot be read again would make the whole trail unreadable.
pub(crate) fn parse(input: &str) -> Result<Parsed, SurfaceError> {
    let parsed = parse_once(input)?;
    if parsed.text != input && parse_once(&parsed.text)?.text != parsed.text {
        return Err(SurfaceError::Glob(shown(input), "it has no normal form"));
    }
    Ok(parsed)
}

fn parse_once(input: &str) -> Result<Parsed, SurfaceError> {
    check_characters(input)?;
    let text = if input.contains('\\') {
        Cow::Owned(input.replace('\\', "/"))
    } else {
        Cow::Borrowed(input)
    };
    check_relative(&text, input)?;
    if !text.contains(['*', '?', '[', '{', '}', '#']) {
        return parse_plain(&text, input);
    }
    let (path, symbol) = split_symbol(&text)?;
    let symbol = symbol.map(|symbol| parse_symbol(symbol, input)).transpose()?;

    let alternatives = expand_braces(path, input)?;
    // Braces make a surface a glob even where each alternative is a plain path.
    let has_braces = alternatives.len() > 1 || alternatives.first().is_some_and(|a| a != path);
    let mut patterns = Vec::with_capacity(alternatives.len());
    let mut normal_path = without_detours(path);
    for alternative in &alternatives {
        check_relative(alternative, input)?;
        let (segments, normal) = parse_segments(alternative, input)?;
        if segments.is_empty() && has_braces {
            return Err(SurfaceError::Glob(shown(input), "an alternative names no path"));
        }
        if segments.is_empty() && symbol.is_some() {
            return Err(SurfaceError::Symbol(shown(input), "it names no file before the `#`"));
        }
        let wild = segments.iter().any(|segment| !matches!(segment, Segment::Literal(_)));
        let below = !wild && !has_braces && symbol.is_none();
        patterns.push(Pattern { segments, below, symbol: symbol.clone() });
        if !has_braces {
            normal_path = normal;
        }
    }
    let text = match &symbol {
        Some(symbol) => format!("{normal_path}#{}", symbol.text()),
        None => normal_path,
    };
    Ok(Parsed { text, patterns })
}

/// Removes `//` and `/./` from a path with braces. Text within the braces stays as it is.
fn without_detours(path: &str) -> String {
    let mut text = path.to_owned();
    for (detour, straight) in [("/./", "/"), ("//", "/")] {
        while text.contains(detour) {
            text = text.replace(detour, straight);
        }
    }
    let text = text.trim_start_matches("./").trim_end_matches('/');
    text.strip_suffix("/.").unwrap_or(text).to_owned()
}

/// Parses a path without special characters, which most surfaces are.
fn parse_plain(path: &str, input: &str) -> Result<Parsed, SurfaceError> {
    let (segments, text) = parse_segments(path, input)?;
    Ok(Parsed { text, patterns: vec![Pattern { segments, below: true, symbol: None }] })
}

/// Escapes the special characters of a path, so that it matches only itself.
pub(crate) fn escape(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for c in path.chars() {
        if matches!(c, '*' | '?' | '[' | '{' | '}' | '#') {
            escaped.extend(['[', c, ']']);
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn shown(input: &str) -> String {
    input.chars().take(120).collect()
}

fn check_characters(input: &str) -> Result<(), SurfaceError> {
    if input.is_empty() {
        return Err(SurfaceError::Empty);
    }
    within("bytes", input.len(), SURFACE_BYTES_MAX)?;
    match input.chars().find(|c| c.is_control()) {
        Some(control) => Err(SurfaceError::Control(shown(input), u32::from(control))),
        None => Ok(()),
    }
}

fn within(what: &'static str, len: usize, max: usize) -> Result<(), SurfaceError> {
    if len <= max { Ok(()) } else { Err(SurfaceError::OverLimit { what, len, max }) }
}

fn check_relative(text: &str, input: &str) -> Result<(), SurfaceError> {
    let bytes = text.as_bytes();
    let drive = bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    if text.starts_with('/') || drive {
        return Err(SurfaceError::Absolute(shown(input)));
    }
    Ok(())
}

/// Cuts the text at the first `#` that is not inside a character class.
fn split_symbol(text: &str) -> Result<(&str, Option<&str>), SurfaceError> {
    for (index, c) in outside_classes(text)? {
        if c == '#' {
            return Ok((&text[..index], Some(&text[index + 1..])));
        }
    }
    Ok((text, None))
}

/// The characters that are not inside `[…]`, each with its byte offset.
fn outside_classes(text: &str) -> Result<Vec<(usize, char)>, SurfaceError> {
    let mut found = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        if c == '[' {
            let class = class_body(&text[at..])
                .ok_or_else(|| SurfaceError::Glob(shown(text), "`[` is never closed"))?;
            at += class.len() + 2;
        } else {
            found.push((at, c));
            at += c.len_utf8();
        }
    }
    Ok(found)
}

/// The text between the brackets of the class that `text` begins with. A `]` directly after the
/// opening bracket (or its negation) is a member, not the end.
fn class_body(text: &str) -> Option<&str> {
    let body = text.strip_prefix('[')?;
    let negation = usize::from(body.starts_with(['!', '^']));
    let first = body[negation..].chars().next()?;
    let search_from = negation + first.len_utf8();
    let end = search_from + body[search_from..].find(']')?;
    Some(&body[..end])
}

fn parse_symbol(text: &str, input: &str) -> Result<Symbol, SurfaceError> {
    within("bytes in its symbol", text.len(), SYMBOL_BYTES_MAX)?;
    Symbol::new(text).ok_or_else(|| {
        SurfaceError::Symbol(shown(input), "write names separated by `::`, `.` or `#`")
    })
}

/// Expands `{a,b}` (also nested) into the alternatives it stands for.
fn expand_braces(path: &str, input: &str) -> Result<Vec<String>, SurfaceError> {
    let outside = outside_classes(path)?;
    let Some(&(open, _)) = outside.iter().find(|(_, c)| matches!(c, '{' | '}')) else {
        return Ok(vec![path.to_owned()]);
    };
    let unbalanced = || SurfaceError::Glob(shown(input), "`{` and `}` do not pair up");
    if path.as_bytes()[open] == b'}' {
        return Err(unbalanced());
    }
    let mut depth = 0usize;
    let mut cuts = vec![open];
    let mut close = None;
    for &(at, c) in outside.iter().filter(|&&(at, _)| at >= open) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => cuts.push(at),
            _ => {}
        }
        if depth == 0 {
            close = Some(at);
            break;
        }
    }
    let close = close.ok_or_else(unbalanced)?;
    cuts.push(close);

    let mut expanded = Vec::new();
    for cut in cuts.windows(2) {
        let choice = &path[cut[0] + 1..cut[1]];
        let joined = format!("{}{choice}{}", &path[..open], &path[close + 1..]);
        expanded.extend(expand_braces(&joined, input)?);
        within("alternatives", expanded.len(), ALTERNATIVES_MAX)?;
    }
    Ok(expanded)
}

/// Parses a path without braces into segments; also returns its normal text.
fn parse_segments(path: &str, input: &str) -> Result<(Vec<Segment>, String), SurfaceError> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut normal = String::with_capacity(path.len());
    for text in path.split('/') {
        if text.is_empty() || text == "." {
            continue;
        }
        if text == ".." {
            return Err(SurfaceError::Parent(shown(input)));
        }
        within("bytes in one segment", text.len(), SEGMENT_BYTES_MAX)?;
        let segment = parse_segment(text, input)?;
        if segment == Segment::Deep && segments.last() == Some(&Segment::Deep) {
            continue;
        }
        if !segments.is_empty() {
            normal.push('/');
        }
        normal.push_str(text);
        segments.push(segment);
    }
    within("segments", segments.len(), SEGMENTS_MAX)?;
    if segments.is_empty() {
        normal.push('.');
    }
    // Check again: `./C:` becomes the absolute `C:` once normalized.
    check_relative(&normal, input)?;
    Ok((segments, normal))
}

fn parse_segment(text: &str, input: &str) -> Result<Segment, SurfaceError> {
    if text == "**" {
        return Ok(Segment::Deep);
    }
    if !text.contains(['*', '?', '[']) {
        return Ok(Segment::Literal(text.into()));
    }
    let invalid = |why| Err(SurfaceError::Glob(shown(input), why));
    if text.contains("**") {
        return invalid("`**` must stand alone between slashes");
    }
    let mut tokens = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut used = c.len_utf8();
        tokens.push(match c {
            '*' => Token::Star,
            '?' => Token::One(CharSet::any()),
            '[' => {
                let Some(body) = class_body(rest) else {
                    return invalid("`[` is never closed");
                };
                used = body.len() + 2;
                match parse_class(body) {
                    Ok(set) => set.single().map_or(Token::One(set), Token::Char),
                    Err(why) => return invalid(why),
                }
            }
            _ => Token::Char(c),
        });
        rest = &rest[used..];
    }
    if common_name(&tokens, &[Token::Star]).is_none() {
        return invalid("a segment of it matches no name");
    }
    let literal: Option<String> = tokens
        .iter()
        .map(|token| if let Token::Char(c) = token { Some(*c) } else { None })
        .collect();
    Ok(match literal {
        Some(name) => Segment::Literal(name.into()),
        None => Segment::Glob(SegmentGlob { text: text.into(), tokens }.into()),
    })
}

fn parse_class(body: &str) -> Result<CharSet, &'static str> {
    let negated = body.starts_with(['!', '^']);
    let members: Vec<char> = body.chars().skip(usize::from(negated)).collect();
    if members.contains(&'/') {
        return Err("a class cannot contain a separator");
    }
    let mut ranges = Vec::new();
    let mut rest = members.as_slice();
    while let Some((&low, tail)) = rest.split_first() {
        if let ['-', high, tail @ ..] = tail {
            if low > *high {
                return Err("a range in a class runs backwards");
            }
            ranges.push((low, *high));
            rest = tail;
        } else {
            ranges.push((low, low));
            rest = tail;
        }
    }
    let set = if negated { CharSet::except(&ranges) } else { CharSet::of(&ranges) };
    if set.is_empty() { Err("a class matches no character") } else { Ok(set) }
}
