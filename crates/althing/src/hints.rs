//! Hints that fit the mistake, for errors that have only the general hint of their rule.

use althing_kernel::Rule;

use crate::error::Error;

/// The nouns in `there is no NOUN …`, with the command that lists what there is.
const LISTS: &[(&str, &str)] = &[
    ("agent", "`althing agents` lists the agents."),
    ("checkpoint", "`althing checkpoint list WS` lists the checkpoints of a workspace."),
    ("envelope", "`althing inbox --all` lists the messages of your workspace."),
    ("graph", "`althing task graphs` lists the graphs."),
    ("group", "`althing group list` lists the groups."),
    ("lease", "`althing claims` lists the live leases."),
    ("live lease", "`althing claims` lists the live leases."),
    ("rule", "`althing rules` lists all rules."),
    ("run", "`althing trail runs` lists all runs."),
    ("task", "`althing task list` lists the tasks."),
    ("user", "`althing users` lists the people."),
    (
        "workspace",
        "`althing workspace list` lists the workspaces you may see; `root` is the coordinator's.",
    ),
];

/// Hints for "not found" messages that do not name one of the nouns of `LISTS`.
const OTHERS: &[(&str, &str)] = &[
    ("the trail has no entry", "`althing trail --last 1` shows the last entry."),
    ("no capsule", "`althing capsule list` lists the capsules."),
    ("no fact", "`althing fact list` lists the facts."),
    ("no symbol", "`althing symbol list` lists the symbols."),
    ("unknown symbol", "`althing symbol list` lists the symbols."),
    ("there is nothing called", "`althing do --list` lists all names."),
    ("there is no command or question", "`althing do --list` lists all names."),
];

/// Options that name somebody, and the environment variables for them.
const NAMES: [&str; 4] = ["--as:", "--user:", "ALTHING_AGENT:", "ALTHING_USER:"];

/// The error with a hint for the command that was typed (`task show`), unless it has one of its own.
pub(crate) fn fitting(failure: Error, command: &str) -> Error {
    if failure.way_out() != failure.rule().way_out() {
        return failure;
    }
    let hint = match failure.rule() {
        Rule::Usage => Some(usage(failure.message(), command)),
        Rule::NotFound | Rule::ReferenceKnown => missing(failure.message()).map(str::to_owned),
        Rule::NoProject => return without_project(failure),
        // Any other rule has a hint that fits every command.
        _ => None,
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn usage(message: &str, command: &str) -> String {
    if NAMES.iter().any(|name| message.starts_with(name)) {
        return "Give another name, such as `--as alice`.".to_owned();
    }
    if let Some(hint) = missing(message) {
        return hint.to_owned();
    }
    if message.starts_with("cannot ") {
        return "Check the path. A relative one begins in the folder you are in.".to_owned();
    }
    match command {
        "" => "`althing --help` lists all commands.".to_owned(),
        "do" => "`althing do --schema NAME` shows the arguments of a command.".to_owned(),
        _ => format!("`althing {command} --help` shows its arguments."),
    }
}

/// The command that lists what there is, where something is not there.
fn missing(message: &str) -> Option<&'static str> {
    let in_words = OTHERS.iter().find(|(start, _)| message.starts_with(start));
    let of_noun = || {
        let rest = message.strip_prefix("there is no ")?;
        LISTS.iter().find(|(noun, _)| {
            rest.strip_prefix(noun).is_some_and(|after| after.starts_with([' ', ',']))
        })
    };
    in_words.or_else(of_noun).map(|(_, hint)| *hint)
}

/// Says first that there is no project: the missing file is only how that was noticed.
fn without_project(failure: Error) -> Error {
    failure.reworded(|message| match message.strip_prefix("there is no store at ") {
        Some(path) => format!("there is no project here: {path} does not exist"),
        None => message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_fit_the_mistake() {
        for (failure, command, hint) in [
            (Error::not_found("there is no task x"), "task show", "`althing task list`"),
            (Error::not_found("there is no user x"), "users show", "`althing users`"),
            (Error::usage("what?"), "task plan", "`althing task plan --help`"),
            (Error::usage("cannot read x: no"), "task plan", "Check the path."),
            (Error::usage("--as: \"worker\" is reserved"), "claim", "Give another name"),
            (Error::usage("what?").hint("Its own."), "claim", "Its own."),
            (Error::not_found("there is no tasking x"), "x", Rule::NotFound.way_out()),
        ] {
            let failure = fitting(failure, command);
            assert!(failure.way_out().starts_with(hint), "{failure:?}: {}", failure.way_out());
        }
    }
}
