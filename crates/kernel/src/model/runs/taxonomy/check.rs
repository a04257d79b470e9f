//! The eleven checks a taxonomy document must pass. The first failure rejects all of it.

use std::collections::BTreeSet;

use crate::model::runs::taxonomy::document::{Action, Capability, Document, Role};
use crate::model::runs::taxonomy::{Base, PROTOCOL_VERSION};
use crate::values::token::{RoleName, TypeName};

/// The check that a document failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// 1: it is written for another version of the protocol.
    ProtocolVersion,
    /// 2: a role's name is taken.
    RoleTaken,
    /// 3: an envelope type's name is taken.
    EnvelopeTypeTaken,
    /// 4: a checkpoint type's name is taken.
    CheckpointTypeTaken,
    /// 5: a role extends something that is no base role it may extend.
    NotABase,
    /// 6: a role asks for more than its base could ever do.
    Escalation,
    /// 7: a role names a type that is not registered.
    UnknownType,
    /// 8: an envelope type names a role that is not registered.
    EnvelopeRole,
    /// 9: a checkpoint type names a role that is not registered.
    CheckpointRole,
    /// 10: an envelope type that nobody may send.
    NoPermissions,
    /// 11: a checkpoint type that nobody may create.
    NoRoles,
}

impl FaultKind {
    /// All eleven checks, in order.
    pub const ALL: &'static [FaultKind] = &[
        FaultKind::ProtocolVersion,
        FaultKind::RoleTaken,
        FaultKind::EnvelopeTypeTaken,
        FaultKind::CheckpointTypeTaken,
        FaultKind::NotABase,
        FaultKind::Escalation,
        FaultKind::UnknownType,
        FaultKind::EnvelopeRole,
        FaultKind::CheckpointRole,
        FaultKind::NoPermissions,
        FaultKind::NoRoles,
    ];
}

/// The error for a document that failed a check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct TaxonomyFault {
    /// The check that failed.
    pub kind: FaultKind,
    what: String,
}

/// Targets that are reserved for the coordinator.
const COORDINATORS_OWN: &[&str] =
    &["workspace", "create_workspace", "perform_integration", "manage_budgets"];

type Checked = Result<(), TaxonomyFault>;

fn ensure(holds: bool, kind: FaultKind, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(TaxonomyFault { kind, what: what() }) }
}

pub(crate) fn check(document: &Document) -> Checked {
    let version = document.protocol_version.as_str();
    ensure(version == PROTOCOL_VERSION, FaultKind::ProtocolVersion, || {
        format!("it is written for protocol version {version:?}, not {PROTOCOL_VERSION:?}")
    })?;
    names_are_free(document)?;
    document.roles.iter().try_for_each(|role| role_fits(document, role))?;
    types_name_roles(document)
}

fn names_are_free(document: &Document) -> Checked {
    let mut roles: BTreeSet<RoleName> = Base::ALL.iter().map(|base| base.name()).collect();
    for role in &document.roles {
        ensure(roles.insert(role.name.clone()), FaultKind::RoleTaken, || {
            format!("the role {:?} is there already", role.name.as_str())
        })?;
    }
    let mut envelopes: BTreeSet<TypeName> =
        [TypeName::directive(), TypeName::feedback(), TypeName::query()].into();
    for kind in &document.envelope_types {
        ensure(envelopes.insert(kind.name.clone()), FaultKind::EnvelopeTypeTaken, || {
            format!("the envelope type {:?} is there already", kind.name.as_str())
        })?;
    }
    let mut checkpoints: BTreeSet<TypeName> =
        [TypeName::artifact(), TypeName::observation()].into();
    for kind in &document.checkpoint_types {
        ensure(checkpoints.insert(kind.name.clone()), FaultKind::CheckpointTypeTaken, || {
            format!("the checkpoint type {:?} is there already", kind.name.as_str())
        })?;
    }
    Ok(())
}

