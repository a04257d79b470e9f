//! Numbers, durations, ids and names inside sentences.

use althing_kernel::Timestamp;
use althing_kernel::records::RecordId;

use crate::frugal::haid::Haid;

/// The units of time, largest first, with their seconds.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];
/// Prefix of kernel names of agents with a HAID.
const HAID: &str = "haid:";

/// A count with its noun, in the singular or plural.
pub fn counted(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// A duration in its two largest units.
pub fn lasting(secs: u64) -> String {
    let mut left = secs;
    let mut parts = Vec::new();
    for (name, unit) in UNITS {
        if left >= unit {
            parts.push(format!("{}{name}", left / unit));
            left %= unit;
        }
    }
    parts.truncate(2);
    if parts.is_empty() { "0s".to_owned() } else { parts.concat() }
}

/// The distance of a moment from now.
pub fn from_now(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        format!("in {}", lasting(at.since(now).secs()))
    } else {
        format!("{} ago", lasting(now.since(at).secs()))
    }
}

/// The first record that a sentence names by id or label.
pub fn first_id(text: &str) -> Option<RecordId> {
    text.split(|c| !is_part(c)).find_map(|part| part.parse().ok())
}

/// Replaces ids in a sentence by labels. If a sentence has both, one is removed.
pub fn labelled(text: &str) -> String {
    let (mut written, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(is_part) {
        let (before, named) = rest.split_at(at);
        let (part, after) = named.split_at(named.find(|c| !is_part(c)).unwrap_or(named.len()));
        written.push_str(before);
        rest = after;
        // A file may be named like a record.
        let is_path = before.ends_with(['/', '.', '-']) || after.starts_with(['/', '-']);
        match part.parse::<RecordId>() {
            Ok(id) if !is_path => {
                let label = id.label();
                rest = after.strip_prefix(&format!(" ({label})")).unwrap_or(after);
                // An example of both spellings is reduced to the label.
                let other = after.strip_prefix(&format!(" or {label}"));
                let other = other.or_else(|| after.strip_prefix(&format!("` or `{label}")));
                rest = other.filter(|other| !other.starts_with(is_part)).unwrap_or(rest);
                written.push_str(&label);
            }
            _ => written.push_str(part),
        }
    }
    written.push_str(rest);
    written
}

/// Whether a character could belong to an id.
fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '#')
}

/// Replaces agent names in a sentence by their HAIDs.
pub fn with_haids(text: &str) -> String {
    let (mut written, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(HAID) {
        let (before, named) = rest.split_at(at);
        written.push_str(before);
        let is_own = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || ":.+/-".contains(c);
        let end = named.find(|c: char| !is_own(c)).unwrap_or(named.len());
        let name = named[..end].trim_end_matches(['.', ':', '-']);
        match Haid::of_agent(name) {
            Some(haid) => written.push_str(&haid.to_string()),
            None => written.push_str(name),
        }
        rest = &named[name.len()..];
    }
    written.push_str(rest);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_durations_are_formatted() {
        assert_eq!((counted(1, "file"), counted(0, "file")), ("1 file".into(), "0 files".into()));
        let (now, later) = (Timestamp::from_secs(100), Timestamp::from_secs(100 + 14_399));
        assert_eq!(from_now(later, now), "in 3h59m");
        assert_eq!(from_now(now, later), "3h59m ago");
        assert_eq!(from_now(now, now), "0s ago");
    }

    #[test]
    fn records_are_named_by_labels() {
        for (text, written) in [
            ("there is no plan pln_0000002a (pln#42)", "there is no plan pln#42"),
            (
                "asgn_0000000c: gone; see review-loop:lop_00000001.",
                "asgn#12: gone; see review-loop:lop#1.",
            ),
            ("cd /w/asgn_00000001 && x pln_00000002", "cd /w/asgn_00000001 && x pln#2"),
            ("pln_2a ägir pln#7 – \"pln_00000007\"", "pln_2a ägir pln#7 – \"pln#7\""),
            ("write pln_0000002a or pln#42", "write pln#42"),
            ("such as `pln_0000002a` or `pln#42`", "such as `pln#42`"),
            ("pln_00000004 or pln#42, pln_00000004 or pln#41", "pln#4 or pln#42, pln#4 or pln#41"),
            ("", ""),
        ] {
            assert_eq!(labelled(text), written);
        }
        assert_eq!(first_id("no plan pln#3 here").map(|id| id.number), Some(3));
        assert_eq!(first_id("nothing here"), None);
    }

    #[test]
    fn agents_are_named_by_haids() {
        for (text, written) in [
            ("haid:ada.lab-00ff+bob is revoked.", "haid:ada.lab-00ff/bob is revoked."),
            ("for haid:ada.lab-00ff+bob.", "for haid:ada.lab-00ff/bob."),
            ("haid:ada.lab-00ff/bob, haid:x+y", "haid:ada.lab-00ff/bob, haid:x+y"),
            ("haid: haid:", "haid: haid:"),
        ] {
            assert_eq!(with_haids(text), written);
        }
    }
}
