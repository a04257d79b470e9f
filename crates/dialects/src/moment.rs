//! Times in the format of every dialect: UTC, to the second.

use althing_kernel::Timestamp;

const DAY_SECS: u64 = 24 * 60 * 60;

/// `2026-06-11T12:07:27Z`
pub fn utc(at: Timestamp) -> String {
    let secs = at.micros() / 1_000_000 % DAY_SECS;
    format!("{}T{:02}:{:02}:{:02}Z", date(at), secs / 3600, secs / 60 % 60, secs % 60)
}

/// `2026-06-11`
pub fn date(at: Timestamp) -> String {
    let (year, month, day) = civil(at.micros() / 1_000_000 / DAY_SECS);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The date of a day since 1970. Years are counted from March, so that the leap day comes last.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_what_the_calendar_says() {
        for (secs, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_781_179_647, "2026-06-11T12:07:27Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(utc(Timestamp::from_secs(secs)), text);
        }
    }
}
