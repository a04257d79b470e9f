//! The form of entries: golden vectors, canonical bytes, and hashes recomputed independently.

use crate::support::{Grower, runtime_key, sample};
use althing_trail::chain::{Builder, Chain};
use althing_trail::{Commit, Entry, export};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Shows W-TRAIL-22.
#[test]
fn every_line_is_the_canonical_form_of_itself() {
    for commit in &sample(60).commits {
        for line in commit.entries() {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line, serde_json_canonicalizer::to_string(&value).unwrap());
        }
    }
}

/// The recipe of `docs/reference/trail-format.md`, followed with nothing but a JSON library and SHA-256.
/// Shows W-TRAIL-07, W-TRAIL-20, W-TRAIL-21, W-TRAIL-26.
#[test]
fn both_hashes_can_be_recomputed_independently() {
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
    for line in sample(60).commits.iter().flat_map(Commit::entries) {
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

/// These lines must never change: trails that exist depend on them. Each entry of the file is
/// read and sealed anew, and every head is signed anew; the result must be the same bytes. The
/// file itself was checked with `examples/verify.py`, which shares no code with this crate.
/// Shows W-TRAIL-22, W-TRAIL-23.
#[test]
fn golden_vectors() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trail/golden.jsonl");
    if std::env::var_os("ALTHING_BLESS").is_some() {
        let mut out = Vec::new();
        for commit in &sample(8).commits {
            export::write(&mut out, commit).unwrap();
        }
        std::fs::write(path, out).unwrap();
    }
    let golden = std::fs::read(path).unwrap();
    let mut chain = Chain::default();
    let mut entries = 0;
    for commit in export::Commits::new(golden.as_slice()) {
        let commit = commit.unwrap();
        let mut builder = Builder::begin(chain);
        for line in commit.entries() {
            let entry = Entry::read(line).unwrap();
            builder.add(&entry.stamped, entry.asked.as_ref()).unwrap();
            assert_eq!(std::str::from_utf8(builder.last_line()).unwrap(), line);
            entries += 1;
        }
        let (sealed, next) = builder.finish(&runtime_key()).unwrap();
        assert_eq!(sealed, commit);
        chain = next;
    }
    assert!(entries >= 15, "{entries}");
}

/// Shows W-TRAIL-01.
#[test]
fn an_entry_survives_reading() {
    let grower = sample(20);
    for line in grower.commits.iter().flat_map(Commit::entries) {
        let entry = Entry::read(line).unwrap();
        assert!(entry.is_own_hash(line));
    }
}

/// Shows W-TRAIL-06.
#[test]
fn lines_that_are_not_entries_are_refused() {
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
fn the_json_library_writes_the_expected_bytes() {
    let value: Value = serde_json::from_str(r#"{"b":1,"a":2}"#).unwrap();
    assert_eq!(value.to_string(), r#"{"a":2,"b":1}"#, "preserve_order is off");
    let number: Value = serde_json::from_str("1e2").unwrap();
    assert_eq!(number.to_string(), "100.0", "arbitrary_precision is off");
    assert_eq!(
        serde_json::to_string("\u{1f}\u{7f}é\u{2028}/").unwrap(),
        "\"\\u001f\u{7f}é\u{2028}/\""
    );
}
