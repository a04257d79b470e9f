//! Reading single arguments: names, words of a closed set, texts and times within their limits.

use althing_kernel::text::Text;
use althing_kernel::workspace::Timeout;
use althing_kernel::workspace::budget::Percent;
use althing_kernel::{AgentName, UserId};
use serde::de::DeserializeOwned;

use crate::settings::bare;
use crate::span::parse_secs;

pub(super) use crate::amounts::{amount, budget, cost, dimension, span};

/// A word of a closed set, as it stands in the trail.
pub(super) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let value = serde_json::Value::String(text.to_owned());
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// An agent's name, with or without `agent:` before it.
pub(super) fn agent(text: &str) -> Result<AgentName, String> {
    AgentName::new(bare(text, "agent:")).map_err(|error| error.to_string())
}

/// A user's id, with or without `user:` before it.
pub(super) fn user(text: &str) -> Result<UserId, String> {
    UserId::new(bare(text, "user:")).map_err(|error| error.to_string())
}

/// A text within its limit.
pub(super) fn text<const MAX: usize>(given: &str) -> Result<Text<MAX>, String> {
    Text::new(given).map_err(|error| error.to_string())
}

/// A timeout: 90m, 1h30m, 45s, 2d.
pub(super) fn timeout(text: &str) -> Result<Timeout, String> {
    Timeout::new(parse_secs(text)?).map_err(|error| error.to_string())
}

/// A percentage.
pub(super) fn percent(text: &str) -> Result<Percent, String> {
    let number: u64 = text.parse().map_err(|_| format!("{text:?} is not a percentage"))?;
    Percent::new(number).map_err(|error| error.to_string())
}
