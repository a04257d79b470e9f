//! Gates through the real program: messages before and after a person answers.

use crate::support::{Ran, Sandbox};
use serde_json::Value;

#[track_caller]
fn good(ran: &Ran) -> &str {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    &ran.out
}

/// A run that `lead` coordinates for `ada`, with the given highway.
fn begun(highway: &str) -> Sandbox {
    let project = Sandbox::new();
    project.login("ada");
    let args = ["coordinator", "start", "--agent", "lead", "--highway", highway];
    good(&project.run_as("ada", &args));
    project
}

/// The first gate that waits.
#[track_caller]
fn first(project: &Sandbox) -> String {
    let gates = project.json(&["gate", "list"]);
    gates[0]["gate"].as_str().unwrap_or_else(|| panic!("no gate waits")).to_owned()
}

/// The id as people are shown it, and may give it.
fn short(id: &str) -> &str {
    &id[id.len() - 6..]
}

/// A text without the line breaks that fit it to the terminal.
fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing: {text}");
    }
}

/// Somebody at work whose work is finished.
fn finished(project: &Sandbox, name: &str) {
    project.ok(&["inbox", "--take", "--as", name]);
    project.write("src/a.txt", "hello\n");
    let args = ["checkpoint", "create", "--intent", "the greeting", "--final", "--file"];
    project.ok(&[&args[..], &["src/a.txt", "--as", name]].concat());
    project.ok(&["signal", "complete", "--as", name]);
}

#[test]
fn a_gate_shows_everything_its_answer_depends_on() {
    let project = begun("gated");
    let create = [
        &["workspace", "create", "--agent", "w", "--directive", "Say hello."][..],
        &["--budget", "tokens=200k,cost=2.50", "--authority", "src", "--timeout", "2h"],
        &["--group", "greeters", "--visibility", "root", "--as", "lead"],
    ];
    project.ok(&create.concat());
    let gate = first(&project);
    let vain = project.run(&["gate", "approve", "--as", "lead"]);
    says(&vain.err, &["nothing waits for you", "1 gate waits for somebody else"]);
    let shown = project.ok(&["gate", "show", &gate]).out;
    let budget = "budget      cost=2.50 tokens=200k";
    let root = project.json(&["coordinator", "show"])["root"].as_str().unwrap().to_owned();
    let read = format!("may read    {}", short(&root));
    let wanted = [budget, "may change  src", "may take    2h", "greeters", &read, "worker"];
    says(&shown, &wanted);
    says(&shown, &["  Say hello."]);
    let json = project.json(&["gate", "show", short(&gate)]);
    assert_eq!(json["gate"], gate.as_str(), "the short id names it");
    assert_eq!(json["request"]["create"]["directive"]["text"], "Say hello.");
    // How many wait, for whom, and where to look.
    let status = project.ok(&["status"]).out;
    says(&status, &["1 gate waits for a person: 1 for ada", "`althing gate list`"]);
    let waiting = &project.json(&["status"])["run"]["gates"];
    assert_eq!((&waiting["count"], &waiting["owners"]["ada"]), (&1.into(), &1.into()));
    says(good(&project.run_as("ada", &["gate", "approve"])), &["approved by ada; ", "is idle"]);

    finished(&project, "w");
    project.ok(&["integrate", "agent:w", "accept", "--check", "exit 3", "--as", "lead"]);
    let gate = first(&project);
    let shown = project.ok(&["gate", "show", &gate]).out;
    let found = "FOUND       constraint_breach `exit 3` failed";
    says(&shown, &["the greeting", "src/a.txt  sha256:", "strategy    direct", found]);
    assert_eq!(project.json(&["gate", "show", &gate])["checkpoint"]["intent"], "the greeting");
    let answered = project.run_as("ada", &["gate", "approve", &gate]);
    says(good(&answered), &["approved by ada", "is conflicted", "`exit 3` failed"]);

    let resolve =
        ["integrate", "agent:w", "resolve", "--resolution", "it is flaky", "--as", "lead"];
    project.ok(&resolve);
    let gate = first(&project);
    let shown = project.ok(&["gate", "show", &gate]).out;
    says(
        &shown,
        &["constraint_breach", "`exit 3` failed", "resolution  it is flaky", "src/a.txt  sha256:"],
    );
    good(&project.run_as("ada", &["gate", "approve"]));
    // Whoever comes late hears how it ended.
    let late = project.run_as("ada", &["gate", "approve", &gate]);
    assert_eq!(late.code, Some(1));
    says(&late.err, &["has ended: approved by ada"]);
    // The coordinator's news say what was decided about what.
    let news = project.ok(&["inbox", "--take", "--as", "lead"]).out;
    says(&flowing(&news), &["gate_resolved a workspace for agent:w as worker: approved by ada"]);
}

