//! Small statistics for measurements.

use std::time::{Duration, Instant};

/// Durations, to ask for percentiles of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    pub(crate) fn add(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64());
    }

    pub(crate) fn extend(&mut self, other: Times) {
        self.0.extend(other.0);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// All of it together, in seconds.
    pub(crate) fn total_secs(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The time that a share of all stays below, in microseconds.
    pub(crate) fn percentile_us(&mut self, share: f64) -> f64 {
        if self.0.is_empty() {
            return f64::NAN;
        }
        self.0.sort_by(f64::total_cmp);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index below the length of the list"
        )]
        let at = ((self.0.len() as f64 * share) as usize).min(self.0.len() - 1);
        self.0[at] * 1e6
    }
}

/// Runs something again and again for a time; returns how long each run took.
pub(crate) fn repeat<E>(
    time: Duration,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Times, E> {
    let mut times = Times::default();
    let deadline = Instant::now() + time;
    loop {
        let start = Instant::now();
        run()?;
        times.add(start.elapsed());
        if Instant::now() >= deadline {
            return Ok(times);
        }
    }
}

/// A count as a number to divide with.
pub(crate) fn number(count: impl TryInto<u32>) -> f64 {
    count.try_into().map_or(f64::from(u32::MAX), f64::from)
}

/// A figure with three digits that mean something.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 10_000_000.0 => format!("{:.0} M", value / 1e6),
        v if v >= 1_000_000.0 => format!("{:.2} M", value / 1e6),
        v if v >= 10_000.0 => format!("{:.1} k", value / 1e3),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let mut times = Times::default();
        for micros in (1..=100).rev() {
            times.add(Duration::from_micros(micros));
        }
        assert!((times.percentile_us(0.5) - 51.0).abs() < 0.01);
        assert!((times.percentile_us(0.99) - 100.0).abs() < 0.01);
    }
}
