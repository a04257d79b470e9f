//! The sections of `althing --help`: which commands stand under which heading.

use clap::Command;
use std::fmt::Write as _;

/// A heading and the commands below it.
struct Section {
    title: &'static str,
    commands: &'static [&'static str],
}

/// Every visible command, once. A test fails if one is missing.
const SECTIONS: &[Section] = &[
    Section {
        title: "Start here",
        commands: &["plan", "next", "done", "blocked", "status", "demo", "init", "trail"],
    },
    Section {
        title: "Let agents work",
        commands: &[
            "run", "ps", "logs", "attach", "pause", "resume", "stop", "retry", "rescue", "undo",
            "why",
        ],
    },
    Section { title: "Hold files", commands: &["claim", "release", "check", "claims", "renew"] },
    Section { title: "Talk", commands: &["send", "inbox"] },
    Section { title: "Share what you know", commands: &["remember", "ask", "board", "memory"] },
    Section {
        title: "Run tasks with several agents",
        commands: &[
            "coordinator",
            "task",
            "workspace",
            "signal",
            "checkpoint",
            "integrate",
            "right",
            "group",
            "meter",
            "view",
        ],
    },
    Section {
        title: "Decide as a person",
        commands: &["login", "users", "gate", "escalations", "inject", "highway"],
    },
    Section {
        title: "Save tokens",
        commands: &["brief", "symbol", "fact", "capsule", "tokens", "haid", "validate", "shims"],
    },
    Section {
        title: "Connect programs",
        commands: &["mcp", "hook", "uninit", "agents", "do", "blob"],
    },
    Section {
        title: "Look after a project",
        commands: &["config", "doctor", "backup", "recover", "rebuild", "tick"],
    },
    Section {
        title: "Look things up",
        commands: &["rules", "conformance", "completions", "man", "help"],
    },
];

/// The help of `help`, which the parser adds by itself.
const HELP: &str = "Print this help, or the help of a command";

/// The template of the help page: usage, the commands under their headings, options, examples.
pub(super) fn template(all: &Command) -> String {
    let heading = all.get_styles().get_header();
    let name_style = all.get_styles().get_literal();
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for Section { title, commands } in SECTIONS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "\n{heading}{title}:{heading:#}");
        for name in *commands {
            let about = summary(all, name);
            let gap = " ".repeat(WIDTH.saturating_sub(name.len()));
            let _ = writeln!(text, "  {name_style}{name}{name_style:#}{gap}{about}");
        }
    }
    let _ = write!(text, "\n{heading}Options:{heading:#}\n{{options}}{{after-help}}");
    text
}

/// The column at which summaries begin, counted from the names.
const WIDTH: usize = 13;

/// The first line of a command's help.
fn summary(all: &Command, name: &str) -> String {
    let about = all.find_subcommand(name).and_then(Command::get_about);
    about.map_or_else(|| HELP.to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line has to fit on an ordinary terminal, because the parser does not wrap them.
    const COLUMNS: usize = 90;

    #[test]
    fn every_command_stands_under_one_heading() {
        let all = crate::cli::command();
        let mut visible: Vec<&str> = all
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .chain(["help"])
            .collect();
        let mut listed: Vec<&str> =
            SECTIONS.iter().flat_map(|section| section.commands).copied().collect();
        visible.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, visible, "SECTIONS has to name every visible command exactly once");
    }

    #[test]
    fn summaries_are_single_short_lines() {
        let all = crate::cli::command();
        for name in SECTIONS.iter().flat_map(|section| section.commands) {
            let about = summary(&all, name);
            let width = 2 + WIDTH + about.chars().count();
            assert!(width <= COLUMNS && !about.contains('\n'), "{name}: {about}");
            assert!(!about.contains(['{', '}']), "the template would take {about:?} for a tag");
            assert!(name.len() < WIDTH, "{name} leaves no gap");
        }
    }
}
