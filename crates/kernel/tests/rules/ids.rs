//! Ids are opaque: everything works the same with ids of another scheme.

use crate::support::OTHER_IDS;
use std::process::Command;

/// Runs all of these tests once more with ids that look and sort differently.
/// Shows W-ID-02, W-ID-15.
#[test]
fn nothing_depends_on_what_an_id_looks_like() {
    if std::env::var_os(OTHER_IDS).is_some() {
        return;
    }
    let own = std::env::current_exe().unwrap();
    // The proptests draw thousands of worlds; once is enough for them.
    let output = Command::new(own).env(OTHER_IDS, "1").args(["--skip", "properties"]).output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("workspaces::"), "they did run: {text}");
}
