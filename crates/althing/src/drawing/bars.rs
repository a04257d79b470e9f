//! A number as a bar, in eighths of a character.

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar for a number among others of which `max` is the largest, at most `width` characters.
/// A value above zero always shows.
pub(crate) fn bar(number: u64, max: u64, width: u64) -> String {
    if number == 0 || max == 0 {
        return String::new();
    }
    let eighths = u128::from(number.min(max)) * u128::from(width) * 8 / u128::from(max);
    let eighths = usize::try_from(eighths.max(1)).unwrap_or(usize::MAX);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_numbers() {
        assert_eq!(bar(10, 10, 4), "████");
        assert_eq!(bar(5, 10, 4), "██");
        assert_eq!(bar(1, 16, 2), "▏");
        assert_eq!(bar(1, 1_000_000, 10), "▏", "something is not nothing");
        assert_eq!((bar(0, 10, 4), bar(0, 0, 4)), (String::new(), String::new()));
        assert_eq!(bar(u64::MAX, u64::MAX, 3), "███");
    }
}
