//! Conformance: the tests that show each requirement of the protocol, the page about them, and the
//! command.

pub(crate) mod tables;

use crate::docs::assert_current;
use crate::scan::{self, Found};
use crate::support::Sandbox;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use tables::{Area, Kind, Requirement, Shown, Tables};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The requirements that the tests say they show.
fn shown() -> Shown {
    let mut shown = Shown::new();
    for Found { test, shows } in scan::project(&root()).unwrap() {
        for id in shows {
            shown.entry(id).or_default().insert(test.clone());
        }
    }
    shown
}

fn read_tables() -> Result<Tables, String> {
    let read = |name: &str| std::fs::read_to_string(root().join("docs").join(name)).unwrap();
    Tables::read(&read("requirements.txt"), &read("conformance-reasons.txt"), &shown())
}

/// Shows W-CONF-04.
#[test]
fn every_requirement_has_a_test_or_a_reason() {
    if let Err(faults) = read_tables() {
        panic!("\n{faults}");
    }
}

#[test]
fn the_table_of_requirements_is_current() {
    let tables = read_tables().unwrap();
    let mut lines = Vec::new();
    for area in &tables.areas {
        for own in &area.requirements {
            let Requirement { id, level, keyword, text, tests, reason } = own;
            lines.push(
                serde_json::json!({
                    "id": id, "area": area.title, "level": level, "keyword": keyword, "text": text,
                    "tests": tests, "reason": reason,
                })
                .to_string(),
            );
        }
    }
    assert_current("conformance.json", &format!("[\n{}\n]\n", lines.join(",\n")));
}

#[test]
fn requirements_and_reasons_are_brief() {
    let tables = read_tables().unwrap();
    assert_eq!(tables.all().count(), 330);
    for own in tables.all() {
        assert!(own.text.chars().count() <= 120, "{} says too much", own.id);
        let reason = own.reason.as_ref().map_or("Fine.", |reason| &reason.text);
        assert!(reason.ends_with('.'), "{}: {reason}", own.id);
    }
}

#[test]
fn the_page_of_requirements_is_current() {
    let tables = read_tables().unwrap();
    let mut text = String::from(
        "# Conformance\n\nWhat WACP 0.1 asks for and how Althing stands to it: the tests that show \
         a requirement, or the\nreason why there is none (*later*: not built yet, *differs*: done \
         in another way, *outside*: nothing a\nprogram can test). `cargo xtask conformance` adds how \
         each test came out. This page is made from\n[the requirements](../requirements.txt), [the \
         reasons](../conformance-reasons.txt) and the tests themselves.\n\n## Deviations\n\n",
    );
    let differs = tables
        .all()
        .filter(|own| own.reason.as_ref().is_some_and(|reason| reason.kind == Kind::Differs));
    let mut count = 0;
    for own in differs {
        let (keyword, reason) = (own.keyword.as_str(), own.reason.as_ref().unwrap());
        writeln!(text, "- {} (level {}, {keyword}): {}", own.id, own.level, reason.text).unwrap();
        count += 1;
    }
    if count == 0 {
        text.push_str("None is known.\n");
    }
    for area in &tables.areas {
        text.push_str(&chapter(area));
    }
    assert_current("reference/conformance.md", &text);
}

fn chapter(area: &Area) -> String {
    let mut text = format!(
        "\n## {}\n\n| Id | Level | Keyword | Requirement | Where |\n|---|---|---|---|---|\n",
        area.title
    );
    for own in &area.requirements {
        let (id, level, keyword) = (&own.id, own.level, own.keyword.as_str());
        let (says, place) = (own.text.replace('|', "\\|"), place(own).replace('|', "\\|"));
        writeln!(text, "| {id} | {level} | {keyword} | {says} | {place} |").unwrap();
    }
    text
}

/// Where a requirement is shown, or why not.
fn place(own: &Requirement) -> String {
    let tests = own.tests.iter().map(|test| format!("`{test}`"));
    let reason =
        own.reason.iter().map(|reason| format!("*{}*: {}", reason.kind.as_str(), reason.text));
    tests.chain(reason).collect::<Vec<_>>().join("<br>")
}

#[test]
fn tests_are_named_as_libtest_names_them() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--list", "--format", "terse"])
        .output()
        .unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let found = scan::project(&root()).unwrap();
    let names: Vec<_> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    assert!(names.len() > 50, "{names:?}");
    for name in names {
        let name = format!("system::{name}");
        assert!(found.iter().any(|found| found.test == name), "{name} was not found");
    }
    for name in [
        "rules::properties::invariants_hold_after_every_step",
        "althing_kernel::values::time::tests::stamps_never_stand_still_nor_go_back",
        "althing_kernel::surfaces::tests::",
        "althing::output::tests::numbers_agree_with_what_they_count",
        "trail::form::golden_vectors",
        "engine::simulation::leases::a_seed_gives_the_same_run_every_time",
    ] {
        assert!(found.iter().any(|found| found.test.starts_with(name)), "{name}");
    }
}

