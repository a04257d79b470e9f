//! Which protections are in place here, each looked for by itself.
//!
//! A deployment model needs some of them ([`Deployment::needs`]). Whoever adds a door, a store or
//! a way to run agents that brings a protection, makes the question about it here say yes.

use althing_kernel::deployment::{Deployment, Mechanism};

use crate::error::EngineError;
use crate::home::{Home, is_open_to_others};
use crate::keyring::Keyring;

const ALL: &[Mechanism] = &[
    Mechanism::AccessControl,
    Mechanism::MutualTls,
    Mechanism::Isolation,
    Mechanism::EncryptionAtRest,
    Mechanism::WorkspaceKeys,
    Mechanism::Attestation,
    Mechanism::EndToEndEncryption,
];

/// What is in place in a state folder.
pub fn in_place(home: &Home) -> Vec<Mechanism> {
    ALL.iter().copied().filter(|mechanism| is_in_place(home, *mechanism)).collect()
}

/// Refuses a model that lacks something here, and names everything it lacks.
pub fn check(home: &Home, model: Deployment) -> Result<(), EngineError> {
    model.check(&|mechanism| is_in_place(home, mechanism)).map_err(EngineError::from)
}

fn is_in_place(home: &Home, mechanism: Mechanism) -> bool {
    match mechanism {
        Mechanism::AccessControl => is_access_controlled(home),
        // Commands come in through this process alone, agents are its neighbours under the same
        // account, every secret follows from one key, and a store that can be opened here is a
        // plain file (which is not looked at: whoever closes a file gives up all locks that the
        // process has on it, those of an open database too). Nothing here could bring these.
        Mechanism::EncryptionAtRest
        | Mechanism::MutualTls
        | Mechanism::Isolation
        | Mechanism::WorkspaceKeys
        | Mechanism::Attestation
        | Mechanism::EndToEndEncryption => false,
    }
}

/// The runtime can check who asks only while its own key is nobody else's to read.
fn is_access_controlled(home: &Home) -> bool {
    let keys = Keyring::of(home);
    !is_open_to_others(&home.keys()) && !is_open_to_others(&keys.runtime_path())
}
