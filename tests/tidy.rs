//! House rules that no compiler checks.

mod matches;

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Files of the project with an ending, and what they say.
fn files(ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && name != ".git" && name != "corpus" {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|own| own == ending) {
                let text = std::fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

#[test]
fn the_kernel_is_pure() {
    let banned = [
        "std::time",
        "std::fs",
        "std::net",
        "std::env",
        "std::thread",
        "std::process",
        "std::io",
        "SystemTime",
        "Instant::now",
        "getrandom",
        "rand::",
        "tokio",
        "async fn",
        "HashMap",
        "HashSet",
        "RandomState",
        "tracing::",
    ];
    for (path, text) in files("rs") {
        if !path.starts_with("crates/kernel/src") {
            continue;
        }
        for word in banned {
            assert!(!text.contains(word), "{} uses {word}", path.display());
        }
    }
    let manifest = std::fs::read_to_string(root().join("crates/kernel/Cargo.toml")).unwrap();
    for dependency in ["tokio", "tracing", "rusqlite", "getrandom", "rand", "althing-"] {
        let used = manifest.lines().any(|line| line.starts_with(dependency));
        assert!(!used, "the kernel depends on {dependency}");
    }
}

#[test]
fn dependencies_point_downwards() {
    let order = [
        "althing-kernel",
        "althing-trail",
        "althing-engine",
        "althing-dialects",
        "althing-workshop",
        "althing-services",
        "althing-server",
        "althing",
    ];
    for (level, name) in order.iter().enumerate() {
        let folder = name.strip_prefix("althing-").unwrap_or(name);
        let path = root().join("crates").join(folder).join("Cargo.toml");
        let manifest = std::fs::read_to_string(path).unwrap();
        for above in &order[level + 1..] {
            let used = manifest.lines().any(|line| line.starts_with(&format!("{above}.")));
            assert!(!used, "{name} depends on {above}");
        }
    }
}

/// The protocol library changes often; what it changes must stay in one place.
#[test]
fn only_the_server_knows_the_protocol_library() {
    for (path, text) in files("rs") {
        let may = path.starts_with("crates/server/src") || path.ends_with("tests/tidy.rs");
        assert!(may || !text.contains("rmcp::"), "{} uses rmcp", path.display());
    }
    for crate_name in ["workshop", "services"] {
        let path = root().join("crates").join(crate_name).join("Cargo.toml");
        let manifest = std::fs::read_to_string(path).unwrap();
        for dependency in ["rmcp", "tokio"] {
            let used = manifest.lines().any(|line| line.starts_with(dependency));
            assert!(!used, "{crate_name} depends on {dependency}");
        }
    }
}

/// Shows W-SEC-01.
#[test]
fn state_changes_in_one_place() {
    for (path, text) in files("rs") {
        let is_kernel = path.starts_with("crates/kernel/src");
        let is_test = path.to_string_lossy().contains("tests");
        let may_apply = ["crates/engine/src/snapshot/world.rs", "crates/trail/src/verify.rs"];
        if is_kernel || is_test || may_apply.iter().any(|own| path == Path::new(own)) {
            continue;
        }
        assert!(!text.contains(".apply(&"), "{} applies entries by itself", path.display());
    }
}

#[test]
fn only_the_clock_tells_the_time() {
    for (path, text) in files("rs") {
        let may = path.ends_with("clock.rs") || path.to_string_lossy().contains("tests");
        assert!(may || !text.contains("SystemTime::now"), "{}", path.display());
    }
}

#[test]
fn every_file_says_what_it_is() {
    for (path, text) in files("rs") {
        assert!(text.starts_with("//!"), "{} has no module comment", path.display());
    }
}

#[test]
fn nothing_is_left_to_do_or_silenced() {
    // Spelled in pieces, so that this file does not find itself.
    let banned = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("allow(dead", "_code)"),
        concat!("allow(un", "used"),
        concat!("#[ig", "nore"),
    ];
    for (path, text) in files("rs") {
        for word in banned {
            assert!(!text.contains(word), "{} contains {word}", path.display());
        }
    }
}

#[test]
fn files_stay_rooms_and_lines_stay_readable() {
    for (path, text) in files("rs") {
        let lines = text.lines().count();
        assert!(lines <= 700, "{} has {lines} lines", path.display());
        for (number, line) in text.lines().enumerate() {
            let width = line.chars().count();
            assert!(width <= 120, "{}:{} has {width} columns", path.display(), number + 1);
        }
    }
}

#[test]
fn every_setting_has_a_reader() {
    let settings = std::fs::read_to_string(root().join("crates/althing/src/settings.rs")).unwrap();
    let body = settings.split("struct File {").nth(1).unwrap().split('}').next().unwrap();
    let keys: Vec<&str> =
        body.lines().filter_map(|line| line.trim().split_once(':').map(|(key, _)| key)).collect();
    assert!(keys.len() >= 4, "{keys:?}");
    for key in keys {
        let used = settings.matches(&format!("file.{key}")).count();
        assert!(used > 0, "the setting {key} is read by nobody");
    }
    // What is gathered must also be used by something else than the settings themselves.
    let gathered = settings.split("struct Settings {").nth(1).unwrap().split("\n}").next().unwrap();
    let fields = gathered.lines().filter_map(|line| line.trim().strip_prefix("pub(crate) "));
    let fields: Vec<&str> =
        fields.filter_map(|line| line.split_once(':').map(|(name, _)| name)).collect();
    assert!(fields.len() >= 4, "{fields:?}");
    let others: Vec<(PathBuf, String)> = files("rs")
        .into_iter()
        .filter(|(path, _)| {
            let path = path.to_string_lossy();
            path.contains("crates/althing/src") && !path.ends_with("/settings.rs")
        })
        .collect();
    for field in fields {
        let used = others.iter().any(|(_, text)| text.contains(&format!("settings.{field}")));
        assert!(used, "the setting {field} is gathered and used by nobody");
    }
}

/// A budget, so that growth is a decision.
#[test]
fn the_dependency_tree_stays_within_budget() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", "althing", "--edges", "normal,build", "--prefix", "none"])
        .args(["--locked", "--offline", "--no-dedupe"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    // Our own crates are no dependencies: how many there are is a matter of the layout.
    let crates: std::collections::BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.split(" (").next())
        .map(str::trim)
        .filter(|name| !name.starts_with("althing"))
        .collect();
    // Twelve of them read plans in YAML, with errors that point at the line; two handle ctrl-C.
    assert!(crates.len() <= 168, "{} crates: {crates:#?}", crates.len());
}

/// The text of a function, from its name to the brace that closes it.
fn function<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let start = [format!("fn {name}("), format!("fn {name}<")];
    let start = start.iter().filter_map(|start| text.find(start.as_str())).min()?;
    let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let indent = text[line..].len() - text[line..].trim_start().len();
    let end = format!("\n{}}}\n", " ".repeat(indent));
    text[line..].find(&end).map(|length| &text[line..line + length])
}

