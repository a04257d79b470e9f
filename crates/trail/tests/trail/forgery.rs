//! Forged trails: hashed and signed with the runtime's key, but of events that never happened.

use crate::support::{Grower, agent, claim, runtime_key, sample, verify};
use althing_kernel::{Caller, Command, Kind, Principal, Stamped, UserId};
use althing_trail::chain::Builder;
use althing_trail::verify::{Fault, Options};
use althing_trail::{Asked, Commit, Entry, Request, SecretKey};

fn command(name: &str, args: &serde_json::Value) -> Command {
    Command::read(name, &args.to_string()).unwrap().unwrap()
}

fn every_signature() -> Options {
    Options { every_signature: true, ..Options::default() }
}

/// What the runtime would record for a command, entry by entry.
fn recorded(honest: &Grower, caller: &Caller, command: Command, signs: bool) -> Vec<Entry> {
    let mut copy = honest.clone();
    let commit = copy.commit(&[(caller.clone(), command, signs)]).clone();
    commit.entries().map(|line| Entry::read(line).unwrap()).collect()
}

/// The next event of an honest continuation, and its caller's signature.
fn next(honest: &Grower, caller: &str, command: Command) -> Entry {
    recorded(honest, &agent(caller), command, true).pop().unwrap()
}

/// The trail with more entries, hashed and signed as the runtime would.
fn sealed(honest: &Grower, entries: &[Entry], key: &SecretKey) -> Vec<Commit> {
    let mut builder = Builder::begin(honest.chain.clone());
    for entry in entries {
        builder.add(&entry.stamped, entry.asked.as_ref()).unwrap();
    }
    let (commit, _) = builder.finish(key).unwrap();
    [honest.commits.as_slice(), &[commit]].concat()
}

/// The trail with one more entry, hashed and signed as the runtime would.
fn with(honest: &Grower, entry: &Stamped, asked: Option<&Asked>) -> Vec<Commit> {
    let mut builder = Builder::begin(honest.chain.clone());
    builder.add(entry, asked).unwrap();
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

/// Whoever has the runtime's key can also make up a request that nobody signed.
#[track_caller]
fn assert_forbidden(honest: &Grower, entry: &Stamped, asked: Option<&Command>, why: &str) {
    let asked = asked.map(|command| Asked::unsigned(&agent("bob"), Request::of(command).unwrap()));
    let forged = with(honest, entry, asked.as_ref());
    let finding = verify(&forged, Options::default()).unwrap_err();
    assert!(matches!(finding.fault, Fault::Forbidden(_)), "{finding}");
    assert!(finding.to_string().contains(why), "{finding}, expected {why}");
    assert_eq!(finding.seq, honest.chain.seq() + 1);
}

const UNASKED: &str = "nobody asked for it";
const ANOTHER: &str = "the rules lead to another entry";
const REFUSED: &str = "the rules refuse what was asked for";

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
    verify(&with(&honest, &fine.stamped, fine.asked.as_ref()), every_signature()).unwrap();
    for surface in ["hers", "hers/x.rs", "he?s", "."] {
        let forged = edited(&fine.stamped, |e| e["body"]["surfaces"] = [surface].into());
        assert_forbidden(&honest, &forged, None, UNASKED);
        assert_forbidden(&honest, &forged, Some(&claim("free")), ANOTHER);
        assert_forbidden(&honest, &forged, Some(&claim(surface)), REFUSED);
    }
}

#[test]
fn a_grant_in_somebody_elses_name_or_for_too_long_is_noticed() {
    let (honest, _) = two_holders();
    let fine = next(&honest, "bob", claim("free")).stamped;
    let asked = claim("free");
    let others = edited(&fine, |e| e["body"]["holder"] = "agent:alice".into());
    assert_forbidden(&honest, &others, Some(&asked), ANOTHER);
    // The runtime opens a lease by itself only when work is transferred.
    let protocol = edited(&fine, |e| e["actor"] = "protocol".into());
    assert_forbidden(&honest, &protocol, Some(&asked), ANOTHER);
    assert_forbidden(&honest, &protocol, None, UNASKED);
    let longer = edited(&fine, |e| e["body"]["expires_at"] = 1_900_000_000_000_000_u64.into());
    assert_forbidden(&honest, &longer, Some(&asked), ANOTHER);
    let elsewhere = edited(&fine, |e| e["workspace"] = "nowhere".into());
    assert_forbidden(&honest, &elsewhere, Some(&asked), ANOTHER);
}