#[test]
fn many_answers_are_given_one_by_one_whatever_is_refused() {
    let project = begun("supervised");
    let tasks = |from: u8| -> String {
        let keys =
            (from..from + 2).map(|n| format!("{{\"key\":\"t{n}\",\"description\":\"Do {n}.\"}}"));
        format!("{{\"tasks\":[{}]}}", keys.collect::<Vec<_>>().join(","))
    };
    project.write("plan.json", &tasks(1));
    project.ok(&["task", "plan", "plan.json", "--as", "lead"]);
    let gates = project.json(&["gate", "list"]);
    assert_eq!(gates[0]["task"]["text"], "Do 1.", "short texts stand beside their hashes");
    let ids: Vec<&str> = (0..2).map(|n| gates[n]["gate"].as_str().unwrap()).collect();
    good(&project.run_as("ada", &["gate", "reject", "--reason", "not now"]));
    let rejected = project.json(&["gate", "list", "--all"]);
    let ended: Vec<&Value> =
        rejected.as_array().unwrap().iter().filter(|g| !g["ended"].is_null()).collect();
    assert_eq!((ended.len(), &ended[0]["gate"]), (1, &ids[0].into()), "the first in the queue");
    let ran = project.as_user("ada", &["gate", "approve", ids[0], ids[1]]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let outcomes = ran.json();
    assert_eq!(outcomes[0]["error"]["rule"], "W-HH-06");
    assert_eq!(outcomes[1]["ended"]["by"], "ada", "the second goes on all the same");
    project.write("plan.json", &tasks(3));
    project.ok(&["task", "plan", "plan.json", "--as", "lead"]);
    let gone = first(&project);
    let ran = project.run_as("ada", &["gate", "approve", ids[0], &gone]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    says(&ran.out, &["the task \"t3\": approved by ada"]);
    says(&ran.err, &["has ended: rejected by ada"]);
}

#[test]
fn messages_of_people_show_their_name() {
    let project = begun("off");
    project.ok(&["workspace", "create", "--agent", "bob", "--directive", "go", "--as", "lead"]);
    project.ok(&["inbox", "--take", "--as", "bob"]);
    let output = project.ok(&["signal", "escalation", "--reason", "which licence?", "--as", "bob"]);
    let open = project.json(&["escalations"]);
    let id = open[0]["escalation"].as_str().unwrap();
    says(&output.out, &[&format!("escalation {} waits for user:ada", short(id))]);
    says(
        &project.ok(&["status"]).out,
        &["1 agent needs a person: 1 for ada", "`althing escalations`"],
    );
    good(&project.run_as("ada", &["escalations", "answer", short(id), "MIT."]));
    good(&project.run_as("ada", &["inject", "agent:bob", "No rush."]));
    project.ok(&["send", "agent:bob", "Mine.", "--type", "feedback", "--as", "lead"]);
    let mail = project.ok(&["inbox", "--take", "--as", "bob"]).out;
    assert_eq!(mail.matches("feedback   from user:ada").count(), 2, "{mail}");
    assert_eq!(mail.matches("feedback   from ").count(), 3, "{mail}");
    let flow = project.ok(&["view", "flow"]).out;
    says(&flow, &["user:ada  "]);
    let json = project.json(&["view", "flow"]);
    let by = |message: &&Value| message["by"] == "user:ada";
    assert_eq!(json["messages"].as_array().unwrap().iter().filter(by).count(), 2);
    // Who answers has to be said, and how.
    for args in [
        vec!["inject", "agent:bob", "x"],
        vec!["escalations", "answer", id, "x"],
        vec!["gate", "approve", "abcdef"],
    ] {
        let ran = project.run(&args);
        assert_eq!(ran.code, Some(2), "{args:?} {ran:?}");
        says(&ran.err, &["`--user NAME`"]);
    }
    // Somebody who is not there has no queue, not an empty one.
    for args in [
        vec!["gate", "list", "--owner", "nobody"],
        vec!["gate", "list", "--user", "nobody"],
        vec!["gate", "approve", "abcdef", "--user", "nobody"],
        vec!["escalations", "--owner", "nobody"],
        vec!["trail", "--owner", "nobody"],
        vec!["trail", "stats", "--originator", "nobody"],
        vec!["trail", "--actor", "user:nobody"],
    ] {
        let ran = project.run(&args);
        assert_eq!(ran.code, Some(1), "{args:?} {ran:?}");
        says(&ran.err, &["there is no user nobody"]);
    }
    let ran = project.run(&["trail", "--actor", "ada"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    says(&ran.err, &["`--actor user:NAME`"]);
    says(&project.ok(&["trail", "--actor", "user:ada"]).out, &["user:ada"]);
}

#[test]
fn the_coordinator_finds_escalations_left_to_it() {
    let project = begun("off");
    let set = ["highway", "set", "--gate", "task_approval=on", "--wait", "task_approval=1s"];
    let otherwise = ["--fallback", "task_approval=escalate_to_coordinator"];
    good(&project.run_as("ada", &[&set[..], &otherwise[..]].concat()));
    project.write("plan.json", "{\"tasks\":[{\"key\":\"t\",\"description\":\"Do it.\"}]}");
    project.ok(&["task", "plan", "plan.json", "--as", "lead"]);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    says(&project.ok(&["gate", "list"]).out, &["nothing waits for a person"]);
    says(&project.ok(&["gate", "list", "--as", "lead"]).out, &["left to the coordinator", "\"t\""]);
    let done = project.ok(&["gate", "approve", "--as", "lead"]).out;
    says(&done, &["left to the coordinator, who lets it go on; it is pending"]);
    says(&project.ok(&["gate", "list", "--as", "lead"]).out, &["nothing waits"]);
    // A run tells whose it is and what its people want to be asked about.
    let run = project.ok(&["coordinator", "show"]).out;
    says(&run, &["owner       ada", "deployment  single-runtime", "asked about task_approval"]);
    let run = project.json(&["coordinator", "show"]);
    assert_eq!((&run["owner"], &run["deployment"]), (&"ada".into(), &"single-runtime".into()));
    assert_eq!(run["highway"]["gates"][0], "task_approval");
}

#[test]
fn a_message_that_waits_or_comes_back_says_so() {
    let project = begun("off");
    let create = ["workspace", "create", "--agent", "bob", "--directive", "go", "--group", "g"];
    project.ok(&[&create[..], &["--as", "lead"]].concat());
    project.ok(&["inbox", "--take", "--as", "bob"]);
    let gates = ["--gate", "envelope_delivery=on", "--gate", "workspace_abort=on"];
    good(&project.run_as("ada", &[&["highway", "set"], &gates[..]].concat()));
    let sent = project.ok(&["send", "agent:bob", "psst", "--type", "feedback", "--as", "lead"]).out;
    let gate = first(&project);
    says(&sent, &[&format!("it waits for a person (ada) at gate {}", short(&gate))]);
    // Whom it is for reads it once it arrives, and not at the gate.
    let held = project.json(&["gate", "show", short(&gate)])["envelope"]["envelope"].clone();
    let held = held.as_str().unwrap();
    assert_eq!(project.json(&["gate", "show", &gate])["envelope"]["text"], "psst");
    says(&project.ok(&["gate", "show", &gate, "--as", "lead"]).out, &["  psst"]);
    let seen = project.run(&["gate", "show", &gate, "--as", "bob"]);
    assert!(!seen.out.contains("psst"), "{seen:?}");
    let seen = project.run(&["gate", "show", &gate, "--as", "bob", "--json"]);
    assert!(!seen.out.contains("psst"), "{seen:?}");
    good(&project.run_as("ada", &["gate", "reject", "--reason", "no"]));
    let mail = project.ok(&["inbox", "--take", "--as", "lead"]).out;
    says(&mail, &[&format!("returned   {} to ", short(held))]);
    says(&flowing(&mail), &["did not arrive: a person turned it down at its gate"]);
    assert!(!mail.contains("failed"), "the receiver did nothing wrong: {mail}");
    let ran = project.run(&["group", "abort", "g", "--as", "lead"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    says(&ran.err, &["`--user NAME`", "`althing workspace abort`"]);
    let ran = project.run(&["group", "abort", "h", "--as", "lead"]);
    says(&ran.err, &["there is no group \"h\""]);
    says(&project.ok(&["workspace", "list"]).out, &["OWNER"]);
    let urgent = ["workspace", "priority", "agent:bob", "critical", "--as", "lead"];
    says(&project.ok(&urgent).out, &["is critical"]);
    let ran = project.run(&["coordinator", "start", "--highway", "nonsense", "--as", "lead"]);
    assert_eq!(ran.code, Some(2));
    says(&ran.err, &["gated, off"]);
}
