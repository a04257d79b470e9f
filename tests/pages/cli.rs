//! The page of the command line, made from what `--help` prints.

use super::Ask;
use std::fmt::Write as _;

/// The help of every command, without the options that are the same everywhere.
pub(super) fn command_line(ask: Ask<'_>) -> String {
    let overview = ask(&["--help"]);
    let mut text = String::from(
        "# Command line\n\nEvery command with its arguments and options. The options of the first \
         block can be given with every command. `althing help COMMAND` prints the same, and `althing \
         man DIR` writes manual pages.\n\nThis page is generated.\n",
    );
    write!(text, "\n## `althing`\n\n```text\n{}\n```\n", overview.trim_end()).unwrap();
    for command in commands(&overview) {
        describe(ask, &[&command], &mut text);
    }
    text
}

/// Adds a command and those below it.
fn describe(ask: Ask<'_>, path: &[&str], text: &mut String) {
    let help = ask(&[path, &["--help"]].concat());
    let level = "#".repeat(1 + path.len());
    let own = without_shared(&help);
    write!(text, "\n{level} `althing {}`\n\n```text\n{own}\n```\n", path.join(" ")).unwrap();
    for command in commands(&help) {
        describe(ask, &[path, &[command.as_str()]].concat(), text);
    }
}

/// The commands that a help page lists: they stand between its usage and its arguments and options.
pub(crate) fn commands(help: &str) -> Vec<String> {
    let goes_on = |line: &&str| !["Arguments:", "Options:", "Everywhere:"].contains(line);
    let lines = help.lines().skip_while(|line| !line.starts_with("Usage:")).take_while(goes_on);
    let names = lines
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// The help of a command without what is said of every command.
fn without_shared(help: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut in_shared_section = false;
    let mut in_shared_item = false;
    for line in help.lines() {
        if !line.is_empty() && !line.starts_with(' ') {
            in_shared_section = line == "Everywhere:";
            in_shared_item = false;
        } else if line.starts_with("  -h, --help") || line.starts_with("  help ") {
            in_shared_item = true;
        } else if in_shared_item && !line.starts_with("          ") {
            in_shared_item = false;
        }
        if !in_shared_section && !in_shared_item {
            kept.push(line);
        }
    }
    // A heading with nothing left below it goes, and so do doubled empty lines.
    let mut lines: Vec<&str> = Vec::new();
    for (at, line) in kept.iter().enumerate() {
        let next = kept.get(at + 1).copied().unwrap_or_default();
        let is_empty_section = *line == "Options:" && !next.starts_with(' ');
        let is_doubled = line.is_empty() && lines.last().is_none_or(|last| last.is_empty());
        if !is_empty_section && !is_doubled {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}
