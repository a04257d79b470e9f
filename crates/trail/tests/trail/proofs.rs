//! Proofs for others: made from a log, checked with nothing but the key.

use crate::support::{in_memory, runtime_key, sample};
use althing_trail::log::sqlite::SqliteLog;
use althing_trail::proof::{Consistency, Inclusion, ProofError};
use althing_trail::{Log as _, SecretKey, SignedHead};

/// Shows W-TRAIL-27.
#[test]
fn every_entry_can_be_proved_and_no_altered_one() {
    let grower = sample(40);
    let mut log = in_memory(&grower.commits);
    let key = runtime_key().public();
    for seq in 1..=grower.chain.seq() {
        let proof = Inclusion::make(&mut log, seq).unwrap();
        assert_eq!(proof.check(&[key]).unwrap().seq, seq);

        let text = serde_json::to_string(&proof).unwrap();
        let read: Inclusion = serde_json::from_str(&text).unwrap();
        assert!(read.check(&[key]).is_ok(), "a proof survives its file");
        let altered = text.replacen("\"at\":1", "\"at\":2", 1);
        let altered: Inclusion = serde_json::from_str(&altered).unwrap();
        assert!(matches!(altered.check(&[key]), Err(ProofError::EntryHash)));
        let other = SecretKey::from_seed(&[5; 32]).public();
        assert!(matches!(proof.check(&[other]), Err(ProofError::Signature)));
        let mut short = proof.clone();
        short.path.pop();
        assert!(matches!(short.check(&[key]), Err(ProofError::Path)));
    }
    for missing in [0, grower.chain.seq() + 1] {
        assert!(matches!(Inclusion::make(&mut log, missing), Err(ProofError::NoEntry(_))));
    }
}

/// Shows W-TRAIL-09, W-TRAIL-27.
#[test]
fn a_newer_head_is_proved_to_continue_every_older_one() {
    let grower = sample(40);
    let mut log = in_memory(&grower.commits);
    let key = runtime_key().public();
    for commit in &grower.commits {
        let old = SignedHead::parse(&commit.head).unwrap();
        let proof = Consistency::make(&mut log, &old).unwrap();
        proof.check(&[key]).unwrap();
    }
    let mut other = sample(6);
    other.commit(&[(crate::support::agent("x"), crate::support::claim("x"), false)]);
    let foreign = SignedHead::parse(&other.commits.last().unwrap().head).unwrap();
    assert!(matches!(Consistency::make(&mut log, &foreign), Err(ProofError::NotConsistent)));
}

#[test]
fn proofs_from_a_store_use_its_tiles() {
    let grower = sample(900);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trail.db");
    let mut log = SqliteLog::create(&path).unwrap();
    for commit in &grower.commits {
        log.append(commit.first - 1, commit).unwrap();
    }
    let key = runtime_key().public();
    for seq in [1, 2, 255, 256, 257, 512, 1000, grower.chain.seq()] {
        Inclusion::make(&mut log, seq).unwrap().check(&[key]).unwrap();
    }
    let old = SignedHead::parse(&grower.commits[300].head).unwrap();
    Consistency::make(&mut log, &old).unwrap().check(&[key]).unwrap();

    // A damaged tile makes the proof fail here, not where it is checked later.
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute("UPDATE tiles SET root = zeroblob(32) WHERE number = 0", []).unwrap();
    assert!(Inclusion::make(&mut log, 700).is_err());
}
