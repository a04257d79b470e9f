//! The calls of the system that a supervisor needs: sessions, groups, signals, reaping.

use std::process::Command;

use super::record::Outcome;
use super::table::Identity;

/// The signals sent here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// SIGTERM: end, with time to clean up.
    Term,
    /// SIGKILL: end at once.
    Kill,
}

pub(super) use inner::{
    adopt_orphans, group_lives, lead_group, new_session, reap, send, send_to_group,
};

/// Whether agents can be supervised on this system.
pub(super) const SUPPORTED: bool = cfg!(unix);

#[cfg(unix)]
mod inner {
    use super::{Command, Identity, Outcome, Sign};
    use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
    use std::os::unix::process::CommandExt as _;

    /// Leaves the caller's session, so that neither its terminal nor its end reaches this process.
    pub(crate) fn new_session() {
        if let Err(error) = rustix::process::setsid() {
            tracing::debug!(%error, "no session of its own");
        }
    }

    /// Makes processes whose parents died children of this one, where the system can do that.
    pub(crate) fn adopt_orphans() {
        #[cfg(target_os = "linux")]
        if let Err(error) = rustix::process::set_child_subreaper(Pid::from_raw(1)) {
            tracing::debug!(%error, "orphans go to the system");
        }
    }

    /// Lets the program lead a process group of its own.
    pub(crate) fn lead_group(command: &mut Command) {
        command.process_group(0);
    }

    /// Waits for any child to end. None once there is none.
    pub(crate) fn reap() -> Option<(u32, Outcome)> {
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) => {
                    let pid = pid.as_raw_nonzero().get().unsigned_abs();
                    return Some((pid, outcome(status)));
                }
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    fn outcome(status: WaitStatus) -> Outcome {
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Outcome::Exited(code),
            (None, Some(signal)) => Outcome::Killed(signal),
            (None, None) => Outcome::Exited(-1),
        }
    }

    fn signal(sign: Sign) -> Signal {
        match sign {
            Sign::Term => Signal::TERM,
            Sign::Kill => Signal::KILL,
        }
    }

    fn number(pid: u32) -> Option<Pid> {
        // 1 is the system itself, whatever a file says.
        Pid::from_raw(i32::try_from(pid).ok()?).filter(|pid| *pid != Pid::INIT)
    }

    /// Sends a signal to this very process. One that is gone gets none.
    pub(crate) fn send(to: &Identity, sign: Sign) {
        let Some(pid) = number(to.pid) else { return };
        // The handle is taken first: the number cannot change hands between the look and the
        // signal.
        #[cfg(target_os = "linux")]
        if let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
            if to.is_alive() {
                sent(rustix::process::pidfd_send_signal(handle, signal(sign)));
            }
            return;
        }
        if to.is_alive() {
            sent(rustix::process::kill_process(pid, signal(sign)));
        }
    }

    /// Sends a signal to the process group with this number. The caller knows whose it is.
    pub(crate) fn send_to_group(leader: u32, sign: Sign) {
        if let Some(pid) = number(leader) {
            sent(rustix::process::kill_process_group(pid, signal(sign)));
        }
    }

    /// Whether a process group has a member.
    pub(crate) fn group_lives(leader: u32) -> bool {
        number(leader).is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok())
    }

    fn sent(result: rustix::io::Result<()>) {
        if let Err(error) = result {
            // It ended by itself, which is what is wanted, or it belongs to somebody else.
            tracing::debug!(%error, "a signal was not delivered");
        }
    }
}

/// Elsewhere nothing is ever started, so there is nothing to do.
#[cfg(not(unix))]
mod inner {
    use super::{Command, Identity, Outcome, Sign};

    pub(crate) fn new_session() {}
    pub(crate) fn adopt_orphans() {}
    pub(crate) fn lead_group(_: &mut Command) {}
    pub(crate) fn reap() -> Option<(u32, Outcome)> {
        None
    }
    pub(crate) fn send(_: &Identity, _: Sign) {}
    pub(crate) fn send_to_group(_: u32, _: Sign) {}
    pub(crate) fn group_lives(_: u32) -> bool {
        false
    }
}
