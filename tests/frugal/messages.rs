//! Messages: validation, receipt, and gates that become messages.

use super::*;

const GOOD: &str = concat!(
    r#"{"type":"task_result","from":"coder","msg_id":"m1","task":"3.2","status":"pass","#,
    r#""criteria":[1,2],"commit":"a2ef507"}"#
);
const VALID: &str = "{\"valid\":true,\"errors\":[]}\n";

#[test]
fn one_message_gets_one_line() {
    let tools = Tools::new();
    let validate = |input: &[u8]| tools.piped("heimdall-validate", &[], input);
    for input in [GOOD.to_owned(), format!("{GOOD}\n"), format!("\n  {GOOD}  \n\n")] {
        let ran = validate(input.as_bytes());
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), VALID), "{ran:?}");
    }
    let bad: &[(&[u8], &str)] = &[
        (
            b"{}",
            r#"["missing required field: type","missing required field: from","missing required field: msg_id"]"#,
        ),
        (b"", r#"["unparseable JSON"]"#),
        (b"{\"type\":", r#"["unparseable JSON"]"#),
        (b"\xff\xfe{}", r#"["unparseable JSON"]"#),
        (b"null", r#"["message must be a JSON object"]"#),
        (b"[1]", r#"["message must be a JSON object"]"#),
        (b"7", r#"["message must be a JSON object"]"#),
        (
            br#"{"type":"question","from":"a","msg_id":"m","question":""}"#,
            r#"["question: question must be a non-empty string"]"#,
        ),
        (
            br#"{"type":"checkpoint","from":"a","msg_id":"m","wave":1,"state":"done"}"#,
            concat!(
                r#"["checkpoint: wave must be a string","checkpoint: state not in enum "#,
                r#"[\"started\",\"in_progress\",\"complete\",\"blocked\"]: done"]"#
            ),
        ),
    ];
    for (input, errors) in bad {
        let ran = validate(input);
        let line = format!("{{\"valid\":false,\"errors\":{errors}}}\n");
        assert_eq!((ran.code, ran.out), (Some(1), line), "{}", String::from_utf8_lossy(input));
    }
    let deep = "[".repeat(100_000);
    assert!(validate(deep.as_bytes()).out.contains("unparseable JSON"));
    let two = validate(format!("{GOOD}\n{GOOD}\n").as_bytes());
    assert_eq!((two.code, two.out.lines().count()), (Some(1), 1), "{two:?}");
}

#[test]
fn huge_messages_are_refused_in_a_line() {
    let tools = Tools::new();
    let huge = format!("{{\"type\":\"{}\"}}", "x".repeat(10 << 20));
    let ran = tools.piped("heimdall-validate", &[], huge.as_bytes());
    assert_eq!(ran.code, Some(1));
    assert_eq!(
        ran.out,
        "{\"valid\":false,\"errors\":[\"message is longer than 1048576 bytes\"]}\n"
    );
    let input = format!("{huge}\n{GOOD}\n");
    let ran = tools.piped("heimdall-validate", &["--on-receipt"], input.as_bytes());
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "ACCEPTED on retry (attempt 2)\n"),
        "{ran:?}"
    );
}

#[test]
fn a_bad_message_may_be_sent_once_more() {
    let tools = Tools::new();
    let receive = |input: &str| {
        let ran = tools.piped("heimdall-validate", &["--on-receipt"], input.as_bytes());
        (ran.code, ran.out, ran.err)
    };
    let words = |text: &str| text.to_owned();
    let none = String::new;
    assert_eq!(receive(&format!("{GOOD}\n{{}}\n")), (Some(0), words("ACCEPTED\n"), none()));
    assert_eq!(
        receive(&format!("\n\n{GOOD}")),
        (Some(0), words("ACCEPTED\n"), none()),
        "no newline"
    );
    let first = "INVALID (attempt 1): [\"unparseable JSON\"]\n\
                 retry: accepting next message as the single permitted retry\n";
    let (code, out, err) = receive(&format!("x\n{GOOD}"));
    assert_eq!((code, out.as_str()), (Some(0), "ACCEPTED on retry (attempt 2)\n"));
    assert_eq!(err, first);
    let (code, out, err) = receive(&format!("x\ny\n{GOOD}\n"));
    assert_eq!((code, out.as_str()), (Some(1), ""), "a third line is not looked at");
    let second = "INVALID (attempt 2): [\"unparseable JSON\"]\n\
                  ESCALATE: 2 malformed messages — exceeded one-retry budget\n";
    assert_eq!(err, format!("{first}{second}"));
    let ended = |n| format!("ESCALATE: no valid message received (attempts={n})\n");
    assert_eq!(receive(""), (Some(1), none(), ended(0)));
    let (code, _, err) = receive("x\n");
    assert_eq!((code, err), (Some(1), format!("{first}{}", ended(1))));
}

#[test]
fn verdicts_are_on_record() {
    let tools = Tools::new();
    tools.piped("heimdall-validate", &[], GOOD.as_bytes());
    tools.piped("heimdall-validate", &[], b"{}");
    tools.piped("heimdall-validate", &["--on-receipt"], b"x\ny\n");
    let noted: Vec<_> = tools
        .project
        .entries()
        .into_iter()
        .filter(|entry| entry["kind"] == "message.noted")
        .collect();
    let outcomes: Vec<&str> =
        noted.iter().map(|entry| entry["body"]["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["accept", "reject", "escalate"]);
    assert_eq!(noted[0]["body"]["msg_id"], "m1");
}

/// A question has somebody who reads it: it lies in their inbox, in a thread of its own.
#[test]
fn a_question_is_sent_to_an_agent() {
    let tools = Tools::new();
    tools.project.ok(&["agents", "register", "--as", "bob"]);
    let asked =
        r#"{"type":"question","from":"coder","msg_id":"q1","question":"Port?","refs":["F1"]}"#;
    let send =
        |to: &str, input: &str| tools.piped("heimdall-validate", &["--to", to], input.as_bytes());
    let ran = send("bob", asked);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.out, format!("{VALID}msg#1 is in the inbox of bob\n"));
    let found = tools.project.json(&["inbox", "--as", "bob"]);
    let letter = &found["letters"][0];
    assert_eq!(
        (&letter["text"], &letter["thread"]),
        (&"Port?\n\nabout F1".into(), &"q1".into()),
        "{found}"
    );
    assert_eq!(letter["from"], tools.own(), "{found}");
    let ran = send("nobody", asked);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("there is no agent nobody"), "{ran:?}");
    let ran = send("bob", "{}");
    assert_eq!((ran.code, ran.out.contains("inbox")), (Some(1), false), "{ran:?}");
    tools.fails("heimdall-validate", &["--to"], 1, "--to needs a value");
}

#[test]
fn validating_needs_no_project() {
    let tools = Tools::without_project();
    let ran = tools.piped("heimdall-validate", &[], GOOD.as_bytes());
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), VALID, ""));
    assert!(!tools.project.state().exists());
}

