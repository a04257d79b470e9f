//! Trails of earlier versions: they are read, verified and continued, and the audit begins where
//! today's rules do.

use crate::support::{Grower, agent, agent_key, claim, runtime_key, verify};
use althing_kernel::adoption::RULES_VERSION;
use althing_kernel::{Actor, Caller, Event, Kind, Principal, Stamped, State};
use althing_trail::chain::Builder;
use althing_trail::verify::{Checked, Fault, Finding, Options};
use althing_trail::{Asked, Commit, Entry, Request, Signature, export};
use std::collections::BTreeSet;

/// Trails that builds with earlier versions of the rules wrote.
const GOLDEN: [&[u8]; 5] = [
    include_bytes!("versions/rules-1.jsonl.zst"),
    include_bytes!("versions/rules-2.jsonl.zst"),
    include_bytes!("versions/rules-3.jsonl.zst"),
    include_bytes!("versions/rules-4.jsonl.zst"),
    include_bytes!("versions/rules-5.jsonl.zst"),
];

fn read(packed: &[u8]) -> Vec<Commit> {
    let text = zstd::decode_all(packed).unwrap();
    export::Commits::new(text.as_slice()).map(Result::unwrap).collect()
}

/// The oldest of them.
fn golden() -> Vec<Commit> {
    read(GOLDEN[0])
}

fn every_signature() -> Options {
    Options { every_signature: true, ..Options::default() }
}

fn entries(commits: &[Commit]) -> Vec<Entry> {
    commits.iter().flat_map(Commit::entries).map(|line| Entry::read(line).unwrap()).collect()
}

/// The golden trail, continued by this build. It has a key of its own, so it takes over first.
fn continued() -> Grower {
    let mut grower = Grower::after(golden());
    grower.take_over();
    grower.commit(&[(agent("nadia"), claim("src/new.rs"), true)]);
    grower.commit(&[(agent("olaf"), claim("src/new.rs"), true)]);
    grower
}

fn seal(grower: &Grower, entries: &[Stamped]) -> Vec<Commit> {
    let mut builder = Builder::begin(grower.chain.clone());
    for entry in entries {
        builder.add(entry, None).unwrap();
    }
    let (commit, _) = builder.finish(&runtime_key()).unwrap();
    [grower.commits.as_slice(), &[commit]].concat()
}

#[test]
fn an_earlier_trail_is_read_verified_and_replayed() {
    for (version, packed) in (1..).zip(GOLDEN) {
        let commits = read(packed);
        let checked = verify(&commits, every_signature()).unwrap();
        assert_eq!(checked.audited_from, None);
        assert!(checked.caller_signatures > 100, "{checked:?}");
        let mut state = State::default();
        let mut kinds = BTreeSet::new();
        for entry in entries(&commits) {
            kinds.insert(entry.stamped.draft.event.kind());
            state.apply(&entry.stamped).unwrap();
        }
        assert!(kinds.len() >= 80, "{} of {} kinds", kinds.len(), Kind::ALL.len());
        assert_eq!(state.project().unwrap().rules.version, version);
        assert!(version < RULES_VERSION, "one for every version before today's");
        assert!(state.leases().count() > 0 && state.workspaces().count() > 0);
    }
    assert_eq!(GOLDEN.len(), usize::try_from(RULES_VERSION).unwrap() - 1);
}

/// Somebody else's signature under an earlier version of the rules.
#[test]
fn a_signature_under_another_key_is_noticed_in_an_earlier_trail() {
    let grower = Grower::after(golden());
    let own = entries(&grower.commits).into_iter().rfind(|entry| {
        let by_agent = matches!(&entry.stamped.draft.actor, Actor::Principal(Principal::Agent(_)));
        by_agent && entry.asked.as_ref().is_some_and(|asked| asked.signature().is_some())
    });
    let own = own.unwrap();
    let Actor::Principal(by) = &own.stamped.draft.actor else { panic!("{own:?}") };
    let key = agent_key("mallory");
    let caller = Caller { principal: by.clone(), key: key.public(), session: None };
    let command = own.asked.as_ref().unwrap().command().unwrap();
    let project = grower.chain.project().unwrap();
    let request = Request::of(&command).unwrap();
    let signature = Signature::make(&key, project, &caller, request, [7; 16]).unwrap();
    // A refusal changes nothing, so it can stand anywhere.
    let mut stamped = own.stamped.clone();
    stamped.id = std::sync::Arc::<str>::from("entry-mallory").into();
    stamped.at = grower.state.clock().after(althing_kernel::Span::from_micros(1));
    (stamped.draft.workspace, stamped.draft.causation) = (None, None);
    stamped.draft.stream = althing_kernel::Stream::project(project);
    let refused = r#"{"command":"lease.open","kind":"denied","message":"m","rule":"A-LEASE-01"}"#;
    stamped.draft.event = Event::read(Kind::CommandRefused, refused).unwrap();
    let mut builder = Builder::begin(grower.chain.clone());
    builder.add(&stamped, Some(&Asked::Signed(signature))).unwrap();
    let (commit, _) = builder.finish(&runtime_key()).unwrap();
    let forged = [grower.commits.as_slice(), &[commit]].concat();
    let finding = verify(&forged, every_signature()).unwrap_err();
    assert!(matches!(finding.fault, Fault::ProofKey), "{finding}");
}

