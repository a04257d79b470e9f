//! The wall clock, for times that people read. Durations are measured with the steady clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; 0 on a clock before that.
pub(super) fn now_ms() -> u64 {
    unix_ms(SystemTime::now())
}

/// A time of the file system in milliseconds since 1970.
pub(super) fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
