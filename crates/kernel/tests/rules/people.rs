//! People: how they stand, what they may do, what they answer for, what they caused.
//!
//! What is expected stands here as tables written from the protocol, not computed by the code
//! that is tested.

use crate::run::{Run, payload, person_with, second_person, workspace_of};
use crate::support::{World, agent, system, user};
use althing_kernel::access::{reads, reads_everything};
use althing_kernel::capability::{Capability, DenialReason, Permission};
use althing_kernel::principal::{Actor, Principal};
use althing_kernel::workspace::{Party, Status, Trigger};
use althing_kernel::{Caller, Event, Kind, Reply, WorkspaceId};
use serde_json::{Value, json};

/// The seventeen, as the protocol lists them.
const NAMES: [&str; 17] = [
    "create_workspace",
    "create_workspace_any",
    "suspend_own",
    "suspend_any",
    "abort_own",
    "abort_any",
    "transfer_ownership",
    "inject_directive",
    "inject_directive_any",
    "approve_integration",
    "approve_integration_any",
    "modify_budget",
    "modify_budget_any",
    "view_trail_own",
    "view_trail_any",
    "grant_delegation",
    "deactivate_user",
];

/// The capability that grants each permission on owned workspaces, and the one that grants it
/// everywhere.
const ACTS: [(Permission, Option<&str>, Option<&str>); 12] = [
    (Permission::CreateWorkspace, Some("create_workspace"), Some("create_workspace_any")),
    (Permission::Suspend, Some("suspend_own"), Some("suspend_any")),
    (Permission::Abort, Some("abort_own"), Some("abort_any")),
    (Permission::Transfer, Some("transfer_ownership"), None),
    (Permission::Inject, Some("inject_directive"), Some("inject_directive_any")),
    (Permission::ApproveIntegration, Some("approve_integration"), Some("approve_integration_any")),
    (Permission::ModifyBudget, Some("modify_budget"), Some("modify_budget_any")),
    (Permission::ViewTrail, Some("view_trail_own"), Some("view_trail_any")),
    (Permission::GrantDelegation, Some("grant_delegation"), None),
    (Permission::ManageUsers, None, Some("deactivate_user")),
    (Permission::ForceLease, None, Some("abort_any")),
    (Permission::RevokeAgent, None, Some("suspend_any")),
];

/// The command that brings an active person into each status.
const STANDINGS: [(&str, Option<&str>); 4] = [
    ("active", None),
    ("suspended", Some("user.suspend")),
    ("blocked", Some("user.block")),
    ("deactivated", Some("user.deactivate")),
];

pub(crate) fn about(user: &str, command: &str) -> Value {
    match command {
        "user.block" | "user.unblock" => json!({ "user": user, "condition": "c" }),
        _ => json!({ "user": user, "reason": "r" }),
    }
}

/// Two trees side by side, ada's and bob's, with one workspace for every permission.
struct Trees {
    run: Run,
    /// bob's, then ada's: at work, at work, finished.
    own: [WorkspaceId; 3],
    others: [WorkspaceId; 3],
    lease: String,
}

fn trees() -> Trees {
    let mut run = Run::new();
    person_with(&mut run.world, "bob", &[]);
    second_person(&mut run.world, "eve");
    let mut three = |owner: &str| {
        let of = |agent: &str| json!({ "agent": agent, "owner": owner });
        [
            run.in_state(Status::Active, of("w1")),
            run.in_state(Status::Active, of("w2")),
            run.in_state(Status::Integrating, of("w3")),
        ]
    };
    let (own, others) = (three("bob"), three("ada"));
    let lease = run.world.claim(&agent("w1"), &["x"], 1_000).unwrap().lease.to_string();
    Trees { run, own, others, lease }
}

