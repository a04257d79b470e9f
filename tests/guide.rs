//! The guide's session is run, command by command, and says what the guide shows.

use crate::support::Sandbox;
use std::path::Path;
use std::process::Command;

/// A command of the guide and the lines it is shown to print.
struct Step {
    command: String,
    shown: Vec<String>,
}

fn guide(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
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
    let varies = |word: &&str| word.chars().any(|c| c.is_ascii_digit()) && !word.starts_with("[W-");
    line.split_whitespace().filter(move |word| !varies(word))
}

#[test]
fn the_session_of_the_guide_runs_as_it_is_shown() {
    let text = guide("runs.md");
    let project = Sandbox::without_project();
    let plan = blocks(&text, "toml")[0];
    project.write("plan.toml", plan);
    let steps = steps(&text);
    assert!(steps.len() > 25, "{}", steps.len());
    play(&project, steps);
}

#[test]
fn the_session_of_the_frugal_side_runs_as_it_is_shown() {
    let project = Sandbox::without_project();
    let steps = steps(&guide("frugal.md"));
    assert!(steps.len() > 12, "{}", steps.len());
    play(&project, steps);
}

/// Runs the commands one after another; each says what it is shown to say.
fn play(project: &Sandbox, steps: Vec<Step>) {
    let folder = Path::new(crate::support::BINARY).parent().unwrap();
    let bin = project.path().join("bin");
    let path = format!("{}:{}:{}", folder.display(), bin.display(), std::env::var("PATH").unwrap());
    for Step { command, shown } in steps {
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(project.path()).env("PATH", &path);
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
}