fn role_fits(document: &Document, role: &Role) -> Checked {
    let name = role.name.as_str();
    let base = Base::named(&role.extends).filter(|base| *base != Base::Coordinator);
    let Some(base) = base else {
        return ensure(false, FaultKind::NotABase, || {
            format!(
                "the role {name:?} extends {:?}; it can extend worker or observer",
                role.extends.as_str()
            )
        });
    };
    for capability in &role.add {
        ensure(within_ceiling(base, capability), FaultKind::Escalation, || {
            format!(
                "the role {name:?} adds {:?} {:?}, which a {} can never have",
                capability.action,
                capability.target.as_str(),
                base.as_str()
            )
        })?;
    }
    let types = role.add.iter().chain(&role.remove);
    for capability in types {
        ensure(is_registered(document, capability), FaultKind::UnknownType, || {
            format!(
                "the role {name:?} names the type {:?}, which is not registered",
                capability.target.as_str()
            )
        })?;
    }
    let overridden = role.overrides.iter().flat_map(|overrides| &overrides.checkpoint_types);
    for kind in overridden {
        let observed = base == Base::Observer && *kind == TypeName::artifact();
        ensure(!observed, FaultKind::Escalation, || {
            format!("the role {name:?} is an observer and cannot create artifacts")
        })?;
        ensure(has_checkpoint_type(document, kind.as_str()), FaultKind::UnknownType, || {
            format!(
                "the role {name:?} overrides with the checkpoint type {:?}, which is not \
                registered",
                kind.as_str()
            )
        })?;
    }
    Ok(())
}

/// Whether a role with this base may have a capability. Observers never send, receive or create
/// artifacts; no role gains what is reserved for the coordinator.
fn within_ceiling(base: Base, capability: &Capability) -> bool {
    let target = capability.target.as_str();
    if COORDINATORS_OWN.contains(&target) {
        return false;
    }
    match (base, capability.action) {
        (_, Action::Send) if ["directive", "feedback"].contains(&target) => false,
        (Base::Observer, Action::Send | Action::Receive) => false,
        (Base::Observer, Action::Create) => target != "artifact",
        _ => true,
    }
}

fn is_registered(document: &Document, capability: &Capability) -> bool {
    let target = capability.target.as_str();
    match capability.action {
        Action::Send | Action::Receive => {
            ["directive", "feedback", "query"].contains(&target)
                || document.envelope_types.iter().any(|kind| kind.name.as_str() == target)
        }
        Action::Create => has_checkpoint_type(document, target),
        Action::Read => true,
    }
}

fn has_checkpoint_type(document: &Document, name: &str) -> bool {
    ["artifact", "observation"].contains(&name)
        || document.checkpoint_types.iter().any(|kind| kind.name.as_str() == name)
}

/// The base of a role that the document or the protocol defines.
fn base_of(document: &Document, name: &RoleName) -> Option<Base> {
    let extended = document.roles.iter().find(|role| role.name == *name);
    Base::named(extended.map_or(name, |role| &role.extends))
}

fn types_name_roles(document: &Document) -> Checked {
    for kind in &document.envelope_types {
        let name = kind.name.as_str();
        for role in kind.permissions.iter().flat_map(|row| [&row.sender_role, &row.receiver_role]) {
            let base = base_of(document, role);
            ensure(base.is_some(), FaultKind::EnvelopeRole, || {
                format!(
                    "the envelope type {name:?} names the role {:?}, which is not registered",
                    role.as_str()
                )
            })?;
            ensure(base != Some(Base::Observer), FaultKind::Escalation, || {
                format!(
                    "the envelope type {name:?} has the observer {:?} send or receive",
                    role.as_str()
                )
            })?;
        }
        ensure(!kind.permissions.is_empty(), FaultKind::NoPermissions, || {
            format!("the envelope type {name:?} says nobody may send it")
        })?;
    }
    for kind in &document.checkpoint_types {
        let name = kind.name.as_str();
        for role in &kind.permitted_roles {
            let base = base_of(document, role);
            ensure(base.is_some(), FaultKind::CheckpointRole, || {
                format!(
                    "the checkpoint type {name:?} names the role {:?}, which is not \
                    registered",
                    role.as_str()
                )
            })?;
            ensure(base != Some(Base::Coordinator), FaultKind::Escalation, || {
                format!("the checkpoint type {name:?} has the coordinator create checkpoints")
            })?;
        }
        for field in &kind.required_fields {
            let known = ["files_changed", "content", "artifacts"].contains(&field.as_str());
            ensure(known, FaultKind::UnknownType, || {
                format!(
                    "the checkpoint type {name:?} requires {:?}, which no payload has",
                    field.as_str()
                )
            })?;
        }
        ensure(!kind.permitted_roles.is_empty(), FaultKind::NoRoles, || {
            format!("the checkpoint type {name:?} says nobody may create it")
        })?;
    }
    Ok(())
}
