//! Times in the formats of this dialect.

use althing_kernel::Timestamp;

pub use crate::moment::utc;

/// The alphabet of ids that begin with their time.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Number of characters after the prefix of such an id.
const ID_CHARS: usize = 26;
/// Number of bits of an id after its time.
const RANDOM_BITS: u32 = 72;

/// Reads `2026-06-11`, `2026-06-11T12:07Z` or `2026-06-11T12:07:27.5+02:00`. Without a zone it is
/// UTC.
pub fn read(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let micros = day(date)?.checked_mul(86_400_000_000)?;
    let micros = i128::from(micros) + time.map_or(Some(0), time_of_day)?;
    u64::try_from(micros).ok().map(Timestamp::from_micros)
}

/// The days from 1970 to a date.
fn day(date: &str) -> Option<i64> {
    let mut parts = date.split('-');
    let mut number = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits)?;
        part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse::<i64>().ok())?
    };
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if parts.next().is_some() || !(1..=last).contains(&day) {
        return None;
    }
    // Years are counted from March, so that the leap day comes last.
    let shifted = if month > 2 { year } else { year - 1 };
    let month = (month + 9) % 12;
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Microseconds since midnight UTC.
fn time_of_day(text: &str) -> Option<i128> {
    let text = text.trim();
    let (clock, zone) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (&text[..at], zone_secs(&text[at..])?),
        None => (text, 0),
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = clock.split(':');
    let mut number = |below: i128| {
        let part = parts.next()?;
        let fits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| part.parse::<i128>().ok().filter(|number| *number < below))?
    };
    let (hours, minutes) = (number(24)?, number(60)?);
    let secs = if clock.len() > 5 { number(61)? } else { 0 };
    if parts.next().is_some() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let micros: i128 = micros.parse().ok()?;
    Some((hours * 3600 + minutes * 60 + secs - zone) * 1_000_000 + micros)
}

fn zone_secs(text: &str) -> Option<i128> {
    let sign = match text.as_bytes().first()? {
        b'Z' | b'z' => return (text.len() == 1).then_some(0),
        b'+' => 1,
        _ => -1,
    };
    let digits: String = text[1..].chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = match digits.len() {
        2 => (digits.parse::<i128>().ok()?, 0),
        4 => (digits[..2].parse::<i128>().ok()?, digits[2..].parse::<i128>().ok()?),
        _ => return None,
    };
    Some(sign * (hours * 3600 + minutes * 60))
}

/// The time when an id was made, for ids that begin with it, such as those of sessions.
pub fn of_id(id: &str) -> Option<Timestamp> {
    let (_, digits) = id.split_once('_')?;
    if digits.len() != ID_CHARS {
        return None;
    }
    let mut number: u128 = 0;
    for byte in digits.bytes() {
        let value = ALPHABET.iter().position(|own| *own == byte)?;
        number = number.checked_mul(32)?.checked_add(u128::try_from(value).ok()?)?;
    }
    u64::try_from(number >> RANDOM_BITS).ok().map(Timestamp::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        for (text, secs) in [
            ("1970-01-01", 0),
            ("2000-02-29T00:00:00Z", 951_782_400),
            ("2000-03-01", 951_868_800),
            ("2026-06-11T12:07:27Z", 1_781_179_647),
            ("2026-06-11T14:07:27+02:00", 1_781_179_647),
            ("2026-06-11 12:07", 1_781_179_620),
        ] {
            assert_eq!(read(text), Some(Timestamp::from_secs(secs)), "{text}");
        }
        let half = Timestamp::from_micros(1_781_179_647_500_000);
        assert_eq!(read("2026-06-11T12:07:27.5Z"), Some(half));
        for bad in ["", "yesterday", "2026-13-01", "2026-02-29", "2026-06-11T25:00Z", "1969-01-01"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn ids_tell_when_they_were_made() {
        // 56 bits of time over 72 random ones, five bits a character.
        let number = (1_781_179_647_000_000u128 << RANDOM_BITS) | 0x3039;
        let mut rest = number;
        let mut digits = [0u8; ID_CHARS];
        for digit in digits.iter_mut().rev() {
            *digit = ALPHABET[usize::try_from(rest % 32).unwrap()];
            rest /= 32;
        }
        let id = format!("ws_{}", std::str::from_utf8(&digits).unwrap());
        assert_eq!(of_id(&id), Some(Timestamp::from_secs(1_781_179_647)));
        for bad in ["ws_", "ws", "ws_01", "ws_uuuuuuuuuuuuuuuuuuuuuuuuuu"] {
            assert_eq!(of_id(bad), None, "{bad}");
        }
    }
}
