//! Tampering: any change of a stored trail is detected and located.

use crate::support::{agent, claim, runtime_key, sample, verify};
use althing_trail::verify::{Fault, Options, Verifier};
use althing_trail::{Commit, SecretKey, SignedHead};

fn options(every_signature: bool) -> Options {
    Options { every_signature, ..Options::default() }
}

fn noticed(commits: &[Commit]) -> bool {
    verify(commits, options(false)).is_err()
}

#[test]
fn an_untouched_trail_passes_and_says_what_was_checked() {
    let grower = sample(30);
    let checked = verify(&grower.commits, options(true)).unwrap();
    assert_eq!(checked.commits, 31);
    assert_eq!(checked.head_signatures, 31);
    assert_eq!(checked.entries, grower.chain.seq());
    assert!(checked.caller_signatures > 10);
    assert_eq!(checked.keys, [runtime_key().public()]);
    let quick = verify(&grower.commits, options(false)).unwrap();
    assert_eq!((quick.head_signatures, quick.entries), (1, checked.entries));
}

/// Shows W-TRAIL-24.
#[test]
fn every_flipped_byte_is_noticed() {
    let commits = sample(6).commits;
    let mut flips = 0;
    let mut before = Verifier::new(options(false));
    for at in 0..commits.len() {
        let sizes = (commits[at].lines.len(), commits[at].head.len());
        for byte in 0..sizes.0 + sizes.1 {
            for flip in [0x01u8, 0x20] {
                let mut changed = commits.clone();
                let (text, byte) = if byte < sizes.0 {
                    (&mut changed[at].lines, byte)
                } else {
                    (&mut changed[at].head, byte - sizes.0)
                };
                let mut bytes = text.clone().into_bytes();
                bytes[byte] ^= flip;
                // A store returns text; bytes that are not UTF-8 cannot even be read.
                let Ok(other) = String::from_utf8(bytes) else { continue };
                *text = other;
                // What stands before is verified already.
                let (chain, state) = (before.chain().clone(), before.state().clone());
                let mut verifier = Verifier::resume(options(false), chain, state);
                let passed = changed[at..].iter().all(|commit| verifier.check(commit).is_ok())
                    && verifier.finish().is_ok();
                assert!(!passed, "commit {at}, byte {byte}, flip {flip}");
                flips += 1;
            }
        }
        before.check(&commits[at]).unwrap();
    }
    assert!(flips > 10_000, "{flips}");
}

/// Shows W-TRAIL-24.
#[test]
fn moved_dropped_doubled_and_swapped_commits_are_noticed() {
    let commits = sample(12).commits;
    for at in 0..commits.len() {
        if at + 1 < commits.len() {
            let mut dropped = commits.clone();
            dropped.remove(at);
            assert!(noticed(&dropped), "dropped {at}");
            let mut swapped = commits.clone();
            swapped.swap(at, at + 1);
            assert!(noticed(&swapped), "swapped {at}");
        }
        let mut doubled = commits.clone();
        doubled.insert(at, commits[at].clone());
        assert!(noticed(&doubled), "doubled {at}");
        let mut renumbered = commits.clone();
        renumbered[at].first += 1;
        assert!(noticed(&renumbered), "renumbered first {at}");
        let mut renumbered = commits.clone();
        renumbered[at].last += 1;
        assert!(noticed(&renumbered), "renumbered last {at}");
    }
}

/// Shows W-TRAIL-24.
#[test]
fn dropped_doubled_and_swapped_entries_are_noticed() {
    let commits = sample(12).commits;
    for at in 0..commits.len() {
        let lines: Vec<&str> = commits[at].entries().collect();
        let mut variants = Vec::new();
        for n in 0..lines.len() {
            let mut less = lines.clone();
            less.remove(n);
            variants.push(less);
            let mut more = lines.clone();
            more.insert(n, lines[n]);
            variants.push(more);
            if n + 1 < lines.len() {
                let mut swapped = lines.clone();
                swapped.swap(n, n + 1);
                variants.push(swapped);
            }
        }
        for variant in variants {
            let mut changed = commits.clone();
            changed[at].lines = variant.join("\n");
            assert!(noticed(&changed), "commit {at}");
        }
    }
}

#[test]
fn a_kept_head_shows_a_cut_tail() {
    let commits = sample(12).commits;
    for kept_at in 0..commits.len() {
        let kept = vec![SignedHead::parse(&commits[kept_at].head).unwrap()];
        let options = Options { kept, ..Options::default() };
        let checked = verify(&commits, options.clone()).unwrap();
        assert_eq!(checked.kept_heads, 1);
        for cut in 1..commits.len() {
            let result = verify(&commits[..cut], options.clone());
            assert_eq!(result.is_err(), cut <= kept_at, "kept {kept_at}, cut to {cut}");
        }
    }
}

