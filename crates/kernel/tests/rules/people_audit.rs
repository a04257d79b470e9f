//! Histories with people in them: they replay, and what people never did does not pass.

use crate::people::about;
use crate::run::{Run, person_with};
use crate::support::{agent, user};
use althing_kernel::capability::Capability;
use althing_kernel::principal::Actor;
use althing_kernel::workspace::Status;
use althing_kernel::{Event, Kind, Stamped, State};
use serde_json::{Value, json};

/// A history with people in it: let in, limited, away, back, with work of theirs.
fn history() -> Run {
    let mut run = Run::new();
    let (ada, lead) = (user("ada"), Run::lead());
    let bob = person_with(&mut run.world, "bob", Capability::OWN_SCOPE);
    let at = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "bob" }));
    let child = run.create(&bob, json!({ "agent": "w2", "parent": at }));
    run.ok(&bob, "workspace.suspend", json!({ "workspace": at }));
    run.ok(&ada, "capability.grant", json!({ "user": "bob", "capability": "abort_any" }));
    run.ok(&ada, "capability.revoke", json!({ "user": "bob", "capability": "abort_any" }));
    person_with(&mut run.world, "eve", &[]);
    run.ok(&ada, "user.suspend", about("bob", "user.suspend"));
    run.do_(&bob, "workspace.resume", json!({ "workspace": at })).unwrap_err();
    run.ok(&ada, "user.block", about("bob", "user.block"));
    run.ok(&ada, "user.unblock", about("bob", "user.unblock"));
    run.ok(&bob, "workspace.resume", json!({ "workspace": at }));
    run.ok(&lead, "workspace.transfer", json!({ "workspace": child, "to": "ada" }));
    run.ok(&lead, "inbox.take", json!({}));
    run.ok(&ada, "user.deactivate", about("bob", "user.deactivate"));
    run.ok(&ada, "user.reactivate", about("bob", "user.reactivate"));
    run.ok(&bob, "workspace.abort", json!({ "workspace": at }));
    run
}

/// Shows W-USER-06, W-TRAIL-03.
#[test]
fn a_history_with_people_replays_and_every_entry_is_allowed() {
    let run = history();
    run.world.is_sound();
}

/// Shows W-USER-41, W-SEC-01.
#[test]
fn forged_deeds_of_people_do_not_pass_the_audit() {
    let run = history();
    let mut state = State::default();
    let mut caught = std::collections::BTreeMap::new();
    for (place, entry) in run.world.entries.iter().enumerate() {
        for (what, forged) in forgeries(&state, entry) {
            assert!(run.world.with(place, forged.clone()).is_err(), "{what}: {forged:?}");
            *caught.entry(what).or_insert(0) += 1;
        }
        state.apply(entry).unwrap();
    }
    let least = ["by an agent", "by a person who may not", "another capability", "somebody else"];
    for what in least.iter().chain(&["no such step", "more than was promised", "not theirs"]) {
        assert!(caught.contains_key(what), "{what}: {caught:?}");
    }
}

/// Forged variants of an entry that no command could have caused.
fn forgeries(state: &State, entry: &Stamped) -> Vec<(&'static str, Stamped)> {
    let read = |event: &Event, change: &dyn Fn(&mut Value)| {
        let mut body = serde_json::to_value(Body(event)).unwrap();
        change(&mut body);
        Event::read(event.kind(), &body.to_string()).unwrap()
    };
    let with = |actor: Option<Actor>, change: &dyn Fn(&mut Value)| {
        let mut forged = entry.clone();
        if let Some(actor) = actor {
            forged.draft.actor = actor;
        }
        forged.draft.event = read(&entry.draft.event, change);
        forged
    };
    let (lead, bob) = (Actor::from(agent("lead").principal), Actor::from(user("bob").principal));
    let field = match entry.draft.event.kind() {
        Kind::UserSuspended => "suspended_by",
        Kind::UserResumed => "resumed_by",
        Kind::UserBlocked => "blocked_by",
        Kind::UserDeactivated => "deactivated_by",
        Kind::UserReactivated => "reactivated_by",
        Kind::CapabilityGranted => "granted_by",
        Kind::CapabilityRevoked => "revoked_by",
        Kind::OwnershipTransferred => "transferred_by",
        _ => "",
    };
    let shown = |who: &str| {
        let who = who.to_owned();
        move |body: &mut Value| body[field] = json!(who)
    };
    let mut all = Vec::new();
    let of_people = !field.is_empty() && entry.draft.actor != Actor::Protocol;
    if of_people && entry.draft.event.kind() != Kind::OwnershipTransferred {
        all.push(("by an agent", with(Some(lead), &shown("agent:lead"))));
        all.push(("by a person who may not", with(Some(bob.clone()), &shown("user:bob"))));
        all.push(("somebody else", with(None, &shown("user:bob"))));
    }
    match &entry.draft.event {
        Event::UserCreated(_) if state.user_count() > 0 => {
            all.push((
                "by a person who may not",
                with(None, &|body| {
                    body["created_by"] = json!("user:eve");
                }),
            ));
        }
        Event::CapabilityGranted(body) if entry.draft.actor == Actor::Protocol => {
            let named =
                |what: &'static str| move |body: &mut Value| body["capability"] = json!(what);
            all.push(("more than was promised", with(None, &named("view_trail_own"))));
            if body.user_id.as_str() == "bob" {
                all.push(("more than was promised", with(None, &named("deactivate_user"))));
            }
        }
        Event::CapabilityRevoked(_) => {
            let other = |body: &mut Value| body["capability"] = json!("deactivate_user");
            all.push(("another capability", with(None, &other)));
        }
        Event::UserSuspended(_) | Event::UserBlocked(_) | Event::UserUnblocked(_) => {
            let other = |body: &mut Value| body["user_id"] = json!("nobody");
            all.push(("no such step", with(None, &other)));
            let last = |body: &mut Value| body["user_id"] = json!("ada");
            all.push(("no such step", with(None, &last)));
        }
        Event::OwnershipTransferred(_) => {
            all.push(("not theirs", with(Some(bob), &shown("user:bob"))));
            all.push(("not theirs", with(None, &|body| body["from_user"] = json!("ada"))));
        }
        Event::WorkspaceStateChanged(_) | Event::WorkspaceCreated(_)
            if entry.draft.actor == bob =>
        {
            let eve = Actor::from(user("eve").principal);
            all.push(("by a person who may not", with(Some(eve), &|_| {})));
        }
        _ => {}
    }
    all
}

struct Body<'a>(&'a Event);

impl serde::Serialize for Body<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_body(serializer)
    }
}
