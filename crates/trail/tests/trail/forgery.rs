//! Forged trails: hashed and signed with the runtime's key, but of events that never happened.

use crate::support::{Grower, agent, claim, runtime_key, sample, verify};
use althing_kernel::capability::Capability;
use althing_kernel::{Command, Stamped};
use althing_trail::chain::Builder;
use althing_trail::verify::{Fault, Options};
use althing_trail::{Commit, Entry, SecretKey, Signature};

fn command(name: &str, args: &serde_json::Value) -> Command {
    Command::read(name, &args.to_string()).unwrap().unwrap()
}

fn every_signature() -> Options {
    Options { every_signature: true, ..Options::default() }
}

/// The next event of an honest continuation, and its caller's signature.
fn next(honest: &Grower, caller: &str, command: Command) -> Entry {
    let mut copy = honest.clone();
    let commit = copy.commit(&[(agent(caller), command, true)]).clone();
    Entry::read(commit.entries().last().unwrap()).unwrap()
}

/// The trail with one more entry, hashed and signed as the runtime would.
fn with(honest: &Grower, entry: &Stamped, proof: Option<&Signature>) -> Vec<Commit> {
    let mut builder = Builder::begin(honest.chain.clone());
    builder.add(entry, proof).unwrap();
    let (commit, _) = builder.finish(&runtime_key()).unwrap();
    [honest.commits.as_slice(), &[commit]].concat()
}

/// A copy of an entry with a change.
fn edited(entry: &Stamped, change: impl Fn(&mut serde_json::Value)) -> Stamped {
    let mut builder = Builder::begin(sample(0).chain.clone());
    builder.add(entry, None).unwrap();
    let mut value = serde_json::from_slice(builder.last_line()).unwrap();
    change(&mut value);
    Entry::read(&value.to_string()).unwrap().stamped
}

#[track_caller]
fn assert_forbidden(honest: &Grower, entry: &Stamped, why: &str) {
    let finding = verify(&with(honest, entry, None), Options::default()).unwrap_err();
    assert!(matches!(finding.fault, Fault::Forbidden(_)), "{finding}");
    assert!(finding.to_string().contains(why), "{finding}, expected {why}");
    assert_eq!(finding.seq, honest.chain.seq() + 1);
}

/// A trail in which Alice holds `hers` and Bob holds `his`.
fn two_holders() -> (Grower, String) {
    let mut honest = sample(4);
    honest.commit(&[(agent("alice"), claim("hers"), true), (agent("bob"), claim("his"), true)]);
    let hers = honest.state.leases().find(|(_, lease)| {
        lease.surfaces.as_slice().iter().any(|surface| surface.as_str() == "hers")
    });
    let id = hers.unwrap().0.to_string();
    (honest, id)
}

#[test]
fn a_second_holder_of_a_surface_is_noticed() {
    let (honest, _) = two_holders();
    let fine = next(&honest, "bob", claim("free"));
    verify(&with(&honest, &fine.stamped, fine.proof.as_ref()), every_signature()).unwrap();
    for surface in ["hers", "hers/x.rs", "he?s", "."] {
        let forged = edited(&fine.stamped, |e| e["body"]["surfaces"] = [surface].into());
        assert_forbidden(&honest, &forged, "it grants what agent:");
    }
}

#[test]
fn a_grant_in_somebody_elses_name_or_for_too_long_is_noticed() {
    let (honest, _) = two_holders();
    let fine = next(&honest, "bob", claim("free")).stamped;
    let others = edited(&fine, |e| e["body"]["holder"] = "agent:alice".into());
    assert_forbidden(&honest, &others, "agent:bob may not cause it");
    // The runtime opens a lease by itself only when work is transferred.
    let protocol = edited(&fine, |e| e["actor"] = "protocol".into());
    assert_forbidden(&honest, &protocol, "it does not say what is known of the cause");
    let longer = edited(&fine, |e| e["body"]["expires_at"] = 1_900_000_000_000_000_u64.into());
    assert_forbidden(&honest, &longer, "longer than its time to live");
    let elsewhere = edited(&fine, |e| e["workspace"] = "nowhere".into());
    assert_forbidden(&honest, &elsewhere, "not in an open session");
}

