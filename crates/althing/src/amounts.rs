//! Amounts as people write them: `200k` tokens, `10MiB`, `2.50`, `tokens=200k,cost=2.50`.

use althing_kernel::time::JSON_INTEGER_MAX;
use althing_kernel::workspace::budget::{Budget, Dimension};
use althing_kernel::workspace::meter::Amount;

use crate::output::show_bytes;
use crate::span::{parse_secs, show_secs};

/// Units that amounts may end in, the longer ones first.
const UNITS: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
];
/// How many places after the point a cost has.
const COST_PLACES: usize = 6;
/// How many characters a bar has.
const BAR_WIDTH: u64 = 8;

/// The name people use for a limited resource.
pub(crate) fn name(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::BandwidthLimit => "bandwidth",
        Dimension::CheckpointLimit => "checkpoints",
        Dimension::ComputeTimeout => "time",
        Dimension::ContextLimit => "context",
        Dimension::CostLimit => "cost",
        Dimension::TokenLimit => "tokens",
        Dimension::TrailLimit => "trail",
    }
}

/// A thing that is limited, by what people call it or by its name in the trail.
pub(crate) fn dimension(text: &str) -> Result<Dimension, String> {
    let known = |own: &&Dimension| name(**own) == text || own.as_str() == text;
    Dimension::ALL.iter().find(known).copied().ok_or_else(|| {
        let names: Vec<&str> = Dimension::ALL.iter().map(|own| name(*own)).collect();
        format!("{text:?} is not limited; what can be is {}", names.join(", "))
    })
}

fn exact(number: Option<u64>, text: &str) -> Result<Amount, String> {
    match number.filter(|number| *number <= JSON_INTEGER_MAX) {
        Some(number) => Ok(Amount::new(number)),
        None => Err(format!("{text:?} is not an amount; write 1200, 200k, 10MiB")),
    }
}

/// A number of tokens, bytes or workspaces.
pub(crate) fn amount(text: &str) -> Result<Amount, String> {
    let unit = UNITS.iter().find_map(|(end, unit)| Some((text.strip_suffix(end)?, *unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse::<u64>().ok().filter(|_| plain);
    exact(number.and_then(|number| number.checked_mul(unit)), text)
}

/// A cost, in millionths of a currency.
pub(crate) fn cost(text: &str) -> Result<Amount, String> {
    let unreadable = || format!("{text:?} is not a cost; write 2.50, with six places at most");
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > COST_PLACES {
        return Err(unreadable());
    }
    let padded = format!("{whole}{part:0<COST_PLACES$}");
    exact(padded.parse().ok(), text).map_err(|_| unreadable())
}

/// A length of time, in microseconds.
pub(crate) fn span(text: &str) -> Result<Amount, String> {
    let secs = u64::try_from(parse_secs(text)?).ok();
    exact(secs.and_then(|secs| secs.checked_mul(1_000_000)), text)
}

/// An amount of what a budget limits.
fn amount_of(dimension: Dimension, text: &str) -> Result<Amount, String> {
    match dimension {
        Dimension::ComputeTimeout => span(text),
        Dimension::CostLimit => cost(text),
        _ => amount(text),
    }
}

/// A budget: `tokens=200k,cost=2.50,time=1h`.
pub(crate) fn budget(text: &str) -> Result<Budget, String> {
    let mut budget = Budget::new();
    for part in text.split(',') {
        let (what, limit) = part
            .split_once('=')
            .ok_or_else(|| format!("{part:?} is no limit; write tokens=200k,cost=2.50"))?;
        let what = dimension(what.trim())?;
        if budget.insert(what, amount_of(what, limit.trim())?).is_some() {
            return Err(format!("{} is limited twice", name(what)));
        }
    }
    Ok(budget)
}

/// A number of tokens, short.
pub(crate) fn show_count(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}M", count / 1_000_000),
    }
}

/// A cost, with as many places as it takes, two at least.
pub(crate) fn show_cost(cost: u64) -> String {
    let part = format!("{:06}", cost % 1_000_000);
    let part = part.trim_end_matches('0');
    format!("{}.{part:0<2}", cost / 1_000_000)
}

/// An amount of what a budget limits.
pub(crate) fn show(dimension: Dimension, amount: u64) -> String {
    match dimension {
        Dimension::ComputeTimeout => show_secs(amount / 1_000_000),
        Dimension::CostLimit => show_cost(amount),
        Dimension::TokenLimit => show_count(amount),
        _ => show_bytes(amount),
    }
}

/// A budget, as it is written.
pub(crate) fn budget_words(budget: &Budget) -> String {
    let limit = |(what, limit): (&Dimension, &Amount)| {
        format!("{}={}", name(*what), show(*what, limit.get()))
    };
    budget.iter().map(limit).collect::<Vec<_>>().join(" ")
}

/// A bar, and how full it is in percent.
pub(crate) fn bar(amount: u64, limit: u64) -> String {
    let share = |parts: u64| {
        let filled = u128::from(amount) * u128::from(parts) / u128::from(limit.max(1));
        u64::try_from(filled).unwrap_or(u64::MAX)
    };
    let filled = usize::try_from(share(BAR_WIDTH).min(BAR_WIDTH)).unwrap_or_default();
    let width = usize::try_from(BAR_WIDTH).unwrap_or_default();
    format!("{}{} {}%", "█".repeat(filled), "░".repeat(width - filled), share(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        for (text, number) in [("7", 7), ("200k", 200_000), ("10MiB", 10 << 20), ("3G", 3 << 30)] {
            let read = amount(text).unwrap().get();
            assert_eq!(read, if text == "3G" { 3_000_000_000 } else { number }, "{text}");
        }
        for (text, micros) in [("2.50", 2_500_000), ("0.000001", 1), ("3", 3_000_000)] {
            assert_eq!(cost(text).unwrap().get(), micros, "{text}");
        }
        for bad in ["", "k", "-1", "+1", "1.5", "1 k", "9007199254740992", "99999999999G"] {
            assert!(amount(bad).is_err(), "{bad}");
        }
        for bad in ["", ".5", "1.0000001", "1,5", "-1", "99999999999"] {
            assert!(cost(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn budgets_are_read_as_a_whole() {
        let read = budget("tokens=200k,cost=2.50, time=1h,trail_limit=1MiB").unwrap();
        let read: Vec<_> = read.iter().map(|(what, limit)| (name(*what), limit.get())).collect();
        let expected =
            [("time", 3_600_000_000), ("cost", 2_500_000), ("tokens", 200_000), ("trail", 1 << 20)];
        assert_eq!(read, expected);
        for bad in ["", "tokens", "tokens=", "gold=5", "tokens=1,tokens=2", "time=-5"] {
            assert!(budget(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn amounts_are_shown() {
        assert_eq!((show_count(9_999), show_count(85_500)), ("9999".to_owned(), "85k".to_owned()));
        assert_eq!(
            (show_cost(2_500_000), show_cost(1)),
            ("2.50".to_owned(), "0.000001".to_owned())
        );
        assert_eq!(bar(4, 8), "████░░░░ 50%");
        assert_eq!(bar(9, 8), "████████ 112%");
        assert_eq!(bar(0, 0), "░░░░░░░░ 0%");
    }
}
