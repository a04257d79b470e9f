//! Aider prints text. It exits with 0 whatever happens, so its phrases are all there is.

use super::State;
use crate::agents::event::Usage;
use crate::agents::json::{microdollars_of, rounded};

pub(super) fn read(line: &str, state: &mut State) {
    if let Some(usage) = usage(line) {
        return state.used_more(usage);
    }
    if let Some(path) = line.strip_prefix("Applied edit to ") {
        return state.changed(path.trim());
    }
    if line.starts_with("litellm.") && line.contains("Error") {
        return state.trouble(None, line);
    }
    state.text(line);
}

/// `Tokens: 1.2k sent, 50 received. Cost: $0.0011 message, $0.0012 session.`
fn usage(line: &str) -> Option<Usage> {
    let rest = line.strip_prefix("Tokens: ")?;
    let (tokens, cost) = rest.split_once(" received.").unwrap_or((rest, ""));
    let mut usage = Usage::default();
    for part in tokens.split(", ") {
        let (count, what) = part.trim().split_once(' ').unwrap_or((part.trim(), "received"));
        let count = tokens_of(count)?;
        match what {
            "sent" | "cache write" => usage.input = usage.input.saturating_add(count),
            "cache hit" => {
                usage.cached = count;
                usage.input = usage.input.saturating_add(count);
            }
            _ => usage.output = count,
        }
    }
    let message = cost.trim().strip_prefix("Cost: ").and_then(|cost| cost.split_once(" message"));
    usage.cost_microdollars = message.and_then(|(cost, _)| microdollars_of(cost));
    Some(usage)
}

/// `950`, `1.2k`, `3M`, `1,234`.
fn tokens_of(text: &str) -> Option<u64> {
    let text = text.replace(',', "");
    let (number, unit) = match text.strip_suffix('k') {
        Some(number) => (number, 1e3),
        None => text.strip_suffix('M').map_or((text.as_str(), 1.0), |number| (number, 1e6)),
    };
    rounded(number.parse::<f64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::event::Event;
    use crate::agents::{Format, Parser};

    #[test]
    fn phrases_are_read() {
        let lines = [
            "Aider v0.86.2",
            "Applied edit to src/a.rs",
            "Tokens: 1.2k sent, 50 received. Cost: $0.0011 message, $0.0012 session.",
            "Tokens: 800 sent, 100 cache hit, 1,050 received.",
            "litellm.RateLimitError: RateLimitError: OpenAIException - later",
            "litellm.AuthenticationError: AuthenticationError: OpenAIException - no",
        ];
        let mut parser = Parser::new(Format::Aider, Usage::default());
        let found = parser.take(format!("{}\n", lines.join("\n")).as_bytes());
        let first = Usage { input: 1200, cached: 0, output: 50, cost_microdollars: Some(1100) };
        let second =
            Usage { input: 2100, cached: 100, output: 1100, cost_microdollars: Some(1100) };
        assert_eq!(found[0], Event::Text("Aider v0.86.2".to_owned()));
        assert_eq!(found[1], Event::FileChanged { path: "src/a.rs".to_owned() });
        assert_eq!(found[2..4], [Event::Usage(first), Event::Usage(second)]);
        assert_eq!(found[4], Event::RateLimited { retry: None });
        assert!(matches!(found[5], Event::AuthFailed { .. }));
        assert!(usage("Tokens: many").is_none());
    }
}
