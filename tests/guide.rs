//! Sessions that documents show are run, command by command, and print what is shown.

use crate::support::{Sandbox, passphrase};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// A command of the guide and the lines it is shown to print.
struct Step {
    command: String,
    shown: Vec<String>,
}

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The console sessions of a page, in order.
fn console(text: &str) -> String {
    text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in console(text).lines() {
        let last = steps.last_mut();
        if let Some(step) = &last
            && step.command.contains("<<'END'")
            && !step.command.ends_with("\nEND")
        {
            let step = last.unwrap();
            step.command.push('\n');
            step.command.push_str(line);
            continue;
        }
        match (line.strip_prefix("$ "), last) {
            (Some(command), _) => {
                steps.push(Step { command: command.to_owned(), shown: Vec::new() });
            }
            (None, Some(step)) if step.command.ends_with('\\') => {
                step.command.pop();
                step.command.push_str(line.trim_start());
            }
            (None, Some(step)) => step.shown.push(line.to_owned()),
            (None, None) => panic!("output before any command: {line}"),
        }
    }
    steps
}

/// Words of a shown line that are the same each time: no ids, hashes, dates or lengths of time.
fn lasting(line: &str) -> impl Iterator<Item = &str> {
    let varies = |word: &&str| {
        *word == "…" || word.chars().any(|c| c.is_ascii_digit()) && !word.starts_with("[W-")
    };
    line.split_whitespace().filter(move |word| !varies(word))
}

#[test]
fn the_first_page_runs_as_it_is_shown() {
    run_page("README.md", 6);
}

#[test]
fn the_tutorial_runs_as_it_is_shown() {
    run_page("docs/tutorial.md", 25);
}

#[test]
fn the_tutorial_of_running_a_plan_runs_as_it_is_shown() {
    run_page("docs/tutorial-run.md", 15);
}

/// What it takes until two agents have done two tasks: the commands that are typed, and the words
/// to learn, which are those commands and the terms in italics.
#[test]
fn two_agents_do_two_tasks_with_five_commands_and_five_words() {
    let text = page("docs/tutorial.md");
    let (_, rest) = text.split_once("\n## 1. ").unwrap();
    let (section, _) = rest.split_once("\n## 2. ").unwrap();
    let steps = steps(section);
    let own: Vec<&str> =
        steps.iter().filter_map(|step| step.command.strip_prefix("althing ")).collect();
    assert!(own.len() <= 5, "{own:?}");
    let mut words: BTreeSet<&str> =
        own.iter().filter_map(|command| command.split(' ').next()).collect();
    let terms = section.split('*').skip(1).step_by(2);
    words.extend(terms.map(|term| term.trim_end_matches('s')));
    assert!(words.len() <= 5, "{words:?}");
    assert!(words.contains("task") && words.contains("agent"), "terms are counted: {words:?}");
    // It is the whole story: both tasks are taken by different agents, and handed in.
    for agent in ["alice", "bob"] {
        let acts = own.iter().filter(|command| command.ends_with(&format!("--as {agent}")));
        assert_eq!(acts.count(), 2, "{own:?}");
    }
}

#[test]
fn the_guide_to_approve_gates_runs_as_it_is_shown() {
    run_page("docs/how-to/approve-gates.md", 15);
}

#[test]
fn the_guide_to_back_up_and_restore_runs_as_it_is_shown() {
    run_page("docs/how-to/back-up-and-restore.md", 8);
}

#[test]
fn the_guide_to_connect_mcp_hosts_runs_as_it_is_shown() {
    run_page("docs/how-to/connect-mcp-hosts.md", 1);
}

#[test]
fn the_guide_to_explore_the_history_runs_as_it_is_shown() {
    run_page("docs/how-to/explore-the-history.md", 12);
}

#[test]
fn the_guide_to_get_work_back_runs_as_it_is_shown() {
    run_page("docs/how-to/get-work-back.md", 18);
}

#[test]
fn the_guide_to_give_work_to_agents_runs_as_it_is_shown() {
    run_page("docs/how-to/give-work-to-agents.md", 20);
}

#[test]
fn the_guide_to_hold_files_runs_as_it_is_shown() {
    run_page("docs/how-to/hold-files.md", 12);
}

#[test]
fn the_guide_to_manage_people_runs_as_it_is_shown() {
    run_page("docs/how-to/manage-people.md", 6);
}

#[test]
fn the_guide_to_plan_and_run_tasks_runs_as_it_is_shown() {
    run_page("docs/how-to/plan-and-run-tasks.md", 25);
}

#[test]
fn the_guide_to_recover_after_a_crash_runs_as_it_is_shown() {
    run_page("docs/how-to/recover-after-a-crash.md", 3);
}

#[test]
fn the_guide_to_run_agents_runs_as_it_is_shown() {
    run_page("docs/how-to/run-agents.md", 15);
}

#[test]
fn the_guide_to_save_tokens_runs_as_it_is_shown() {
    run_page("docs/how-to/save-tokens.md", 12);
}