#[test]
fn ending_something_of_somebody_else_is_noticed() {
    let (honest, hers) = two_holders();
    let args = serde_json::json!({ "lease": hers });
    let asked = command("lease.release", &args);
    let release = next(&honest, "alice", asked.clone()).stamped;
    let by_bob = edited(&release, |e| e["actor"] = "agent:bob".into());
    assert_forbidden(&honest, &by_bob, Some(&asked), REFUSED);
    // The session is open, so nothing in it ends by itself.
    let by_runtime = edited(&release, |e| {
        e["actor"] = "protocol".into();
        e["body"]["cause"] = "session_ended".into();
    });
    assert_forbidden(&honest, &by_runtime, None, UNASKED);
    assert_forbidden(&honest, &by_runtime, Some(&asked), REFUSED);
    let asked = command("lease.renew", &args);
    let renewal = next(&honest, "alice", asked.clone()).stamped;
    let by_bob = edited(&renewal, |e| e["actor"] = "agent:bob".into());
    assert_forbidden(&honest, &by_bob, Some(&asked), REFUSED);

    let expiry = edited(&release, |e| {
        e["kind"] = "lease.expired".into();
        e["actor"] = "protocol".into();
        e["body"].as_object_mut().unwrap().remove("cause");
        e["body"]["expires_at"] = e["at"].clone();
    });
    assert_forbidden(&honest, &expiry, None, UNASKED);
    let force = edited(&release, |e| {
        e["kind"] = "lease.forced".into();
        e["body"].as_object_mut().unwrap().remove("cause");
        e["body"]["reason"] = "because".into();
    });
    let asked = command("lease.force", &serde_json::json!({ "lease": hers, "reason": "because" }));
    assert_forbidden(&honest, &force, Some(&asked), REFUSED);
    let unknown = edited(&force, |e| e["actor"] = "user:nobody".into());
    assert_forbidden(&honest, &unknown, Some(&asked), "user:nobody is not known here");
    let gone = edited(&release, |e| e["body"]["lease"] = "lease-gone".into());
    let asked = command("lease.release", &serde_json::json!({ "lease": "lease-gone" }));
    assert_forbidden(&honest, &gone, Some(&asked), REFUSED);
}

#[test]
fn users_and_sessions_that_never_began_are_noticed() {
    let (honest, _) = two_holders();
    let asked = command("session.open", &serde_json::json!({}));
    let opened = next(&honest, "bob", asked.clone()).stamped;
    let by_alice = edited(&opened, |e| e["actor"] = "agent:alice".into());
    assert_forbidden(&honest, &by_alice, Some(&asked), ANOTHER);
    let asked = command("session.close", &serde_json::json!({}));
    let closing = next(&honest, "bob", asked.clone());
    assert_forbidden(&honest, &closing.stamped, Some(&asked), ANOTHER);
    let key = SecretKey::from_seed(&[5; 32]).public();
    let person = edited(&opened, |e| {
        e["kind"] = "user_created".into();
        for of_a_workspace in ["workspace", "local_hash", "local_prev"] {
            e.as_object_mut().unwrap().remove(of_a_workspace);
        }
        e["actor"] = "user:eve".into();
        e["body"] = serde_json::json!({
            "capabilities": [], "created_by": "user:eve", "key": key, "user_id": "mallory"
        });
    });
    let args = serde_json::json!({ "user": "mallory", "key": key });
    let asked = command("user.create", &args);
    assert_forbidden(&honest, &person, Some(&asked), "user:eve is not known here");
}

/// An entry that has to follow is left out, or one is added to what was asked for.
#[test]
fn a_decision_that_is_not_whole_is_noticed() {
    let (honest, _) = two_holders();
    let close = command("session.close", &serde_json::json!({}));
    let whole = recorded(&honest, &agent("bob"), close, true);
    assert!(whole.len() > 1, "{whole:?}");
    verify(&sealed(&honest, &whole, &runtime_key()), every_signature()).unwrap();
    for gone in 0..whole.len() {
        let mut less = whole.clone();
        less.remove(gone);
        let finding = verify(&sealed(&honest, &less, &runtime_key()), Options::default());
        let fault = finding.unwrap_err().fault;
        if gone + 1 == whole.len() {
            assert!(matches!(fault, Fault::Unfinished), "{gone}: {fault}");
        } else {
            assert!(matches!(fault, Fault::Forbidden(_)), "{gone}: {fault}");
        }
    }
    let mut more = whole.clone();
    let mut again = more[0].clone();
    again.asked = None;
    let stamp = more[more.len() - 1].stamped.at.micros() + 1;
    again.stamped.at = althing_kernel::Timestamp::from_micros(stamp);
    more.push(again);
    let finding = verify(&sealed(&honest, &more, &runtime_key()), Options::default());
    let fault = finding.unwrap_err().fault;
    assert!(matches!(fault, Fault::Forbidden(_)), "{fault}");
}

