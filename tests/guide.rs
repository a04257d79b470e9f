//! The guide's session is run, command by command, and says what the guide shows.

use crate::support::{Sandbox, passphrase};
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

/// The blocks of one language, in order.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let begin = format!("```{language}\n");
    text.split(&begin).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks(text, "console").concat().lines() {
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
fn the_session_of_the_guide_runs_as_it_is_shown() {
    let text = page("docs/runs.md");
    let project = Sandbox::without_project();
    let plan = blocks(&text, "toml")[0];
    project.write("plan.toml", plan);
    let steps = steps(&text);
    assert!(steps.len() > 25, "{}", steps.len());
    for step in &steps {
        carry_out(&project, step);
    }
}

#[test]
fn the_session_of_the_frugal_side_runs_as_it_is_shown() {
    let project = Sandbox::without_project();
    let steps = steps(&page("docs/frugal.md"));
    assert!(steps.len() > 12, "{}", steps.len());
    for step in &steps {
        carry_out(&project, step);
    }
}

#[test]
fn the_session_of_the_memory_guide_runs_as_it_is_shown() {
    let project = Sandbox::without_project();
    let steps = steps(&page("docs/memory.md"));
    assert!(steps.len() > 20, "{}", steps.len());
    for step in &steps {
        carry_out(&project, step);
    }
}

#[test]
fn the_session_of_coordination_runs_as_it_is_shown() {
    let project = Sandbox::without_project();
    let steps = steps(&page("docs/coordination.md"));
    assert!(steps.len() > 25, "{}", steps.len());
    for step in &steps {
        carry_out(&project, step);
    }
}

/// Runs a command as it is shown, and holds what it says against what is shown of it.
fn carry_out(project: &Sandbox, Step { command, shown }: &Step) {
    let folder = Path::new(crate::support::BINARY).parent().unwrap();
    let bin = project.path().join("bin");
    let path = format!("{}:{}:{}", folder.display(), bin.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(project.path()).env("PATH", &path);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALTHING_") {
            shell.env_remove(name);
        }
    }
    let output = shell.output().unwrap();
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    let refused = shown.iter().any(|line| line.starts_with("error:"));
    assert_eq!(output.status.success(), !refused, "{command}: {said}");
    for word in shown.iter().flat_map(|line| lasting(line)) {
        assert!(said.contains(word), "{command} does not say {word:?}: {said}");
    }
}

/// The sessions of the first page, with the passphrase piped in that it asks ada for, and the ids
/// that its reader would copy.
#[test]
fn the_sessions_of_the_first_page_run_as_they_are_shown() {
    let text = page("README.md");
    let from = text.find("Let several agents work on one plan").unwrap();
    let upto = text.find("| Exit code |").unwrap();
    let project = Sandbox::new();
    project.login("ada");
    let steps = steps(&text[from..upto]);
    assert!(steps.len() > 30, "{}", steps.len());
    let copied =
        |list: &[&str], field: &str| project.json(list)[0][field].as_str().unwrap().to_owned();
    for mut step in steps {
        if step.command.contains(" ID ") {
            let id = copied(&["escalations"], "escalation");
            step.command = step.command.replace(" ID ", &format!(" {id} "));
        }
        if step.command.contains(" GATE ") {
            let id = copied(&["gate", "list"], "gate");
            step.command = step.command.replace(" GATE ", &format!(" {id} "));
        }
        if step.command.contains("--user ada") {
            let piped = step.command.replace("--user ada", "--user ada --passphrase-stdin");
            step.command = format!("echo '{}' | {piped}", passphrase("ada").trim_end());
        }
        carry_out(&project, &step);
    }
}