#[test]
fn gates_become_messages_that_refer_to_reports() {
    let tools = Tools::new();
    let report = r#"{"gate_id":"exchange-lob","status":"fail","metrics":{"secret":1},"wave":"w1"}"#;
    tools.project.write("oracle/report.json", report);
    let args =
        ["to-message", "--report", "oracle/report.json", "--from", "bloat", "--msg-id", "g1"];
    let line = tools.ok("heimdall-gate", &args);
    let path = tools.project.path().canonicalize().unwrap().join("oracle/report.json");
    let message: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(message["report_ref"], path.to_str().unwrap());
    assert_eq!(message["wave"], "w1");
    assert!(
        line.starts_with(r#"{"type":"gate_report","from":"bloat","msg_id":"g1","ts":"20"#),
        "{line}"
    );
    assert!(!line.contains("secret"));
    assert_eq!(tools.piped("heimdall-validate", &[], line.as_bytes()).out, VALID);
    let waved = tools.ok("heimdall-gate", &[&args[..], &["--wave", "w2"]].concat());
    assert!(waved.ends_with("\"wave\":\"w2\"}\n"), "the flag beats the report: {waved}");
    let fails = |args: &[&str], code, words| tools.fails("heimdall-gate", args, code, words);
    fails(&args[..5], 2, "error: ");
    let at = |path| ["to-message", "--report", path, "--from", "b", "--msg-id", "g"];
    fails(&at("gone.json"), 1, "error: report not found: gone.json");
    tools.project.write("bad.json", "nonsense");
    fails(&at("bad.json"), 1, "error: report has no gate_id (contract violation)");
    tools.project.write("odd.json", r#"{"gate_id":"g","status":"partial"}"#);
    fails(&at("odd.json"), 1, "error: report status not pass|fail: 'partial'");
}
