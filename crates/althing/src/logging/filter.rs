//! The log filter: a level for everything, and levels for single crates or modules.

use tracing::level_filters::LevelFilter;

/// Begins the targets of all crates of this program.
const OWN: &str = "althing";

/// The levels, by their names.
const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// Levels by the beginning of a target; the longest that fits counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter(Vec<(String, LevelFilter)>);

impl Filter {
    /// The filter of `-v`, `-vv` and `-vvv`: this program's crates only.
    pub(super) fn verbose(count: u8) -> Self {
        let level = match count {
            0 => LevelFilter::OFF,
            1 => LevelFilter::INFO,
            2 => LevelFilter::DEBUG,
            _ => LevelFilter::TRACE,
        };
        Filter(vec![(OWN.to_owned(), level)])
    }

    /// Reads `LEVEL` and `TARGET=LEVEL`, separated by commas. A level alone is for this program's
    /// crates; others are named.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut levels = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (target, level) = part.split_once('=').unwrap_or((OWN, part));
            let (_, level) = LEVELS.iter().find(|(name, _)| *name == level).ok_or_else(|| {
                format!("{level:?} is none of off, error, warn, info, debug and trace")
            })?;
            levels.push((target.to_owned(), *level));
        }
        // The longest first, so that the first that fits is the one that counts.
        levels.sort_by_key(|(target, _)| std::cmp::Reverse(target.len()));
        Ok(Filter(levels))
    }

    /// The level up to which a target is logged.
    pub(super) fn level(&self, target: &str) -> LevelFilter {
        let fitting = self.0.iter().find(|(own, _)| target.starts_with(own.as_str()));
        fitting.map_or(LevelFilter::OFF, |(_, level)| *level)
    }

    /// The most that is logged of anything.
    pub(super) fn most(&self) -> LevelFilter {
        self.0.iter().map(|(_, level)| *level).max().unwrap_or(LevelFilter::OFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v_is_for_this_program_only() {
        assert_eq!(Filter::verbose(1).level("althing_engine::writer"), LevelFilter::INFO);
        assert_eq!(Filter::verbose(2).level("althing::app"), LevelFilter::DEBUG);
        assert_eq!(Filter::verbose(9).level("althing"), LevelFilter::TRACE);
        assert_eq!(Filter::verbose(9).level("tokio::net"), LevelFilter::OFF);
    }

    #[test]
    fn the_longest_name_that_fits_counts() {
        let filter = Filter::parse("warn, althing_engine=info,althing_engine::core=debug").unwrap();
        assert_eq!(filter.level("althing_engine::core"), LevelFilter::DEBUG);
        assert_eq!(filter.level("althing_engine::writer"), LevelFilter::INFO);
        assert_eq!(filter.level("althing_trail::log"), LevelFilter::WARN);
        assert_eq!(filter.level("tokio"), LevelFilter::OFF);
        assert_eq!(filter.most(), LevelFilter::DEBUG);
    }

    #[test]
    fn unknown_levels_are_refused() {
        for bad in ["loud", "althing_engine=", "althing=debug=info"] {
            assert!(Filter::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Filter::parse("").unwrap().most(), LevelFilter::OFF);
    }
}