/// A command that needs this permission, applied to one of two trees.
fn command(act: Permission, ids: &[WorkspaceId; 3], lease: &str) -> Option<(&'static str, Value)> {
    let [at, beside, finished] = ids;
    Some(match act {
        Permission::CreateWorkspace => (
            "workspace.create",
            json!({ "agent": "w2", "role": "worker", "parent": at, "directive": payload(1) }),
        ),
        Permission::Suspend => ("workspace.suspend", json!({ "workspace": at })),
        Permission::Abort => ("workspace.abort", json!({ "workspace": at })),
        Permission::Transfer => ("workspace.transfer", json!({ "workspace": at, "to": "eve" })),
        Permission::Inject => {
            ("envelope.send", json!({ "to": at, "type": "feedback", "payload": payload(1) }))
        }
        Permission::ApproveIntegration => {
            ("integration.decide", json!({ "workspace": finished, "decision": "reject" }))
        }
        Permission::GrantDelegation => ("right.grant", json!({ "holder": at, "target": beside })),
        Permission::ManageUsers => ("user.suspend", json!({ "user": "eve" })),
        Permission::ForceLease => ("lease.force", json!({ "lease": lease, "reason": "r" })),
        Permission::RevokeAgent => ("agent.revoke", json!({ "agent": "w1" })),
        Permission::ModifyBudget => {
            ("workspace.set_priority", json!({ "workspace": at, "priority": "background" }))
        }
        // Reading is no command, and the runtime deletes for whoever asked; both have their own
        // tests.
        Permission::ViewTrail | Permission::DeleteHistory => return None,
    })
}

fn expected(
    (own, any): (Option<&str>, Option<&str>),
    standing: &str,
    held: Option<&str>,
    is_own: bool,
) -> Option<DenialReason> {
    if standing != "active" {
        return Some(DenialReason::UserNotActive);
    }
    if held.is_some() && held == any {
        return None;
    }
    if held.is_some() && held == own {
        return (!is_own).then_some(DenialReason::WrongScope);
    }
    Some(DenialReason::MissingCapability)
}

/// Shows W-USER-04, W-USER-11, W-USER-40, W-USER-41.
#[test]
fn every_deed_in_every_standing_with_every_capability_on_every_tree() {
    let listed: Vec<&str> = Capability::ALL.iter().map(|one| one.as_str()).collect();
    assert_eq!(listed, NAMES);
    let trees = trees();
    let (mut allowed, mut denied) = (0, 0);
    for (act, own, any) in ACTS {
        let names = |one: Option<Capability>| one.map(Capability::as_str);
        let (needs_own, needs_any) = act.needs();
        assert_eq!((names(needs_own), names(needs_any)), (own, any), "{act:?}");
        for (standing, step) in STANDINGS {
            for held in std::iter::once(None).chain(NAMES.into_iter().map(Some)) {
                for is_own in [true, false] {
                    let ids = if is_own { &trees.own } else { &trees.others };
                    let Some((name, args)) = command(act, ids, &trees.lease) else { continue };
                    let mut run =
                        Run { world: trees.run.world.fork(), root: trees.run.root.clone() };
                    if let Some(held) = held.filter(|held| *held != "view_trail_own") {
                        let args = json!({ "user": "bob", "capability": held });
                        run.ok(&user("ada"), "capability.grant", args);
                    }
                    if let Some(step) = step {
                        run.ok(&user("ada"), step, about("bob", step));
                    }
                    let cell = format!("{act:?} {standing} {held:?} own: {is_own}");
                    let before = run.count();
                    let result = run.do_(&user("bob"), name, args);
                    let Some(reason) = expected((own, any), standing, held, is_own) else {
                        assert!(result.is_ok(), "{cell}: {result:?}");
                        allowed += 1;
                        continue;
                    };
                    denied += 1;
                    let refusal = result.unwrap_err();
                    let rule = if standing == "active" { "W-USER-41" } else { "W-USER-04" };
                    assert_eq!(refusal.rule.id(), rule, "{cell}");
                    let mut kinds = run.kinds_since(before);
                    kinds.retain(|kind| *kind != Kind::AuthenticationSucceeded);
                    assert_eq!(kinds, [Kind::CapabilityDenied], "{cell}");
                    let Event::CapabilityDenied(text) = run.world.last_event() else { panic!() };
                    assert_eq!((text.reason, text.action.as_str()), (reason, name), "{cell}");
                    assert_eq!(text.user_id.as_ref().unwrap().as_str(), "bob");
                    assert_eq!(names(text.capability), own.or(any), "{cell}");
                }
            }
        }
    }
    // 8 permissions have a capability for one's own tree, 6 of them one for all, and 3 know no trees.
    assert_eq!((allowed, denied), (8 + 6 * 2 + 3 * 2, 11 * 4 * 18 * 2 - 26), "no cell is left out");
}

