//! The taxonomy: the roles and types of a run, and who may send, receive, emit and create what. It
//! registers names and permissions, never the shape of payloads.
//!
//! A run starts with a document, or with none. The document is checked as a whole before any
//! workspace exists and does not change while the run lasts. Base roles, base types and the base
//! matrix always exist and cannot be redefined.

pub(crate) mod check;
pub(crate) mod document;

use serde::Deserialize;
use serde::Serialize;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::model::runs::signal::SignalType;
use crate::values::token::{RoleName, TypeName};

pub use crate::model::runs::taxonomy::check::FaultKind;
pub use crate::model::runs::taxonomy::check::TaxonomyFault;
pub use crate::model::runs::taxonomy::document::Action;
pub use crate::model::runs::taxonomy::document::Capability;
pub use crate::model::runs::taxonomy::document::CheckpointType;
pub use crate::model::runs::taxonomy::document::Document;
pub use crate::model::runs::taxonomy::document::EnvelopeType;
pub use crate::model::runs::taxonomy::document::Overrides;
pub use crate::model::runs::taxonomy::document::Permission;
pub use crate::model::runs::taxonomy::document::Role;

/// The version of the protocol that documents are written for.
pub(crate) const PROTOCOL_VERSION: &str = "0.1";

/// The most entries of any sort in a document.
pub const ENTRIES_MAX: usize = 256;

/// A base role, from which all roles derive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Base {
    /// Orchestrates: creates workspaces, sends directives, integrates results.
    Coordinator,
    /// Produces: works on a directive and makes checkpoints.
    Worker,
    /// Watches: reads what it may see and records observations.
    Observer,
}

impl Base {
    /// All base roles.
    pub const ALL: &'static [Base] = &[Base::Coordinator, Base::Worker, Base::Observer];

    /// The base role of this name.
    pub fn named(name: &RoleName) -> Option<Base> {
        Base::ALL.iter().copied().find(|base| base.as_str() == name.as_str())
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        match self {
            Base::Coordinator => "coordinator",
            Base::Worker => "worker",
            Base::Observer => "observer",
        }
    }

    /// The name as a role.
    pub fn name(self) -> RoleName {
        match self {
            Base::Coordinator => RoleName::coordinator(),
            Base::Worker => RoleName::worker(),
            Base::Observer => RoleName::observer(),
        }
    }

    /// The signals it may emit. Derived roles emit those of their base: the set of signals is
    /// closed.
    pub fn emits(self) -> &'static [SignalType] {
        use SignalType as S;
        match self {
            Base::Coordinator => &[
                S::Ready,
                S::Started,
                S::Failed,
                S::Integrate,
                S::Acknowledged,
                S::Suspend,
                S::Migrate,
            ],
            Base::Worker => &[
                S::Ready,
                S::Started,
                S::Blocked,
                S::Checkpoint,
                S::Complete,
                S::Failed,
                S::Escalation,
            ],
            Base::Observer => &[S::Ready, S::Started, S::Complete, S::Failed, S::Escalation],
        }
    }

    /// The checkpoint types it may create.
    fn creates(self) -> BTreeSet<TypeName> {
        match self {
            Base::Coordinator => BTreeSet::new(),
            Base::Worker => [TypeName::artifact()].into(),
            Base::Observer => [TypeName::observation()].into(),
        }
    }
}

/// The base permission matrix: sender, type, receiver. It cannot be changed.
pub(crate) fn base_matrix() -> [(Base, TypeName, Base); 3] {
    [
        (Base::Coordinator, TypeName::directive(), Base::Worker),
        (Base::Coordinator, TypeName::feedback(), Base::Worker),
        (Base::Worker, TypeName::query(), Base::Coordinator),
    ]
}

/// A role resolved from its base, removals and additions.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Resolved {
    base: Base,
    creates: BTreeSet<TypeName>,
    never_sends: BTreeSet<TypeName>,
    never_receives: BTreeSet<TypeName>,
}

/// A validated and resolved taxonomy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taxonomy {
    document: Option<Document>,
    roles: BTreeMap<RoleName, Resolved>,
    /// Sender, type, receiver; a base role also stands for the roles derived from it.
    matrix: BTreeSet<(RoleName, TypeName, RoleName)>,
    envelope_types: BTreeSet<TypeName>,
    /// Checkpoint types with the payload fields they require.
    checkpoint_types: BTreeMap<TypeName, Vec<String>>,
}

impl Taxonomy {
    /// The taxonomy of only the base roles and types.
    pub fn base() -> Self {
        let plain = |base: Base| Resolved {
            base,
            creates: base.creates(),
            never_sends: BTreeSet::new(),
            never_receives: BTreeSet::new(),
        };
        let matrix =
            base_matrix().map(|(sender, kind, receiver)| (sender.name(), kind, receiver.name()));
        Taxonomy {
            document: None,
            roles: Base::ALL.iter().map(|base| (base.name(), plain(*base))).collect(),
            matrix: matrix.into(),
            envelope_types: [TypeName::directive(), TypeName::feedback(), TypeName::query()].into(),
            checkpoint_types: [
                (TypeName::artifact(), Vec::new()),
                (TypeName::observation(), Vec::new()),
            ]
            .into(),
        }
    }

