//! The lines that look-ups leave in `protocol.log`. Changes leave theirs through the trail.

use althing_dialects::frugal::plain::escaped;
use althing_dialects::moment::utc;
use std::io::Write as _;

use crate::command_context::CommandContext;

/// Appends a line, if there is a log. A look-up that cannot be logged is still one.
pub(super) fn looked(context: &CommandContext<'_>, actor: &str, action: &str, detail: &str) {
    // A link leads elsewhere, and a pipe has nobody at its end.
    let Some(path) = context.project.planning().written("protocol.log") else { return };
    let line = format!("{}\t{actor}\t{action}\t{}\n", utc(context.now()), escaped(detail));
    let opened = std::fs::OpenOptions::new().append(true).open(path);
    // One write, so that lines of several processes do not mix.
    if let Err(error) = opened.and_then(|mut file| file.write_all(line.as_bytes())) {
        tracing::debug!(%error, "a look-up is not in protocol.log");
    }
}
