//! Documents that are made from the code, and those that must not drift from it.
//!
//! `ALTHING_BLESS=1 cargo test current` writes them anew, and those of `conformance.rs` with them.

use crate::support::Sandbox;
use althing_kernel::memory::Status;
use althing_kernel::memory::table::TABLES;
use althing_kernel::{Rule, lifecycle};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
pub(crate) fn assert_current(name: &str, made: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("ALTHING_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "docs/{name} is not what the code says; bless it");
}

#[test]
fn the_list_of_rules_is_current() {
    let mut text = String::from(
        "# Rules\n\nEvery refusal and every error cites one of these. `althing rules ID` prints \
         it too.\nThis page is made from the code.\n\n| Rule | Says | Way out |\n|---|---|---|\n",
    );
    for rule in Rule::ALL {
        writeln!(text, "| {} | {} | {} |", rule.id(), rule.text(), rule.way_out()).unwrap();
    }
    assert_current("rules.md", &text);
}

#[test]
fn the_lifecycles_are_current() {
    let mut text = String::from("# Lifecycles\n\nThis page is made from the kernel's tables.\n");
    for table in lifecycle::ALL {
        write!(text, "\n## A {}\n\n```mermaid\n{}\n```\n", table.noun, table.diagram()).unwrap();
    }
    assert_current("lifecycles.md", &text);
}

#[test]
fn the_memory_tables_are_current() {
    let mut text = String::from(
        "# What is remembered\n\nThis page is made from the kernel's one table of records. A state \
         that has ended is left out of what is at hand unless it is asked for. Other names are \
         understood wherever a state is given.\n\nAn assignment can also be `forced` by whoever \
         gave it out, and one that is stuck can be brought to an end with `memory.converge`.\n",
    );
    let list = |words: &[&str]| match words {
        [] => "none".to_owned(),
        words => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
    };
    for table in TABLES {
        let kind = table.kind;
        let states = |all: &[Status]| list(&all.iter().map(|own| own.as_str()).collect::<Vec<_>>());
        let aliases = table.aliases.iter().map(|(alias, own)| format!("`{alias}` is `{own}`"));
        let aliases = aliases.collect::<Vec<_>>().join(", ");
        write!(
            text,
            "\n## A {kind}\n\nIds: `{prefix}_…`, `{prefix}#n`. Begins as {initial}; ended: {ended}.",
            prefix = kind.prefix(),
            initial = states(table.initial),
            ended = states(table.ended),
        )
        .unwrap();
        if !aliases.is_empty() {
            write!(text, " Other names: {aliases}.").unwrap();
        }
        if kind.is_stored() {
            let (fields, required) = (list(table.fields), list(table.required));
            let updatable = list(table.updatable);
            write!(
                text,
                "\n\n- Fields: {fields}.\n- Needed: {required}.\n- Changed with `memory.update`, \
                 besides `text` and `tags`: {updatable}."
            )
            .unwrap();
        } else {
            text.push_str(" A claim is a lease; see `leases.md`.");
        }
        write!(text, "\n\n```mermaid\n{}\n```\n", table.lifecycle.diagram()).unwrap();
    }
    assert_current("memory-tables.md", &text);
}

#[test]
fn the_schemas_are_current() {
    let project = Sandbox::bare();
    let doors = project.json(&["do", "--list"]);
    let mut text = String::from(
        "# Commands and questions by name\n\nWhat `althing do NAME JSON` takes. This page is made \
         from the types that read it.\n",
    );
    for door in doors.as_array().unwrap() {
        let name = door["name"].as_str().unwrap();
        let schema = project.json(&["do", "--schema", name]);
        let schema = serde_json::to_string_pretty(&schema).unwrap();
        let (sort, help) = (door["sort"].as_str().unwrap(), door["help"].as_str().unwrap());
        write!(text, "\n## `{name}`\n\n*{sort}.* {help}\n\n```json\n{schema}\n```\n").unwrap();
    }
    assert_current("commands.md", &text);
}

/// Every command that stands in the reference.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["init"],
    &["demo"],
    &["status"],
    &["claim"],
    &["release"],
    &["renew"],
    &["claims"],
    &["check"],
    &["coordinator"],
    &["coordinator", "start"],
    &["coordinator", "show"],
    &["coordinator", "hand-over"],
    &["coordinator", "stop"],
    &["workspace"],
    &["workspace", "create"],
    &["workspace", "list"],
    &["workspace", "show"],
    &["workspace", "tree"],
    &["workspace", "path"],
    &["workspace", "sees"],
    &["workspace", "abort"],
    &["workspace", "suspend"],
    &["workspace", "resume"],
    &["workspace", "migrate"],
    &["workspace", "terminate"],
    &["workspace", "grant"],
    &["workspace", "reparent"],
    &["workspace", "budget"],
    &["workspace", "priority"],
    &["workspace", "transfer"],
    &["workspace", "write"],
    &["workspace", "files"],
    &["task"],
    &["task", "plan"],
    &["task", "add"],
    &["task", "approve"],
    &["task", "assign"],
    &["task", "retry"],
    &["task", "cancel"],
    &["task", "list"],
    &["task", "show"],
    &["task", "ready"],
    &["task", "deps"],
    &["task", "graph"],
    &["task", "graphs"],
    &["send"],
    &["inbox"],
    &["signal"],
    &["checkpoint"],
    &["checkpoint", "create"],
    &["checkpoint", "list"],
    &["checkpoint", "show"],
    &["integrate"],
    &["integrate", "accept"],
    &["integrate", "revise"],
    &["integrate", "reject"],
    &["integrate", "salvage"],
    &["integrate", "resolve"],
    &["right"],
    &["right", "grant"],
    &["right", "revoke"],
    &["right", "list"],
    &["gate"],
    &["gate", "list"],
    &["gate", "show"],
    &["gate", "approve"],
    &["gate", "reject"],
    &["gate", "modify"],
    &["inject"],
    &["escalations"],
    &["escalations", "answer"],
    &["escalations", "abort"],
    &["escalations", "delegate"],
    &["highway"],
    &["highway", "show"],
    &["highway", "set"],
    &["meter"],
    &["meter", "report"],
    &["group"],
    &["group", "list"],
    &["group", "show"],
    &["group", "abort"],
    &["group", "priority"],
    &["symbol"],
    &["symbol", "set"],
    &["symbol", "get"],
    &["symbol", "reverse"],
    &["symbol", "list"],
    &["fact"],
    &["fact", "set"],
    &["fact", "get"],
    &["fact", "delete"],
    &["fact", "list"],
    &["capsule"],
    &["capsule", "write"],
    &["capsule", "show"],
    &["capsule", "list"],
    &["capsule", "deps"],
    &["capsule", "hydrate"],
    &["brief"],
    &["tokens"],
    &["tokens", "count"],
    &["tokens", "log"],
    &["tokens", "baseline"],
    &["tokens", "delta"],
    &["haid"],
    &["validate"],
    &["shims"],
    &["memory"],
    &["memory", "work"],
    &["memory", "context"],
    &["memory", "find"],
    &["memory", "get"],
    &["memory", "create"],
    &["memory", "update"],
    &["memory", "transition"],
    &["memory", "complete-step"],
    &["memory", "remove"],
    &["memory", "coordinate"],
    &["memory", "dispatch"],
    &["memory", "loop"],
    &["memory", "sweep"],
    &["memory", "harvest"],
    &["remember"],
    &["ask"],
    &["board"],
    &["do"],
    &["mcp"],
    &["trail"],
    &["trail", "verify"],
    &["trail", "prove"],
    &["trail", "head"],
    &["trail", "show"],
    &["trail", "at"],
    &["trail", "diff"],
    &["trail", "stats"],
    &["trail", "runs"],
    &["trail", "compare"],
    &["trail", "export"],
    &["trail", "import"],
    &["view"],
    &["view", "run"],
    &["view", "workspace"],
    &["view", "flow"],
    &["view", "highway"],
    &["blob"],
    &["blob", "put"],
    &["blob", "get"],
    &["blob", "list"],
    &["agents"],
    &["agents", "register"],
    &["users"],
    &["users", "list"],
    &["users", "show"],
    &["users", "add"],
    &["users", "suspend"],
    &["users", "resume"],
    &["users", "block"],
    &["users", "unblock"],
    &["users", "deactivate"],
    &["users", "reactivate"],
    &["users", "grant"],
    &["users", "revoke"],
    &["login"],
    &["config"],
    &["rules"],
    &["conformance"],
    &["doctor"],
    &["recover"],
    &["rebuild"],
    &["backup"],
    &["completions"],
];

