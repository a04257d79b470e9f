//! The texts of the token ledger.

use std::fmt::Write as _;

/// Usage of one role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Total {
    /// The role, or the other key the report is grouped by.
    pub name: String,
    /// Number of tokens.
    pub tokens: u64,
    /// Number of messages.
    pub messages: u64,
}

/// Usage of a role compared with its baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delta {
    /// The role.
    pub role: String,
    /// Baseline.
    pub baseline: Option<u64>,
    /// Measured now.
    pub measured: u64,
}

/// The change from one number to another in whole per cent, with its sign. `None` if the first is
/// 0.
pub fn percent(before: u64, after: u64) -> Option<String> {
    let (before, after) = (i128::from(before), i128::from(after));
    if before == 0 {
        return None;
    }
    // Rounds half to even, as the protocol's first tools did.
    let (scaled, twice) = (100 * (before - after), 2 * before);
    let (whole, rest) = ((2 * scaled + before).div_euclid(twice), (2 * scaled + before) % twice);
    let saved = if rest == 0 && whole % 2 != 0 { whole - 1 } else { whole };
    Some(if saved < 0 { format!("+{}%", -saved) } else { format!("-{saved}%") })
}

/// The report per role, or per other key.
pub fn report(by: &str, totals: &[Total]) -> String {
    let mut text = format!("token ledger — per-{by} totals (this run)\n");
    for Total { name, tokens, messages } in totals {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name}: {tokens} tokens ({messages} msgs)");
    }
    let sum: u64 = totals.iter().map(|total| total.tokens).sum();
    let _ = writeln!(text, "  TOTAL: {sum} tokens");
    text
}

/// The delta per role.
pub fn delta(deltas: &[Delta]) -> String {
    let mut text = "token ledger — measured delta vs v1 baseline\n".to_owned();
    for delta in deltas {
        let _ = writeln!(text, "  {}", delta_line(delta));
    }
    text
}

/// One role's delta.
pub fn delta_line(Delta { role, baseline, measured }: &Delta) -> String {
    let change = baseline.and_then(|before| Some((before, percent(before, *measured)?)));
    match change {
        Some((before, percent)) => {
            format!("{role}: {before} -> {measured} tokens (v1 baseline -> measured; {percent})")
        }
        None => format!("{role}: baseline n/a -> {measured} tokens (no v1 baseline recorded)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_and_signed() {
        for (before, after, expected) in [
            (41_000, 11_250, Some("-73%")),
            (41_000, 12_000, Some("-71%")),
            (100, 200, Some("+100%")),
            (100, 100, Some("-0%")),
            (200, 1, Some("-100%")),
            (200, 3, Some("-98%")),
            (1000, 1001, Some("-0%")),
            (0, 5, None),
        ] {
            assert_eq!(percent(before, after).as_deref(), expected, "{before} {after}");
        }
    }

    #[test]
    fn the_texts_are_the_documented_ones() {
        let total = |name: &str, tokens| Total { name: name.into(), tokens, messages: 1 };
        assert_eq!(
            report("role", &[total("coder", 800), total("orchestration", 12_000)]),
            "token ledger — per-role totals (this run)\n  coder: 800 tokens (1 msgs)\n  \
             orchestration: 12000 tokens (1 msgs)\n  TOTAL: 12800 tokens\n"
        );
        let some = Delta { role: "o".into(), baseline: Some(41_000), measured: 12_000 };
        let none = Delta { role: "zz".into(), baseline: Some(0), measured: 0 };
        assert_eq!(
            delta(&[some, none]),
            "token ledger — measured delta vs v1 baseline\n  \
             o: 41000 -> 12000 tokens (v1 baseline -> measured; -71%)\n  \
             zz: baseline n/a -> 0 tokens (no v1 baseline recorded)\n"
        );
    }
}
