//! The settings of hooks.

use super::{CALLS, claims, refusal};
use crate::support::Sandbox;

#[test]
fn a_project_can_ask_for_claims_before_edits_or_do_without() {
    let project = Sandbox::new();
    project.write("althing.toml", "[claims]\non_edit = \"require\"\n");
    let reason = refusal("claude", &CALLS[0].edit(&project, "mia", "a.txt")).unwrap();
    assert!(reason.contains("althing claim PATH") && reason.contains("--as mia"), "{reason}");
    project.claim("mia", "a.txt");
    assert_eq!(refusal("claude", &CALLS[0].edit(&project, "mia", "a.txt")), None);
    project.write("althing.toml", "[claims]\non_edit = \"off\"\n");
    assert_eq!(refusal("claude", &CALLS[0].edit(&project, "mia", "b.txt")), None);
    assert_eq!(claims(&project), [("agent:mia".to_owned(), "a.txt".to_owned())]);
    // What is held is held all the same.
    assert!(refusal("claude", &CALLS[0].edit(&project, "eve", "a.txt")).is_some());
}

#[test]
fn settings_of_hooks_are_shown_and_checked() {
    let project = Sandbox::new();
    let shown = project.json(&["config"]).to_string();
    for key in ["claims.on_edit", "claims.outside", "hooks.broken", "hooks.tokens", "hooks.stop"] {
        assert!(shown.contains(key), "{key}");
    }
    for (table, line) in [("claims", "on_edit = \"maybe\""), ("hooks", "broken = \"ajar\"")] {
        project.write("althing.toml", &format!("[{table}]\n{line}\n"));
        let ran = project.run(&["config"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.err.contains("is none of"), "{ran:?}");
    }
}