#[test]
fn ending_something_of_somebody_else_is_noticed() {
    let (honest, hers) = two_holders();
    let args = serde_json::json!({ "lease": hers });
    let release = next(&honest, "alice", command("lease.release", &args)).stamped;
    let by_bob = edited(&release, |e| e["actor"] = "agent:bob".into());
    assert_forbidden(&honest, &by_bob, "agent:bob may not cause it");
    let renewal = next(&honest, "alice", command("lease.renew", &args)).stamped;
    let by_bob = edited(&renewal, |e| e["actor"] = "agent:bob".into());
    assert_forbidden(&honest, &by_bob, "agent:bob may not cause it");

    let expiry = edited(&release, |e| {
        e["kind"] = "lease.expired".into();
        e["actor"] = "protocol".into();
        e["body"].as_object_mut().unwrap().remove("cause");
        e["body"]["expires_at"] = e["at"].clone();
    });
    assert_forbidden(&honest, &expiry, "its time had not come");
    let force = edited(&release, |e| {
        e["kind"] = "lease.forced".into();
        e["body"].as_object_mut().unwrap().remove("cause");
        e["body"]["reason"] = "because".into();
    });
    assert_forbidden(&honest, &force, "agent:alice may not cause it");
    let unknown = edited(&force, |e| e["actor"] = "user:nobody".into());
    assert_forbidden(&honest, &unknown, "user:nobody may not cause it");
    let gone = edited(&release, |e| e["body"]["lease"] = "lease-gone".into());
    assert_forbidden(&honest, &gone, "no such step");
}

#[test]
fn users_and_sessions_that_never_began_are_noticed() {
    let (honest, _) = two_holders();
    let opened = next(&honest, "bob", command("session.open", &serde_json::json!({}))).stamped;
    let by_alice = edited(&opened, |e| e["actor"] = "agent:alice".into());
    assert_forbidden(&honest, &by_alice, "agent:alice may not cause it");
    let closing = next(&honest, "bob", command("session.close", &serde_json::json!({})));
    assert_forbidden(&honest, &closing.stamped, "what is known of the session");
    let person = edited(&opened, |e| {
        e["kind"] = "user_created".into();
        for of_a_workspace in ["workspace", "local_hash", "local_prev"] {
            e.as_object_mut().unwrap().remove(of_a_workspace);
        }
        e["actor"] = "user:eve".into();
        let key = SecretKey::from_seed(&[5; 32]).public();
        e["body"] = serde_json::json!({
            "capabilities": [], "created_by": "user:eve", "key": key, "user_id": "mallory"
        });
    });
    assert_forbidden(&honest, &person, "user:eve may not cause it");
}

/// Shows W-SEC-13.
#[test]
fn a_persons_entry_without_their_signature_is_noticed() {
    let (honest, _) = two_holders();
    let opened = next(&honest, "bob", command("session.open", &serde_json::json!({}))).stamped;
    let key = SecretKey::from_seed(&[5; 32]).public();
    let person = edited(&opened, |e| {
        e["kind"] = "user_created".into();
        for of_a_workspace in ["workspace", "local_hash", "local_prev"] {
            e.as_object_mut().unwrap().remove(of_a_workspace);
        }
        e["actor"] = "user:ada".into();
        let all = Capability::ALL.iter().filter(|one| !one.is_implicit());
        let all: Vec<&Capability> = all.collect();
        e["body"] = serde_json::json!({
            "capabilities": all, "created_by": "user:ada", "key": key, "user_id": "ada"
        });
    });
    let forged = with(&honest, &person, None);
    verify(&forged, Options::default()).expect("sound, apart from who asked for it");
    let finding = verify(&forged, every_signature()).unwrap_err();
    assert!(matches!(finding.fault, Fault::ProofMissing), "{finding}");
}

