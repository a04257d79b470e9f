//! Names of the verbs' arguments at the command line. Messages name arguments as hosts
//! give them; this is the one place where they become what people type.

use althing_kernel::records::Fields;
use althing_services::memory::{Hint, Verb, allowed_steps};

use crate::output::readable;

/// A command that calls a verb, and how its arguments are typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sheet {
    /// The command, after `althing`.
    pub(crate) command: &'static str,
    /// An argument of the verb, and the option or the place where it is typed.
    names: &'static [(&'static str, &'static str)],
}

impl Sheet {
    /// How an argument of the verb is typed.
    pub(crate) fn option(self, name: &str) -> Option<&'static str> {
        self.names.iter().find(|(own, _)| *own == name).map(|(_, typed)| *typed)
    }
}

/// All commands of `althing memory`, by their verb.
pub(crate) fn sheet(verb: Verb) -> Sheet {
    let (command, names): (_, &'static [_]) = match verb {
        Verb::Work => ("memory work", WORK),
        Verb::Context => ("memory context", CONTEXT),
        Verb::Find => ("memory find", FIND),
        Verb::Get => ("memory get", &[("entity", "ID"), ("id", "ID"), BUDGET]),
        Verb::Create => ("memory create", CREATE),
        Verb::Update => ("memory update", UPDATE),
        Verb::Transition => ("memory transition", TRANSITION),
        Verb::CompleteStep => ("memory complete-step", COMPLETE_STEP),
        Verb::Remove => ("memory remove", &[("id", "ID"), ("reason", "--reason")]),
        Verb::Coordinate => ("memory coordinate", COORDINATE),
        Verb::Dispatch => ("memory dispatch", DISPATCH),
        Verb::Loop => ("memory loop", LOOP),
        Verb::Sweep => ("memory sweep", &[("dryRun", "--dry-run")]),
        Verb::Harvest => ("memory harvest", HARVEST),
    };
    Sheet { command, names }
}

/// `althing ask`
pub(crate) const ASK: Sheet = Sheet {
    command: "ask",
    names: &[("query", "QUESTION"), ("path", "--path"), ("maxItems", "--limit")],
};

/// `althing remember`
pub(crate) const REMEMBER: Sheet = Sheet {
    command: "remember",
    names: &[
        ("entity", "--kind"),
        ("text", "TEXT"),
        ("tags", "--tag"),
        ("related_paths", "--path"),
    ],
};

/// `althing board`
pub(crate) const BOARD: Sheet = Sheet { command: "board", names: &[] };

const BUDGET: (&str, &str) = ("budget_tokens", "--budget-tokens");
const REQUEST: [(&str, &str); 2] =
    [("client_request_id", "--request-id"), ("request_id", "--request-id")];
const REASON: (&str, &str) = ("reason", "--reason");

const WORK: &[(&str, &str)] = &[
    ("intent", "INTENT"),
    ("scope", "--scope"),
    ("planId", "--plan"),
    ("task", "--task"),
    ("ttl", "--ttl"),
    ("advisory", "--advisory"),
    ("compact", "--full"),
    BUDGET,
];
const CONTEXT: &[(&str, &str)] = &[
    ("kind", "KIND"),
    ("since", "--since"),
    ("path", "--path"),
    ("query", "--query"),
    ("maxItems", "--max-items"),
    ("includePending", "--pending"),
    BUDGET,
];
const FIND: &[(&str, &str)] = &[
    ("entity", "KIND"),
    ("status", "--status"),
    ("tag", "--tag"),
    ("tags", "--tag"),
    ("author", "--author"),
    ("plan_id", "--plan"),
    ("source", "--source"),
    ("auto_generated", ""),
    ("agent", "--agent"),
    ("to", "--to"),
    ("assignee", "--assignee"),
    ("scope", "--scope"),
    ("includeLegacy", "--legacy"),
    ("minAutoReflectConfidence", "--min-confidence"),
    ("limit", "--limit"),
    ("offset", "--offset"),
    BUDGET,
];
const CREATE: &[(&str, &str)] = &[
    ("entity", "KIND"),
    ("text", "TEXT"),
    ("tags", "--tag"),
    ("data", "--data"),
    REQUEST[0],
    REQUEST[1],
];
const UPDATE: &[(&str, &str)] = &[
    ("id", "ID"),
    ("text", "--text"),
    ("tags", "--tag"),
    ("patch", "--set, --text, --tag or --clear"),
    ("expected_version", "--expected-version"),
];
const TRANSITION: &[(&str, &str)] = &[
    ("id", "ID"),
    ("to", "STATE"),
    REASON,
    ("planStatus", "--plan-status"),
    ("plan_status", "--plan-status"),
    ("merged_into", "--merged-into"),
    ("artifacts", "--artifact"),
    ("coordinator_override", "--override"),
    ("expected_version", "--expected-version"),
];
const COMPLETE_STEP: &[(&str, &str)] =
    &[("planId", "PLAN"), ("stepId", "STEP"), ("steps", "--set steps='[\"one\",\"two\"]'")];