/// A build in between had adopted its rules, which are not today's either.
#[test]
fn an_adoption_of_an_earlier_build_is_history() {
    let mut grower = Grower::after(golden());
    let stamped = Stamped {
        id: std::sync::Arc::<str>::from("entry-adopted").into(),
        at: grower.state.clock().after(althing_kernel::Span::from_secs(1)),
        door: None,
        draft: althing_kernel::Draft {
            actor: Actor::Protocol,
            workspace: None,
            stream: althing_kernel::Stream::project(grower.chain.project().unwrap()),
            correlation: None,
            causation: None,
            event: Event::read(Kind::RulesAdopted, r#"{"from":1,"version":2}"#).unwrap(),
        },
    };
    let commits = seal(&grower, &[stamped]);
    let before = commits.last().unwrap().last;
    // It is sealed with a key that took over only now, so the heads are looked at one by one.
    grower = Grower::after(commits);
    grower.take_over();
    let adopted = entries(&grower.commits)
        .into_iter()
        .rfind(|entry| entry.stamped.draft.event.kind() == Kind::RulesAdopted);
    assert_eq!(adopted.unwrap().seq, before + 1);
    assert_eq!(grower.state.project().unwrap().rules.version, RULES_VERSION);
}

#[test]
fn a_newer_build_adopts_its_rules_with_its_first_entry_and_once() {
    let before = golden().last().unwrap().last;
    let grower = continued();
    let adopted: Vec<u64> = entries(&grower.commits)
        .iter()
        .filter(|entry| entry.stamped.draft.event.kind() == Kind::RulesAdopted)
        .map(|entry| entry.seq)
        .collect();
    assert_eq!(adopted, [before + 1]);
    let checked = verify(&grower.commits, every_signature()).unwrap();
    assert_eq!(checked.audited_from, Some(before + 1));
    assert_eq!(grower.state.project().unwrap().rules.version, RULES_VERSION);
}

#[test]
fn a_new_project_is_audited_from_its_first_entry_on() {
    let mut grower = Grower::new();
    grower.commit(&[(agent("alice"), claim("a"), true)]);
    let checked = verify(&grower.commits, every_signature()).unwrap();
    assert_eq!(checked.audited_from, Some(1));
    assert!(
        entries(&grower.commits).iter().all(|e| e.stamped.draft.event.kind() != Kind::RulesAdopted)
    );
}

#[test]
fn after_the_adoption_the_rules_are_asked() {
    let mut grower = continued();
    let commit = grower.clone().commit(&[(agent("olaf"), claim("free"), false)]).clone();
    let mut forged = Entry::read(commit.entries().last().unwrap()).unwrap().stamped;
    let Event::LeaseOpened(body) = &mut forged.draft.event else { panic!("{forged:?}") };
    body.surfaces = serde_json::from_str(r#"["src/new.rs"]"#).unwrap();
    let finding = verify(&seal(&grower, &[forged]), Options::default()).unwrap_err();
    assert!(matches!(finding.fault, Fault::Forbidden(_)), "{finding}");
    grower.commit(&[(agent("olaf"), claim("free"), true)]);
    verify(&grower.commits, every_signature()).unwrap();
}

/// Somebody with the runtime's key adopts rules again, to be asked about nothing from there on.
#[test]
fn rules_are_not_adopted_twice_nor_backwards() {
    let grower = continued();
    let all = entries(&grower.commits);
    let adoption = all.iter().find(|e| e.stamped.draft.event.kind() == Kind::RulesAdopted).unwrap();
    let forge = |from: u32, version: u32, actor: Actor| -> Result<Checked, Finding> {
        let mut forged = adoption.stamped.clone();
        forged.id = std::sync::Arc::<str>::from("again").into();
        forged.at = grower.state.clock().after(althing_kernel::time::Span::from_micros(1));
        forged.draft.actor = actor;
        let body = serde_json::json!({ "from": from, "version": version }).to_string();
        forged.draft.event = Event::read(Kind::RulesAdopted, &body).unwrap();
        verify(&seal(&grower, &[forged]), Options::default())
    };
    let newest = RULES_VERSION;
    for (from, version) in [(1, newest), (newest, newest), (newest, 1), (newest, newest + 1)] {
        let finding = forge(from, version, Actor::Protocol).unwrap_err();
        assert!(matches!(finding.fault, Fault::Forbidden(_)), "{finding}");
    }
    let by_agent = forge(newest, newest, "agent:nadia".parse().unwrap()).unwrap_err();
    assert!(matches!(by_agent.fault, Fault::Forbidden(_)), "{by_agent}");
}
