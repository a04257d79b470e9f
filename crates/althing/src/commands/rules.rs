//! `althing rules`

use althing_kernel::Rule;
use serde_json::json;

use crate::app::App;
use crate::cli::Rules;
use crate::error::Error;

/// Where the text of a rule begins.
const INDENT: usize = 12;

pub(crate) fn run(app: &App, args: &Rules) -> Result<(), Error> {
    let wanted = args.id.as_ref();
    let fits = |rule: &&Rule| wanted.is_none_or(|id| rule.id().eq_ignore_ascii_case(id));
    let rules: Vec<Rule> = Rule::ALL.iter().filter(fits).copied().collect();
    if let (Some(id), true) = (wanted, rules.is_empty()) {
        return Err(Error::not_found(format!("there is no rule {id}")));
    }
    if app.out.json {
        let rows: Vec<_> = rules
            .iter()
            .map(
                |rule| json!({ "rule": rule.id(), "text": rule.text(), "way_out": rule.way_out() }),
            )
            .collect();
        return app.out.value(&rows);
    }
    for rule in rules {
        app.out.fact(&format!("{}  ", rule.id()), INDENT, rule.text())?;
        app.out.fact("", INDENT, rule.way_out())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use althing_kernel::Rule;
    use clap::{Command, CommandFactory as _};
    use std::path::{Path, PathBuf};

    /// Commands that are quoted in a text: between backticks, beginning with the program's name.
    fn quoted(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2).filter_map(|quote| quote.strip_prefix("althing "))
    }

    /// The first word of a quoted command line that is no command and no option, if there is one.
    fn unknown(line: &str) -> Option<String> {
        let mut command: Command = crate::cli::Cli::command();
        command.build();
        let mut at = &command;
        for word in line.split_whitespace() {
            if let Some(option) = word.strip_prefix("--") {
                let name = option.split('=').next().unwrap_or_default();
                let known = |arg: &clap::Arg| arg.get_long() == Some(name);
                if !at.get_arguments().any(known) && name != "help" && name != "version" {
                    return Some(word.to_owned());
                }
            } else if word.starts_with(|c: char| c.is_ascii_lowercase()) {
                match at.find_subcommand(word) {
                    Some(found) => at = found,
                    // An argument, unless a command should stand here.
                    None if at.is_subcommand_required_set() => {
                        return Some(word.to_owned());
                    }
                    None => {}
                }
            }
        }
        None
    }

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_way_out_names_commands_that_exist() {
        for rule in Rule::ALL {
            for line in quoted(rule.way_out()).chain(quoted(rule.text())) {
                assert_eq!(unknown(line), None, "{rule}: althing {line}");
            }
        }
    }

    #[test]
    fn every_hint_names_commands_that_exist() {
        let mut files = Vec::new();
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                for quote in quoted(line) {
                    assert_eq!(unknown(quote), None, "{}: althing {quote}", file.display());
                }
            }
        }
    }

    #[test]
    fn commands_that_do_not_exist_are_found() {
        for (line, wrong) in [
            ("gate list --all", None),
            ("integrate WS accept", None),
            ("claim src/lib.rs --as alice", None),
            ("gates list", Some("gates")),
            ("gate lists", Some("lists")),
            ("gate list --every", Some("--every")),
        ] {
            assert_eq!(unknown(line).as_deref(), wrong, "{line}");
        }
    }
}
