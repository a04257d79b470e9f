//! Figures and pictures of the trail: filters, sums, runs, messages, what people were asked, and
//! what keeps going wrong.

use crate::support::Sandbox;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

impl Sandbox {
    /// Entries of the trail that fit.
    #[track_caller]
    fn fitting(&self, args: &[&str]) -> Vec<Value> {
        let ran = self.ok(&[&["trail", "--all", "--json"], args].concat());
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// A checkpoint with what it cost.
    #[track_caller]
    fn report(&self, agent: &str, tokens: u64, cost: u64) {
        let usage = json!({ "cost": cost, "tokens_consumed": tokens, "wall_time": 1 });
        let head = self.json(&["workspace", "show", &format!("agent:{agent}")])["head"].clone();
        let args = json!({ "intent": "i", "status": "final", "type": "artifact", "parent": head,
            "resource_usage": usage });
        self.ok(&["do", "checkpoint.create", &args.to_string(), "--as", agent]);
    }

    /// A task that somebody takes up, reports on and finishes.
    #[track_caller]
    fn carry_out(&self, task: &str, agent: &str, tokens: u64) {
        self.ok(&["task", "assign", task, "--agent", agent, "--as", "alice"]);
        self.ok(&["inbox", "--take", "--as", agent]);
        self.ok(&["signal", "started", "--as", agent]);
        self.report(agent, tokens, tokens * 2);
        self.ok(&["signal", "complete", "--as", agent]);
        self.ok(&["integrate", &format!("agent:{agent}"), "accept", "--as", "alice"]);
    }

    /// Plans and approves tasks that have nothing to do with each other.
    #[track_caller]
    fn planned(&self, names: &[&str]) {
        let tasks: Vec<Value> = names.iter().map(|name| json!({ "key": name })).collect();
        let plan = json!({ "tasks": tasks }).to_string();
        let ran = self.run_with(&["task", "plan", "-", "--as", "alice"], plan.as_bytes());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        self.ok(&[&["task", "approve"], names, &["--as", "alice"]].concat());
    }

    /// Writes an exported trail of made-up entries, in one commit. Nobody verifies it here.
    fn made_up(&self, name: &str, entries: &[(&str, &str, Option<&str>, Value)]) {
        let mut text = String::new();
        for (n, (actor, kind, workspace, body)) in entries.iter().enumerate() {
            let at = 1_800_000_000_000_000 + (n as u64) * 1_000_000;
            let mut entry = json!({ "actor": actor, "at": at, "body": body, "kind": kind,
                "hash": "0".repeat(64), "id": format!("e{n}"), "seq": n + 1 });
            if let Some(workspace) = workspace {
                entry["workspace"] = json!(workspace);
            }
            writeln!(text, "{entry}").unwrap();
        }
        writeln!(text, "{}", json!({ "head": "no head at all" })).unwrap();
        self.write(name, &text);
    }
}

fn root_made(id: &str) -> (&'static str, &'static str, Option<&str>, Value) {
    let body = json!({ "workspace_id": id, "parent": null, "role": "coordinator", "agent": "lead",
        "owner": "system", "originator": "system", "run": { "algorithm": "sha-256" } });
    ("user:ada", "workspace_created", Some(id), body)
}

/// Shows W-TRAIL-32, W-TRAIL-35, W-TRAIL-07.
#[test]
fn entries_are_found_by_field_role_owner_originator_and_person() {
    let project = Sandbox::new();
    project.login("ada");
    let ran =
        project.as_user("ada", &["coordinator", "start", "--agent", "alice", "--highway", "off"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let caused = ["workspace", "create", "--agent", "bob", "--directive", "x"];
    let caused = project.as_user("ada", &caused).json()["workspace"].as_str().unwrap().to_owned();
    let owned = ["workspace", "create", "--agent", "eve", "--role", "observer", "--owner", "ada"];
    let owned = project.json(&[&owned[..], &["--directive", "x", "--as", "alice"]].concat());
    let owned = owned["workspace"].as_str().unwrap();
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.ok(&["signal", "blocked", "--reason", "why", "--as", "bob"]);

    let places = |args: &[&str]| {
        let mut found: Vec<Value> =
            project.fitting(args).iter().map(|entry| entry["workspace"].clone()).collect();
        found.sort_by_key(ToString::to_string);
        found.dedup();
        found
    };
    let found = project.fitting(&["--where", "to_state=blocked"]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["body"]["workspace_id"], caused.as_str());
    assert_eq!(project.fitting(&["--where", "/seq>=2", "--where", "/seq<4"]).len(), 2);
    let both = ["--where", "to_state=active", "--workspace", &caused];
    assert_eq!(project.fitting(&both).len(), 1, "conditions add up");
    assert!(project.fitting(&["--where", "to_state=nothing"]).is_empty());
    assert_eq!(places(&["--role", "observer"]), [json!(owned)]);
    let by_ada = project.fitting(&["--originator", "ada"]);
    let (own, sent): (Vec<_>, Vec<_>) =
        by_ada.iter().partition(|entry| entry["workspace"] == caused.as_str());
    assert!(own.len() > 5);
    let kinds: Vec<&Value> = sent.iter().map(|entry| &entry["kind"]).collect();
    assert_eq!(kinds, ["envelope_created"], "her directive, which the root sent");
    assert!(places(&["--originator", "system"]).contains(&json!(owned)));
    assert!(!places(&["--originator", "system"]).contains(&json!(caused)));
    assert!(places(&["--owner", "ada"]).contains(&json!(owned)));
    assert!(!places(&["--owner", "ada", "--role", "coordinator"]).contains(&json!(owned)));
    let by_ada = project.fitting(&["--actor", "user:ada"]);
    assert_eq!(by_ada.len(), 3, "she signed up, began the run and created a workspace");
    let by_name = json!({ "originator": "ada", "fields": [{ "field": "to_state" }] }).to_string();
    let by_name = project.json(&["do", "trail.query", &by_name]);
    assert_eq!(by_name.as_array().unwrap().len(), 2, "active, and blocked: {by_name}");
    assert_eq!(project.run(&["trail", "--where", "to state=x"]).code, Some(2));
}

/// Shows W-TRAIL-33, W-TRAIL-34.
#[test]
fn entries_are_counted_by_group_and_their_numbers_added_up() {
    let (project, _) = Sandbox::with_run();
    for (agent, tokens) in [("bob", [5, 7]), ("carol", [100, 1])] {
        project.worker(agent);
        for tokens in tokens {
            project.report(agent, tokens, 3);
        }
    }
    let entries = project.entries();
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in &entries {
        *kinds.entry(entry["kind"].as_str().unwrap()).or_default() += 1;
    }
    let stats = project.json(&["trail", "stats", "--group-by", "kind"]);
    assert_eq!(stats["count"], entries.len());
    for group in stats["groups"].as_array().unwrap() {
        let kind = group["key"][0].as_str().unwrap();
        assert_eq!(group["count"].as_u64(), kinds.remove(kind), "{kind}");
    }
    assert!(kinds.is_empty(), "{kinds:?}");
    let counts = |stats: &Value| {
        let groups = stats["groups"].as_array().unwrap();
        groups.iter().map(|group| group["count"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert!(counts(&stats).is_sorted_by(|a, b| a >= b), "the largest first");

    let of = |more: &[&str]| {
        let args = ["trail", "stats", "--kind", "checkpoint_created"];
        let sum = ["--sum", "resource_usage.tokens_consumed"];
        project.json(&[&args[..], &sum, more].concat())
    };
    let figures = json!({ "values": 4, "sum": 113, "min": 1, "max": 100, "avg": 28 });
    assert_eq!(of(&[])["figures"], figures);
    let by_actor = of(&["--group-by", "actor"]);
    assert_eq!(by_actor["groups"][0]["key"], json!(["agent:carol"]), "the largest sum first");
    assert_eq!(by_actor["groups"][0]["figures"]["sum"], 101);
    assert_eq!(by_actor["groups"][1]["figures"]["max"], 7);
    let top = of(&["--group-by", "workspace", "--top", "1"]);
    assert_eq!((top["groups"].as_array().unwrap().len(), &top["left_out"]), (1, &json!(1)));
    let two = of(&["--group-by", "role", "--group-by", "status"]);
    assert_eq!(two["groups"][0]["key"], json!(["worker", "final"]));
    let day = of(&["--group-by", "day"]);
    let start = day["groups"][0]["key"][0].as_u64().unwrap();
    let first = entries[0]["at"].as_u64().unwrap();
    assert!(start % 86_400_000_000 == 0 && start <= first && first < start + 86_400_000_000);
    assert_eq!(of(&["--where", "resource_usage.tokens_consumed>6"])["count"], 2);
    let shown = project.ok(&["trail", "stats", "--group-by", "kind"]).out;
    assert!(shown.contains("checkpoint_created") && shown.contains('█'), "{shown}");

    // The same from an exported trail, and of one's own part only where one reads no more.
    project.write("trail.jsonl", &project.ok(&["trail", "export"]).out);
    let all = ["trail", "stats", "--group-by", "role", "--group-by", "originator"];
    let exported = project.json(&[&all[..], &["--file", "trail.jsonl"]].concat());
    assert_eq!(project.json(&all), exported);
    let own = project.fitting(&["--as", "bob"]).len();
    let stats = project.json(&["trail", "stats", "--group-by", "workspace", "--as", "bob"]);
    assert_eq!((&stats["count"], counts(&stats).len()), (&json!(own), 1));
    let carol = project.json(&["workspace", "show", "agent:carol"])["workspace"].clone();
    let carol = carol.as_str().unwrap();
    let denied = project.json(&["trail", "stats", "--workspace", carol, "--as", "bob"]);
    assert_eq!(denied["count"], 0);
    assert_eq!(project.fitting(&["--kind", "trail_access_denied"]).len(), 1);
    let wrong = r#"{"filter":{"limit":5}}"#;
    assert_eq!(project.run(&["do", "trail.stats", wrong]).code, Some(2));
}

/// Shows W-TRAIL-36.
#[test]
fn a_run_is_pictured_and_put_beside_another() {
    let project = Sandbox::new();
    project.login("ada");
    for (n, tokens) in [10, 40].into_iter().enumerate() {
        let start = project
            .as_user("ada", &["coordinator", "start", "--agent", "alice", "--highway", "off"]);
        assert_eq!(start.code, Some(0), "{start:?}");
        project.planned(&["grammar", "parser"]);
        project.carry_out("grammar", "bob", tokens);
        if n == 1 {
            project.ok(&["task", "assign", "parser", "--agent", "dave", "--as", "alice"]);
            project.ok(&["inbox", "--take", "--as", "dave"]);
            project.ok(&["signal", "failed", "--reason", "no idea", "--as", "dave"]);
            project.ok(&["task", "retry", "parser", "--as", "alice"]);
        }
        project.carry_out("parser", "carol", tokens);
        let stop = project.as_user("ada", &["coordinator", "stop"]);
        assert_eq!(stop.code, Some(0), "{stop:?}");
    }
    let runs = project.json(&["trail", "runs"]);
    let (a, b) = (&runs["runs"][0], &runs["runs"][1]);
    assert_eq!((&a["tokens"], &a["cost"], &a["checkpoints"]), (&json!(20), &json!(40), &json!(2)));
    assert_eq!(
        (&a["workspaces"], &a["failures"], &a["retries"]),
        (&json!(2), &json!(0), &json!(0))
    );
    assert_eq!(
        (&b["workspaces"], &b["failures"], &b["retries"]),
        (&json!(3), &json!(1), &json!(1))
    );
    assert_eq!(a["interventions"], 1, "beginning the run is none, ending it is");
    assert_eq!((&a["ended"], &a["people"]), (&json!("closed"), &json!({ "ada": 1 })));
    let wall = a["last_at"].as_u64().unwrap() - a["started_at"].as_u64().unwrap();
    assert_eq!(a["wall"], wall);
    assert_eq!(runs["totals"]["tokens"], 100, "and across runs");

    let both = [a["run"].as_str().unwrap(), b["run"].as_str().unwrap()];
    let compared = project.json(&["trail", "compare", both[0], both[1]]);
    let figures = &compared["figures"];
    for (name, a, b) in [("tokens", 20, 80), ("failures", 0, 1), ("retries", 0, 1)] {
        assert_eq!(figures[name], json!({ "a": a, "b": b }), "{name}");
    }
    for name in ["wall", "cost", "workspaces", "checkpoints", "interventions"] {
        assert!(figures[name]["a"].as_u64() > Some(0), "{name}");
    }
    let parser = &compared["tasks"][1];
    assert_eq!((&parser["name"], &parser["b"]["attempts"]), (&json!("parser"), &json!(2)));
    assert!(parser["a"]["took"].as_u64() > Some(0), "time per task");
    assert_eq!(project.json(&["trail", "compare"])["figures"], *figures, "the last two by default");
    project.write("trail.jsonl", &project.ok(&["trail", "export"]).out);
    let file = format!("trail.jsonl:{}", both[0]);
    let mixed = project.json(&["trail", "compare", &file, both[1]]);
    assert_eq!(mixed["figures"], *figures, "an exported one beside one that is here");
    let shown = project.ok(&["trail", "compare", both[0], both[1]]).out;
    assert!(shown.contains("+60 (+300 %)") && shown.contains("integrated x2"), "{shown}");

    let view = project.json(&["view", "run", both[1]]);
    let lanes = view["lanes"].as_array().unwrap();
    assert_eq!(lanes.len(), 4, "the root and three workspaces");
    let dave = lanes.iter().find(|lane| lane["agent"] == "dave").unwrap();
    let states: Vec<&Value> =
        dave["steps"].as_array().unwrap().iter().map(|s| &s["state"]).collect();
    assert_eq!(states, ["idle", "active", "failed"]);
    assert_eq!(dave["task"], "parser");
    let drawn = project.ok(&["view", "run", both[1]]).out;
    let line = |who: &str| drawn.lines().find(|line| line.contains(who)).unwrap();
    assert!(line("worker dave \"parser\"").ends_with('✗'), "{drawn}");
    assert!(line("worker carol \"parser\"").contains('◆'), "{drawn}");

    let bob = lanes.iter().find(|lane| lane["agent"] == "bob").unwrap()["workspace"].clone();
    let bob = bob.as_str().unwrap();
    let timeline = project.json(&["view", "workspace", bob, "--last", "3"]);
    assert_eq!(timeline["count"], project.fitting(&["--workspace", bob]).len());
    assert_eq!(timeline["entries"].as_array().unwrap().len(), 3);
    assert!(timeline["spent"]["active"].as_u64() > Some(0), "{timeline}");
    let drawn = project.ok(&["view", "workspace", bob]).out;
    assert!(drawn.contains("worker of bob, closed") && drawn.contains("inbox.taken"), "{drawn}");
    let by_name = project.json(&["do", "view.run", &json!({ "run": both[1] }).to_string()]);
    assert_eq!(by_name, view);
}

/// Shows W-TRAIL-36, W-CLK-03.
#[test]
fn messages_are_drawn_and_what_did_not_depend_on_another_is_marked() {
    let (project, root) = Sandbox::with_run();
    let (bob, carol) = (project.worker("bob"), project.worker("carol"));
    project.ok(&["send", "root", "Which?", "--type", "query", "--as", "bob"]);
    project.ok(&["send", "root", "What?", "--type", "query", "--as", "carol"]);
    project.ok(&["send", "agent:bob", "That.", "--type", "feedback", "--as", "alice"]);
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.ok(&["send", "root", "And?", "--type", "query", "--as", "bob"]);
    let flow = project.json(&["view", "flow"]);
    let seen: Vec<(&Value, &Value, &Value)> = flow["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| (&message["from"], &message["type"], &message["concurrent"]))
        .collect();
    let (root, bob, carol) = (&json!(root), &json!(bob), &json!(carol));
    let (yes, no) = (&json!(true), &json!(false));
    let (directive, query, feedback) = (&json!("directive"), &json!("query"), &json!("feedback"));
    assert_eq!(
        seen,
        [
            (root, directive, no),
            (root, directive, no),
            (bob, query, yes),   // bob knew nothing of what carol was told
            (carol, query, yes), // nor carol of what bob asked
            (root, feedback, no),
            (bob, query, no), // he had read the answer
        ]
    );
    assert!(flow["messages"][2]["delivered_at"].is_u64());
    let edge = |from: &Value, kind: &Value| {
        let edges = flow["edges"].as_array().unwrap();
        edges.iter().find(|edge| edge["from"] == *from && edge["type"] == *kind).unwrap()["count"]
            .clone()
    };
    assert_eq!((edge(bob, query), edge(carol, query)), (json!(2), json!(1)));
    let drawn = project.ok(&["view", "flow"]).out;
    assert!(drawn.contains("◀") && drawn.contains(" feedback ") && drawn.contains("‖"), "{drawn}");
    let signals = project.json(&["view", "flow", "--signals"]);
    assert!(signals["count"].as_u64() > flow["count"].as_u64());
    let mermaid = project.ok(&["view", "flow", "--mermaid"]).out;
    assert_eq!(mermaid.matches("->>").count(), 6, "{mermaid}");
    assert!(project.ok(&["view", "flow", "--dot"]).out.contains("query x2"));
    // An agent at work sees its own messages.
    let own = project.json(&["view", "flow", "--as", "carol"]);
    let own = own["messages"].as_array().unwrap();
    assert!(!own.is_empty() && own.iter().all(|message| message["from"] == *carol), "{own:?}");
}

/// Shows W-TRAIL-37.
#[test]
fn names_that_are_not_known_here_are_shown_as_they_are() {
    let project = Sandbox::new();
    project.write(
        "notes.json",
        r#"{"id": "t", "version": "1", "protocol_version": "0.1",
            "roles": [{"name": "tester", "extends": "worker"}],
            "envelope_types": [{"name": "note", "description": "d",
                "permissions": [{"sender_role": "coordinator", "receiver_role": "worker"}]}]}"#,
    );
    let start = ["coordinator", "start", "--taxonomy", "notes.json", "--as", "alice"];
    let first = project.json(&start)["workspace"].as_str().unwrap().to_owned();
    let tester = ["workspace", "create", "--agent", "bob", "--role", "tester"];
    project.ok(&[&tester[..], &["--directive", "x", "--as", "alice"]].concat());
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.ok(&["send", "agent:bob", "n", "--type", "note", "--as", "alice"]);
    project.ok(&["coordinator", "stop", "--force", "--as", "alice"]);
    project.ok(&["coordinator", "start", "--as", "alice"]);
    project.worker("carol");

    let messages = ["trail", "stats", "--kind", "envelope_created", "--group-by", "type"];
    let across = project.json(&[&messages[..], &["--group-by", "run"]].concat());
    let keys: Vec<&Value> =
        across["groups"].as_array().unwrap().iter().map(|group| &group["key"][0]).collect();
    assert!(keys.contains(&&json!("note")), "a type the run that goes on does not have: {across}");
    assert_eq!(keys.iter().filter(|key| **key == "directive").count(), 2, "one in each run");
    assert!(!project.fitting(&["--role", "tester"]).is_empty());
    let flow = project.json(&["view", "flow", &first]);
    let types: Vec<&Value> =
        flow["messages"].as_array().unwrap().iter().map(|message| &message["type"]).collect();
    assert_eq!(types, ["directive", "note"]);
    assert_eq!(project.json(&["trail", "runs"])["runs"][0]["messages"]["note"], 1);
    // A kind of entry nobody here has heard of.
    let entries = [root_made("r"), ("system", "from_the_future", Some("r"), json!({ "warp": 9 }))];
    project.made_up("future.jsonl", &entries);
    let kinds = ["trail", "stats", "--group-by", "kind", "--sum", "warp", "--file", "future.jsonl"];
    let kinds = project.json(&kinds);
    assert_eq!(kinds["groups"][0]["key"], json!(["from_the_future"]));
    assert_eq!(kinds["figures"]["sum"], 9);
    assert_eq!(project.json(&["view", "run", "--file", "future.jsonl"])["entries"], 2);
}

/// Shows W-TRAIL-35.
#[test]
fn an_entry_shows_its_owner_at_the_time() {
    let project = Sandbox::bare();
    let mut child = root_made("w").3;
    child["parent"] = json!("r");
    child["owner"] = json!("ada");
    child["group"] = json!("frontend");
    let handed = json!({ "workspace_id": "w", "from_user": "ada", "to_user": "bob" });
    let step = ("protocol", "workspace_state_changed", Some("w"), json!({ "to_state": "x" }));
    let entries = [
        root_made("r"),
        ("agent:lead", "workspace_created", Some("w"), child),
        step.clone(),
        ("user:ada", "workspace_ownership_transferred", Some("w"), handed),
        step.clone(),
        step,
    ];
    project.made_up("trail.jsonl", &entries);
    let stats = |more: &[&str]| {
        project.json(&[&["trail", "stats", "--file", "trail.jsonl"], more].concat())
    };
    let by_owner = stats(&["--group-by", "owner"]);
    let groups: Vec<(&Value, &Value)> = by_owner["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| (&group["key"][0], &group["count"]))
        .collect();
    let output = json!([["bob", 3], ["ada", 2], ["system", 1]]);
    for (group, output) in groups.iter().zip(output.as_array().unwrap()) {
        assert_eq!((group.0, group.1), (&output[0], &output[1]));
    }
    assert_eq!(stats(&["--group-by", "group"])["groups"][0]["key"], json!(["frontend"]));
    assert_eq!(stats(&["--owner", "ada"])["count"], 2);
    assert_eq!(stats(&["--owner", "bob", "--where", "to_state=x"])["count"], 2);
}

/// Shows W-TRAIL-36.
#[test]
fn questions_to_people_are_shown_with_the_time_they_took() {
    let project = Sandbox::bare();
    let gate = |id: &str, kind: &str| {
        let body = json!({ "gate_id": id, "gate_type": kind, "subject": "s", "workspace": null });
        ("protocol", "gate_triggered", None, body)
    };
    let resolved = json!({ "gate_id": "g1", "gate_type": "integration", "action": "approve",
        "actor": "ada", "reason": "fine" });
    let put_in = json!({ "actor": "ada", "envelope_id": "e", "status": "delivered", "to": "w",
        "type": "directive", "reason": null });
    let asked = json!({ "signal_id": "s1", "workspace": "w", "reason": "stuck" });
    let answered = json!({ "signal_id": "s1", "workspace": "w", "actor": "bob",
        "response_type": "envelope", "response_ref": "e2" });
    let entries = [
        root_made("r"),
        gate("g1", "integration"),
        ("protocol", "escalation_received", Some("r"), asked),
        ("user:ada", "gate_resolved", None, resolved),
        ("user:ada", "human_injection", Some("r"), put_in),
        gate("g2", "task_approval"),
        ("user:bob", "escalation_resolved", Some("r"), answered),
        ("protocol", "gate_timeout", None, json!({ "gate_id": "g2", "fallback_action": "reject" })),
        gate("g3", "workspace_abort"),
        ("protocol", "gate_reentry_blocked", None, json!({ "gate_id": "g3" })),
        root_made("other"),
        gate("g4", "integration"),
    ];
    project.made_up("trail.jsonl", &entries);
    let seen = project.json(&["view", "highway", "r", "--file", "trail.jsonl"]);
    let gates = seen["gates"].as_array().unwrap();
    assert_eq!(gates.len(), 3, "of this run: {seen}");
    assert_eq!((&gates[0]["by"], &gates[0]["waited"]), (&json!("ada"), &json!(2_000_000)));
    assert_eq!((&gates[1]["outcome"], &gates[1]["timed_out"]), (&json!("reject"), &json!(true)));
    assert_eq!(gates[2]["resolved_at"], json!(null));
    assert_eq!(seen["escalations"][0]["waited"], 4_000_000);
    assert_eq!(seen["injections"][0]["by"], "ada");
    assert_eq!((&seen["waiting"], &seen["timed_out"]), (&json!(1), &json!(1)));
    assert_eq!((&seen["people"], &seen["reentries"]), (&json!({ "ada": 2, "bob": 1 }), &json!(1)));
    let shown = project.ok(&["view", "highway", "r", "--file", "trail.jsonl"]).out;
    for words in ["approve by ada", "reject, nobody answered", "waits", "put in directive"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(project.json(&["view", "highway", "--file", "trail.jsonl"])["run"], "other");
    assert_eq!(project.run(&["view", "highway", "nobody", "--file", "trail.jsonl"]).code, Some(1));
    assert_eq!(project.run(&["view", "run", "--file", "missing.jsonl"]).code, Some(2));
}

/// Shows W-REC-12.
#[test]
fn many_failures_of_one_sort_are_one_thing() {
    let (project, _) = Sandbox::with_run();
    for n in 0..3 {
        let name = format!("w{n}");
        project.worker(&name);
        let reason = format!("provider: HTTP 50{n} after {n}s");
        project.ok(&["signal", "failed", "--reason", &reason, "--as", &name]);
    }
    project.worker("odd");
    project.ok(&["signal", "failed", "--reason", "out of ideas", "--as", "odd"]);
    let calm = project.ok(&["status"]).out;
    assert!(!calm.contains("keeps going wrong"), "three are not many: {calm}");
    let before = project.bytes_of_state();
    let status = project.json(&["status", "--least", "3"]);
    let failures = &status["failures"];
    assert_eq!((&failures["seen"], &failures["least"]), (&json!(4), &json!(3)));
    assert_eq!(failures["bursts"].as_array().unwrap().len(), 1, "{failures}");
    let burst = &failures["bursts"][0];
    assert_eq!((&burst["count"], &burst["places"]), (&json!(3), &json!(3)));
    assert_eq!((&burst["sort"], &burst["widespread"]), (&json!("workspace"), &json!(true)));
    assert!(burst["reason"].as_str().unwrap().contains("provider: http …"), "{burst}");
    assert_eq!(burst["owners"], json!(["system"]));
    assert!(burst["first_at"].as_u64() < burst["last_at"].as_u64());
    let shown = project.ok(&["status", "--least", "3"]).out;
    assert!(shown.contains("3 workspaces failed within") && shown.contains("3 or more alike"));
    assert_eq!(project.bytes_of_state(), before, "looking changes nothing");
    // The same refusal of several agents is one failure, too; a collision is none.
    for name in ["w0", "w1", "w2", "odd", "w0"] {
        project.refused(&["task", "retry", "nothing-1234", "--as", name]);
        project.claim("holder", "src");
        project.run(&["claim", "src", "--as", name]);
        project.run(&["release", "--all", "--as", "holder"]);
    }
    let status = project.json(&["status"]);
    let bursts = status["failures"]["bursts"].as_array().unwrap().clone();
    assert_eq!(bursts.len(), 1, "{bursts:?}");
    assert_eq!((&bursts[0]["sort"], &bursts[0]["count"]), (&json!("refused"), &json!(5)));
    assert_eq!(bursts[0]["places"], 4);
    assert_eq!(project.run(&["status", "--window", "soon"]).code, Some(2));
    let by_name = project.json(&["do", "trail.failures", r#"{"least":3}"#]);
    assert_eq!(by_name["bursts"].as_array().unwrap().len(), 2);
}

#[test]
fn the_cost_of_a_run_is_that_of_its_meters() {
    let (project, _) = Sandbox::with_run();
    project.planned(&["grammar", "parser"]);
    project.ok(&["task", "assign", "grammar", "--agent", "bob", "--as", "alice"]);
    project.ok(&["inbox", "--take", "--as", "bob"]);
    project.ok(&["meter", "report", "--tokens", "1200", "--cost", "0.03", "--as", "bob"]);
    // Tokens that a checkpoint reports for the same work are not counted twice.
    project.report("bob", 1100, 30_000);
    // Where the meter was told nothing, the claim is all there is.
    project.ok(&["task", "assign", "parser", "--agent", "carol", "--as", "alice"]);
    project.ok(&["inbox", "--take", "--as", "carol"]);
    project.report("carol", 7, 20_000);
    let run = project.json(&["view", "run"]);
    assert_eq!((&run["tokens"], &run["cost"]), (&json!(1207), &json!(50_000)), "{run}");
    let tokens = |n: usize| (&run["tasks"][n]["tokens"], &run["lanes"][n + 1]["tokens"]);
    assert_eq!((tokens(0), tokens(1)), ((&json!(1200), &json!(1200)), (&json!(7), &json!(7))));
    let shown = project.ok(&["view", "run"]).out;
    assert!(shown.contains("1207 tokens, cost 0.05,") && shown.contains("0.03"), "{shown}");
    let shown = project.ok(&["view", "workspace", "agent:bob"]).out;
    assert!(shown.contains("1200 tokens, cost 0.03"), "{shown}");
    let runs = project.ok(&["trail", "runs"]).out;
    assert!(runs.contains("0.05") && runs.contains("1207"), "{runs}");
    project.write("trail.jsonl", &project.ok(&["trail", "export"]).out);
    let beside = project.ok(&["trail", "compare", "trail.jsonl", "root"]).out;
    assert!(!beside.contains("millionths") && beside.contains("0.05"), "{beside}");
}

#[test]
fn views_say_what_was_deleted_with_archives() {
    let (project, _) = Sandbox::with_run();
    let bob = project.worker("bob");
    project.ok(&["signal", "started", "--as", "bob"]);
    project.report("bob", 1, 1);
    project.ok(&["signal", "complete", "--as", "bob"]);
    project.ok(&["integrate", &bob, "accept", "--as", "alice"]);
    for view in [vec!["view", "run"], vec!["view", "workspace", &bob], vec!["trail", "stats"]] {
        assert_eq!(project.json(&view)["deleted_entries"], 0, "{view:?}");
        assert!(!project.ok(&view).out.contains("deleted with archives"), "{view:?}");
    }
    project.ok(&["trail", "compact", "--older-than", "0s"]);
    assert_eq!(project.json(&["view", "run"])["deleted_entries"], 0, "what is archived is there");
    project.write("althing.toml", "[trail]\narchive_retention = \"0s\"\n");
    let gone = project.json(&["trail", "prune", "--as", "alice"])["entries"].clone();
    assert!(gone.as_u64() > Some(1), "{gone}");
    let words = format!("{gone} entries were deleted with archives");
    for view in [
        vec!["view", "run"],
        vec!["view", "workspace", &bob],
        vec!["trail", "stats"],
        vec!["trail", "stats", "--workspace", &bob],
        vec!["trail", "runs"],
        vec!["view", "flow"],
        vec!["view", "highway"],
    ] {
        assert_eq!(project.json(&view)["deleted_entries"], gone, "{view:?}");
        let shown = project.ok(&view).out;
        assert!(shown.contains(&words), "{view:?}: {shown}");
    }
    let other = ["trail", "stats", "--kind", "run.stopped"];
    assert_eq!(project.json(&other)["deleted_entries"], 0, "none of that kind is gone");
}

#[test]
fn a_task_is_called_what_people_call_it_now() {
    let project = Sandbox::new();
    project.login("ada");
    let start = ["coordinator", "start", "--agent", "alice", "--highway", "supervised"];
    assert_eq!(project.as_user("ada", &start).code, Some(0));
    let plan = json!({ "tasks": [{ "key": "parser" }] }).to_string();
    project.run_with(&["task", "plan", "-", "--as", "alice"], plan.as_bytes());
    let gate = project.json(&["gate", "list"])[0]["gate"].as_str().unwrap().to_owned();
    let ran = project.as_user("ada", &["gate", "modify", &gate, "--name", "lexer"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(project.json(&["view", "run"])["tasks"][0]["name"], "lexer");
    let ran = project.run(&["view", "workspace", "zzzz", "--json"]);
    assert_eq!((ran.code, ran.error()["kind"].as_str()), (Some(1), Some("not_found")));
}