/// Whether an arm of a match takes whatever the others left: `_`, a name, or a pattern of those.
fn is_catch_all(line: &str) -> bool {
    let Some((pattern, _)) = line.trim().split_once("=>") else { return false };
    let pattern = pattern.split(" if ").next().unwrap_or_default().trim();
    let rest = pattern.trim_matches(['(', ')']);
    !rest.is_empty()
        && rest
            .split(", ")
            .all(|part| part == "_" || part.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
}

/// A match over a closed set names each of its members, or says in a comment why the rest is alike.
#[test]
fn no_match_over_a_closed_set_takes_the_rest_in_silence() {
    let mut found = Vec::new();
    for (path, text) in files("rs") {
        let is_source = path.starts_with("crates") && path.iter().any(|part| part == "src");
        if is_source {
            let lines = matches::catch_alls(&text);
            found.extend(lines.iter().map(|line| format!("{}:{line}", path.display())));
        }
    }
    assert!(found.is_empty(), "arms that take whatever is left: {found:#?}");
}

/// A command, a query or an event that nobody handles must not compile. These functions hand each of
/// them on, so none of their arms may take whatever is left, for no reason at all.
#[test]
fn no_dispatch_has_a_catch_all_arm() {
    let whole_files = [
        "crates/kernel/src/dispatch/apply.rs",
        "crates/kernel/src/dispatch/commands.rs",
        "crates/kernel/src/protocol/command/precedence.rs",
        "crates/kernel/src/protocol/event/blobs.rs",
        "crates/althing/src/event_summary.rs",
    ];
    let functions = [
        ("crates/kernel/src/dispatch/decide.rs", "tick"),
        ("crates/kernel/src/dispatch/decide.rs", "arrive"),
        ("crates/kernel/src/machine/transaction/on_record.rs", "each_new_id"),
        ("crates/kernel/src/machine/transaction/on_record.rs", "each_id_of_agent"),
        ("crates/kernel/src/machine/transaction/on_record.rs", "each_id_of_lease"),
        ("crates/kernel/src/machine/transaction/on_record.rs", "each_id_of_workspace"),
        ("crates/kernel/src/machine/transaction/on_record.rs", "each_id_of_message"),
        ("crates/kernel/src/machine/transaction/on_record.rs", "each_id_of_plan"),
        ("crates/kernel/src/machine/transaction/on_record.rs", "each_id_of_approval"),
        ("crates/kernel/src/protocol/command/content.rs", "each_content"),
        ("crates/kernel/src/protocol/event/mod.rs", "blobs"),
        ("crates/kernel/src/rules/knowledge/blackboard/mod.rs", "carry_out"),
        ("crates/kernel/src/rules/knowledge/blackboard/mod.rs", "apply"),
        ("crates/kernel/src/rules/knowledge/records/mod.rs", "carry_out"),
        ("crates/kernel/src/rules/knowledge/records/mod.rs", "answer"),
        ("crates/kernel/src/rules/knowledge/records/mod.rs", "effects_of"),
        ("crates/kernel/src/rules/knowledge/records/mod.rs", "mark_of"),
        ("crates/kernel/src/rules/knowledge/records/mod.rs", "reply_of"),
        ("crates/kernel/src/rules/knowledge/records/mod.rs", "apply"),
        ("crates/kernel/src/rules/identity/user/standing.rs", "outcome"),
        ("crates/kernel/src/rules/identity/user/standing.rs", "apply_step"),
        ("crates/kernel/src/rules/permissions.rs", "of_command"),
        ("crates/kernel/src/rules/permissions.rs", "for_lease"),
        ("crates/kernel/src/rules/permissions.rs", "for_agent"),
        ("crates/kernel/src/rules/permissions.rs", "for_memory"),
        ("crates/kernel/src/rules/permissions.rs", "for_workspace"),
        ("crates/kernel/src/rules/permissions.rs", "for_message"),
        ("crates/kernel/src/rules/permissions.rs", "for_plan"),
        ("crates/kernel/src/rules/permissions.rs", "for_approval"),
        ("crates/kernel/src/rules/query/mod.rs", "answer_to"),
        ("crates/kernel/src/rules/query/mod.rs", "of_leases"),
        ("crates/kernel/src/rules/query/mod.rs", "of_identity"),
        ("crates/kernel/src/rules/query/work.rs", "of_run"),
        ("crates/kernel/src/rules/query/approvals.rs", "of_approvals"),
        ("crates/kernel/src/rules/query/blackboard.rs", "answer"),
        ("crates/kernel/src/rules/query/memory.rs", "answer"),
        ("crates/kernel/src/rules/runs/news.rs", "subject_of"),
        ("crates/kernel/src/rules/runs/news.rs", "of_approval"),
        ("crates/althing/src/commands/mod.rs", "is_list"),
        ("crates/althing/src/commands/mod.rs", "perform"),
        ("crates/althing/src/commands/refusals.rs", "operation"),
    ];
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    for path in whole_files {
        let text = read(path);
        let found = text.lines().find(|line| is_catch_all(line));
        assert_eq!(found, None, "{path} has an arm that takes whatever is left");
    }
    for (path, name) in functions {
        let text = read(path);
        let own = function(&text, name).unwrap_or_else(|| panic!("{path} has no {name}"));
        let found = own.lines().find(|line| is_catch_all(line));
        assert_eq!(found, None, "{name} in {path} has an arm that takes whatever is left");
    }
}

#[test]
fn a_catch_all_arm_is_seen() {
    for arm in ["_ => None,", "other => none(other),", "_ if due => {}", "(_, event) => go(event),"]
    {
        assert!(is_catch_all(arm), "{arm}");
    }
    for line in ["Event::LeaseOpened(_) => {}", "K::A | K::B => 1,", "let f = |x| x >= 1;", "}"] {
        assert!(!is_catch_all(line), "{line}");
    }
}
