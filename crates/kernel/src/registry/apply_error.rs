//! The error for an entry that cannot follow from the state before it.

/// An entry that cannot follow from the state before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The entry's stamp is not later than the one before it.
    #[error("its time {at} is not after {last}")]
    ClockRegressed {
        /// The entry's stamp, in microseconds.
        at: u64,
        /// The stamp of the entry before it.
        last: u64,
    },
    /// The entry reuses a fencing epoch.
    #[error("its epoch {epoch} is not above {last}")]
    EpochRegressed {
        /// The entry's epoch.
        epoch: u64,
        /// The last epoch given out.
        last: u64,
    },
    /// Something happened twice that can happen only once.
    #[error("{0} is recorded a second time")]
    Twice(&'static str),
    /// Something happened to a thing that does not exist.
    #[error("{0} it is about is not there")]
    Unknown(&'static str),
    /// Two parts of the record disagree.
    #[error("{0} is not what the record before it says")]
    Mismatch(&'static str),
    /// An entry precedes the creation of the project.
    #[error("it comes before the creation of the project")]
    NoProject,
    /// The trail follows rules of a newer version than this kernel knows.
    #[error("the trail is kept by rules {found}, this version knows up to {known}")]
    NewerRules {
        /// The version of the rules found.
        found: u32,
        /// The newest version known.
        known: u32,
    },
    /// The trail has a newer format than this kernel knows.
    #[error("the trail has format {found}, this version knows up to {known}")]
    NewerFormat {
        /// The format found.
        found: u32,
        /// The newest format known.
        known: u32,
    },
}