/// Shows W-TRAIL-09.
#[test]
fn a_kept_head_shows_a_rewritten_history() {
    let honest = sample(6);
    let kept = SignedHead::parse(&honest.commits[5].head).unwrap();
    // Even the runtime itself, with its own key, cannot rewrite the past.
    let mut other = sample(4);
    for n in 0..4 {
        other.commit(&[(agent("mallory"), claim(&format!("other/{n}")), true)]);
    }
    verify(&other.commits, options(true)).expect("a sound trail by itself");
    let finding = verify(&other.commits, Options { kept: vec![kept], ..Options::default() });
    assert!(matches!(finding.unwrap_err().fault, Fault::KeptRoot));
}

/// Shows W-TRAIL-25.
#[test]
fn heads_signed_with_another_key_are_noticed() {
    let mut commits = sample(4).commits;
    let head = SignedHead::parse(&commits[4].head).unwrap();
    let forged = head.head().clone().sign(&SecretKey::from_seed(&[66; 32]));
    commits[4].head = forged.text().to_owned();
    let finding = verify(&commits, options(false)).unwrap_err();
    assert!(matches!(finding.fault, Fault::HeadSignature), "{finding}");

    let pinned = Options { keys: vec![SecretKey::from_seed(&[66; 32]).public()], ..options(false) };
    let finding = verify(&sample(4).commits, pinned).unwrap_err();
    assert!(matches!(finding.fault, Fault::ForeignKey { .. }), "{finding}");
}

type Change = fn(&str) -> String;

/// Shows W-TRAIL-24, W-TRAIL-26.
#[test]
fn the_first_bad_entry_and_its_fault_are_named() {
    let commits = sample(8).commits;
    let cases: &[(Change, &str)] = &[
        (|line| line.replace("tests", "toasts"), "local hash does not fit"),
        (|line| line.replace("\"at\":1", "\"at\":2"), "local hash does not fit"),
        (|line| line.replace("\"actor\":\"agent", "\"actor\": \"agent"), "canonical form"),
        (|line| line.replace("\"kind\":\"lease.opened\"", "\"kind\":\"lease.x\""), "not an entry"),
        (|line| line.replacen("\"epoch\":", "\"epoch\":7", 1), "local hash does not fit"),
        (
            |line| {
                let at = line.find("\"hash\":\"").unwrap() + 8;
                format!("{}{}{}", &line[..at], "0".repeat(64), &line[at + 64..])
            },
            "its hash does not fit",
        ),
        (
            |line| {
                let at = line.find("\"prev\":\"").unwrap() + 8;
                format!("{}{}{}", &line[..at], "0".repeat(64), &line[at + 64..])
            },
            "`prev` is not",
        ),
    ];
    let (at, target) = (3, commits[3].entries().position(|l| l.contains("lease.opened")).unwrap());
    let seq = commits[at].first + target as u64;
    for (change, expected) in cases {
        let lines: Vec<String> = commits[at]
            .entries()
            .enumerate()
            .map(|(n, line)| if n == target { change(line) } else { line.to_owned() })
            .collect();
        let mut changed = commits.clone();
        changed[at].lines = lines.join("\n");
        let finding = verify(&changed, options(false)).unwrap_err();
        assert_eq!(finding.seq, seq, "{finding}");
        assert!(finding.to_string().contains(expected), "{finding}, expected {expected}");
    }
}

#[test]
fn a_caller_signature_of_somebody_else_is_noticed() {
    let mut grower = sample(3);
    // The runtime records for Bob what Alice signed: chains and heads are sound.
    let mut forged = sample(3);
    let alice = agent("alice");
    let command = claim("mine.rs");
    grower.commit(&[(alice.clone(), command.clone(), true)]);
    let honest = grower.commits.last().unwrap().lines.clone();
    let entry = althing_trail::Entry::read(honest.split('\n').next_back().unwrap()).unwrap();
    forged.commit(&[(agent("bob"), command, false)]);
    let stamped = {
        let line = forged.commits.last().unwrap().entries().next_back_line();
        althing_trail::Entry::read(&line).unwrap().stamped
    };
    forged.commits.pop();
    let mut rebuilt = sample(3);
    let mut builder = althing_trail::chain::Builder::begin(rebuilt.chain.clone());
    builder.add(&stamped, entry.asked.as_ref()).unwrap();
    let (commit, _) = builder.finish(&runtime_key()).unwrap();
    rebuilt.commits.push(commit);
    for every_signature in [false, true] {
        let finding = verify(&rebuilt.commits, options(every_signature)).unwrap_err();
        assert!(matches!(finding.fault, Fault::Forbidden(_)), "{finding}");
    }
}

trait LastLine {
    fn next_back_line(self) -> String;
}

impl<'a, I: Iterator<Item = &'a str>> LastLine for I {
    fn next_back_line(self) -> String {
        self.last().unwrap().to_owned()
    }
}
