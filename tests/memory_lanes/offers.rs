//! Offers that are made once, whoever asks at once and whoever is killed, and what becomes of their
//! claims.

use super::*;
use std::process::{Child, Stdio};
use std::time::Duration;

const OFFER: [&str; 11] = [
    "memory",
    "coordinate",
    "assign",
    "Do it.",
    "--lane-scope",
    "bob=src/a",
    "--lane-scope",
    "carol=src/b",
    "--request-id",
    "r1",
    "--json",
];

fn start(team: &Team, args: &[&str]) -> Child {
    let mut command = team.project.command();
    command.args(args).args(["--as", "alice"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How many there are of each part of an offer, as the trail has them.
fn parts(team: &Team) -> (usize, usize, usize) {
    let count = |kind: &str| {
        let find = json!({ "kind": kind }).to_string();
        let found = team.project.json(&["do", "memory.find", &find]);
        usize::try_from(found["total"].as_u64().unwrap()).unwrap()
    };
    let opened = team.project.kinds().iter().filter(|kind| *kind == "lease.opened").count();
    (count("assignment"), count("message"), opened)
}

#[test]
fn one_request_of_many_processes_is_one_offer() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let all: Vec<Child> = (0..8).map(|_| start(&team, &OFFER)).collect();
    let mut shown: Vec<Value> = Vec::new();
    for child in all {
        let ran = Ran::of(&child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        shown.push(ran.json()["result"]["delivery_plan"].clone());
    }
    assert_eq!(shown[0].as_array().unwrap().len(), 2, "{shown:?}");
    assert!(shown.iter().all(|own| *own == shown[0]), "{shown:?}");
    assert_eq!(parts(&team), (2, 2, 2));
    let kinds = team.project.kinds();
    assert_eq!(kinds.iter().filter(|kind| *kind == "memory.offered").count(), 1);
    let mut other = OFFER;
    other[3] = "Something else.";
    let ran = Ran::of(&start(&team, &other).wait_with_output().unwrap());
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.error()["kind"], "idempotency_key_reused_with_different_body");
}

#[test]
fn a_dispatch_of_many_processes_gives_out_what_one_would() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let items: Vec<Value> = (1..=3)
        .map(|n| {
            let scope = format!("src/{n}");
            json!({ "plan": team.plan(&format!("Plan {n}")), "rank": n, "scope_hint": scope })
        })
        .collect();
    let create = json!({ "kind": "sequence", "text": "All", "fields": { "items": items } });
    team.act("alice", "memory.create", create);
    let args = ["memory", "dispatch", "--max", "1", "--request-id", "d1", "--json"];
    let all: Vec<Child> = (0..6).map(|_| start(&team, &args)).collect();
    for child in all {
        let ran = Ran::of(&child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.json()["result"]["messages_sent"], 1, "{ran:?}");
    }
    assert_eq!(parts(&team), (1, 1, 1), "one, as was asked");
}

/// Whether an offer is there as a whole, and how many were made: its parts come together or not at all.
#[track_caller]
fn whole(team: &Team) -> usize {
    let (assignments, messages, claims) = parts(team);
    assert_eq!((assignments, messages), (claims, claims), "half of an offer is visible");
    assert_eq!(claims % 2, 0, "one lane of two is visible");
    assert_eq!(claims, 2 * offered(team));
    offered(team)
}

fn offered(team: &Team) -> usize {
    team.project.kinds().iter().filter(|kind| *kind == "memory.offered").count()
}

#[test]
fn an_offer_whose_process_was_killed_is_made_once_when_it_is_repeated() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let mut waits = (0..24).map(|n| Duration::from_micros(500 + n * 1_500));
    for round in 0..6 {
        let request = format!("k{round}");
        let mut args = OFFER;
        args[9] = &request;
        for wait in waits.by_ref().take(4) {
            let mut victim = start(&team, &args);
            std::thread::sleep(wait);
            victim.kill().unwrap();
            victim.wait().unwrap();
            let made = whole(&team);
            assert!((round..=round + 1).contains(&made), "round {round}: {made}");
        }
        repeated(&team, &args, round + 1);
    }
}

