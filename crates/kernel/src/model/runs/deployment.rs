//! Deployment models and the security mechanisms each requires.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

/// A deployment model.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Deployment {
    /// One runtime that enforces access control by itself.
    #[default]
    SingleRuntime,
    /// Several parties on shared machines.
    SharedInfrastructure,
    /// Parties that trust neither each other nor the machines.
    ZeroTrust,
}

/// A security mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mechanism {
    /// The runtime checks every access.
    AccessControl,
    /// Both ends of every connection authenticate over TLS.
    MutualTls,
    /// Agents run isolated from each other.
    Isolation,
    /// Stored data is encrypted.
    EncryptionAtRest,
    /// Each workspace has a key that nobody else can derive.
    WorkspaceKeys,
    /// The runtime runs in an attested execution environment, hidden from the machine's owner.
    Attestation,
    /// Messages are encrypted end to end.
    EndToEndEncryption,
}

impl Deployment {
    /// All three models.
    pub const ALL: &'static [Deployment] =
        &[Deployment::SingleRuntime, Deployment::SharedInfrastructure, Deployment::ZeroTrust];

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Deployment::SingleRuntime => "single-runtime",
            Deployment::SharedInfrastructure => "shared-infrastructure",
            Deployment::ZeroTrust => "zero-trust",
        }
    }

    /// The mechanisms it requires.
    pub fn needs(self) -> &'static [Mechanism] {
        match self {
            Deployment::SingleRuntime => &[Mechanism::AccessControl],
            Deployment::SharedInfrastructure => &[
                Mechanism::AccessControl,
                Mechanism::MutualTls,
                Mechanism::Isolation,
                Mechanism::EncryptionAtRest,
            ],
            Deployment::ZeroTrust => &[
                Mechanism::AccessControl,
                Mechanism::MutualTls,
                Mechanism::Isolation,
                Mechanism::EncryptionAtRest,
                Mechanism::WorkspaceKeys,
                Mechanism::Attestation,
                Mechanism::EndToEndEncryption,
            ],
        }
    }
}

impl Mechanism {
    /// The name, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Mechanism::AccessControl => "access control in the process",
            Mechanism::MutualTls => "mutual authentication over TLS",
            Mechanism::Isolation => "isolation of agents",
            Mechanism::EncryptionAtRest => "encryption at rest",
            Mechanism::WorkspaceKeys => "keys of each workspace's own",
            Mechanism::Attestation => "an attested execution environment",
            Mechanism::EndToEndEncryption => "end-to-end encryption",
        }
    }
}

impl std::fmt::Display for Deployment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The error for text that names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a deployment model is `single-runtime`, `shared-infrastructure` or `zero-trust`")]
pub struct DeploymentError;

impl std::str::FromStr for Deployment {
    type Err = DeploymentError;

    fn from_str(text: &str) -> Result<Self, DeploymentError> {
        Deployment::ALL.iter().find(|model| model.as_str() == text).copied().ok_or(DeploymentError)
    }
}
