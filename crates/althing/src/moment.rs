//! Moments as people write them: an entry's number, `90m` ago, a date, a date and time, `now`.

use althing_engine::history::Moment;
use althing_kernel::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

use crate::span::parse_secs;

/// Reads a moment.
pub(crate) fn parse(text: &str, now: Timestamp) -> Result<Moment, String> {
    if text == "now" {
        return Ok(Moment::default());
    }
    let digits = text.strip_prefix('#').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let seq = digits.parse().map_err(|_| format!("there is no entry {digits}"))?;
        return Ok(Moment { seq: Some(seq), time: None });
    }
    Ok(Moment { seq: None, time: Some(parse_time(text, now)?) })
}

/// Reads a time: how long ago it was, or a date with or without a time of day (local, unless it
/// says otherwise).
pub(crate) fn parse_time(text: &str, now: Timestamp) -> Result<Timestamp, String> {
    let known = ago(text, now).or_else(|| on_the_calendar(text));
    known.ok_or_else(|| {
        format!("{text:?} is no time; write 90m for how long ago, 2026-05-01 or 2026-05-01T12:30")
    })
}

fn ago(text: &str, now: Timestamp) -> Option<Timestamp> {
    let secs = u64::try_from(parse_secs(text).ok()?).ok()?;
    Some(Timestamp::from_micros(now.micros().saturating_sub(secs.saturating_mul(1_000_000))))
}

fn on_the_calendar(text: &str) -> Option<Timestamp> {
    let local = |moment: civil::DateTime| moment.to_zoned(TimeZone::system()).ok();
    let moment = text
        .parse::<jiff::Timestamp>()
        .ok()
        .or_else(|| Some(local(text.parse().ok()?)?.timestamp()))?;
    Some(Timestamp::from_micros(u64::try_from(moment.as_microsecond()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::MAX;

    #[test]
    fn moments_are_read() {
        let seq = |seq| Ok(Moment { seq: Some(seq), time: None });
        assert_eq!(parse("now", NOW), Ok(Moment::default()));
        assert_eq!(parse("12", NOW), seq(12));
        assert_eq!(parse("#12", NOW), seq(12));
        let hour_ago = Timestamp::from_micros(NOW.micros() - 3_600_000_000);
        assert_eq!(parse("1h", NOW), Ok(Moment { seq: None, time: Some(hour_ago) }));
        for bad in ["", "#", "tomorrow", "-5m", "99999999999999999999", "2026-13-01", "1900-01-01"]
        {
            assert!(parse(bad, NOW).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_read_in_their_zone() {
        let at = |text| parse_time(text, NOW).map(Timestamp::micros);
        assert_eq!(at("1970-01-02T00:00:00Z"), Ok(86_400_000_000));
        assert_eq!(at("1970-01-02T02:00:00+02:00"), Ok(86_400_000_000));
        let local: civil::DateTime = "2026-05-01T12:30".parse().unwrap();
        let local = local.to_zoned(TimeZone::system()).unwrap().timestamp().as_microsecond();
        assert_eq!(at("2026-05-01T12:30"), Ok(u64::try_from(local).unwrap()));
        assert_eq!(at("2026-05-01 12:30"), at("2026-05-01T12:30"));
        assert_eq!(at("2026-05-01"), at("2026-05-01T00:00"));
    }
}