/// The same offer is asked for again and let run. It is there once.
#[track_caller]
fn repeated(team: &Team, args: &[&str], made: usize) {
    let ran = Ran::of(&start(team, args).wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(whole(team), made);
    for lane in ran.json()["result"]["delivery_plan"].as_array().unwrap() {
        let own = team.get(&text(lane, "assignment_id"));
        assert_eq!(own["fields"]["message_id"], lane["message_id"]);
        team.moved("alice", &text(lane, "assignment_id"), "cancelled");
    }
    assert!(team.claims().is_empty());
}

/// Killed for certain before the commit, and for certain after it and before the answer.
#[cfg(unix)]
#[test]
fn an_offer_is_killed_before_its_commit_and_after_it() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let mut args = OFFER;
    // Before: somebody else is about to write, so it waits for its turn.
    args[9] = "before";
    let writer = rusqlite::Connection::open(team.project.store()).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut victim = start(&team, &args);
    std::thread::sleep(Duration::from_millis(700));
    assert!(victim.try_wait().unwrap().is_none(), "it waits");
    victim.kill().unwrap();
    assert!(!victim.wait().unwrap().success());
    writer.execute_batch("ROLLBACK").unwrap();
    drop(writer);
    assert_eq!(whole(&team), 0, "nothing of it is there");
    repeated(&team, &args, 1);
    // After: nobody reads what it says, so it stays where it is about to answer.
    args[9] = "after";
    let (stuffed, _kept) = stuffed();
    let mut command = team.project.command();
    command.args(args).args(["--as", "alice"]).stdin(Stdio::null());
    let mut victim = command.stdout(stuffed).stderr(Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    while offered(&team) < 2 {
        assert!(begun.elapsed() < Duration::from_mins(1), "it was never made");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(victim.try_wait().unwrap().is_none(), "it did not answer");
    victim.kill().unwrap();
    assert!(!victim.wait().unwrap().success());
    assert_eq!(whole(&team), 2, "all of it is there");
    repeated(&team, &args, 2);
    team.project.ok(&["trail", "verify", "--signatures"]);
}

/// An output that takes no more, and what keeps it open.
#[cfg(unix)]
fn stuffed() -> (Stdio, std::os::unix::net::UnixStream) {
    use std::io::Write as _;
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    while ours.write(&[b'x'; 4096]).is_ok() {}
    while ours.write(b"x").is_ok() {}
    ours.set_nonblocking(false).unwrap();
    (Stdio::from(std::os::fd::OwnedFd::from(ours)), theirs)
}

#[test]
fn a_claim_that_is_gone_comes_back_with_the_work_or_says_who_has_it() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let first = text(&team.assigned(&["--scope", "src/a"]), "assignment_id");
    let second = text(&team.assigned(&["--scope", "src/b"]), "assignment_id");
    for own in team.project.json(&["claims"]).as_array().unwrap() {
        team.project.ok(&["release", &text(own, "lease"), "--as", "alice"]);
    }
    let done = team.memory("bob", &["transition", &first, "accepted"]);
    let actions: Vec<&Value> =
        done["side_effects"].as_array().unwrap().iter().map(|own| &own["action"]).collect();
    assert_eq!(actions, ["already_over", "opened", "moved"], "{done}");
    let held = team.claims();
    assert_eq!((held.len(), held[0].0.as_str()), (1, "agent:bob"));
    assert_eq!(team.get(&first)["fields"]["claim"], held[0].1);
    team.project.claim("carol", "src/b/y.rs");
    let (ran, error) = team.refused("bob", &["transition", &second, "accepted"]);
    assert_eq!(ran.code, Some(3), "{error}");
    assert!(text(&error, "message").contains("carol"), "{error}");
    assert_eq!(team.get(&second)["status"], "offered");
}

#[test]
fn the_progress_of_work_is_told_where_its_states_are() {
    let team = Team::new(&["alice", "bob"]);
    let id = text(&team.assigned(&[]), "assignment_id");
    let tell = ["transition", &id, "progress", "--reason", "Half.", "--artifact", "file=src/a"];
    team.moved("bob", &id, "accepted");
    let (ran, error) = team.refused("bob", &tell);
    assert_eq!((ran.code, &error["rule"]), (Some(1), &json!("A-MEM-03")), "{error}");
    team.moved("bob", &id, "started");
    let (_, error) = team.refused("alice", &tell);
    assert_eq!(error["rule"], "A-MEM-06", "only its agent: {error}");
    let before = team.get(&id);
    for n in 1..=3 {
        let shown = team.memory("bob", &tell);
        assert_eq!((&shown["from"], &shown["to"]), (&json!("started"), &json!("started")));
        assert_eq!(shown["artifacts"], n);
    }
    let after = team.get(&id);
    let heard = |own: &Value| own["fields"]["last_heartbeat_at"].as_u64().unwrap();
    assert!(heard(&after) > heard(&before));
    assert_eq!(after["fields"]["status_reason"], "Half.");
    assert_eq!(after["fields"]["artifacts"][2], json!({ "ref": "src/a", "type": "file" }));
    let (ran, _) = team.refused("bob", &["transition", &id, "progress", "--plan-status", "done"]);
    assert_eq!(ran.code, Some(2));
}

#[test]
fn a_rerouted_assignment_is_offered_once() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let offered = team.assigned(&["--scope", "src/a"]);
    let old = text(&offered, "assignment_id");
    let reroute = ["coordinate", "reroute", "--assignment", &old, "--to", "carol"];
    let asked = [&reroute[..], &["--request-id", "x"]].concat();
    let done = team.memory("alice", &asked);
    let lane = &done["result"]["delivery_plan"][0];
    assert!(text(lane, "nonce").len() >= 8 && lane["nonce"] != offered["nonce"], "{done}");
    assert_eq!(lane["attempt"], 1);
    let own = team.get(&text(lane, "assignment_id"));
    assert_eq!(
        (&own["fields"]["nonce"], &own["fields"]["message_id"]),
        (&lane["nonce"], &lane["message_id"])
    );
    let command = text(&done["result"]["commands"][0], "command");
    assert!(command.ends_with("accepted --as carol"), "{command}");
    assert_eq!(team.memory("alice", &asked)["result"], done["result"], "repeated");
    let (ran, error) = team.refused("alice", &reroute);
    assert_eq!((ran.code, &error["rule"]), (Some(1), &json!("A-MEM-03")), "{error}");
    let words: Vec<&str> = command.strip_prefix("althing ").unwrap().split(' ').collect();
    team.project.ok(&words);
    assert_eq!(team.claims()[0].0, "agent:carol");
    let elsewhere = ["coordinate", "reroute", "--assignment", &old, "--to", "bob", "--scope", "x"];
    assert_eq!(team.refused("alice", &elsewhere).0.code, Some(2));
}

