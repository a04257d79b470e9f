//! Entities: kinds of records, by the names and ids that callers use.

use althing_engine::screen::repeated;
use althing_kernel::records::{Kind, RecordId, Status};

/// The kind with that name, in the singular or the plural.
pub fn named(text: &str) -> Result<Kind, String> {
    let word = text.trim().to_ascii_lowercase();
    let is = |own: &Kind| word == own.as_str() || word.strip_suffix('s') == Some(own.as_str());
    Kind::ALL.iter().copied().find(is).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|own| own.as_str()).collect();
        format!("there is no entity {:?}, only {}", repeated(text), names.join(", "))
    })
}

/// An id (`pln_0000002a`) or a short label (`pln#42`) of a kind.
pub fn id(kind: Kind, text: &str) -> Result<RecordId, String> {
    let read: Option<RecordId> = text.trim().parse().ok();
    read.filter(|read| read.kind == kind).ok_or_else(|| {
        let (article, prefix) = (kind.article(), kind.prefix());
        let text = repeated(text);
        format!("{text:?} is no id of {article} {kind}; write {prefix}_0000002a or {prefix}#42")
    })
}

/// A state of a kind, by its name or an alias.
pub fn status(kind: Kind, text: &str) -> Result<Status, String> {
    let word = text.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    kind.table().state(&word).ok_or_else(|| {
        let states: Vec<&str> = kind.table().states.iter().map(|own| own.as_str()).collect();
        let (one, text) = (kind.article(), repeated(text));
        format!("{one} {kind} is never {text:?}, only {}", states.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_labels_name_the_same() {
        let plan = RecordId { kind: Kind::Plan, number: 42 };
        assert_eq!(id(Kind::Plan, "pln_0000002a"), Ok(plan));
        assert_eq!(id(Kind::Plan, " pln#42 "), Ok(plan));
        for bad in ["", "42", "pln42", "pln_2a", "pln_0000002A", "pln#-1", "pln#0", "cst#1"] {
            let error = id(Kind::Plan, bad).unwrap_err();
            assert!(error.contains("pln_0000002a or pln#42"), "{error}");
        }
        for path in ["pln_../../etc/passwd", "pln#../x", "../pln_00000001", "pln_00000001/.."] {
            assert!(id(Kind::Plan, path).is_err(), "{path}");
        }
    }

    #[test]
    fn entities_are_found_by_name() {
        for own in Kind::ALL {
            assert_eq!(named(own.as_str()), Ok(*own));
        }
        assert_eq!(named("Plans"), Ok(Kind::Plan));
        let error = named("nope").unwrap_err();
        assert!(Kind::ALL.iter().all(|own| error.contains(own.as_str())), "{error}");
    }

    #[test]
    fn aliases_of_states_are_understood() {
        for (kind, word, own) in [
            (Kind::Plan, "todo", Status::Open),
            (Kind::Plan, "In Progress", Status::InProgress),
            (Kind::Plan, "dropped", Status::Cancelled),
            (Kind::Claim, "active", Status::Open),
            (Kind::Claim, "stale", Status::Expired),
            (Kind::Candidate, "pending", Status::Proposed),
            (Kind::Decision, "pending", Status::Pending),
        ] {
            assert_eq!(status(kind, word), Ok(own));
        }
        let error = status(Kind::Plan, "finished").unwrap_err();
        assert!(error.contains("open, in_progress, blocked, done, cancelled"), "{error}");
    }
}
