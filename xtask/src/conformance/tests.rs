//! Reading what a test run said, and joining it with the table.

use super::report::{Reason, Report, Requirement, Standing};
use super::results::{Outcome, Results};

fn requirement(
    id: &str,
    level: u8,
    keyword: &str,
    tests: &[&str],
    kind: Option<&str>,
) -> Requirement {
    Requirement {
        id: id.to_owned(),
        area: "Identity".to_owned(),
        level,
        keyword: keyword.to_owned(),
        text: "One.".to_owned(),
        tests: tests.iter().map(|&test| test.to_owned()).collect(),
        reason: kind.map(|kind| Reason { kind: kind.to_owned(), text: "Why.".to_owned() }),
    }
}

fn table() -> Vec<Requirement> {
    vec![
        requirement("W-ID-01", 1, "MUST", &["rules::a", "rules::b"], None),
        requirement("W-ID-02", 2, "MAY", &[], Some("later")),
        requirement("W-ID-04", 3, "SHOULD", &[], Some("later")),
        requirement("W-ENV-01", 1, "NOTE", &[], Some("outside")),
    ]
}

/// Output of cargo, including the lines that are not results of tests.
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
    let report = Report::new(table(), 1, None, &run);
    let ids: Vec<&str> = report.requirements.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["W-ID-01", "W-ENV-01"]);
    assert_eq!(report.failed, ["rules::b"]);
    assert_eq!(report.requirements[1].standing, Standing::Explained);
    let tally = &report.summary[0];
    assert_eq!((tally.requirements, tally.shown, tally.passed, tally.failed), (1, 1, 0, 1));

    let report = Report::new(table(), 3, None, &Results::default());
    assert!(report.failed.is_empty(), "what did not run did not fail");
    let all: usize = report.summary.iter().map(|tally| tally.requirements).sum();
    let told: usize =
        report.summary.iter().map(|tally| tally.shown + tally.explained + tally.later).sum();
    assert_eq!((all, told), (4, 4));
}