    /// Validates a document as a whole and adds it to the base.
    pub fn load(document: Document) -> Result<Self, TaxonomyFault> {
        check::check(&document)?;
        let mut taxonomy = Taxonomy::base();
        for kind in &document.envelope_types {
            taxonomy.envelope_types.insert(kind.name.clone());
            for row in &kind.permissions {
                let row = (row.sender_role.clone(), kind.name.clone(), row.receiver_role.clone());
                taxonomy.matrix.insert(row);
            }
        }
        for kind in &document.checkpoint_types {
            let required = kind.required_fields.iter().map(ToString::to_string).collect();
            taxonomy.checkpoint_types.insert(kind.name.clone(), required);
        }
        for role in &document.roles {
            let resolved = resolve(role, &document);
            taxonomy.roles.insert(role.name.clone(), resolved);
        }
        for kind in &document.checkpoint_types {
            for name in &kind.permitted_roles {
                if let Some(role) = taxonomy.roles.get_mut(name) {
                    role.creates.insert(kind.name.clone());
                }
            }
        }
        taxonomy.document = Some(document);
        Ok(taxonomy)
    }

    /// The document it was loaded from, if any.
    pub fn document(&self) -> Option<&Document> {
        self.document.as_ref()
    }

    /// The base of a role; `None` if the role is not registered.
    pub(crate) fn base_of(&self, role: &RoleName) -> Option<Base> {
        self.roles.get(role).map(|resolved| resolved.base)
    }

    /// The registered roles.
    pub fn roles(&self) -> impl Iterator<Item = &RoleName> {
        self.roles.keys()
    }

    /// The registered envelope types.
    pub fn envelope_types(&self) -> impl Iterator<Item = &TypeName> {
        self.envelope_types.iter()
    }

    /// Whether a type of envelope is registered.
    pub(crate) fn has_envelope_type(&self, kind: &TypeName) -> bool {
        self.envelope_types.contains(kind)
    }

    /// The payload fields a type of checkpoint requires; `None` if there is no such type.
    pub fn required_fields(&self, kind: &TypeName) -> Option<&[String]> {
        self.checkpoint_types.get(kind).map(Vec::as_slice)
    }

    /// Whether one role may send a type to another.
    pub fn permits(&self, sender: &RoleName, kind: &TypeName, receiver: &RoleName) -> bool {
        let (Some(from), Some(to)) = (self.roles.get(sender), self.roles.get(receiver)) else {
            return false;
        };
        if !self.leaves(sender, kind, receiver) {
            return false;
        }
        let senders = [sender.clone(), from.base.name()];
        let receivers = [receiver.clone(), to.base.name()];
        senders.iter().any(|sender| {
            receivers.iter().any(|receiver| {
                self.matrix.contains(&(sender.clone(), kind.clone(), receiver.clone()))
            })
        })
    }

    /// Whether this type was not removed from either role.
    pub(crate) fn leaves(&self, sender: &RoleName, kind: &TypeName, receiver: &RoleName) -> bool {
        let (from, to) = (self.roles.get(sender), self.roles.get(receiver));
        from.is_some_and(|role| !role.never_sends.contains(kind))
            && to.is_some_and(|role| !role.never_receives.contains(kind))
    }

    /// Whether a role may create a type of checkpoint.
    pub fn creates(&self, role: &RoleName, kind: &TypeName) -> bool {
        self.roles.get(role).is_some_and(|resolved| resolved.creates.contains(kind))
    }

    /// Whether a role may emit a signal.
    pub fn emits(&self, role: &RoleName, signal: SignalType) -> bool {
        self.base_of(role).is_some_and(|base| base.emits().contains(&signal))
    }

    /// The types a role may send, each with a receiving role, for people to read.
    pub fn sends(&self, role: &RoleName) -> Vec<(TypeName, RoleName)> {
        let mut rows = Vec::new();
        for kind in &self.envelope_types {
            let receivers = self.roles.keys().filter(|to| self.permits(role, kind, to));
            rows.extend(receivers.map(|to| (kind.clone(), to.clone())));
        }
        rows
    }
}

/// Resolves a role: base, then overrides, then removals, then additions.
fn resolve(role: &Role, document: &Document) -> Resolved {
    let base = Base::named(&role.extends).unwrap_or(Base::Observer);
    let mut creates = base.creates();
    if let Some(overrides) = &role.overrides {
        creates = overrides.checkpoint_types.iter().cloned().collect();
    }
    let targets = |list: &[Capability], action: Action| -> BTreeSet<TypeName> {
        let named = list.iter().filter(|capability| capability.action == action);
        named.filter_map(|capability| TypeName::new(capability.target.as_str()).ok()).collect()
    };
    for removed in targets(&role.remove, Action::Create) {
        creates.remove(&removed);
    }
    creates.extend(targets(&role.add, Action::Create));
    let own_row = |kind: &TypeName, sends: bool| {
        let mut rows = document.envelope_types.iter().filter(|own| own.name == *kind);
        rows.any(|own| {
            own.permissions.iter().any(|row| {
                if sends { row.sender_role == role.name } else { row.receiver_role == role.name }
            })
        })
    };
    let keep = |list: BTreeSet<TypeName>, added: &BTreeSet<TypeName>, sends: bool| {
        list.into_iter().filter(|kind| !added.contains(kind) && !own_row(kind, sends)).collect()
    };
    let (sends, receives) = (targets(&role.add, Action::Send), targets(&role.add, Action::Receive));
    Resolved {
        base,
        creates,
        never_sends: keep(targets(&role.remove, Action::Send), &sends, true),
        never_receives: keep(targets(&role.remove, Action::Receive), &receives, false),
    }
}