/// 2 for what cannot be meant, 1 for what a rule or the other side refuses or leaves in part, 3 for
/// what somebody else has.
#[test]
fn exit_codes_say_what_was_wrong() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let code = |rest: &[&str]| {
        let args = [&["memory"], rest, &["--as", "alice", "--json"]].concat();
        team.project.run(&args).code.unwrap()
    };
    let assign = ["coordinate", "assign", "Do it."];
    let to = |rest: &[&str]| code(&[&assign[..], rest].concat());
    assert_eq!(code(&["coordinate", "assign", "--to", "bob"]), 2, "no task");
    assert_eq!(to(&[]), 2, "nobody is named");
    assert_eq!(to(&["--to", "nobody"]), 1);
    assert_eq!(to(&["--to", "bob", "--plan", "pln#9"]), 1, "there is none");
    assert_eq!(to(&["--to", "bob", "--to", "nobody"]), 1, "in part");
    assert_eq!(to(&["--lane-scope", "bob=src", "--lane-scope", "carol=src/a"]), 3);
    team.project.claim("carol", "src/b");
    assert_eq!(to(&["--to", "bob", "--scope", "src/b/y.rs"]), 3);
    assert_eq!(to(&["--lane-scope", "bob=src/b", "--lane-scope", "carol=docs"]), 1, "in part");
    team.project.write("src/a/new.rs", "//\n");
    assert_eq!(to(&["--to", "bob", "--scope", "src/a"]), 1, "not committed");
    team.git(&["add", "."]);
    team.git(&["commit", "--quiet", "-m", "Second"]);
    let plan = team.plan("p");
    assert_eq!(to(&["--to", "bob", "--plan", &plan]), 0);
    assert_eq!(to(&["--to", "carol", "--plan", &plan]), 1, "bob has it");
    assert_eq!(code(&["harvest", "asgn#99"]), 1);
    assert_eq!(code(&["harvest", "no id"]), 2);
    assert_eq!(code(&["dispatch"]), 1, "there is no sequence");
    let items = |after: &str| {
        format!("items=[{{\"plan\":\"{plan}\",\"rank\":1,\"hard_after\":[\"{after}\"]}}]")
    };
    let sequence = |after: &str| {
        let args = ["memory", "create", "sequence", "S", "--set", &items(after), "--as", "alice"];
        let ran = team.project.run(&[&args[..], &["--json"]].concat());
        (ran.code, text(&ran.error(), "message"))
    };
    let (refused, message) = sequence(&plan);
    assert_eq!(refused, Some(1));
    assert!(message.contains(&format!("{plan} after {plan}")), "{message}");
    assert_eq!(sequence("pln#77").0, Some(1));
}

