//! Output that people can read: lines that fit, short ids, and times as seen from now.

use crate::support::{Ran, Sandbox};
use serde_json::json;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

/// The longest line of a list, in characters.
const WIDTH: usize = 80;
/// Words that are at least this long stay whole: names of agents, paths, content and commands are
/// needed to act. Only a line that has such a word may be longer than [`WIDTH`].
const WHOLE_WORD: usize = 40;
/// The prefixes of ids, and the number of characters that follow.
const KINDS: [&str; 9] =
    ["lease_", "ws_", "env_", "right_", "sig_", "cp_", "graph_", "task_", "gate_"];
const NUMBER_CHARS: usize = 26;

const LONG: &str = "a purpose that nobody would ever read to its end, since it goes on and on and \
                    says little that was not said in its first few words already";

/// Lists on a project in which much goes on.
const LISTS: &[&[&str]] = &[
    &["status"],
    &["claims"],
    &["agents"],
    &["users"],
    &["users", "show", "a-person-with-quite-a-name"],
    &["workspace", "list"],
    &["workspace", "tree"],
    &["workspace", "show", "agent:worker-with-a-rather-long-name"],
    &["workspace", "path", "agent:worker-with-a-rather-long-name"],
    &["workspace", "sees", "root"],
    &["workspace", "files", "agent:worker-with-a-rather-long-name"],
    &["checkpoint", "list", "agent:worker-with-a-rather-long-name"],
    &["right", "list", "agent:worker-with-a-rather-long-name"],
    &["task", "list"],
    &["task", "graph"],
    &["task", "graphs"],
    &["task", "ready"],
    &["task", "show", "second"],
    &["inbox", "--as", "coordinator-with-a-long-name"],
    &["inbox", "--all", "--as", "worker-with-a-rather-long-name"],
    &["gate", "list"],
    &["escalations"],
    &["highway", "show"],
    &["memory", "find", "plan"],
    &["memory", "find", "decision"],
    &["memory", "find", "claim"],
    &["memory", "find", "assignment"],
    &["memory", "find", "message"],
    &["memory", "get", "pln#1"],
    &["memory", "get", "clm#1"],
    &["memory", "get", "asgn#1"],
    &["memory", "context", "board"],
    &["memory", "context", "memory"],
    &["memory", "context", "delta", "--since", "2h"],
    &["memory", "coordinate", "summarize", "--as", "bob"],
    &["memory", "work", "consult", "--as", "bob"],
    &["memory", "work", "resume", "--as", "bob"],
    &["board"],
    &["ask", "purpose"],
    &["trail"],
    &["trail", "--all"],
    &["trail", "runs"],
    &["trail", "stats", "--group-by", "kind"],
    &["trail", "tiers"],
    &["trail", "at", "now"],
    &["trail", "diff", "1", "now"],
    &["doctor"],
    &["config"],
    &["meter"],
    &["meter", "root"],
    &["tokens"],
    &["symbol", "list"],
    &["fact", "list"],
    &["capsule", "list"],
    &["blob", "list"],
    &["view", "run"],
    &["view", "workspace", "agent:worker-with-a-rather-long-name"],
    &["view", "flow"],
    &["view", "highway"],
    &["do", "--list"],
    &["rules"],
    &["conformance", "--summary"],
];