/// Shows W-USER-02, W-USER-05, W-USER-06.
#[test]
fn a_person_takes_the_steps_of_the_table_and_the_coordinator_is_told_of_each() {
    let edges = [
        ("active", "user.suspend", "suspended", Kind::UserSuspended),
        ("active", "user.block", "blocked", Kind::UserBlocked),
        ("active", "user.deactivate", "deactivated", Kind::UserDeactivated),
        ("suspended", "user.resume", "active", Kind::UserResumed),
        ("suspended", "user.block", "blocked", Kind::UserBlocked),
        ("suspended", "user.deactivate", "deactivated", Kind::UserDeactivated),
        ("blocked", "user.unblock", "active", Kind::UserUnblocked),
        ("blocked", "user.suspend", "suspended", Kind::UserSuspended),
        ("blocked", "user.deactivate", "deactivated", Kind::UserDeactivated),
        ("deactivated", "user.reactivate", "active", Kind::UserReactivated),
    ];
    let steps = ["suspend", "resume", "block", "unblock", "deactivate", "reactivate"];
    let mut run = Run::new();
    person_with(&mut run.world, "bob", Capability::OWN_SCOPE);
    let at = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "bob" }));
    for (standing, way) in STANDINGS {
        for step in steps.map(|step| format!("user.{step}")) {
            let mut run = Run { world: run.world.fork(), root: run.root.clone() };
            if let Some(way) = way {
                run.ok(&user("ada"), way, about("bob", way));
            }
            run.ok(&Run::lead(), "inbox.take", json!({ "max": 256 }));
            let (before, work) = (run.count(), run.view(&at));
            let edge = edges.iter().find(|(from, by, ..)| *from == standing && *by == step);
            let Some((.., to, kind)) = edge else {
                run.refused(&user("ada"), &step, about("bob", &step), "W-USER-02");
                continue;
            };
            let Reply::User(view) = run.ok(&user("ada"), &step, about("bob", &step)) else {
                panic!()
            };
            assert_eq!(view.status.as_str(), *to, "{standing} {step}");
            // One entry, and nothing else happens to anything.
            assert_eq!(run.kinds_since(before), [*kind]);
            assert_eq!(run.world.last().draft.actor, Actor::from(user("ada").principal));
            let mut now = run.view(&at);
            now.worked = work.worked;
            assert_eq!(now, work, "running work goes on, and stays theirs");
            assert_eq!(view.capabilities.len(), Capability::OWN_SCOPE.len() + 1);
            let Reply::Mail(mail) = run.ok(&Run::lead(), "inbox.take", json!({})) else { panic!() };
            assert_eq!(mail.news.len(), 1, "the coordinator is told");
            assert_eq!((mail.news[0].kind, mail.news[0].about.as_str()), (*kind, "user:bob"));
            let Reply::Mail(mail) = run.ok(&Run::lead(), "inbox.take", json!({})) else { panic!() };
            assert!(mail.news.is_empty(), "once");
        }
    }
}