#[test]
fn the_command_line_reference_is_current() {
    let project = Sandbox::bare();
    let mut text = String::from(
        "# Command line\n\nWhat `--help` says, for reading in one go. This page is made from the \
         program.\n",
    );
    for command in COMMANDS {
        let help = project.ok(&[*command, &["--help"]].concat()).out;
        let title = [&["althing"], *command].concat().join(" ");
        // The shared options are the same everywhere and stand in the first chapter.
        let own = if command.is_empty() {
            help.clone()
        } else {
            let mut kept = String::new();
            let mut skipping = false;
            for line in help.lines() {
                if line == "Everywhere:" {
                    skipping = true;
                } else if skipping && !line.is_empty() && !line.starts_with(' ') {
                    skipping = false;
                }
                if !skipping {
                    kept.push_str(line);
                    kept.push('\n');
                }
            }
            kept
        };
        write!(text, "\n## `{title}`\n\n```text\n{}\n```\n", own.trim_end()).unwrap();
    }
    let visible = project.ok(&["--help"]).out;
    let listed = visible.split("Commands:").nth(1).unwrap().split("\n\n").next().unwrap();
    for line in listed.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let name = line.trim().split(' ').next().unwrap();
        let documented = COMMANDS.iter().any(|command| command.first() == Some(&name));
        assert!(documented || name == "help", "{name} is missing from the reference");
    }
    assert_current("cli.md", &text);
}

#[test]
fn the_table_of_overlaps_is_right() {
    let text = std::fs::read_to_string(root().join("docs/leases.md")).unwrap();
    let table = text.split("| A | B | Overlap |\n|---|---|---|\n").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() >= 8, "{rows:?}");
    for row in rows {
        let cells: Vec<&str> =
            row.split(" | ").map(|cell| cell.trim_matches(['|', ' ', '`'])).collect();
        let surface = |text: &str| althing_kernel::Surface::new(text).unwrap();
        let overlap = surface(cells[0]).common_path(&surface(cells[1])).is_some();
        assert_eq!(overlap, cells[2].starts_with("yes"), "{row}");
    }
}

#[test]
fn documents_link_to_files_that_exist() {
    let mut pages = vec!["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .into_iter()
        .map(|name| root().join(name))
        .collect::<Vec<_>>();
    for entry in std::fs::read_dir(root().join("docs")).unwrap() {
        pages.push(entry.unwrap().path());
    }
    // What lies in folders below are schemas, which link to nothing.
    pages.retain(|page| page.is_file());
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for part in text.split("](").skip(1) {
            let target = part.split([')', '#']).next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = page.parent().unwrap().join(target);
            assert!(path.exists(), "{} links to {target}", page.display());
        }
    }
}