const COORDINATE: &[(&str, &str)] = &[
    ("intent", "INTENT"),
    ("task", "TASK"),
    ("targetAgents", "--to"),
    ("scope", "--scope"),
    ("scopes", "--lane-scope"),
    ("planId", "--plan"),
    ("assignmentId", "--assignment"),
    ("worktree", "--worktree"),
    ("lane", "--lane"),
    ("threadId", "--thread"),
    ("open_loop", "--open-loop"),
    ("allow_dirty", "--allow-dirty"),
    ("ref", "--ref"),
    REQUEST[0],
    REQUEST[1],
];
const DISPATCH: &[(&str, &str)] = &[
    ("intent", "INTENT"),
    ("sequenceId", "--sequence"),
    ("agents", "--agent"),
    ("lanes", "--lane"),
    ("maxAssignments", "--max"),
    ("capacity", "--capacity"),
    ("dryRun", "--dry-run"),
    ("allow_dirty", "--allow-dirty"),
    ("ref", "commit with `althing memory coordinate --ref`"),
    ("handoffId", "--handoff"),
    ("reviewer", "--reviewer"),
    ("openLoop", "--open-loop"),
    REQUEST[0],
    REQUEST[1],
];
const LOOP: &[(&str, &str)] = &[
    ("intent", "INTENT"),
    ("loopId", "LOOP"),
    ("kind", "--kind"),
    ("task", "--task"),
    ("slots", "--agent"),
    ("stop_conditions", "--stop-conditions"),
    ("planId", "--plan"),
    ("allow_orphan", "--allow-orphan"),
    ("slot", "--slot"),
    ("outcome", "--outcome"),
    ("phase", "--phase"),
    ("artifact", "--artifact"),
    ("status", "--status"),
    ("assignmentId", "--assignment"),
    ("to_agent", "--agent"),
    ("verdict", "--verdict"),
    ("messageId", "--message"),
    REASON,
    ("expected_version", "--expected-version"),
    REQUEST[0],
    REQUEST[1],
];
const HARVEST: &[(&str, &str)] = &[
    ("assignmentId", "ASSIGNMENT"),
    ("integrate", "--integrate"),
    ("allowOutside", "--allow-outside"),
];

/// Options that are set like a field but are not a field of the kernel's.
const ALSO_FIELDS: [&str; 7] = ["author", "claim_id", "outcome", "paths", "status", "ttl", "type"];

/// The verbs whose names stand in messages: those of hosts, and two that only people have.
fn verbs() -> impl Iterator<Item = Verb> {
    Verb::ALL.into_iter().chain([Verb::Sweep, Verb::Harvest])
}

impl Sheet {
    /// A sentence for people: with what they type, short ids, and times as seen from now.
    pub(crate) fn readable(self, text: &str) -> String {
        readable(&self.named(text))
    }

    /// A sentence with what is typed at the command line.
    pub(crate) fn named(self, text: &str) -> String {
        // People choose a kind; hosts call it an entity.
        let mut words = self.typed(&text.replace("there is no entity ", "there is no kind "));
        for verb in verbs().filter(|verb| text.contains(verb.tool())) {
            words = words.replace(verb.tool(), &format!("`althing {}`", sheet(verb).command));
        }
        // The intents of a loop are written as they are typed.
        let doing = format!("`althing {}` ", sheet(Verb::Loop).command);
        if let Some((before, after)) = words.split_once(&doing) {
            let end = after.find(' ').unwrap_or(after.len());
            words = format!("{before}{doing}{}{}", after[..end].replace('_', "-"), &after[end..]);
        }
        words
    }

    /// How an argument, or a field of a thing, is typed.
    fn name(self, name: &str) -> Option<String> {
        if let Some((_, typed)) = self.names.iter().find(|(own, _)| *own == name) {
            return Some((*typed).to_owned());
        }
        let takes_fields = self.names.iter().any(|(own, _)| matches!(*own, "data" | "patch"));
        let is_field = Fields::NAMES.contains(&name) || ALSO_FIELDS.contains(&name);
        (takes_fields && is_field).then(|| format!("--set {name}=…"))
    }

