//! The token ledger.

use super::*;

#[test]
fn tokens_are_summed_up_and_compared() {
    let tools = Tools::new();
    let run = |args: &[&str]| tools.ok("heimdall-ledger", args);
    let log = |role: &str, tokens: &str| {
        run(&["log", "--role", role, "--kind", "delta_brief", "--tokens", tokens, "--msg-id", "b1"])
    };
    assert_eq!(log("orchestration", "12000"), "logged orchestration/delta_brief=12000\n");
    log("coder", "800");
    assert_eq!(
        run(&["report"]),
        "token ledger — per-role totals (this run)\n  coder: 800 tokens (1 msgs)\n  \
         orchestration: 12000 tokens (1 msgs)\n  TOTAL: 12800 tokens\n"
    );
    let baseline =
        |role: &str, tokens: &str| run(&["baseline", "--role", role, "--tokens", tokens]);
    assert_eq!(baseline("orchestration", "41000"), "baseline orchestration = 41000 (v1)\n");
    baseline("coder", "400");
    let head = "token ledger — measured delta vs v1 baseline\n";
    let coder = "  coder: 400 -> 800 tokens (v1 baseline -> measured; +100%)\n";
    let all = "  orchestration: 41000 -> 12000 tokens (v1 baseline -> measured; -71%)\n";
    assert_eq!(run(&["delta"]), format!("{head}{coder}{all}"));
    assert_eq!(run(&["delta", "--role", "coder"]), format!("{head}{coder}"));
    let none = "  zz: baseline n/a -> 0 tokens (no v1 baseline recorded)\n";
    assert_eq!(run(&["delta", "--role", "zz"]), format!("{head}{none}"));
    assert!(run(&["report", "--by", "kind"]).contains("  delta_brief: 12800 tokens (2 msgs)\n"));
}

#[test]
fn texts_are_counted_and_numbers_are_hearsay() {
    let tools = Tools::new();
    tools.project.write("result.json", "hello world");
    let log = ["log", "--role", "r", "--kind", "k"];
    let file = [&log[..], &["--file", "result.json", "--task", "t1"]].concat();
    assert_eq!(tools.ok("heimdall-ledger", &file), "logged r/k=2\n");
    let text = [&log[..], &["--text", "hello world", "--tool", "x", "--agent", "a"]].concat();
    assert_eq!(tools.ok("heimdall-ledger", &text), "logged r/k=2\n");
    tools.ok("heimdall-ledger", &[&log[..], &["--tokens", "7"]].concat());
    let report = tools.project.json(&["tokens"]);
    assert_eq!(report["total"]["counted"], 4, "{report}");
    assert_eq!(report["total"]["reported"], 7, "{report}");
    let fails = |args: &[&str], code, words| tools.fails("heimdall-ledger", args, code, words);
    for bad in ["-1", "1.5", "1e3", "", "many", "99999999999999999999999"] {
        let args = [&log[..], &["--tokens", bad]].concat();
        fails(&args, 2, "error: --tokens must be a non-negative integer");
    }
    fails(&log, 2, "error: ");
    fails(&["log", "--role", "r", "--tokens", "1"], 2, "error: ");
    fails(&["log", "--role"], 1, "error: --role needs a value");
    fails(&[&log[..], &["--tokens", "1", "--text", "x"]].concat(), 2, "error: ");
    fails(&["baseline", "--role", "r"], 2, "error: ");
    fails(&["report", "--by", "moon"], 2, "error: ");
}
