//! Detection of the protections that are in place on this machine.
//!
//! A deployment model needs some of them ([`Deployment::needs`]). A new protocol, store or way to
//! run agents that brings a protection must report it here.

use althing_kernel::deployment::{Deployment, Mechanism};

use crate::error::EngineError;
use crate::identity::keyring::Keyring;
use crate::store::home::{Home, is_open_to_others};

const ALL: &[Mechanism] = &[
    Mechanism::AccessControl,
    Mechanism::MutualTls,
    Mechanism::Isolation,
    Mechanism::EncryptionAtRest,
    Mechanism::WorkspaceKeys,
    Mechanism::Attestation,
    Mechanism::EndToEndEncryption,
];

/// Protections that are in place for a state folder.
pub fn in_place(home: &Home) -> Vec<Mechanism> {
    ALL.iter().copied().filter(|mechanism| is_in_place(home, *mechanism)).collect()
}

/// Fails if a deployment model lacks a protection here, and names everything it lacks.
pub fn check(home: &Home, model: Deployment) -> Result<(), EngineError> {
    model.check(&|mechanism| is_in_place(home, mechanism)).map_err(EngineError::from)
}

fn is_in_place(home: &Home, mechanism: Mechanism) -> bool {
    match mechanism {
        Mechanism::AccessControl => is_access_controlled(home),
        // Commands come in through this process alone, agents run beside it under the same account,
        // every secret is derived from one key, and the store is a plain file. (The file is not
        // inspected: closing a file releases all locks that the process has on it, those of an open
        // database too.) Nothing here could provide these.
        Mechanism::EncryptionAtRest
        | Mechanism::MutualTls
        | Mechanism::Isolation
        | Mechanism::WorkspaceKeys
        | Mechanism::Attestation
        | Mechanism::EndToEndEncryption => false,
    }
}

/// Whether only the owner can read the runtime's key. Callers can be authenticated only then.
fn is_access_controlled(home: &Home) -> bool {
    let keys = Keyring::of(home);
    !is_open_to_others(&home.keys()) && !is_open_to_others(&keys.runtime_path())
}
