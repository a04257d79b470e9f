//! The rooms inside the kernel and the engine: each imports only from those before it.
//!
//! A room is a folder (or a file beside the folders). In the kernel the folders below `model` and
//! `rules` are rooms of their own. The order below is the order in which a newcomer can read the
//! crate without meeting a name that comes later; an import against it is a cycle in the making.

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

/// The rooms that hold rooms.
const FLOORS: &[&str] = &["model", "rules"];

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

/// The room that a path of modules leads to; none for a name that the crate's root exports again.
fn room(segments: &[&str], rooms: &[&str]) -> Option<String> {
    let first = segments.first()?;
    let name = match segments.get(1) {
        Some(second) if FLOORS.contains(first) => format!("{first}/{second}"),
        _ => (*first).to_owned(),
    };
    rooms.contains(&name.as_str()).then_some(name)
}

/// Every `crate::…` path in a file. Groups are written below a room, never across rooms.
fn imports(path: &Path, text: &str) -> BTreeSet<Vec<String>> {
    let code: String = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest: String = code[at + "crate::".len()..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':'))
            .collect();
        let segments: Vec<String> =
            rest.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        assert!(!segments.is_empty(), "{} imports across rooms in one group", path.display());
        found.insert(segments);
    }
    found
}

/// Holds a crate's files against the order of its rooms.
fn check(name: &str, rooms: &[&str]) {
    let root = source(name);
    let mut upwards: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for path in files(&root) {
        let inside = path.strip_prefix(&root).unwrap().with_extension("");
        let parts: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
        if parts == ["lib"] || (FLOORS.contains(&parts[0]) && parts[1..] == ["mod"]) {
            continue;
        }
        let own = room(&parts, rooms);
        let own = own.unwrap_or_else(|| panic!("{name}: {} is in no room", path.display()));
        let text = std::fs::read_to_string(&path).unwrap();
        for segments in imports(&path, &text) {
            let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
            // A name by which the root exports a module again would hide the room it lies in.
            let other = room(&segments, rooms);
            let other = other.unwrap_or_else(|| {
                panic!("{}: crate::{} names no room", path.display(), segments.join("::"))
            });
            let place = |room: &str| rooms.iter().position(|known| *known == room);
            if place(&other) > place(&own) {
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
fn the_kernels_rooms_import_downwards() {
    check("kernel", KERNEL);
}

#[test]
fn the_engines_rooms_import_downwards() {
    check("engine", ENGINE);
}
