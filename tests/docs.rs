//! Documents that are made from the code, and those that must not drift from it.
//!
//! `ALTHING_BLESS=1 cargo test -p althing --test system current` writes them anew, and those of
//! `conformance.rs` with them.

use crate::pages::{self, Doors, Page};
use crate::support::Sandbox;
use althing_kernel::Kind;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
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
fn the_generated_pages_are_current() {
    let project = Sandbox::bare();
    for Page { name, text } in pages::all(&|args| project.ok(args).out) {
        assert_current(name, &text);
    }
}

/// The one file says of each name what the program says of it.
#[test]
fn the_schema_file_means_what_the_program_prints() {
    let project = Sandbox::bare();
    let doors = Doors::read(&|args| project.ok(args).out);
    let file: Value = serde_json::from_str(&pages::schema_file(&doors)).unwrap();
    let shared = file["$defs"].as_object().unwrap();
    assert!(doors.0.len() > 100, "{}", doors.0.len());
    for door in &doors.0 {
        let mut printed = door.schema.clone();
        let object = printed.as_object_mut().unwrap();
        object.remove("$schema");
        let own = object.remove("$defs").unwrap_or_default();
        let own = own.as_object().cloned().unwrap_or_default();
        assert_eq!(
            inlined(&shared[&door.name], shared, 8),
            inlined(&printed, &own, 8),
            "{}",
            door.name
        );
    }
}

/// A schema with its references replaced by what they refer to, so many levels deep.
fn inlined(schema: &Value, definitions: &Map<String, Value>, levels: usize) -> Value {
    match schema {
        Value::Object(object) => {
            let entries = object.iter().flat_map(|(key, value)| match (key.as_str(), value) {
                ("$ref", Value::String(_)) if levels == 0 => Vec::new(),
                ("$ref", Value::String(to)) => {
                    let name = to.strip_prefix("#/$defs/").unwrap();
                    let meant = definitions.get(name).unwrap_or_else(|| panic!("{to} is nowhere"));
                    vec![("meant".to_owned(), inlined(meant, definitions, levels - 1))]
                }
                _ => vec![(key.clone(), inlined(value, definitions, levels))],
            });
            Value::Object(entries.collect())
        }
        Value::Array(items) => {
            items.iter().map(|item| inlined(item, definitions, levels)).collect()
        }
        plain => plain.clone(),
    }
}

/// Rows of the tables of a page, as far as their first cell is code.
fn first_cells(page: &str) -> Vec<String> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split('`').next().unwrap().to_owned()).collect()
}

#[test]
fn every_kind_of_entry_is_described() {
    let described = first_cells(&read("docs/reference/events.md"));
    let kinds: Vec<&str> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    for kind in &kinds {
        let times = described.iter().filter(|own| own == kind).count();
        assert_eq!(times, 1, "{kind} in docs/reference/events.md");
    }
    for own in &described {
        assert!(kinds.contains(&own.as_str()), "{own} is no kind of entry");
    }
}

#[test]
fn every_setting_is_described() {
    let project = Sandbox::new();
    let page = read("docs/reference/settings.md");
    let described = first_cells(&page);
    let settings = project.json(&["config"]);
    let named: Vec<&str> =
        settings.as_array().unwrap().iter().map(|own| own["key"].as_str().unwrap()).collect();
    assert!(named.len() > 8, "{named:?}");
    for name in &named {
        let is_there = described.iter().any(|own| own == name);
        assert!(is_there, "the setting {name} is not in docs/reference/settings.md");
    }
    let source = read("crates/althing/src/settings.rs");
    let ends = |c: char| !c.is_ascii_uppercase() && c != '_';
    let variables = source.split("ALTHING_").skip(1).map(|rest| rest.split(ends).next().unwrap());
    let variables: BTreeSet<&str> = variables.filter(|name| !name.is_empty()).collect();
    assert!(variables.len() > 8, "{variables:?}");
    for variable in variables {
        let name = format!("`ALTHING_{variable}`");
        assert!(page.contains(&name), "{name} is not in docs/reference/settings.md");
    }
}