/// Shows W-USER-04.
#[test]
fn whoever_is_not_active_does_nothing_new_and_it_is_on_record() {
    let mut run = Run::new();
    let bob = second_person(&mut run.world, "bob");
    let held = run.world.claim(&bob, &["mine"], 1_000).unwrap();
    run.ok(&user("ada"), "user.suspend", json!({ "user": "bob" }));
    let commands = [
        ("lease.open", json!({ "surfaces": ["b"] })),
        ("lease.release", json!({ "lease": held.lease })),
        ("run.end", json!({ "force": true })),
        ("user.resume", json!({ "user": "bob" })),
        ("capability.grant", json!({ "user": "bob", "capability": "abort_own" })),
        ("task.graph", json!({ "tasks": [] })),
        ("inbox.take", json!({})),
    ];
    for (name, args) in commands {
        run.refused(&bob, name, args, "W-USER-04");
        let Event::CapabilityDenied(text) = run.world.last_event() else { panic!("{name}") };
        assert_eq!(text.reason, DenialReason::UserNotActive);
    }
    assert_eq!(run.world.leases().len(), 1, "what they hold stays");
    run.ok(&user("ada"), "user.resume", json!({ "user": "bob" }));
    run.ok(&bob, "lease.release", json!({ "lease": held.lease }));
}

/// Shows W-USER-42.
#[test]
fn the_first_may_do_everything_and_others_what_they_are_given() {
    let mut run = Run::new();
    let may = |run: &Run, id: &str| -> Vec<String> {
        let asked = run.world.ask("user.get", &json!({ "user": id }).to_string());
        serde_json::from_value(asked["capabilities"].clone()).unwrap()
    };
    assert_eq!(may(&run, "ada"), NAMES);
    let granted = |run: &Run, to: &str| {
        let mut granted = Vec::new();
        for entry in &run.world.entries {
            if let Event::CapabilityGranted(body) = &entry.draft.event
                && body.user_id.as_str() == to
            {
                granted.push((body.capability.as_str(), body.granted_by.to_string()));
            }
        }
        granted
    };
    let first = granted(&run, "ada");
    assert_eq!(first.len(), 16, "each on record but for what everybody has");
    assert!(first.iter().all(|(_, by)| by == "system"));

    let bob = user("bob");
    run.ok(&user("ada"), "user.create", json!({ "user": "bob", "key": bob.key }));
    let own = ["create_workspace", "suspend_own", "abort_own", "inject_directive"];
    let own = [&own[..], &["approve_integration", "modify_budget", "view_trail_own"]].concat();
    assert_eq!(may(&run, "bob"), own);
    assert!(granted(&run, "bob").iter().all(|(_, by)| by == "user:ada"));
    let twice = json!({ "user": "bob", "key": user("x").key });
    run.refused(&user("ada"), "user.create", twice, "A-ID-04");

    // Nobody grants what they do not hold, whether later or while letting somebody in.
    let grant = |who: &str, what: &str| json!({ "user": who, "capability": what });
    run.refused(&bob, "capability.grant", grant("bob", "abort_any"), "W-USER-41");
    run.ok(&user("ada"), "capability.grant", grant("bob", "deactivate_user"));
    run.refused(&bob, "capability.grant", grant("bob", "abort_any"), "W-USER-42");
    assert_eq!(run.world.kinds().last(), Some(&Kind::CapabilityDenied));
    let eve = |may: &[&str]| json!({ "user": "eve", "key": user("eve").key, "capabilities": may });
    run.refused(&bob, "user.create", eve(&["view_trail_any"]), "W-USER-42");
    run.ok(&bob, "user.create", eve(&["abort_own", "abort_own", "view_trail_own"]));
    assert_eq!(may(&run, "eve"), ["abort_own", "view_trail_own"]);

    // What everybody has is neither given nor taken; what is there is not given twice.
    for name in ["capability.grant", "capability.revoke"] {
        run.refused(&user("ada"), name, grant("bob", "view_trail_own"), "W-USER-42");
    }
    run.refused(&user("ada"), "capability.grant", grant("bob", "abort_own"), "W-USER-42");
    run.refused(&user("ada"), "capability.revoke", grant("bob", "abort_any"), "W-USER-42");
    run.refused(&user("ada"), "capability.grant", grant("nobody", "abort_any"), "W-ID-07");
    run.ok(&user("ada"), "capability.revoke", grant("bob", "abort_own"));
    let Event::CapabilityRevoked(text) = run.world.last_event() else { panic!() };
    assert_eq!(text.revoked_by.to_string(), "user:ada");
    assert!(!may(&run, "bob").contains(&"abort_own".to_owned()));
    // The system holds everything.
    run.ok(&system(), "capability.grant", grant("bob", "abort_any"));
}