#[test]
fn requirements_are_read_from_the_comment_above_a_test() {
    let text = "mod inner {\n    /// Words.\n    /// Shows W-ID-01, W-ID-02.\n    /// Shows W-CLK-01.\n    \
                #[cfg(unix)]\n    #[test]\n    fn one() {\n    }\n}\n\nproptest! {\n    /// Shows \
                W-ID-03.\n    #[test]\n    fn two(x in any()) {\n    }\n}\n\n#[test]\n/// Shows \
                W-ID-04.\nfn three() {}\n\nfn helper() {}\n\n/// Shows what it can do.\nfn other() {}\n";
    let found = scan::source(text, "system::leases").unwrap();
    let found: Vec<_> =
        found.iter().map(|found| (found.test.as_str(), found.shows.join(" "))).collect();
    assert_eq!(
        found,
        [
            ("system::leases::inner::one", "W-ID-01 W-ID-02 W-CLK-01".to_owned()),
            ("system::leases::two", "W-ID-03".to_owned()),
            ("system::leases::three", "W-ID-04".to_owned()),
        ]
    );
}

#[test]
fn a_claim_to_show_something_stands_above_a_test_or_is_an_error() {
    for (text, words) in [
        ("/// Shows W-ID-01.\nfn helper() {}\n", "2: `Shows` stands above what is no test"),
        ("/// Shows W-ID-01.\nstruct Thing;\n", "2: `Shows` stands above what is no test"),
        ("/// Shows W-ID-01.\n\n#[test]\nfn far() {}\n", "2: `Shows` stands above what is no test"),
        ("/// Shows W-ID-01.\n", "2: `Shows` stands above what is no test"),
        ("/// Shows W-ID-01\n#[test]\nfn a() {}\n", "1: not `Shows"),
        ("/// Shows W-ID-01 and W-ID-02.\n#[test]\nfn a() {}\n", "1: not `Shows"),
        ("/// Shows W-ID-1.\n#[test]\nfn a() {}\n", "1: not `Shows"),
    ] {
        let why = scan::source(text, "m").unwrap_err();
        assert!(why.contains(words), "{text}: {why}");
    }
}

/// Shows W-CONF-04.
#[test]
fn the_report_lists_every_requirement_with_a_test_or_a_reason() {
    let nowhere = Sandbox::bare();
    let report = nowhere.json(&["conformance"]);
    let rows = report["requirements"].as_array().unwrap();
    assert_eq!(rows.len(), 330);
    for row in rows {
        let tested = !row["tests"].as_array().unwrap().is_empty();
        assert!(tested || row["reason"]["text"].is_string(), "{row}");
        assert_eq!(tested, row["standing"] == "shown", "{row}");
    }
    let differs = rows.iter().filter(|row| row["reason"]["kind"] == "differs");
    let differs: Vec<_> = differs.map(|row| &row["id"]).collect();
    let answer = report["deviations"].as_array().unwrap();
    assert_eq!(differs, answer.iter().map(|own| &own["id"]).collect::<Vec<_>>(), "all of them");
    let asked = report["summary"].as_array().unwrap().iter().map(|own| &own["requirements"]);
    assert_eq!(asked.map(|count| count.as_u64().unwrap()).sum::<u64>(), 330);

    let out = nowhere.ok(&["conformance"]).out;
    for words in ["Identity\n", "  W-ID-01     L1 MUST    ", "shown", "LEVEL", "differs"] {
        assert!(out.contains(words), "{words}");
    }
    assert!(std::fs::read_dir(nowhere.path()).unwrap().next().is_none(), "nothing was written");
}

#[test]
fn the_report_goes_up_to_a_level() {
    let nowhere = Sandbox::bare();
    let mut counts = Vec::new();
    for level in ["1", "2", "3"] {
        let report = nowhere.json(&["conformance", "--level", level]);
        let rows = report["requirements"].as_array().unwrap();
        let up_to: u64 = level.parse().unwrap();
        assert!(rows.iter().all(|row| row["level"].as_u64().unwrap() <= up_to));
        counts.push(rows.len());
    }
    assert!(counts.is_sorted() && counts[0] > 100 && counts[2] == 330, "{counts:?}");
    let summary = nowhere.ok(&["conformance", "--level", "1", "--summary"]).out;
    assert!(summary.starts_with("LEVEL") && !summary.contains("Identity"), "{summary}");
    assert!(nowhere.json(&["conformance", "--summary"]).get("requirements").is_none());
    for level in ["0", "4", "-1", "one", ""] {
        let ran = nowhere.run(&["conformance", "--level", level, "--json"]);
        assert_eq!((ran.code, ran.error()["kind"].as_str()), (Some(2), Some("usage")), "{level}");
    }
}