/// Every command of the program, however deep, from its help.
fn commands(project: &Sandbox, path: &[&str]) -> Vec<String> {
    let help = project.ok(&[path, &["--help"]].concat()).out;
    let mut all = Vec::new();
    for name in pages::commands(&help) {
        let path = [path, &[name.as_str()]].concat();
        all.push(path.join("-"));
        all.extend(commands(project, &path));
    }
    all
}

#[test]
fn every_command_has_a_manual_page() {
    let project = Sandbox::bare();
    let words = project.ok(&["man", "man/man1"]).out;
    let mut wanted: BTreeSet<String> =
        commands(&project, &[]).iter().map(|name| format!("althing-{name}.1")).collect();
    assert!(wanted.len() > 150, "{}", wanted.len());
    wanted.insert("althing.1".to_owned());
    let folder = project.path().join("man/man1");
    let names = std::fs::read_dir(&folder).unwrap();
    let written: BTreeSet<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(written, wanted);
    assert!(words.contains(&format!("{} manual pages", wanted.len())), "{words}");
    let page = std::fs::read_to_string(folder.join("althing-claim.1")).unwrap();
    assert!(page.contains(".SH NAME") && page.contains("\\-\\-ttl"), "{page}");
    // A file in the way is named.
    project.write("taken", "");
    assert!(project.run(&["man", "taken"]).err.contains("taken"));
}

#[test]
fn the_table_of_overlaps_is_right() {
    let text = read("docs/reference/surfaces.md");
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

/// The pages of the project, with their text.
pub(crate) fn written_pages() -> Vec<(PathBuf, String)> {
    let mut pages = Vec::new();
    let mut waiting = vec![root().join("docs")];
    waiting.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
            .map(|name| root().join(name)),
    );
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|own| own == "md") {
            let text = std::fs::read_to_string(&path).unwrap();
            pages.push((path, text));
        }
    }
    pages
}

/// Where the links of a page lead: a file, and perhaps a heading in it.
fn links(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let targets = text.split("](").skip(1).map(|part| part.split(')').next().unwrap());
    targets.filter(|target| !target.contains("://")).map(|target| {
        target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)))
    })
}

/// The names of a page's headings, as links write them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let name = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(name).collect()
}

#[test]
fn documents_link_to_files_and_headings_that_exist() {
    let mut count = 0;
    for (page, text) in written_pages() {
        for (file, heading) in links(&text) {
            let path =
                if file.is_empty() { page.clone() } else { page.parent().unwrap().join(file) };
            assert!(path.exists(), "{} links to {file}", page.display());
            if let Some(heading) = heading {
                let target = std::fs::read_to_string(&path).unwrap();
                let is_there = anchors(&target).iter().any(|own| own == heading);
                assert!(is_there, "{} links to {file}#{heading}", page.display());
            }
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
}

#[test]
fn every_page_is_in_the_index() {
    let docs = root().join("docs").canonicalize().unwrap();
    let index = read("docs/README.md");
    let linked: BTreeSet<PathBuf> =
        links(&index).filter_map(|(file, _)| docs.join(file).canonicalize().ok()).collect();
    for (page, _) in written_pages() {
        let page = page.canonicalize().unwrap();
        let is_page = page.starts_with(&docs) && !page.ends_with("docs/README.md");
        assert!(!is_page || linked.contains(&page), "docs/README.md lacks {}", page.display());
    }
}

/// Tutorial, guides, reference and explanation are kept apart: each page lies in one folder.
#[test]
fn every_page_is_of_one_kind() {
    let docs = root().join("docs").canonicalize().unwrap();
    for (page, text) in written_pages() {
        let page = page.canonicalize().unwrap();
        let Ok(place) = page.strip_prefix(&docs) else { continue };
        let is_known =
            ["how-to", "reference", "explanation"].iter().any(|own| place.starts_with(own))
                || place == Path::new("README.md")
                || place == Path::new("tutorial.md")
                || place == Path::new("tutorial-run.md");
        assert!(is_known, "docs/{} is in no folder of its kind", place.display());
        // Console sessions are run by tests, so they may only be on pages that are run.
        let has_session = text.contains("```console");
        let may = !place.starts_with("reference") && !place.starts_with("explanation");
        assert!(!has_session || may, "docs/{} shows a session that nothing runs", place.display());
    }
}
