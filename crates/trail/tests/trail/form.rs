//! The form of entries: golden vectors, canonical bytes, and what a stranger would recompute.

use crate::support::{Grower, sample};
use althing_trail::entry::Entry;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

#[test]
fn every_line_is_the_canonical_form_of_itself() {
    for commit in &sample(60).commits {
        for line in commit.entries() {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line, serde_json_canonicalizer::to_string(&value).unwrap());
        }
    }
}

/// The recipe of `docs/trail.md`, followed with nothing but a JSON library and SHA-256.
#[test]
fn a_stranger_recomputes_both_hashes() {
    let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
    let hash = |prefix: &str, value: &Value| {
        let mut digest = Sha256::new();
        digest.update(prefix.as_bytes());
        digest.update([0]);
        digest.update(serde_json_canonicalizer::to_vec(value).unwrap());
        hex(&digest.finalize())
    };
    let mut last = Value::Null;
    let mut locals = std::collections::BTreeMap::new();
    for line in sample(60).commits.iter().flat_map(|commit| commit.entries()) {
        let entry: Value = serde_json::from_str(line).unwrap();
        let without = |fields: &[&str]| {
            let mut rest = entry.clone();
            for field in fields {
                rest.as_object_mut().unwrap().remove(*field);
            }
            rest
        };
        assert_eq!(entry["prev"], last);
        assert_eq!(entry["hash"], hash("althing/v1/global", &without(&["hash"])));
        last = entry["hash"].clone();
        if let Some(workspace) = entry["workspace"].as_str() {
            let before = locals.get(workspace).cloned().unwrap_or(Value::Null);
            assert_eq!(entry["local_prev"], before);
            let local = without(&["hash", "local_hash", "prev", "seq"]);
            assert_eq!(entry["local_hash"], hash("althing/v1/local", &local));
            locals.insert(workspace.to_owned(), entry["local_hash"].clone());
        } else {
            assert_eq!(entry["local_hash"], Value::Null);
        }
    }
}

/// These lines must never change: trails that exist depend on them. The expected file was
/// checked with an independent implementation when it was made.
#[test]
fn golden_vectors() {
    let mut lines = String::new();
    for commit in &sample(8).commits {
        for line in commit.entries() {
            lines.push_str(line);
            lines.push('\n');
        }
        lines.push_str(&commit.head);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trail/golden.txt");
    if std::env::var_os("ALTHING_BLESS").is_some() {
        std::fs::write(path, &lines).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert!(lines == golden, "the form of the trail changed");
}

#[test]
fn an_entry_survives_reading() {
    let grower = sample(20);
    for line in grower.commits.iter().flat_map(|commit| commit.entries()) {
        let entry = Entry::read(line).unwrap();
        assert!(entry.is_own_hash(line));
    }
}

#[test]
fn what_is_no_entry_is_refused() {
    let line = Grower::new().commits[0].lines.clone();
    let broken = [
        String::new(),
        "{}".to_owned(),
        "[]".to_owned(),
        line[..line.len() - 1].to_owned(),
        line.replace("\"seq\":1", "\"seq\":0"),
        line.replace("\"seq\":1", "\"seq\":9007199254740993"),
        line.replace("\"seq\":1", "\"seq\":1,\"seq\":1"),
        line.replace("\"seq\":1", "\"more\":1,\"seq\":1"),
        line.replace("project.created", "project.invented"),
        line.replace("project.created", "lease.opened"),
        line.replace("\"format\":1", "\"format\":1.0"),
        line.replace("\"stream_seq\"", "\"workspace\":\"w\",\"stream_seq\""),
        "[".repeat(100_000),
    ];
    for text in broken {
        assert!(Entry::read(&text).is_err(), "{}", text.chars().take(200).collect::<String>());
    }
}

/// The hash depends on how JSON is written; Cargo unifies features over the whole tree, so a
/// dependency could switch one on behind our back.
#[test]
fn the_json_library_keeps_its_habits() {
    let value: Value = serde_json::from_str(r#"{"b":1,"a":2}"#).unwrap();
    assert_eq!(value.to_string(), r#"{"a":2,"b":1}"#, "preserve_order is off");
    let number: Value = serde_json::from_str("1e2").unwrap();
    assert_eq!(number.to_string(), "100.0", "arbitrary_precision is off");
    assert_eq!(
        serde_json::to_string("\u{1f}\u{7f}é\u{2028}/").unwrap(),
        "\"\\u001f\u{7f}é\u{2028}/\""
    );
}