/// A request stands on the caller's entry and nowhere else: not on what follows from it, nor on what
/// fell due.
#[test]
fn a_request_on_another_entry_is_noticed() {
    let (honest, _) = two_holders();
    let close = command("session.close", &serde_json::json!({}));
    let whole = recorded(&honest, &agent("bob"), close, true);
    let own = whole.iter().position(|entry| entry.asked.is_some()).unwrap();
    for place in (0..whole.len()).filter(|place| *place != own) {
        let mut doubled = whole.clone();
        doubled[place].asked.clone_from(&whole[own].asked);
        let mut moved = doubled.clone();
        moved[own].asked = None;
        for forged in [doubled, moved] {
            let forged = sealed(&honest, &forged, &runtime_key());
            let fault = verify(&forged, Options::default()).unwrap_err().fault;
            assert!(matches!(fault, Fault::Forbidden(_)), "{place}: {fault}");
        }
    }
    let mut later = honest.clone();
    later.pass(60);
    let mut expired = recorded(&later, &agent("carol"), claim("other"), false);
    assert_eq!(expired[0].stamped.draft.event.kind(), Kind::LeaseExpired);
    expired[0].asked.clone_from(&whole[own].asked);
    let forged = sealed(&later, &expired, &runtime_key());
    let fault = verify(&forged, Options::default()).unwrap_err().fault;
    assert!(matches!(fault, Fault::Forbidden(_)), "{fault}");
}

/// An expiry is left out, and the lease renewed as if it had not run out.
#[test]
fn a_deadline_that_is_not_on_record_is_noticed() {
    let (honest, hers) = two_holders();
    let renew = command("lease.renew", &serde_json::json!({ "lease": hers }));
    let mut later = honest.clone();
    later.pass(60);
    let at = later.next_time();
    let mut renewal = next(&honest, "alice", renew);
    let begun = renewal.stamped.at;
    renewal.stamped = edited(&renewal.stamped, |e| {
        e["at"] = at.into();
        let lasts = e["body"]["expires_at"].as_u64().unwrap() - begun.micros();
        e["body"]["expires_at"] = (at + lasts).into();
    });
    let forged = with(&honest, &renewal.stamped, renewal.asked.as_ref());
    let finding = verify(&forged, Options::default()).unwrap_err();
    assert!(finding.to_string().contains("a deadline had come"), "{finding}");
}

/// Shows W-SEC-13.
#[test]
fn a_persons_entry_without_their_signature_is_noticed() {
    let (honest, _) = two_holders();
    let key = SecretKey::from_seed(&[5; 32]).public();
    let ada = Principal::User(UserId::new("ada").unwrap());
    let caller = Caller { principal: ada, key, session: None };
    let create = command("user.create", &serde_json::json!({ "user": "ada", "key": key }));
    let forged = sealed(&honest, &recorded(&honest, &caller, create, false), &runtime_key());
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
    let forged = with(&honest, &large, small.asked.as_ref());
    let finding = verify(&forged, every_signature()).unwrap_err();
    assert!(matches!(finding.fault, Fault::Forbidden(_)), "{finding}");
    // The request is changed too, and then the signature does not fit it.
    let Some(Asked::Signed(signature)) = &small.asked else { panic!("{small:?}") };
    let text = serde_json::to_string(signature).unwrap().replace("free", "everything");
    let changed = Asked::Signed(serde_json::from_str(&text).unwrap());
    let forged = with(&honest, &large, Some(&changed));
    verify(&forged, Options::default()).expect("sound, apart from who asked for what");
    let finding = verify(&forged, every_signature()).unwrap_err();
    assert!(matches!(finding.fault, Fault::Proof(_)), "{finding}");
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
        e["id"] = "lease-another".into();
        e["body"]["lease"] = "another".into();
        for field in ["epoch", "expires_at"] {
            e["body"][field] = (e["body"][field].as_u64().unwrap() + 1).into();
        }
    });
    let again = Entry { stamped: again, ..first.clone() };
    let forged = sealed(&honest, &[first, again], &runtime_key());
    verify(&forged, Options::default()).expect("sound, apart from who asked how often");
    let finding = verify(&forged, every_signature()).unwrap_err();
    assert!(matches!(finding.fault, Fault::ProofReused), "{finding}");
}

/// A trail whose key was taken over by somebody who never had the old one.
fn taken_over(honest: &Grower, by: &SecretKey) -> Vec<Commit> {
    let caller = Caller { principal: Principal::System, key: by.public(), session: None };
    let rekey = serde_json::from_str(r#"{"reason":"lost"}"#).unwrap();
    let entries = recorded(honest, &caller, Command::RuntimeRekey(rekey), false);
    sealed(honest, &entries, by)
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
