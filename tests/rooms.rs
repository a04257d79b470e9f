//! The rooms inside each crate: each imports only from those before it.
//!
//! A room is a folder (or a file beside the folders). In the kernel the folders below `model` and
//! `rules` are rooms of their own, in the dialects those below each dialect. The orders below are the
//! orders in which a newcomer can read a crate without meeting a name that comes later; an import
//! against one is a cycle in the making. The code map in ARCHITECTURE.md follows them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const KERNEL: &[&str] = &[
    "values",
    "surfaces",
    "registry",
    "model/identity",
    "model/leasing",
    "model/runs",
    "model/knowledge",
    "model/admin",
    "model/query",
    "protocol",
    "machine",
    "rules/idempotency",
    "rules/identity",
    "rules/leasing",
    "rules/runs",
    "rules/knowledge",
    "rules/admin",
    "rules/permissions",
    "rules/query",
    "dispatch",
    "audit",
];

const ENGINE: &[&str] = &[
    "clock", "mint", "error", "store", "screen", "identity", "snapshot", "commit", "recovery",
    "engine", "read", "archive", "reports", "api",
];

const TRAIL: &[&str] = &[
    "error",
    "hash",
    "key",
    "request",
    "line",
    "entry",
    "tree",
    "stub",
    "commit",
    "head",
    "chain",
    "archive",
    "log",
    "archive_check",
    "proof",
    "export",
    "verify",
];

const DIALECTS: &[&str] = &[
    "moment",
    "frugal/plain",
    "frugal/haid",
    "frugal/tokens",
    "frugal/message",
    "frugal/capsule",
    "frugal/invariants",
    "frugal/brief",
    "frugal/ledger",
    "frugal/gate",
    "frugal/claim",
    "frugal/receipt",
    "frugal/wave",
    "frugal/planning",
    "memory/entity",
    "memory/form",
    "memory/input",
    "memory/moment",
    "memory/words",
    "memory/item",
    "memory/data",
    "memory/filter",
    "memory/budget",
    "memory/facade",
    "memory/relevance",
    "memory/lane",
];

const WORKSHOP: &[&str] = &[
    "error",
    "step",
    "file_lock",
    "scratch",
    "git",
    "worktree",
    "command",
    "process",
    "agents",
    "hook_shapes",
    "wiring",
    "ancestry",
    "hosts",
    "ignored",
];

const SERVICES: &[&str] = &[
    "error",
    "arguments",
    "search_cache",
    "project",
    "context",
    "peers",
    "frugal",
    "memory",
    "mail",
    "native",
    "hooks",
    "runner",
];

const SERVER: &[&str] = &[
    "frame",
    "message",
    "transport",
    "dialect",
    "frugal",
    "native",
    "wacp",
    "memory",
    "tally",
    "mail_notice",
    "service",
    "pulse",
];

const ALTHING: &[&str] = &[
    "error",
    "naming",
    "span",
    "moment",
    "table",
    "screen",
    "output",
    "logging",
    "amounts",
    "progress",
    "cli",
    "input",
    "place",
    "surfaces",
    "settings",
    "typed",
    "haid",
    "planning",
    "app",
    "command_context",
    "content",
    "event_summary",
    "plan_file",
    "drawing",
    "frugal",
    "refusals",
    "heimdall",
    "commands",
    "hints",
];

/// The rooms that hold rooms.
const NESTED: &[(&str, &[&str])] =
    &[("kernel", &["model", "rules"]), ("dialects", &["frugal", "memory"])];

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src").canonicalize().unwrap()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|own| own == "rs") {
            found.push(path);
        }
    }
    found
}

/// The rooms of a crate in order, and those that hold rooms.
struct Crate {
    rooms: &'static [&'static str],
    nests: &'static [&'static str],
}

impl Crate {
    fn new(name: &'static str, rooms: &'static [&'static str]) -> Self {
        let nests = NESTED.iter().find(|(own, _)| *own == name);
        Crate { rooms, nests: nests.map_or(&[], |(_, nests)| *nests) }
    }

    /// The room that a path of modules leads to; none for a name that the crate's root exports
    /// again.
    fn room(&self, segments: &[String]) -> Option<String> {
        let first = segments.first()?;
        let name = match segments.get(1) {
            Some(second) if self.nests.contains(&first.as_str()) => format!("{first}/{second}"),
            _ => first.clone(),
        };
        self.rooms.contains(&name.as_str()).then_some(name)
    }

    /// Whether a path names something that a room with rooms declares itself, such as a constant.
    fn is_of_nest(&self, segments: &[String]) -> bool {
        let is_type = |name: &String| name.starts_with(|c: char| c.is_ascii_uppercase());
        segments.first().is_some_and(|first| self.nests.contains(&first.as_str()))
            && segments.get(1).is_none_or(is_type)
    }

    fn place(&self, room: &str) -> Option<usize> {
        self.rooms.iter().position(|known| *known == room)
    }
}

/// A path of names from a place in the code on, as far as no group begins.
fn path_at(code: &str) -> Vec<String> {
    let path: String =
        code.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
    path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Every `crate::…` path in a file, and every `super::…` path as seen from the root. Groups are
/// written below a room, never across rooms.
fn imports(path: &Path, module: &[&str], text: &str) -> BTreeSet<Vec<String>> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    // Tests stand at the end of a file, in a module of their own.
    let tests = code.find("#[cfg(test)]\nmod ").unwrap_or(code.len());
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let segments = path_at(&code[at + "crate::".len()..]);
        assert!(!segments.is_empty(), "{} imports across rooms in one group", path.display());
        found.insert(segments);
    }
    for (at, _) in code.match_indices("super::") {
        let is_inside = code[..at].ends_with("super::") || code[..at].ends_with("pub(in ");
        if is_inside {
            continue;
        }
        let segments = path_at(&code[at..]);
        let above = segments.iter().take_while(|name| *name == "super").count();
        let rest = &segments[above..];
        // Code inside a module of tests is one level further down.
        let above = above - usize::from(at > tests);
        let kept = module.len().checked_sub(above);
        let kept = kept.unwrap_or_else(|| panic!("{} leaves the crate", path.display()));
        let from_root = module[..kept].iter().map(|name| (*name).to_owned());
        let from_root: Vec<String> = from_root.chain(rest.iter().cloned()).collect();
        assert!(!from_root.is_empty(), "{} imports across rooms in one group", path.display());
        found.insert(from_root);
    }
    found
}

