//! Reading the tables and what a test run said, and joining them.

use super::report::{Report, Standing};
use super::results::{Outcome, Results};
use super::tables::{Kind, Shown, Tables, is_id};

const REQUIREMENTS: &str = "# Two areas.\n= ID Identity\nW-ID-01 L1 MUST One.\nW-ID-02 L2 MAY Two.\n\
                            W-ID-04 L3 SHOULD Four.\n= ENV Envelopes\nW-ENV-01 L1 NOTE None.\n";
const REASONS: &str = "\n# Why.\nlater W-ID-02..W-ID-04: Not yet.\noutside W-ENV-01: A note.\n";

fn shown(pairs: &[(&str, &str)]) -> Shown {
    let mut shown = Shown::new();
    for (id, test) in pairs {
        shown.entry((*id).to_owned()).or_default().insert((*test).to_owned());
    }
    shown
}

fn read() -> Tables {
    Tables::read(REQUIREMENTS, REASONS, &shown(&[("W-ID-01", "rules::a"), ("W-ID-01", "rules::b")]))
        .unwrap()
}

#[test]
fn the_tables_that_are_built_in_can_be_read() {
    let tables = super::tables().unwrap();
    assert_eq!(tables.all().count(), 330);
    for own in tables.all() {
        assert!(own.text.chars().count() <= 120, "{} says too much", own.id);
        let reason = own.reason.as_ref().map_or("Fine.", |reason| &reason.text);
        assert!(reason.ends_with('.'), "{}: {reason}", own.id);
    }
}

#[test]
fn requirements_tests_and_reasons_come_together() {
    let tables = read();
    let kinds: Vec<_> =
        tables.all().map(|own| own.reason.as_ref().map(|reason| reason.kind)).collect();
    assert_eq!(kinds, [None, Some(Kind::Later), Some(Kind::Later), Some(Kind::Outside)]);
    assert_eq!(tables.areas[0].requirements[0].tests.len(), 2);
}

#[test]
fn files_that_do_not_fit_are_told_apart() {
    let cases = [
        ("W-ID-01 L1 MUST One.", "", &[][..], "before any area"),
        ("= ID Identity\nW-ENV-01 L1 MUST One.", "", &[], "not in the area"),
        ("= ID Identity\nW-ID-02 L1 MUST A.\nW-ID-01 L1 MUST B.", "", &[], "in order"),
        ("= ID Identity\nW-ID-01 L4 MUST One.", "", &[], "line 2: not `ID"),
        ("= ID Identity\nW-ID-01 L1 WILL One.", "", &[], "not `ID"),
        ("= ID Identity\nW-ID-01 L1 MUST One", "", &[], "not `ID"),
        ("= ID", "", &[], "a code and a title"),
        (REQUIREMENTS, "", &[], "W-ID-01 has neither a test nor a reason"),
        (REQUIREMENTS, "perhaps W-ID-01: Why.", &[], "perhaps is no kind"),
        (REQUIREMENTS, "later: Why.", &[], "not `KIND"),
        (REQUIREMENTS, "later W-ID-03: Why.", &[], "W-ID-03 is no requirement"),
        (REQUIREMENTS, "later W-ID-02..W-ID-01: Why.", &[], "goes back"),
        (REQUIREMENTS, "later W-ID-01..W-ENV-01: Why.", &[], "within an area"),
        (REQUIREMENTS, "later W-ID-01, W-ID-01: Why.", &[], "W-ID-01 has two reasons"),
        (REQUIREMENTS, REASONS, &[("W-ID-09", "t")], "W-ID-09 is shown by a test, but"),
        (REQUIREMENTS, REASONS, &[("W-ID-02", "t")], "W-ID-02 is said to come later, but t"),
        (REQUIREMENTS, REASONS, &[("W-ENV-01", "t")], "W-ENV-01 is said to be nothing to test"),
    ];
    for (requirements, reasons, tests, words) in cases {
        let faults = Tables::read(requirements, reasons, &shown(tests)).unwrap_err();
        assert!(faults.contains(words), "{words}: {faults}");
    }
    let differs = REASONS.to_owned() + "differs W-ID-01: Otherwise.";
    assert!(Tables::read(REQUIREMENTS, &differs, &shown(&[])).is_ok(), "a reason will do");
    assert!(Tables::read(REQUIREMENTS, &differs, &shown(&[("W-ID-01", "t")])).is_ok());
}

#[test]
fn ids_have_one_form() {
    assert!(is_id("W-ID-01") && is_id("W-TRAIL-46"));
    for bad in
        ["", "W-ID", "W-ID-1", "W-ID-001", "A-ID-01", "W-id-01", "W--01", "W-ID-01.", "W-ID-0x"]
    {
        assert!(!is_id(bad), "{bad}");
    }
}

/// What cargo prints, with everything that is no outcome left in.
const SAID: &str = "   Compiling althing v0.1.0
    Finished `test` profile [optimized + debuginfo] target(s) in 1.2s
     Running unittests src/lib.rs (target/debug/deps/althing_kernel-0a1b2c3d)

running 3 tests
test time::tests::stamps ... ok
test time::tests::slow has been running for over 60 seconds
test time::tests::slow ... FAILED
test time::tests::off ... ignored, not on this system

failures:
---- time::tests::slow stdout ----
test result: FAILED. 1 passed; 1 failed; 1 ignored

     Running tests/rules/main.rs (/elsewhere/my-target/deps/rules-99aa.exe)
test leases::panics - should panic ... ok
test leases::twice ... FAILED
test leases::twice ... ok
\u{1b}[32m     Running\u{1b}[0m ../../tests/main.rs (target\\debug\\deps\\system-77)
test leases::coloured ... \u{1b}[32mok\u{1b}[0m
   Doc-tests althing_kernel
test leases::documented ... ok
";

#[test]
fn outcomes_are_read_from_what_cargo_prints() {
    let results = Results::read(SAID);
    for (test, outcome) in [
        ("althing_kernel::time::tests::stamps", Outcome::Passed),
        ("althing_kernel::time::tests::slow", Outcome::Failed),
        ("althing_kernel::time::tests::off", Outcome::Ignored),
        ("rules::leases::panics", Outcome::Passed),
        ("rules::leases::twice", Outcome::Failed),
        ("system::leases::coloured", Outcome::Passed),
        ("system::leases::documented", Outcome::NotRun),
        ("system::leases::panics", Outcome::NotRun),
    ] {
        assert_eq!(results.of(test), outcome, "{test}");
    }
    assert_eq!(Results::read("").of("anything"), Outcome::NotRun);
}

#[test]
fn a_report_goes_up_to_its_level_and_adds_up() {
    let run = Results::read(
        "     Running tests/rules/main.rs (target/debug/deps/rules-9)\ntest a ... ok\ntest b ... FAILED\n",
    );
    let report = Report::new(&read(), 1, None, &run);
    let ids: Vec<&str> = report.requirements.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["W-ID-01", "W-ENV-01"]);
    assert_eq!(report.failed, ["rules::b"]);
    assert_eq!(report.requirements[1].standing, Standing::Explained);
    let tally = &report.summary[0];
    assert_eq!((tally.requirements, tally.shown, tally.passed, tally.failed), (1, 1, 0, 1));

    let report = Report::new(&read(), 3, None, &Results::default());
    assert!(report.failed.is_empty(), "what did not run did not fail");
    let all: usize = report.summary.iter().map(|tally| tally.requirements).sum();
    let told: usize =
        report.summary.iter().map(|tally| tally.shown + tally.explained + tally.later).sum();
    assert_eq!((all, told), (4, 4));
}
