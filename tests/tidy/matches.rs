//! Finds matches over the closed sets of the protocol that take whatever is left.
//!
//! The code is written as rustfmt leaves it: the arms of a match stand four columns to the right of
//! the line that opens it.

use std::collections::{BTreeMap, BTreeSet};

/// The comment above an arm that takes whatever is left on purpose, and says why.
const ON_PURPOSE: &str = "// Any other ";

/// Closed sets by their own names; those of the parts of the kernel end with these words too.
const SETS: [&str; 6] = ["Command", "Event", "Query", "Kind", "Rule", "Deadline"];

/// Names that end like a closed set of the protocol and are none.
const FOREIGN: [&str; 5] = ["ErrorKind", "IdKind", "LogErrorKind", "OutsideKind", "RefusalKind"];

fn is_closed_set(name: &str) -> bool {
    let own = SETS.iter().any(|set| name.ends_with(set)) || name.ends_with("Room");
    own && !FOREIGN.contains(&name)
}

/// An arm of a match: its line, counted from one, and its pattern without a guard.
struct Arm {
    line: usize,
    pattern: String,
    has_guard: bool,
    is_on_purpose: bool,
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The names that a file gives to others: `use CommandRoom as Room`.
fn aliases(text: &str) -> BTreeMap<String, String> {
    let words: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_')))
        .filter(|word| !word.is_empty())
        .collect();
    let renamed = words.windows(3).filter(|three| three[1] == "as");
    renamed.map(|three| (three[2].to_owned(), three[0].to_owned())).collect()
}

/// The variants of closed sets that a pattern names, as set and variant.
fn variants(pattern: &str, aliases: &BTreeMap<String, String>) -> BTreeSet<(String, String)> {
    let word = |text: &str, from_end: bool| -> String {
        let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
        if from_end {
            let taken: Vec<char> = text.chars().rev().take_while(is_part).collect();
            taken.into_iter().rev().collect()
        } else {
            text.chars().take_while(is_part).collect()
        }
    };
    let pair = |(at, _): (usize, &str)| {
        let set = word(&pattern[..at], true);
        let set = aliases.get(&set).cloned().unwrap_or(set);
        let variant = word(&pattern[at + 2..], false);
        let named = variant.chars().next().is_some_and(char::is_uppercase);
        (named && is_closed_set(&set)).then_some((set, variant))
    };
    pattern.match_indices("::").filter_map(pair).collect()
}

/// Whether a part of a pattern takes any value: `_`, `..`, a name, or one of those inside `Some` or
/// `Ok`.
fn takes_any(part: &str) -> bool {
    let part = part.trim_start_matches('&').trim();
    let inside = ["Some(", "Ok("].iter().find_map(|open| part.strip_prefix(open));
    let part = inside.and_then(|inside| inside.strip_suffix(')')).unwrap_or(part);
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !part.is_empty() && part.chars().all(is_name)
}

/// Whether a pattern, or a part of a tuple, takes whatever the other arms left.
fn is_catch_all(pattern: &str) -> bool {
    let tuple = pattern.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    match tuple {
        Some(parts) => split(parts).iter().any(|part| takes_any(part)),
        None => takes_any(pattern),
    }
}

/// The parts of a tuple.
fn split(parts: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0_usize, 0, Vec::new());
    for (at, c) in parts.char_indices() {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(parts[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(parts[start..].trim());
    found
}

/// The arms of the match that a line opens.
fn arms(lines: &[&str], open: usize) -> Vec<Arm> {
    let outer = indent(lines[open]);
    let mut found = Vec::new();
    let mut pattern: Option<(usize, String)> = None;
    for (at, line) in lines.iter().enumerate().skip(open + 1) {
        let is_blank = line.trim().is_empty();
        if !is_blank && indent(line) <= outer {
            break;
        }
        let text = line.split("//").next().unwrap_or_default();
        let begins = indent(line) == outer + 4 && !text.trim().is_empty();
        if pattern.is_none() && begins && !text.trim_start().starts_with(['}', ')', ']']) {
            pattern = Some((at, String::new()));
        }
        let Some((start, so_far)) = &mut pattern else { continue };
        so_far.push_str(text.trim());
        so_far.push(' ');
        if let Some((whole, _)) = so_far.split_once("=>") {
            let line = *start;
            let (pattern_text, has_guard) = match whole.split_once(" if ") {
                Some((pattern, _)) => (pattern, true),
                None => (whole, false),
            };
            let above = lines[..line].iter().rev().take_while(|l| l.trim().starts_with("//"));
            found.push(Arm {
                line: line + 1,
                pattern: pattern_text.trim().to_owned(),
                has_guard,
                is_on_purpose: above.last().is_some_and(|l| l.trim().starts_with(ON_PURPOSE)),
            });
            pattern = None;
        }
    }
    found
}

/// The lines of arms that take whatever is left of a closed set, without a comment that says why.
/// Picking a single variant is no dispatch: `match` is then a longer `if let`.
pub(super) fn catch_alls(text: &str) -> Vec<usize> {
    let aliases = aliases(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (open, line) in lines.iter().enumerate() {
        let code = line.split("//").next().unwrap_or_default().trim_end();
        let mut words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '!'));
        let is_match = code.ends_with('{') && words.any(|word| word == "match");
        if !is_match {
            continue;
        }
        let arms = arms(&lines, open);
        let named: Vec<BTreeSet<(String, String)>> =
            arms.iter().map(|arm| variants(&arm.pattern, &aliases)).collect();
        let mut by_set: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (set, variant) in named.iter().flatten() {
            by_set.entry(set).or_default().insert(variant);
        }
        for (arm, own) in arms.iter().zip(&named) {
            let is_left = |set: &str| !own.iter().any(|(of, _)| of == set);
            let dispatched = by_set.iter().any(|(set, all)| all.len() > 1 && is_left(set));
            let rest = dispatched && !arm.has_guard && is_catch_all(&arm.pattern);
            if (rest || takes_rest_of_room(arm, &arms)) && !arm.is_on_purpose {
                found.push(arm.line);
            }
        }
    }
    found
}

/// Whether an arm takes a part of the kernel as a whole, `Room::Lease(_)`, after another arm took one
/// of its variants.
fn takes_rest_of_room(arm: &Arm, arms: &[Arm]) -> bool {
    arm.pattern.split('|').any(|part| {
        let Some(room) = part.trim().strip_suffix("(_)") else { return false };
        let is_room = room.split("::").next().is_some_and(|set| set.ends_with("Room"));
        let inside = format!("{room}(");
        let is_split = |other: &Arm| {
            let rest = other.pattern.split(inside.as_str()).nth(1);
            rest.is_some_and(|rest| rest.starts_with(char::is_uppercase))
        };
        is_room && arms.iter().any(is_split)
    })
}

#[test]
fn an_arm_that_takes_the_rest_of_a_closed_set_is_seen() {
    let text = "use Query as Q;
fn f() {
    match query {
        Query::A(_) => 1,
        Q::B(of) => {
            let x = 2;
        }
        _ => other(query),
    }
    match (a, b) {
        (Principal::System, Command::A | Command::B(_)) => 1,
        (Principal::System, _) => 2,
    }
    let x = events.find(|event| match event.room() {
        EventRoom::Lease(LeaseEvent::Opened(_)) => true,
        EventRoom::Lease(_) | EventRoom::User(_) => false,
    });
}
";
    assert_eq!(catch_alls(text), [8, 12, 16]);
}

#[test]
fn an_arm_that_takes_the_rest_on_purpose_or_picks_one_variant_is_left() {
    let text = "fn f() {
    match event {
        Event::A(_) => 1,
        Event::B(_) => 2,
        // Any other event is not about this:
        // it is about that.
        _ => 3,
    }
    match event {
        Event::A(_) => 1,
        _ => 3,
    }
    match rule {
        Some(Rule::A) => 1,
        Some(Rule::B) => 2,
        None => 3,
    }
    match io.kind() {
        ErrorKind::A => 1,
        ErrorKind::B => 2,
        _ => 3,
    }
}
";
    assert_eq!(catch_alls(text), Vec::<usize>::new());
}