/// Shows W-SEC-13.
#[test]
fn a_signature_for_something_else_is_noticed() {
    let (honest, _) = two_holders();
    let small = next(&honest, "bob", claim("free"));
    let large = edited(&small.stamped, |e| e["body"]["surfaces"] = ["everything"].into());
    let forged = with(&honest, &large, small.proof.as_ref());
    verify(&forged, Options::default()).expect("sound, apart from who asked for what");
    let finding = verify(&forged, every_signature()).unwrap_err();
    assert!(matches!(finding.fault, Fault::ProofContent), "{finding}");
}

/// Shows W-SEC-13.
#[test]
fn a_signature_cannot_be_used_twice() {
    let (honest, _) = two_holders();
    let first = next(&honest, "bob", claim("free"));
    let again = edited(&first.stamped, |e| {
        for field in ["at", "seq"] {
            e[field] = (e[field].as_u64().unwrap() + 1).into();
        }
        e["id"] = "another".into();
        e["body"]["lease"] = "another".into();
        e["body"]["epoch"] = (e["body"]["epoch"].as_u64().unwrap() + 1).into();
    });
    let mut builder = Builder::begin(honest.chain.clone());
    for entry in [&first.stamped, &again] {
        builder.add(entry, first.proof.as_ref()).unwrap();
    }
    let (commit, _) = builder.finish(&runtime_key()).unwrap();
    let forged = [honest.commits.as_slice(), &[commit]].concat();
    verify(&forged, Options::default()).expect("sound, apart from who asked how often");
    let finding = verify(&forged, every_signature()).unwrap_err();
    assert!(matches!(finding.fault, Fault::ProofReused), "{finding}");
}

/// A trail whose key was taken over by somebody who never had the old one.
fn taken_over(honest: &Grower, by: &SecretKey) -> Vec<Commit> {
    let template = next(honest, "bob", command("session.open", &serde_json::json!({}))).stamped;
    let takeover = edited(&template, |e| {
        e["kind"] = "runtime.rekeyed".into();
        e["actor"] = "system".into();
        for of_a_workspace in ["workspace", "local_hash", "local_prev"] {
            e.as_object_mut().unwrap().remove(of_a_workspace);
        }
        e.as_object_mut().unwrap().remove("local_hash");
        e.as_object_mut().unwrap().remove("local_prev");
        e["stream"] = "project:p1".into();
        e["body"] = serde_json::json!({
            "new_key": by.public(), "old_key": runtime_key().public(), "reason": "lost"
        });
    });
    let mut builder = Builder::begin(honest.chain.clone());
    builder.add(&takeover, None).unwrap();
    let (commit, _) = builder.finish(by).unwrap();
    [honest.commits.as_slice(), &[commit]].concat()
}

#[test]
fn a_takeover_shows_and_passes_only_if_its_key_is_expected() {
    let (old, new) = (runtime_key().public(), SecretKey::from_seed(&[66; 32]));
    let commits = taken_over(&sample(4), &new);
    for every_signature in [false, true] {
        let with_keys =
            |keys: &[_]| Options { every_signature, keys: keys.to_vec(), ..Options::default() };
        assert_eq!(verify(&commits, with_keys(&[])).unwrap().keys, [old, new.public()]);
        assert!(verify(&commits, with_keys(&[old, new.public()])).is_ok());
        let finding = verify(&commits, with_keys(&[old])).unwrap_err();
        assert!(matches!(finding.fault, Fault::ForeignKey { .. }), "{finding}");
    }
}

#[test]
fn heads_before_a_takeover_are_signed_by_the_old_key() {
    let new = SecretKey::from_seed(&[66; 32]);
    let mut forged = sample(4);
    // The whole past is made up: it names the old key, but nobody had it.
    let last = forged.commits.len() - 1;
    let head = althing_trail::SignedHead::parse(&forged.commits[last].head).unwrap();
    let signed = head.head().clone().sign(&new);
    forged.commits[last].head = signed.text().to_owned();
    forged.chain.close(signed.text());
    let finding = verify(&taken_over(&forged, &new), Options::default()).unwrap_err();
    assert!(matches!(finding.fault, Fault::HeadSignature), "{finding}");
}

#[test]
fn an_empty_trail_is_refused() {
    let finding = verify(&[], Options::default()).unwrap_err();
    assert!(matches!(finding.fault, Fault::Empty), "{finding}");
}
