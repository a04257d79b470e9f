//! The error as the command line ends with it: an exit code for each kind.

pub(crate) use althing_services::Error;
use althing_services::ErrorKind;

/// The exit code of a kind of error, the same for every command.
pub(crate) fn exit_code(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Refused | ErrorKind::NotFound | ErrorKind::NotAuthentic | ErrorKind::Unmet => 1,
        ErrorKind::Usage => 2,
        ErrorKind::Collision => 3,
        ErrorKind::Unavailable | ErrorKind::Unconfirmed | ErrorKind::Defect => 4,
        ErrorKind::Integrity => 5,
    }
}
