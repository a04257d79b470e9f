//! Lengths of time as people write them: `90m`, `1h30m`, `45s`, `2d`, or plain seconds.

/// The units, largest first.
const UNITS: &[(char, i128)] = &[('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Reads a length of time in seconds. Negative ones are read too, to be refused by their range.
pub(crate) fn parse_secs(text: &str) -> Result<i128, String> {
    let unreadable = || format!("{text:?} is not a length of time; write 90m, 1h30m, 45s or 2d");
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    if digits.is_empty() || digits.len() > 40 {
        return Err(unreadable());
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.parse::<i128>().map(|secs| sign * secs).map_err(|_| unreadable());
    }
    let mut secs: i128 = 0;
    let mut number = String::new();
    for c in digits.chars() {
        if c.is_ascii_digit() {
            number.push(c);
            continue;
        }
        let unit = UNITS.iter().find(|(name, _)| *name == c).ok_or_else(unreadable)?.1;
        let count: i128 = number.parse().map_err(|_| unreadable())?;
        number.clear();
        let part = count.checked_mul(unit).ok_or_else(unreadable)?;
        secs = secs.checked_add(part).ok_or_else(unreadable)?;
    }
    if number.is_empty() { Ok(sign * secs) } else { Err(unreadable()) }
}

/// Writes a length of time for people: the two largest units that say something.
pub(crate) fn show_secs(secs: u64) -> String {
    let mut left = secs;
    let mut parts = Vec::new();
    for (name, unit) in UNITS {
        let unit = u64::try_from(*unit).unwrap_or(1);
        if left >= unit {
            parts.push(format!("{}{name}", left / unit));
            left %= unit;
        }
    }
    parts.truncate(2);
    if parts.is_empty() { "0s".to_owned() } else { parts.concat() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read() {
        for (text, secs) in [
            ("90m", 5400),
            ("1h30m", 5400),
            ("45s", 45),
            ("2d", 172_800),
            ("7", 7),
            ("-5", -5),
            ("0", 0),
        ] {
            assert_eq!(parse_secs(text), Ok(secs), "{text}");
        }
        for bad in [
            "",
            "-",
            "m",
            "5x",
            "1h30",
            "1.5h",
            "9".repeat(50).as_str(),
            "99999999999999999999999999999999999999d",
        ] {
            assert!(parse_secs(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lengths_of_time_are_shown() {
        for (secs, text) in
            [(0, "0s"), (59, "59s"), (5400, "1h30m"), (90_061, "1d1h"), (3600, "1h")]
        {
            assert_eq!(show_secs(secs), text);
        }
    }
}