/// Holds a crate's files against the order of its rooms.
fn check(name: &'static str, rooms: &'static [&'static str]) {
    let (own_crate, root) = (Crate::new(name, rooms), source(name));
    let mut upwards: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for path in files(&root) {
        let inside = path.strip_prefix(&root).unwrap().with_extension("");
        let mut module: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
        if module == ["lib"] || module == ["main"] {
            continue;
        }
        if module.last() == Some(&"mod") {
            module.pop();
        }
        let parts: Vec<String> = module.iter().map(|part| (*part).to_owned()).collect();
        if parts.len() == 1 && own_crate.nests.contains(&module[0]) {
            continue;
        }
        let own = own_crate.room(&parts);
        let own = own.unwrap_or_else(|| panic!("{name}: {} is in no room", path.display()));
        let text = std::fs::read_to_string(&path).unwrap();
        for segments in imports(&path, &module, &text) {
            if own_crate.is_of_nest(&segments) {
                continue;
            }
            // A name by which the root exports a module again would hide the room it lies in.
            let other = own_crate.room(&segments);
            let other = other.unwrap_or_else(|| {
                panic!("{}: crate::{} names no room", path.display(), segments.join("::"))
            });
            if own_crate.place(&other) > own_crate.place(&own) {
                let line = format!("{} uses crate::{}", inside.display(), segments.join("::"));
                upwards.entry((own.clone(), other)).or_default().push(line);
            }
        }
        seen.insert(own);
    }
    assert!(upwards.is_empty(), "{name}: rooms import from later rooms: {upwards:#?}");
    let listed: BTreeSet<String> = rooms.iter().map(|room| (*room).to_owned()).collect();
    assert_eq!(seen, listed, "{name}: a room in the list is empty");
}

#[test]
fn imports_are_read_from_the_root_of_a_crate() {
    let text = "use super::claim::Claim;
use super::super::moment::{date, utc};
// use crate::not::this;
fn f() -> u8 {
    crate::frugal::haid::called()
}

#[cfg(test)]
mod tests {
    use super::*;
    use super::super::brief::build;
}
";
    let found = imports(Path::new("x"), &["frugal", "planning"], text);
    let found: Vec<String> = found.iter().map(|segments| segments.join("::")).collect();
    let expected = [
        "frugal::brief::build",
        "frugal::claim::Claim",
        "frugal::haid::called",
        "frugal::planning",
        "moment",
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_kernels_rooms_import_downwards() {
    check("kernel", KERNEL);
}

#[test]
fn the_engines_rooms_import_downwards() {
    check("engine", ENGINE);
}

#[test]
fn the_trails_rooms_import_downwards() {
    check("trail", TRAIL);
}

#[test]
fn the_dialects_rooms_import_downwards() {
    check("dialects", DIALECTS);
}

#[test]
fn the_workshops_rooms_import_downwards() {
    check("workshop", WORKSHOP);
}

#[test]
fn the_services_rooms_import_downwards() {
    check("services", SERVICES);
}

#[test]
fn the_servers_rooms_import_downwards() {
    check("server", SERVER);
}

#[test]
fn the_binarys_rooms_import_downwards() {
    check("althing", ALTHING);
}

/// The part of the code map about a crate: from its name to the next one's.
fn code_map<'t>(map: &'t str, name: &str) -> &'t str {
    let start = map.find(&format!("**`crates/{name}`**")).unwrap();
    let rest = &map[start + 2..];
    &rest[..rest.find("\n**`").unwrap_or(rest.len())]
}

#[test]
fn the_code_map_names_the_rooms_in_their_order() {
    let map = source("kernel").join("../../../ARCHITECTURE.md");
    let map = std::fs::read_to_string(map).unwrap();
    let crates = [
        ("trail", TRAIL),
        ("engine", ENGINE),
        ("dialects", DIALECTS),
        ("workshop", WORKSHOP),
        ("services", SERVICES),
        ("server", SERVER),
        ("althing", ALTHING),
    ];
    for (name, rooms) in crates {
        let text = code_map(&map, name);
        let mut read = 0;
        for room in rooms {
            // Rooms inside a room are named by their own names, after it.
            let word = format!("`{}`", room.rsplit('/').next().unwrap_or(room));
            let at = text[read..].find(&word);
            let at = at.unwrap_or_else(|| panic!("{name}: {word} is not named in its place"));
            read += at + word.len();
        }
    }
    let kernel = code_map(&map, "kernel");
    for room in KERNEL {
        let word = format!("`{}`", room.split('/').next_back().unwrap_or(room));
        let above = room.split('/').next().unwrap_or(room);
        let is_named = kernel.contains(&word) || kernel.contains(&format!("`{above}`"));
        assert!(is_named, "kernel: {word} is not named");
    }
}