    /// The sentence with each argument as it is typed.
    fn typed(self, text: &str) -> String {
        let (mut words, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(at) = rest.find(['\'', '`']) {
            let (before, quoted) = rest.split_at(at);
            words.push_str(before);
            let inner = &quoted[1..];
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
            let name = &inner[..end];
            let known = self.name(name);
            let known = known.filter(|_| inner[end..].starts_with(&quoted[..1]));
            if let Some(typed) = known {
                rest = &inner[end + 1..];
                // In a list, each is named once, and what cannot be typed not at all.
                let again = format!("{typed}, ");
                match rest.strip_prefix(", ") {
                    Some(next) if typed.is_empty() || words.ends_with(&again) => rest = next,
                    _ => words.push_str(&typed),
                }
            } else {
                words.push_str(&quoted[..1]);
                rest = inner;
            }
        }
        words.push_str(rest);
        words
    }

    /// The hint, in words that can be typed here.
    pub(crate) fn way_out(self, way: &Hint) -> String {
        let command = self.command;
        match way {
            Hint::Look(kind) => format!("`althing memory find {kind}` shows what there is."),
            Hint::Agents => {
                "`althing agents` shows who is known; each has to have worked here once.".to_owned()
            }
            Hint::Usage(_) => format!("`althing {command} --help` shows its arguments."),
            Hint::Show(id) => format!("`althing memory get {}` shows what it has.", id.label()),
            Hint::Read(id) => {
                format!("Look at it with `althing memory get {}`, and ask again.", id.label())
            }
            Hint::Step(allowed) => allowed_steps(allowed),
            Hint::Apart => {
                "Give each agent a scope of its own with --lane-scope AGENT=PATHS.".to_owned()
            }
            Hint::Wait => {
                "Wait until then, ask the holder to release it, or take a scope that does \
                          not overlap; `althing claims` shows what is held."
                    .to_owned()
            }
            Hint::Fields => {
                "Give the fields of its kind; `althing do --schema memory.create` has them all. A \
                 state is changed with `althing memory transition`."
                    .to_owned()
            }
            Hint::Ask(id, owner) => {
                let shown = format!("`althing memory get {}` shows it", id.label());
                let ask = |owner: &String| {
                    format!("ask with `althing memory coordinate consult 'TEXT' --to {owner}`")
                };
                let ask = owner.as_ref().map_or("ask whose it is".to_owned(), ask);
                format!("{shown}; {ask}.")
            }
            Hint::Session => "Leave out --session: each agent has a session of its own.".to_owned(),
            Hint::Refer => {
                "Correct the reference that is named; `althing memory get ID` shows one.".to_owned()
            }
            Hint::Commit if command == "memory dispatch" => {
                "Commit the files that are named, or say --allow-dirty.".to_owned()
            }
            Hint::Commit => "Commit the files that are named, name a commit with --ref, or say \
                            --allow-dirty."
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory as _;

    /// Whether a command takes something that is typed so.
    fn takes(command: &clap::Command, typed: &str) -> bool {
        command.get_arguments().any(|arg| match typed.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => arg.is_positional() && value_name(arg) == typed,
        })
    }

    fn value_name(arg: &clap::Arg) -> String {
        let named = arg.get_value_names().and_then(|names| names.first());
        named.map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string)
    }

    #[test]
    fn options_named_in_messages_exist() {
        let all = verbs().map(sheet).chain([ASK, REMEMBER, BOARD]);
        for own in all {
            let mut command = Cli::command();
            for part in own.command.split(' ') {
                command = command.find_subcommand(part).unwrap().clone();
            }
            for (name, typed) in own.names.iter().filter(|(_, typed)| !typed.is_empty()) {
                let options = typed.split([' ', ',', '`']).filter(|part| part.starts_with("--"));
                let options: Vec<&str> = options.collect();
                // An option of another command is named with that command.
                let elsewhere = typed.contains('`') || own.command == "memory complete-step";
                let is_taken = match options.as_slice() {
                    [] => takes(&command, typed),
                    some => some.iter().all(|option| takes(&command, option)),
                };
                assert!(is_taken || (elsewhere && !options.is_empty()), "{}: {name}", own.command);
            }
        }
    }

    #[test]
    fn sentences_name_what_is_typed() {
        for (verb, text, words) in [
            (
                Verb::Coordinate,
                "bclaw_coordinate requires 'task'",
                "`althing memory coordinate` requires TASK",
            ),
            (
                Verb::Transition,
                "ending somebody else's claim requires a 'reason'",
                "ending somebody else's claim requires a --reason",
            ),
            (
                Verb::Find,
                "only by 'tag', 'tags', 'auto_generated', 'limit'",
                "only by --tag, --limit",
            ),
            (
                Verb::Loop,
                "bclaw_loop complete_turn requires 'slot'",
                "`althing memory loop` complete-turn requires --slot",
            ),
            (Verb::Create, "a claim requires 'scope'", "a claim requires --set scope=…"),
            (Verb::Work, "'steps' of 'text'", "'steps' of 'text'"),
            (Verb::Loop, "lop_00000001 has no 'slot'; it's", "lop#1 has no --slot; it's"),
            (Verb::Find, "'nobody' knows 'status", "'nobody' knows 'status"),
        ] {
            assert_eq!(sheet(verb).readable(text), words);
        }
    }
}