/// Shows W-USER-01.
#[test]
fn agents_have_no_say_about_people_whatever_post_they_hold() {
    let mut run = Run::new();
    person_with(&mut run.world, "bob", &[]);
    let (lead, may) = (Run::lead(), json!({ "user": "bob", "capability": "abort_any" }));
    for step in ["suspend", "resume", "block", "unblock", "deactivate", "reactivate"] {
        let step = format!("user.{step}");
        run.refused(&lead, &step, about("bob", &step), "W-USER-01");
    }
    run.refused(&lead, "capability.grant", may.clone(), "W-USER-01");
    run.refused(&lead, "capability.revoke", may, "W-USER-01");
    run.refused(&lead, "user.create", json!({ "user": "x", "key": user("x").key }), "A-ID-03");
    // Nobody is called like the system, and the system is nobody's user.
    for name in ["system", "protocol", "fallback", "coordinator", "worker", "observer"] {
        assert!(althing_kernel::UserId::new(name).is_err(), "{name}");
    }
}

#[test]
fn somebody_can_always_manage_people() {
    let mut world = World::new();
    let ada = user("ada");
    let own = json!({ "user": "ada", "capability": "deactivate_user" }).to_string();
    let leave = json!({ "user": "ada" }).to_string();
    person_with(&mut world, "bob", &[Capability::DeactivateUser]);
    world.run(&ada, "user.suspend", r#"{"user":"bob"}"#).unwrap();
    for (name, args) in
        [("user.deactivate", &leave), ("user.suspend", &leave), ("capability.revoke", &own)]
    {
        let refusal = world.run(&ada, name, args).unwrap_err();
        assert_eq!(refusal.rule.id(), "A-USER-01", "{name}: bob cannot act");
    }
    world.run(&ada, "user.resume", r#"{"user":"bob"}"#).unwrap();
    world.run(&ada, "user.deactivate", &leave).unwrap();
    world.run(&user("bob"), "user.reactivate", &leave).unwrap();
}

fn owner(run: &Run, id: &WorkspaceId) -> String {
    run.view(id).owner.to_string()
}

/// Shows W-USER-10, W-USER-11, W-USER-12, W-TREE-03, W-TREE-06.
#[test]
fn one_workspace_changes_hands_at_once_and_nothing_else_changes() {
    let mut run = Run::new();
    let bob = person_with(&mut run.world, "bob", &[Capability::AbortOwn]);
    let top = run.in_state(Status::Active, json!({ "agent": "w1" }));
    let middle = run.in_state(Status::Active, json!({ "agent": "w2", "parent": top }));
    let below = run.in_state(Status::Active, json!({ "agent": "w3", "parent": middle }));
    assert_eq!(owner(&run, &run.root.clone()), "ada", "who began the run");
    assert!([&top, &middle, &below].iter().all(|id| owner(&run, id) == "ada"), "inherited");
    run.refused(&bob, "workspace.abort", json!({ "workspace": middle }), "W-USER-41");

    let (before, was) = (run.count(), run.view(&middle));
    let give = json!({ "workspace": middle, "to": "bob", "reason": "r" });
    run.ok(&Run::lead(), "workspace.transfer", give.clone());
    assert_eq!(run.kinds_since(before), [Kind::OwnershipTransferred], "agents hear nothing of it");
    let Event::OwnershipTransferred(text) = run.world.last_event() else { panic!() };
    assert_eq!((text.from_user.to_string(), text.to_user.as_str()), ("ada".to_owned(), "bob"));
    let mut is = run.view(&middle);
    is.owner = was.owner.clone();
    is.worked = was.worked;
    assert_eq!(is, was, "who caused it and everything else stays");
    assert_eq!((owner(&run, &top), owner(&run, &below)), ("ada".to_owned(), "ada".to_owned()));
    run.refused(&Run::lead(), "workspace.transfer", give, "W-USER-12");

    // From this moment on a failure above stops here, and one here stops below.
    let mut other = Run { world: run.world.fork(), root: run.root.clone() };
    other.ok(&Run::lead(), "workspace.abort", json!({ "workspace": top }));
    assert_eq!(other.status(&middle), Status::Active);
    assert_eq!(other.view(&middle).parent, Some(other.root.clone()));
    assert_eq!(other.view(&middle).originator, was.originator);
    run.ok(&bob, "workspace.abort", json!({ "workspace": middle }));
    assert_eq!(run.view(&middle).ended, Some(Trigger::AbortedByHuman));
    assert_eq!(run.status(&below), Status::Active, "it is ada's");
    assert_eq!(run.view(&below).parent, Some(run.root.clone()));

    // Nobody is given what they cannot answer for, and what ended stays whose it was.
    let ada = user("ada");
    let to = |id: &WorkspaceId, whom: &str| json!({ "workspace": id, "to": whom });
    run.refused(&ada, "workspace.transfer", to(&below, "nobody"), "W-ID-07");
    run.refused(&Run::lead(), "workspace.transfer", to(&middle, "ada"), "W-WS-25");
    run.ok(&ada, "user.block", about("bob", "user.block"));
    run.refused(&ada, "workspace.transfer", to(&below, "bob"), "W-USER-04");
    run.refused(&agent("w3"), "workspace.transfer", to(&below, "bob"), "W-ROLE-04");
    let create =
        json!({ "agent": "w1", "role": "worker", "directive": payload(1), "owner": "bob" });
    run.refused(&Run::lead(), "workspace.create", create, "W-USER-04");
}

/// Shows W-USER-12, W-TREE-06.
#[test]
fn what_is_being_merged_and_what_goes_on_below_it_do_not_come_to_one_owner() {
    let mut run = Run::new();
    person_with(&mut run.world, "bob", &[Capability::AbortOwn]);
    let top = run.in_state(Status::Active, json!({ "agent": "w1" }));
    let below =
        run.in_state(Status::Active, json!({ "agent": "w2", "parent": top, "owner": "bob" }));
    run.checkpoint("w1", &top, "artifact", &["src/a.rs"]);
    run.signal("w1", &top, "complete");
    assert_eq!(run.status(&top), Status::Integrating);
    let give = |id: &WorkspaceId, to: &str| json!({ "workspace": id, "to": to });
    let lead = Run::lead();
    for (id, to) in [(&below, "ada"), (&top, "bob")] {
        let refusal = run.refused(&lead, "workspace.transfer", give(id, to), "W-USER-12");
        assert!(refusal.message.contains("being merged"), "{}", refusal.message);
    }
    run.ok(&lead, "integration.decide", json!({ "workspace": top, "decision": "accept" }));
    assert_eq!(run.status(&top), Status::Closed);
    assert_eq!(run.view(&below).parent, Some(run.root.clone()));
    run.ok(&lead, "workspace.transfer", give(&below, "ada"));
    run.sound();
}

/// Shows W-USER-10.
#[test]
fn a_run_belongs_to_who_begins_it_or_to_who_is_named() {
    let begin = |world: &mut World, who: &Caller, args: Value| {
        let reply = world.run(who, "run.start", &args.to_string());
        let owner = reply.map(|reply| workspace_of(reply).owner.to_string());
        world.run(&system(), "run.end", "{}").ok();
        owner.map_err(|no| no.rule.id())
    };
    let mut world = World::without_project();
    let create = serde_json::from_value(json!({ "name": "p", "project": "p1" })).unwrap();
    let create = althing_kernel::Command::ProjectCreate(create);
    world.run_command(&system(), &create).unwrap();
    assert_eq!(begin(&mut world, &agent("lead"), json!({})), Ok("system".to_owned()), "no people");
    let ada = user("ada");
    world.run(&ada, "user.create", &json!({ "user": "ada", "key": ada.key }).to_string()).unwrap();
    let bob = person_with(&mut world, "aaron", &[Capability::CreateWorkspace]);
    assert_eq!(begin(&mut world, &system(), json!({})), Ok("ada".to_owned()), "the first");
    assert_eq!(begin(&mut world, &bob, json!({})), Ok("aaron".to_owned()));
    let ada_runs = json!({ "owner": "ada" });
    assert_eq!(begin(&mut world, &bob, ada_runs.clone()), Err("W-USER-41"));
    assert_eq!(begin(&mut world, &bob, json!({ "agent": "lead" })), Err("W-USER-41"));
    assert_eq!(begin(&mut world, &ada, json!({ "owner": "aaron" })), Ok("aaron".to_owned()));
    assert_eq!(begin(&mut world, &ada, json!({ "owner": "nobody" })), Err("W-ID-07"));
    assert_eq!(begin(&mut world, &system(), ada_runs), Ok("ada".to_owned()));
}

/// Shows W-USER-30, W-USER-31, W-USER-32.
#[test]
fn what_a_person_caused_stays_theirs_and_so_does_what_follows() {
    let mut run = Run::new();
    let bob = second_person(&mut run.world, "bob");
    let of = |run: &Run, id: &WorkspaceId| run.view(id).originator.to_string();
    let root = run.root.clone();
    let by_lead = run.create(&Run::lead(), json!({ "agent": "w1", "delegate": true }));
    run.signal("w1", &by_lead, "started");
    let below = run.create(&agent("w1"), json!({ "agent": "w2" }));
    assert_eq!([&root, &by_lead, &below].map(|id| of(&run, id)), ["system", "system", "system"]);
    // A person's own request begins their tree, wherever it hangs and whoever answers for it.
    let own = json!({ "agent": "w3", "parent": by_lead, "delegate": true, "owner": "bob" });
    let own = run.create(&user("ada"), own);
    run.signal("w3", &own, "started");
    let by_agent = run.create(&agent("w3"), json!({ "agent": "watcher", "parent": own }));
    let by_other = run.create(&bob, json!({ "agent": "w2", "parent": own, "owner": "ada" }));
    let by_system = run.create(&Run::lead(), json!({ "agent": "w2", "parent": by_other }));
    let adas = [&own, &by_agent, &by_other, &by_system];
    assert_eq!(adas.map(|id| of(&run, id)), ["ada"; 4], "handed down, never overridden");
    run.ok(&Run::lead(), "workspace.transfer", json!({ "workspace": by_other, "to": "bob" }));
    run.ok(&Run::lead(), "workspace.abort", json!({ "workspace": by_lead }));
    assert_eq!(run.view(&own).parent, Some(root.clone()), "another owner's: it went to the root");
    assert_eq!(adas.map(|id| of(&run, id)), ["ada"; 4]);
    let named = json!({ "agent": "w1", "role": "worker", "directive": payload(1) });
    for field in ["originator", "caused"] {
        let mut args = named.clone();
        args[field] = json!("ada");
        let read = althing_kernel::Command::read("workspace.create", &args.to_string()).unwrap();
        assert!(read.is_err(), "nobody says so");
    }
    // Boundaries go from the system to a person and nowhere else.
    for (id, known) in run.world.state.workspaces() {
        let Some(parent) = known.parent.as_ref().and_then(|id| run.world.state.workspace(id))
        else {
            assert_eq!(known.charter.originator, Party::System, "{id}");
            continue;
        };
        let (above, here) = (&parent.charter.originator, &known.charter.originator);
        assert!(above == here || *above == Party::System, "{id}");
    }
    let id = |who: &Caller| match &who.principal {
        Principal::User(id) => id.clone(),
        other => panic!("{other}"),
    };
    let state = &run.world.state;
    assert_eq!(state.originated_by(&Party::User(id(&user("ada")))).count(), 4);
    assert_eq!(state.originated_by(&Party::User(id(&bob))).count(), 0);
    assert_eq!(state.originated_by(&Party::System).count(), 3);
    assert_eq!(state.owned_by(&id(&bob)).count(), 3, "two inherited or given, one handed on");
    assert_eq!(state.owned_by(&id(&user("ada"))).count(), 4);
}

/// Shows W-DEL-01.
#[test]
fn what_a_new_workspace_is_given_its_creator_must_have_to_give() {
    let mut run = Run::new();
    let bob = person_with(&mut run.world, "bob", &[Capability::CreateWorkspace]);
    let home = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "bob" }));
    let other = run.in_state(Status::Active, json!({ "agent": "w2" }));
    let asked = |extra: Value| {
        let mut args = json!({ "agent": "w3", "role": "observer", "parent": home,
            "directive": payload(1) });
        for (key, value) in extra.as_object().unwrap() {
            args[key] = value.clone();
        }
        args
    };
    let cases = [
        (json!({ "delegate": true }), Capability::GrantDelegation),
        (json!({ "global_trail": true }), Capability::ViewTrailAny),
        (json!({ "owner": "ada" }), Capability::TransferOwnership),
    ];
    for (extra, needed) in cases {
        run.refused(&bob, "workspace.create", asked(extra.clone()), "W-USER-41");
        let grant = json!({ "user": "bob", "capability": needed });
        run.ok(&user("ada"), "capability.grant", grant.clone());
        run.ok(&bob, "workspace.create", asked(extra));
        run.ok(&user("ada"), "capability.revoke", grant);
    }
    let peek = asked(json!({ "visibility": [other] }));
    run.refused(&bob, "workspace.create", peek, "W-USER-41");
    run.ok(&bob, "workspace.create", asked(json!({ "visibility": [home], "owner": "bob" })));
    // Rights that travel with a message are the root's, and not bob's to give.
    let inject = json!({ "user": "bob", "capability": "inject_directive" });
    run.ok(&user("ada"), "capability.grant", inject);
    let right = run.right(&run.root, &other).unwrap();
    let mut letter = json!({ "to": home, "type": "feedback", "payload": payload(1) });
    run.ok(&bob, "envelope.send", letter.clone());
    letter["rights"] = json!([right]);
    run.refused(&bob, "envelope.send", letter, "W-USER-41");
    // The post of coordinator is the greatest delegation of all.
    run.refused(&bob, "run.hand_over", json!({ "agent": "w3" }), "W-USER-41");
}

