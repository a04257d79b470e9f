//! The lines that look-ups leave in `protocol.log`. Changes leave theirs through the trail.

use althing_dialects::frugal::plain::escaped;
use std::io::Write as _;

use crate::frugal::Desk;

/// Appends a line, if there is a folder for it. A look-up that cannot be logged is still one.
pub(super) fn looked(desk: &Desk, actor: &str, action: &str, detail: &str) {
    let folder = desk.planning();
    if !folder.is_dir() {
        return;
    }
    let line = format!("{}\t{actor}\t{action}\t{}\n", desk.now(), escaped(detail));
    let path = folder.join("protocol.log");
    // A link leads elsewhere, and a pipe has nobody at its end.
    let plain = std::fs::symlink_metadata(&path).map_or(true, |found| found.is_file());
    if !plain {
        return;
    }
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    if let Ok(mut file) = file {
        // One write, so that lines of several processes do not mix.
        let _ = file.write_all(line.as_bytes());
    }
}
