//! The verbs say beforehand what the kernel says to an offer.

use super::*;

/// A situation, and the code for what is in the way of offering its scope to bob.
type Situation = (&'static str, fn(&Team, &str, &str), Option<&'static str>);

fn assign(team: &Team, who: &str, rest: &[&str]) {
    team.memory(who, &[&["coordinate", "assign", "Do it.", "--allow-dirty"][..], rest].concat());
}

const SITUATIONS: [Situation; 13] = [
    ("nobody", |_, _, _| {}, None),
    (
        "another",
        |team, scope, _| drop(team.project.claim("carol", &format!("{scope}/x.rs"))),
        Some("scope_already_claimed"),
    ),
    (
        "wider",
        |team, scope, _| drop(team.project.claim("alice", &format!("{scope}{{,-more}}"))),
        Some("scope_already_claimed"),
    ),
    ("within", |team, scope, _| drop(team.project.claim("alice", &format!("{scope}/x.rs"))), None),
    ("covered", |team, scope, _| drop(team.project.claim("bob", scope)), None),
    (
        "in-part",
        |team, scope, _| drop(team.project.claim("bob", &format!("{scope}/x.rs"))),
        Some("scope_already_claimed"),
    ),
    (
        "offered",
        |team, scope, _| assign(team, "alice", &["--to", "carol", "--scope", scope]),
        Some("scope_already_claimed"),
    ),
    ("again", |team, scope, _| assign(team, "alice", &["--to", "bob", "--scope", scope]), None),
    (
        "theirs",
        |team, scope, _| assign(team, "carol", &["--to", "bob", "--scope", scope]),
        Some("scope_already_claimed"),
    ),
    ("over", |team, _, plan| drop(team.moved("alice", plan, "done")), Some("plan_is_over")),
    (
        "assigned",
        |team, _, plan| assign(team, "alice", &["--to", "carol", "--plan", plan]),
        Some("plan_already_assigned"),
    ),
    (
        "at-work",
        |team, _, plan| {
            let claim = json!({ "surfaces": [format!("elsewhere/{plan}")], "task": plan });
            team.act("carol", "lease.open", claim);
        },
        Some("plan_already_assigned"),
    ),
    (
        "both",
        |team, scope, plan| {
            assign(team, "alice", &["--to", "carol", "--scope", scope, "--plan", plan]);
        },
        Some("scope_already_claimed"),
    ),
];

/// Whatever stands in the way, a dry run, an assignment and an offer without them come out alike.
#[test]
fn what_is_said_to_be_free_is_accepted_and_nothing_else() {
    let team = Team::new(&["alice", "bob", "carol"]);
    for (name, prepare, code) in SITUATIONS {
        let (scope, plan) = (format!("src/{name}"), team.plan(name));
        let items = json!([{ "plan": plan, "rank": 1, "scope_hint": scope }]);
        let create = json!({ "kind": "sequence", "text": name, "fields": { "items": items } });
        let sequence = text(&team.act("alice", "memory.create", create), "id");
        prepare(&team, &scope, &plan);

        let dry = ["dispatch", "--dry-run", "--agent", "bob", "--capacity", "100", "--sequence"];
        let dry = team.memory("alice", &[&dry[..], &[&sequence]].concat())["result"].clone();
        let is_planned = !dry["planned"].as_array().unwrap().is_empty();
        assert_eq!(is_planned, code.is_none(), "{name}: {dry}");
        if let (Some(skipped), Some(code)) = (dry["skipped"].get(0), code) {
            assert_eq!(
                (&skipped["reason"], &skipped["data"]["code"]),
                (&json!(code), &json!(code))
            );
        }

        let work = ["coordinate", "assign", "Do it.", "--allow-dirty", "--to", "bob"];
        let work = [&work[..], &["--scope", &scope, "--plan", &plan]].concat();
        let Some(code) = code else {
            assert_eq!(team.memory("alice", &work)["result"]["messages_sent"], 1, "{name}");
            continue;
        };
        let refused =
            || team.project.kinds().iter().filter(|own| *own == "command.refused").count();
        let before = refused();
        let (said, error) = team.refused("alice", &work);
        assert_eq!(error["details"]["code"], code, "{name}: {error}");
        assert_eq!(refused(), before + 1, "{name}: a refusal is one entry");
        // The kernel itself says the same.
        let fields = json!({ "agent": "bob", "plan_id": plan });
        let lane = json!({ "fields": fields, "surfaces": [scope], "text": "Do it." });
        let offer = json!({ "lanes": [lane] }).to_string();
        let ran = team.project.run(&["do", "memory.offer", &offer, "--as", "alice", "--json"]);
        assert!(matches!(ran.code, Some(1 | 3)), "{name}: {ran:?}");
        if name != "both" {
            assert_eq!((ran.code, &ran.error()["rule"]), (said.code, &error["rule"]), "{name}");
        }
    }
}
