//! The demo does what it says.

use serde_json::Value;

use crate::support::Sandbox;

/// The demo that is kept, and its trail.
struct Kept {
    shown: Value,
    entries: Vec<Value>,
}

impl Kept {
    /// The bodies of the entries of a kind.
    fn of_kind(&self, kind: &str) -> Vec<&Value> {
        let own = self.entries.iter().filter(|entry| entry["kind"] == kind);
        own.map(|entry| &entry["body"]).collect()
    }

    /// What went back to the agent of a task, and the cause.
    fn returned(&self, cause: &str) -> Vec<(&str, &str)> {
        let all = self.shown["returned"].as_array().unwrap().iter();
        let own = all.filter(|own| own["cause"] == cause);
        own.map(|own| (own["task"].as_str().unwrap(), own["evidence"].as_str().unwrap())).collect()
    }

    /// How often the process of an agent was started.
    fn started(&self, agent: &str) -> Option<u64> {
        self.shown["summary"]["agents"][agent]["started"].as_u64()
    }
}

#[test]
fn the_demo_is_a_run_in_which_everything_happens() {
    let project = Sandbox::bare();
    let shown = project.json(&["demo", "--keep"]);
    let folder = shown["folder"].as_str().unwrap().to_owned();
    let trail = project.ok(&["trail", "--all", "--json", "--project", &folder]).out;
    let entries = trail.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let own = Kept { shown, entries };

    // Seven tasks are merged, one at a time, by six agents of three kinds.
    assert_eq!(own.shown["run"]["merged"].as_array().unwrap().len(), 7, "{:?}", own.shown);
    assert_eq!(own.of_kind("integration_completed").len(), 7);
    for agent in ["awk-1", "awk-2", "awk-3", "shell-1", "writer-1", "writer-2"] {
        assert!(own.started(agent) >= Some(1), "{agent}: {:?}", own.shown["summary"]);
    }

    // Two collide: one is refused at the edit.
    let refused = own.of_kind("command.refused");
    assert!(
        refused.iter().any(|own| own["command"] == "lease.use"
            && own["kind"] == "collision"
            && own["message"].as_str().unwrap().contains("README.md")),
        "{refused:?}"
    );
    // One is killed and started again.
    let ended = own.of_kind("process.ended");
    let killed: Vec<_> = ended.iter().filter(|own| own["outcome"] == "failed").collect();
    assert_eq!(killed.len(), 1, "{ended:?}");
    assert!(killed[0]["reason"].as_str().unwrap().contains("signal 9"), "{killed:?}");
    let workspace = &killed[0]["workspace_id"];
    let starts = own.of_kind("process.started");
    assert_eq!(starts.iter().filter(|own| own["workspace_id"] == *workspace).count(), 2);
    assert_eq!(own.returned("killed")[0].0, "lexer");
    // One lies and is sent back by its check.
    let [(task, evidence)] = own.returned("check")[..] else { panic!("{:?}", own.shown) };
    assert!(task == "parser" && evidence.contains("2 + 3 * 4 = 20"), "{evidence}");
    // One merge conflicts; the agent keeps both lines.
    let [(_, evidence)] = own.returned("conflict")[..] else { panic!("{:?}", own.shown) };
    assert!(evidence.contains("CHANGES"), "{evidence}");
    let changes = std::fs::read_to_string(format!("{folder}/CHANGES")).unwrap();
    assert!(changes.contains("calc") && changes.contains("printer"), "{changes}");
    assert!(!changes.contains("<<<"), "{changes}");
    // A person approves one merge.
    let [gate] = own.of_kind("gate_resolved")[..] else { panic!("{:?}", own.shown) };
    assert_eq!(gate["action"], "approve", "{gate}");
    assert_eq!(own.shown["summary"]["approved_by"], serde_json::json!(["ada"]));

    // The program works, its lines can be explained, and the trail is sound.
    assert_eq!(own.shown["program"]["answer"], "14");
    assert_eq!(own.shown["program"]["tests"].as_array().unwrap().len(), 8);
    let work = &own.shown["why"]["work"];
    assert_eq!(work["task"], "parser", "{work}");
    assert!(work["agent"].as_str().unwrap().starts_with("awk-"), "{work}");
    assert!(own.shown["verified"]["caller_signatures"].as_u64() > Some(20));
    project.ok(&["trail", "verify", "--project", &folder]);
    std::fs::remove_dir_all(std::path::Path::new(&folder).parent().unwrap()).unwrap();
}

#[test]
fn the_demo_can_be_read_and_leaves_nothing_behind() {
    let project = Sandbox::bare();
    let outside = tempfile::tempdir().unwrap();
    let mut demo = project.command();
    let output = demo.arg("demo").env("TMPDIR", outside.path()).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}{said}");
    for part in ["refused at the edit", "SIGKILL", "is not done", "conflicts", "ada"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    for part in ["./calc '2 + 3 * 4' 14", "8 pass", "althing why lib/parser.awk", "is sound"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0, "nothing stays behind");
    assert!(std::fs::read_dir(project.path()).unwrap().next().is_none());
}
