//! Ids as people type and read them: any unique ending or beginning will do.
//!
//! An id carries the time first and chance last, so endings differ soonest and are what is shown.

use althing_dialects::memory::words::labelled;

use crate::error::Error;

/// The fewest characters that name anything.
const CHARS_MIN: usize = 4;
/// The fewest characters of an id that are shown.
const SHOWN_MIN: usize = 6;
/// The prefixes of ids, by the kind of thing they name.
const KINDS: [&str; 11] =
    ["lease", "ws", "env", "right", "sig", "cp", "art", "graph", "task", "conflict", "gate"];
/// How many letters and digits follow.
const NUMBER_CHARS: usize = 26;
/// How much of a content's name is shown: the algorithm and 12 digits.
const BLOB_CHARS: usize = "sha256:".len() + 12;
/// How many ids are named where several fit.
const CANDIDATES_MAX: usize = 8;

/// All ids of one kind that can be meant.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    ids: Vec<String>,
    shown: usize,
}

impl Naming {
    /// Takes the ids there are.
    pub(crate) fn of<T: ToString>(ids: impl IntoIterator<Item = T>) -> Self {
        let mut ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
        ids.sort();
        ids.dedup();
        let longest = ids.iter().map(String::len).max().unwrap_or(0);
        let differ = |shown: &usize| {
            let mut endings: Vec<&str> = ids.iter().map(|id| ending(id, *shown)).collect();
            endings.sort_unstable();
            endings.windows(2).all(|pair| pair[0] != pair[1])
        };
        let shown = (SHOWN_MIN..longest).find(differ).unwrap_or(longest);
        Naming { ids, shown }
    }

    /// The one id that is meant, or none if none fits.
    pub(crate) fn find(&self, text: &str) -> Result<Option<&str>, Error> {
        if let Some(exact) = self.ids.iter().find(|id| *id == text) {
            return Ok(Some(exact));
        }
        if text.chars().count() < CHARS_MIN {
            return Ok(None);
        }
        let fitting = |fits: &dyn Fn(&str) -> bool| -> Vec<&str> {
            self.ids.iter().map(String::as_str).filter(|id| fits(id)).collect()
        };
        let ending = fitting(&|id| id.ends_with(text));
        if let [one] = ending.as_slice() {
            return Ok(Some(one));
        }
        let found = if ending.is_empty() { fitting(&|id| id.starts_with(text)) } else { ending };
        match found.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            several => Err(ambiguous(text, several)),
        }
    }

    /// The short form of an id: an ending that no other has, or all of it.
    pub(crate) fn short<T: ToString>(&self, id: &T) -> String {
        let id = id.to_string();
        // A task that was planned as a record has the record's label for its short form, and a step
        // of it that of its plan.
        let label = match id.split_once("-stp_") {
            Some((plan, step)) => format!("{}-stp_{step}", labelled(plan)),
            None => labelled(&id),
        };
        if label != id || self.ids.binary_search(&id).is_err() {
            return label;
        }
        ending(&id, self.shown).to_owned()
    }
}

/// The short form of one id, where the others of its kind are not at hand.
pub(crate) fn short<T: ToString>(id: &T) -> String {
    short_ids(&id.to_string())
}

/// The short form of an id without a prefix, such as that of an entry or a project.
pub(crate) fn short_number(id: &str) -> &str {
    ending(id, SHOWN_MIN)
}

/// The short form of a content's name, which `blob get` takes in its place.
pub(crate) fn short_blob<T: ToString>(name: &T) -> String {
    let name = name.to_string();
    name.get(..BLOB_CHARS).unwrap_or(&name).to_owned()
}

/// Shortens every id in a text to its ending, and every id of a record to its label. Commands take
/// both in place of the whole id. Different ids in one text keep different endings.
pub(crate) fn short_ids(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let naming = Naming::of(text.split(|c| !is_part(c)).filter(|word| is_id(word)));
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (between, from) = rest.split_at(start);
        let (word, after) = from.split_at(from.find(|c| !is_part(c)).unwrap_or(from.len()));
        shown.push_str(between);
        shown.push_str(if is_id(word) { ending(word, naming.shown) } else { word });
        rest = after;
    }
    shown.push_str(rest);
    labelled(&shown)
}

/// Whether a word is an id as the runtime makes them: a kind, and 26 letters and digits.
fn is_id(word: &str) -> bool {
    let parts = word.split_once('_');
    parts.is_some_and(|(kind, number)| {
        KINDS.contains(&kind)
            && number.len() == NUMBER_CHARS
            && number.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
    })
}

/// The last characters of an id; ids are ASCII.
fn ending(id: &str, chars: usize) -> &str {
    id.get(id.len().saturating_sub(chars)..).unwrap_or(id)
}

/// Too little of an id was given.
pub(crate) fn ambiguous(text: &str, several: &[&str]) -> Error {
    let named: Vec<&str> = several.iter().take(CANDIDATES_MAX).copied().collect();
    let more = match several.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("{text:?} could be any of {}{more}", named.join(", "));
    Error::usage(message).hint("Give one of these, or more of the id you mean.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming() -> Naming {
        Naming::of(["ws_01abcd1234567", "ws_01abce1234567", "ws_02xyzw7654321"])
    }

    #[test]
    fn a_unique_part_names_an_id() {
        let naming = naming();
        for (text, id) in [
            ("ws_01abcd1234567", Some("ws_01abcd1234567")),
            ("4321", Some("ws_02xyzw7654321")),
            ("ws_02", Some("ws_02xyzw7654321")),
            ("cd1234567", Some("ws_01abcd1234567")),
            ("321", None),
            ("zzzz", None),
            ("", None),
        ] {
            assert_eq!(naming.find(text).unwrap(), id, "{text}");
        }
    }

    #[test]
    fn a_part_that_fits_several_is_refused_with_all_of_them() {
        for text in ["1234567", "ws_01"] {
            let failure = naming().find(text).unwrap_err();
            let message = failure.message();
            assert!(message.contains("ws_01abcd1234567"), "{message}");
            assert!(message.contains("ws_01abce1234567"), "{message}");
            assert!(!message.contains("ws_02"), "{message}");
        }
    }

    #[test]
    fn ids_in_texts_are_shortened_and_nothing_else() {
        let id = format!("ws_{}", "0123456789abcdefghjkmnpqrs");
        for (text, shown) in [
            (format!("worker {id} for bob"), "worker mnpqrs for bob"),
            (format!("({id}, é)"), "(mnpqrs, é)"),
            ("ws_short lease_ task_0123".to_owned(), "ws_short lease_ task_0123"),
            ("lop_00000001 has no slot 1".to_owned(), "lop#1 has no slot 1"),
            (format!("{id} or {}", id.replace("jk", "kk")), "jkmnpqrs or kkmnpqrs"),
            (String::new(), ""),
        ] {
            assert_eq!(short_ids(&text), shown);
        }
    }

    #[test]
    fn short_ids_can_be_typed_back() {
        let naming = naming();
        for id in &naming.ids {
            let short = naming.short(id);
            assert_eq!(naming.find(&short).unwrap(), Some(id.as_str()), "{short}");
            assert!(short.len() < id.len());
        }
        assert_eq!(naming.short(&"ws_unknown"), "ws_unknown");
    }
}
