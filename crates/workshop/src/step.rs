//! Steps: the instants between which everything here can be killed.

/// Names an instant at which the state on disk is about to change or has just changed. It is a line
/// of the log; tests end the process at each of them in turn.
pub(crate) fn step(what: &str) {
    tracing::trace!(target: "althing_workshop::step", "{what}");
}