#[test]
fn the_guide_to_set_budgets_runs_as_it_is_shown() {
    run_page("docs/how-to/set-budgets.md", 8);
}

#[test]
fn the_guide_to_share_memory_runs_as_it_is_shown() {
    run_page("docs/how-to/share-memory.md", 20);
}

#[test]
fn the_guide_to_verify_and_prove_runs_as_it_is_shown() {
    run_page("docs/how-to/verify-and-prove.md", 8);
}

#[test]
fn the_guide_to_wire_your_agent_runs_as_it_is_shown() {
    run_page("docs/how-to/wire-your-agent.md", 11);
}

#[test]
fn the_guide_to_write_a_plan_runs_as_it_is_shown() {
    run_page("docs/how-to/write-a-plan.md", 4);
}

/// A guide that is added is run as well.
#[test]
fn every_guide_is_run() {
    let own = page("tests/guide.rs");
    for (path, text) in crate::docs::written_pages() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_guide = path.parent().unwrap().ends_with("how-to") || name.starts_with("tutorial");
        let shows = text.contains("```console");
        let is_run = own.contains(&format!("/{name}\", "));
        assert!(!is_guide || is_run, "nothing runs {}", path.display());
        assert!(!is_guide || shows, "{} shows nothing to type", path.display());
    }
}

/// Runs all that a page shows, in one new repository, as at least so many commands.
///
/// A project is set up first unless the page does so itself. What a reader does by hand is done for
/// them: passphrases are piped in, and ids that they would copy are looked up.
fn run_page(name: &str, least: usize) {
    let text = page(name);
    let sets_up = ["$ althing init", "$ git init", "$ heimdall-protocol init"]
        .iter()
        .any(|command| text.contains(command));
    let project = if sets_up { Sandbox::without_project() } else { Sandbox::new() };
    let steps = steps(&text);
    assert!(steps.len() >= least, "{name} has {} commands", steps.len());
    for mut step in steps {
        if let Some(user) = step.command.strip_prefix("althing login ") {
            project.login(user.split(' ').next().unwrap());
            continue;
        }
        if step.command.contains("UNANSWERED") {
            let all = project.json(&["gate", "list", "--all"]);
            let gate = all.as_array().unwrap().iter().find(|gate| gate["can_ask_again"] == true);
            let id = gate.unwrap()["gate"].as_str().unwrap();
            step.command = step.command.replace("UNANSWERED", id);
        }
        for (placeholder, list, field) in [
            ("ESCALATION", &["escalations"][..], "escalation"),
            ("GATE", &["gate", "list"][..], "gate"),
        ] {
            if step.command.contains(placeholder) {
                let id = project.json(list)[0][field].as_str().unwrap().to_owned();
                step.command = step.command.replace(placeholder, &id);
            }
        }
        if step.command.contains(" RUN") || step.command.contains("/RUN/") {
            let runs = project.json(&["trail", "runs"]);
            let newest = runs["runs"].as_array().unwrap().last().unwrap()["run"].as_str().unwrap();
            step.command = step.command.replace("RUN", &newest[newest.len() - 6..]);
        }
        if let Some((_, user)) = step.command.split_once("--user ") {
            let user = user.split(' ').next().unwrap().to_owned();
            let piped = format!("--user {user} --passphrase-stdin");
            let command = step.command.replace(&format!("--user {user}"), &piped);
            step.command = format!("echo '{}' | {command}", passphrase(&user).trim_end());
        }
        carry_out(&project, &step);
    }
}

/// Runs a command as it is shown, and holds what it says against what is shown of it.
fn carry_out(project: &Sandbox, Step { command, shown }: &Step) {
    let folder = Path::new(crate::support::BINARY).parent().unwrap();
    let bin = project.path().join("bin");
    let path = format!("{}:{}:{}", folder.display(), bin.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(project.path()).env("PATH", &path);
    // A reader has told git their name. Worktrees of agents lie where they go away with the project.
    let own = [("user.name", "ada"), ("user.email", "ada@example.org")];
    shell.env("GIT_CONFIG_COUNT", own.len().to_string());
    for (at, (key, value)) in own.iter().enumerate() {
        shell.env(format!("GIT_CONFIG_KEY_{at}"), key);
        shell.env(format!("GIT_CONFIG_VALUE_{at}"), value);
    }
    shell.env("XDG_DATA_HOME", project.path().join(".git/data"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALTHING_") {
            shell.env_remove(name);
        }
    }
    let output = shell.output().unwrap();
    let printed = [output.stdout.as_slice(), &output.stderr].concat();
    let printed = String::from_utf8(printed).unwrap();
    // A merge that stops at a conflict is not done.
    let stopped = |line: &String| line.starts_with("error:") || line.ends_with(" is conflicted");
    assert_eq!(output.status.success(), !shown.iter().any(stopped), "{command}: {printed}");
    for word in shown.iter().flat_map(|line| lasting(line)) {
        assert!(printed.contains(word), "{command} does not say {word:?}: {printed}");
    }
}