/// A request's name stands for one request, whatever it asks for.
#[test]
fn a_requests_name_is_used_for_nothing_else() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let named = |rest: &[&'static str], id: &'static str| {
        [&["coordinate"], rest, &["--request-id", id]].concat()
    };
    let consult = named(&["consult", "What now?", "--to", "bob"], "k1");
    let first = team.memory("alice", &consult);
    assert_eq!(team.memory("alice", &consult)["artifacts"], first["artifacts"]);
    for other in [
        named(&["consult", "Something else?", "--to", "carol"], "k1"),
        named(&["review", "Look at it.", "--to", "bob"], "k1"),
        named(&["assign", "Do it.", "--to", "bob", "--scope", "src/a"], "k1"),
    ] {
        let (_, error) = team.refused("alice", &other);
        assert_eq!(error["kind"], "idempotency_key_reused_with_different_body", "{other:?}");
    }
    team.memory("alice", &named(&["review", "Look at it.", "--to", "bob"], "k2"));
    let more = named(&["review", "Look at it.", "--to", "bob", "--to", "carol"], "k2");
    let (_, error) = team.refused("alice", &more);
    assert_eq!(error["kind"], "idempotency_key_reused_with_different_body");
}

/// Whoever accepts work has read the message that offers it; once the work is over it is closed.
#[test]
fn a_message_follows_the_work_it_offers() {
    let team = Team::new(&["alice", "bob", "carol"]);
    let offer = team.assigned(&["--scope", "src/a"]);
    let [id, message] = ["assignment_id", "message_id"].map(|name| text(&offer, name));
    let status = |id: &str| text(&team.get(id), "status");
    assert_eq!(status(&message), "open");
    team.moved("bob", &id, "accepted");
    assert_eq!(status(&message), "acknowledged");
    let reroute = ["coordinate", "reroute", "--assignment", &id, "--to", "carol"];
    let shown = team.memory("alice", &reroute);
    assert_eq!(status(&message), "closed", "{shown}");
    let ghost = json!({ "id": "asgn#2", "to": "rerouted", "agent": "ghost" });
    let ran = team.project.run(&["do", "memory.move", &ghost.to_string(), "--as", "alice"]);
    assert_eq!(ran.code, Some(1), "nobody knows it: {ran:?}");
    team.project.ok(&["trail", "verify"]);
}

/// Hosts that never said who they are look for no work.
#[test]
fn nobody_in_particular_is_given_work() {
    let team = Team::new(&["alice", "bob"]);
    let mut host = crate::mcp::Host::silent(&team.project, &["--dialect", "memory"]);
    host.done("bclaw_work", json!({ "intent": "consult" }));
    host.end();
    let shown = team.memory("alice", &["coordinate", "consult", "What now?"]);
    assert!(!shown.to_string().contains("mcp-client"), "{shown}");
    assert!(shown.to_string().contains("bob"), "{shown}");
}
