//! Reference pages that are made from the code.
//!
//! Each function returns the text of one page. What only the program knows, its help and its
//! schemas, comes through [`Ask`], so these functions can be called from anywhere that can run the
//! program. `docs.rs` compares the pages with those that are committed.

mod cli;
mod schemas;

use althing_kernel::records::table::TABLES;
use althing_kernel::records::{Kind, Status};
use althing_kernel::task::State;
use althing_kernel::task::lifecycle::TABLE;
use althing_kernel::{Rule, attempt, lifecycles};
use std::fmt::Write as _;

pub(crate) use cli::commands;
pub(crate) use schemas::{Doors, schema_file};

/// Runs the program with arguments and returns what it prints.
pub(crate) type Ask<'a> = &'a dyn Fn(&[&str]) -> String;

/// A page: its place below `docs`, and its text.
pub(crate) struct Page {
    pub(crate) name: &'static str,
    pub(crate) text: String,
}

/// Every page that is made from the code, but for those about conformance.
pub(crate) fn all(ask: Ask<'_>) -> Vec<Page> {
    let doors = Doors::read(ask);
    vec![
        Page { name: "reference/cli.md", text: cli::command_line(ask) },
        Page { name: "reference/commands.md", text: schemas::command_names(&doors) },
        Page { name: "reference/schemas.json", text: schema_file(&doors) },
        Page { name: "reference/rules.md", text: rules() },
        Page { name: "reference/lifecycles.md", text: lifecycles() },
        Page { name: "reference/memory.md", text: memory_tables() },
    ]
}

/// The rules that refusals and errors cite.
fn rules() -> String {
    let mut text = String::from(
        "# Rules\n\nEvery refusal and every error cites one of these rules. `althing rules ID` prints \
         it too.\n\nThis page is generated.\n\n| Rule | Says | What to do |\n|---|---|---|\n",
    );
    for rule in Rule::ALL {
        writeln!(text, "| {} | {} | {} |", rule.id(), rule.text(), rule.way_out()).unwrap();
    }
    text
}

/// The states of everything that has a lifecycle.
fn lifecycles() -> String {
    let mut text = String::from(
        "# Lifecycles\n\nThe states of workspaces, tasks, leases and the like, and the steps between \
         them. [Records of the shared memory](memory.md) have a page of their own.\n\nThis page is \
         generated.\n",
    );
    for table in lifecycles::ALL {
        write!(text, "\n## {}\n\n```mermaid\n{}\n```\n", capital(table.noun), table.diagram())
            .unwrap();
        match table.noun {
            "workspace" => text.push_str(&attempt_words()),
            "task" => text.push_str(&task_words()),
            _ => {}
        }
    }
    text
}

/// The words of the memory protocol for the states of a workspace.
fn attempt_words() -> String {
    let mut text = String::from(
        "\nA worker's workspace is an assignment and an assignment is a workspace: one attempt at a \
         piece of work. Inside a run signals and the coordinator's orders move it, and the verbs for \
         records are translated to them; outside runs the verbs for records move it, and signals, \
         `workspace abort` and `workspace migrate` are translated to those. The words that fit, the \
         first of which it gets:\n\n| Workspace | When | Assignment |\n|---|---|---|\n",
    );
    for row in attempt::TABLE {
        let words: Vec<&str> = row.words.iter().map(|word| word.as_str()).collect();
        writeln!(text, "| `{}` | {} | {} |", row.status, row.when, list(&words)).unwrap();
    }
    text
}

/// The words of each protocol for the states of a task, and where each step is allowed.
fn task_words() -> String {
    let mut text = String::from(
        "\nA task is a plan and a plan is a task: it is stored once. It is *open* until the \
         coordinator plans it in a run or binds a workspace to it, and *governed* by that run from \
         then on; when the run is over, it is open again. Each protocol has its own words for the \
         one state:\n\n| State | Run | Memory |\n|---|---|---|\n",
    );
    for state in State::ALL {
        let blocked = match state.in_memory() {
            Status::InProgress if *state != State::Completed => {
                ", `blocked` while its workspace is"
            }
            _ => "",
        };
        let (run, memory) = (state.in_runs(), state.in_memory());
        writeln!(text, "| `{state}` | `{run}` | `{memory}`{blocked} |").unwrap();
    }
    text.push_str("\n| From | To | Allowed for tasks that are | By |\n|---|---|---|---|\n");
    for step in TABLE {
        let (from, to, by) = (step.from, step.to, step.by);
        writeln!(text, "| `{from}` | `{to}` | {} | {by} |", step.allowed.as_str()).unwrap();
    }
    text
}

/// The kinds of records of the shared memory, with their states and fields.
fn memory_tables() -> String {
    let mut text = String::from(
        "# Records of the shared memory\n\nThe kinds of records, their ids, states and fields. Ended \
         records are left out of summaries unless you ask for them. Other names of a state are \
         accepted wherever a state is given.\n\nAn assignment can also be `forced` by the agent that \
         made it, and one that is stuck can be ended with `memory.converge`.\n\nThis page is \
         generated.\n",
    );
    for table in TABLES {
        let kind = table.kind;
        let states = |all: &[Status]| list(&all.iter().map(|own| own.as_str()).collect::<Vec<_>>());
        let aliases = table.aliases.iter().map(|(alias, own)| format!("`{alias}` is `{own}`"));
        let aliases = aliases.collect::<Vec<_>>().join(", ");
        write!(
            text,
            "\n## {title}\n\n- Ids: `{prefix}_…`, `{prefix}#n`.\n- First state: {initial}.\n- End \
             states: {ended}.\n",
            title = capital(kind.as_str()),
            prefix = kind.prefix(),
            initial = states(table.initial),
            ended = states(table.ended),
        )
        .unwrap();
        if !aliases.is_empty() {
            writeln!(text, "- Other names of states: {aliases}.").unwrap();
        }
        let (fields, required) = (list(table.fields), list(table.required));
        match (kind, kind.written_with()) {
            (Kind::Claim, _) => text.push_str("- A claim is a lease: see [surfaces](surfaces.md).\n"),
            (_, Some(command)) => writeln!(
                text,
                "- Fields: {fields}.\n- Required: {required}.\n- Written with `{command}`: see [shared \
                 values](shared.md#one-store-of-records)."
            )
            .unwrap(),
            (_, None) => {
                let updatable = list(table.updatable);
                writeln!(
                    text,
                    "- Fields: {fields}.\n- Required: {required}.\n- Changed with `memory.update`, \
                     besides `text` and `tags`: {updatable}."
                )
                .unwrap();
            }
        }
        write!(text, "\n```mermaid\n{}\n```\n", table.lifecycle.diagram()).unwrap();
    }
    text
}

/// Words of the code, separated by commas.
fn list(words: &[&str]) -> String {
    match words {
        [] => "none".to_owned(),
        words => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
    }
}

/// A word with a capital letter.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