/// A project with long names for everything.
fn populated() -> Sandbox {
    let project = Sandbox::new();
    let (lead, worker) = ("coordinator-with-a-long-name", "worker-with-a-rather-long-name");
    project.login("a-person-with-quite-a-name");
    let person = |args: &[&str]| {
        let ran = project.run_as("a-person-with-quite-a-name", args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    };
    person(&["coordinator", "start", "--agent", lead]);
    // The worker's file below lies beside what the coordinator holds.
    let folders = ["src/another/folder/that/lies/deep/in/the/tree", "docs/**/*.md", "tests"];
    project.ok(&["claim", folders[0], folders[1], folders[2], "--as", lead, "-m", LONG]);
    project.ok(&["claim", "Cargo.toml", "--as", "bob", "--task", &LONG[..120]]);
    let plan = json!({ "tasks": [
        { "key": "first", "name": LONG, "description": LONG },
        { "key": "second", "name": "second", "description": LONG, "depends_on": ["first"] },
    ] });
    let ran = project.run_with(&["task", "plan", "-", "--as", lead], plan.to_string().as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    person(&["gate", "approve", "--all"]);
    project.ok(&["task", "assign", LONG, "--agent", worker, "--as", lead]);
    project.ok(&["inbox", "--take", "--as", worker]);
    project.ok(&["signal", "started", "--as", worker]);
    project.write("src/a/folder/that/lies/deep/in/the/tree/file.rs", "fn main() {}\n");
    let file = "src/a/folder/that/lies/deep/in/the/tree/file.rs";
    project.ok(&["checkpoint", "create", "--intent", LONG, "--file", file, "--as", worker]);
    project.ok(&["signal", "escalation", "--reason", LONG, "--as", worker]);
    project.ok(&["send", "root", LONG, "--type", "query", "--as", worker]);
    project.ok(&["memory", "create", "plan", LONG, "--as", "bob"]);
    project.ok(&["remember", LONG, "--kind", "decision", "--as", "bob"]);
    project.ok(&[
        "memory",
        "coordinate",
        "assign",
        LONG,
        "--to",
        worker,
        "--allow-dirty",
        "--as",
        "bob",
    ]);
    for at in 0..7 {
        project.ok(&["remember", &format!("{LONG} {at}"), "--as", lead]);
    }
    project.ok(&["symbol", "set", "S1", LONG, "--as", "bob"]);
    project.ok(&["fact", "set", "a.fact", LONG, "--as", "bob"]);
    let log = ["tokens", "log", "--role", "worker", "--kind", "brief", "--tokens", "1200"];
    project.ok(&[&log[..], &["--as", "bob"]].concat());
    project.run_with(&["blob", "put"], LONG.as_bytes());
    // Something that waits for a person.
    person(&["highway", "set", "gated"]);
    let create = ["workspace", "create", "--agent", "another", "--directive", LONG, "--as", lead];
    project.ok(&create);
    // Something that is refused, three times over.
    for _ in 0..3 {
        let refused = project.run(&["claim", "tests", "--as", "bob"]);
        assert_eq!(refused.code, Some(3), "{refused:?}");
    }
    project
}

/// Lines that are longer than allowed. What somebody wrote is shown line by line as they wrote it.
fn too_long(ran: &Ran) -> Vec<String> {
    let whole = |line: &str| line.split_whitespace().any(|word| chars(word) >= WHOLE_WORD);
    let allowed = |line: &str| whole(line) || line.strip_prefix("  ") == Some(LONG);
    let long = ran.out.lines().filter(|line| chars(line) > WIDTH && !allowed(line));
    long.map(str::to_owned).collect()
}

fn chars(text: &str) -> usize {
    text.chars().count()
}

/// Whole ids in a text.
fn whole_ids(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_id = |word: &&str| {
        KINDS
            .iter()
            .any(|kind| word.strip_prefix(kind).is_some_and(|number| number.len() == NUMBER_CHARS))
    };
    words.filter(is_id).collect()
}

/// Runs a command where a line has so many columns.
fn in_columns(project: &Sandbox, args: &[&str], width: usize) -> Ran {
    let mut command = project.command();
    let output = command.args(args).env("COLUMNS", width.to_string()).stdin(Stdio::null());
    Ran::of(&output.output().unwrap())
}

#[test]
fn lists_fit_eighty_columns_with_short_ids() {
    let project = populated();
    let mut wrong = Vec::new();
    for args in LISTS {
        let ran = in_columns(&project, args, WIDTH);
        assert!(matches!(ran.code, Some(0 | 1)), "{args:?}: {ran:?}");
        wrong.extend(too_long(&ran).into_iter().map(|line| format!("{args:?}: {line}")));
        wrong.extend(whole_ids(&ran.out).into_iter().map(|id| format!("{args:?}: whole id {id}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Exact times in a text: `2026-11-16T17:37:47Z` or `2026-11-16 17:37:47`.
fn exact_times(text: &str) -> Vec<&str> {
    let shape = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
    let is_time = |at: &usize| {
        let own: Option<Vec<u8>> =
            text.get(*at..*at + 19).map(|part| part.bytes().map(shape).collect());
        own.is_some_and(|own| own == b"0000-00-00T00:00:00" || own == b"0000-00-00 00:00:00")
    };
    (0..text.len()).filter(is_time).map(|at| &text[at..at + 19]).collect()
}

/// Only the history and its pictures show dates.
#[test]
fn lists_show_times_as_seen_from_now() {
    let project = populated();
    for args in LISTS.iter().filter(|args| !matches!(args[0], "trail" | "view")) {
        let ran = in_columns(&project, args, WIDTH);
        let both = [ran.out.as_str(), ran.err.as_str()];
        let times: Vec<&str> = both.into_iter().flat_map(exact_times).collect();
        assert!(times.is_empty(), "{args:?}: {times:?}");
    }
    let shown = project.json(&["memory", "get", "clm#1"]);
    assert!(!exact_times(&shown.to_string()).is_empty(), "programs get exact times: {shown}");
    assert!(!whole_ids(&shown.to_string()).is_empty(), "programs get whole ids: {shown}");
}

/// Errors go by the same rules as answers, and programs get the whole ids.
#[test]
fn errors_have_short_ids_and_fit() {
    let project = Sandbox::new();
    project.claim("alice", "src");
    project.ok(&["memory", "work", "consult", "--as", "bob"]);
    project.ok(&["memory", "create", "plan", "Plan", "--as", "bob"]);
    let release = ["memory", "transition", "clm#1", "released", "--as", "bob"];
    let execute = ["memory", "work", "execute", "--scope", "src", "--as", "bob"];
    for args in [
        &["claim", "src/a", "--as", "bob"][..],
        &["release", "src/a", "--as", "bob"],
        &["memory", "complete-step", "pln#1", "9", "--as", "bob"],
        &release,
        &execute,
    ] {
        let ran = in_columns(&project, args, WIDTH);
        assert_ne!(ran.code, Some(0), "{args:?}: {ran:?}");
        let both = format!("{}\n{}", ran.out, ran.err);
        assert_eq!(whole_ids(&both), Vec::<&str>::new(), "{args:?}");
        assert_eq!(exact_times(&both), Vec::<&str>::new(), "{args:?}");
        let long: Vec<&str> = both.lines().filter(|line| chars(line) > WIDTH).collect();
        assert!(long.is_empty(), "{args:?}: {long:?}");
    }
    let refused = project.run(&["claim", "src/a", "--as", "bob", "--json"]);
    let message = refused.error()["message"].clone();
    assert_eq!(whole_ids(message.as_str().unwrap()).len(), 1, "{message}");
}

#[test]
fn leases_and_sessions_are_named_by_their_short_ids() {
    let project = Sandbox::new();
    let lease = project.claim("alice", "src");
    project.claim("alice", "docs");
    let id = lease["lease"].as_str().unwrap();
    let short = &id[id.len() - 6..];
    assert!(project.ok(&["claims"]).out.contains(short));
    project.ok(&["renew", short, "--ttl", "2h", "--as", "alice"]);
    let other = project.run(&["release", short, "--as", "bob"]);
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.err.contains("held by agent:alice"), "{other:?}");
    assert!(project.ok(&["release", short, "--as", "alice"]).out.contains("released src"));
    let worked = project.json(&["memory", "work", "consult", "--as", "alice"]);
    let session = worked["session_id"].as_str().unwrap();
    let short = &session[session.len() - 6..];
    let shown = project.ok(&["memory", "work", "consult", "--as", "alice"]).out;
    assert!(shown.contains(&format!("session {short}")), "{shown}");
    let claimed = project.json(&["claim", "lib", "--session", short, "--as", "alice"]);
    assert_eq!(claimed["workspace"], session);
    let delta = project.json(&["memory", "context", "delta", "--since", short, "--as", "alice"]);
    assert_eq!(delta["since_session"], session, "{delta}");
}

#[test]
fn wider_terminals_and_scripts_get_all_of_it() {
    let project = Sandbox::new();
    let purpose = "w".repeat(90);
    project.ok(&["claim", "src", "--as", "alice", "-m", &purpose]);
    assert!(!in_columns(&project, &["claims"], WIDTH).out.contains(&purpose));
    assert!(in_columns(&project, &["claims"], 200).out.contains(&purpose));
    assert!(project.ok(&["claims"]).out.contains(&purpose), "a pipe gets all of it");
    let leases = project.json(&["claims"]);
    assert_eq!(leases[0]["purpose"], purpose);
    let id = leases[0]["lease"].as_str().unwrap();
    assert_eq!(whole_ids(id), [id]);
}

#[test]
fn times_are_told_from_now_and_on_the_trail_as_dates() {
    let project = Sandbox::new();
    let claimed = project.ok(&["claim", "src", "--as", "alice", "--ttl", "2h"]);
    assert!(claimed.out.contains("ends in 2 h"), "{claimed:?}");
    assert!(project.ok(&["claims"]).out.contains("in 2 h"));
    assert!(project.ok(&["agents"]).out.contains(" s ago"));
    let trail = project.ok(&["trail"]).out;
    let day = trail.lines().next().unwrap();
    assert!(day.len() == 10 && day.split('-').count() == 3, "{trail}");
}

#[test]
fn a_short_name_of_content_is_enough_to_get_it() {
    let project = Sandbox::new();
    let name = project.run_with(&["blob", "put"], b"content").out;
    let short = &name[..19];
    assert_eq!(project.ok(&["blob", "get", short]).out, "content");
    let unknown = project.run(&["blob", "get", "sha256:000000000000"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}

#[test]
fn status_goes_on_with_news() {
    let project = Sandbox::new();
    let mut watching = project
        .command()
        .args(["status", "--watch", "--json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut next =
        || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["leases"], json!([]));
    project.claim("alice", "src");
    let mut after = next();
    // An agent shows up before it claims.
    while after["leases"] == json!([]) {
        after = next();
    }
    assert_eq!(after["leases"][0]["holder"], "agent:alice");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn no_pager_is_started_for_pipes() {
    let project = Sandbox::new();
    let mut command = project.command();
    command.args(["trail", "--all"]).env("ALTHING_PAGER", "/nowhere/pager");
    let ran = Ran::of(&command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains("project.created"), "{ran:?}");
}

#[test]
fn wrong_usage_says_that_nothing_was_changed() {
    let ran = Sandbox::new().run(&["claim", "--nonsense"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("[A-USE-01] Nothing was changed."), "{ran:?}");
}
