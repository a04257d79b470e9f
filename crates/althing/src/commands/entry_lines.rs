//! Entries of the trail as `trail` and `view workspace` list them: a line for each day, and one
//! or two for each entry.

use althing_kernel::Timestamp;

use crate::error::Error;
use crate::output::{Out, Tone, clock_time};
use crate::table::{cut, shown_width};

/// Where the second line of an entry begins.
const INDENT: usize = 10;

/// An entry, ready to be shown.
pub(super) struct Line<'a> {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    /// The time since the entry before, where that is shown.
    pub(super) gap: Option<&'a str>,
    pub(super) actor: &'a str,
    pub(super) kind: &'a str,
    pub(super) says: &'a str,
}

/// Prints entries one after another, and the day whenever it changes.
#[derive(Default)]
pub(super) struct EntryLines {
    day: String,
}

impl EntryLines {
    pub(super) fn print(&mut self, out: Out, line: &Line<'_>) -> Result<(), Error> {
        let at = clock_time(line.at);
        let (day, time) = at.split_once(' ').unwrap_or(("", &at));
        if day != self.day {
            day.clone_into(&mut self.day);
            out.line(out.paint(Tone::Faint, day))?;
        }
        let time = out.paint(Tone::Faint, time);
        let gap = line.gap.map_or_else(String::new, |gap| format!("{gap:>8}  "));
        let head = format!("{:>6}  {time}  {gap}{:<14}", line.seq, line.actor);
        let kind = format!("{:<22}", line.kind);
        let whole = format!("{head} {kind}  {}", line.says);
        if shown_width(whole.trim_end()) <= out.width {
            return out.line(whole.trim_end());
        }
        // The kind stands with the name, where there is room for it.
        let beside = format!("{head} {}", line.kind);
        let (first, says) = if shown_width(&beside) <= out.width {
            (beside.as_str(), line.says.to_owned())
        } else {
            (head.trim_end(), format!("{}  {}", line.kind, line.says))
        };
        out.line(first)?;
        let says = cut(says.trim_end(), out.cut_at.saturating_sub(INDENT));
        out.line(format!("{:INDENT$}{says}", ""))
    }
}