/// Shows W-USER-42.
#[test]
fn a_person_reads_what_they_own_or_everything() {
    let mut run = Run::new();
    let bob = person_with(&mut run.world, "bob", &[]);
    let own = run.in_state(Status::Active, json!({ "agent": "w1", "owner": "bob" }));
    let below = run.in_state(Status::Active, json!({ "agent": "w2", "parent": own }));
    let other =
        run.in_state(Status::Active, json!({ "agent": "w3", "owner": "ada", "parent": own }));
    let seen = |run: &Run, who: &Caller| {
        let state = &run.world.state;
        let who = Some(&who.principal);
        let each = [&run.root, &own, &below, &other].map(|id| reads(state, who, id));
        (reads_everything(state, who), each)
    };
    assert_eq!(seen(&run, &user("ada")), (true, [true; 4]));
    assert_eq!(seen(&run, &bob), (false, [false, true, true, false]), "up to the boundary");
    assert_eq!(seen(&run, &user("stranger")), (false, [false; 4]));
    let any = json!({ "user": "bob", "capability": "view_trail_any" });
    run.ok(&user("ada"), "capability.grant", any);
    assert_eq!(seen(&run, &bob), (true, [true; 4]));
    run.ok(&user("ada"), "user.suspend", json!({ "user": "bob" }));
    assert_eq!(seen(&run, &bob), (false, [false; 4]), "only while active");
}
