//! The blackboard of earlier builds, as their replay bases have it.

use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::blackboard::Mark;
use crate::model::knowledge::blackboard::capsule::Field;
use crate::model::knowledge::blackboard::decision::{Body, Title};
use crate::values::label::{Handle, Label};
use crate::values::text::Text;

/// The lists of an image of an earlier build; empty in images of this one.
pub(crate) struct Earlier {
    pub(crate) symbols: Vec<(u64, Label, Valued)>,
    pub(crate) facts: Vec<(u64, Label, Valued)>,
    pub(crate) capsules: Vec<(Handle, Capsule)>,
    pub(crate) decisions: Vec<(u64, Decision)>,
}

/// A symbol or a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Valued {
    pub(crate) value: Text<4000>,
    pub(crate) set: Mark,
}

/// A capsule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capsule {
    pub(crate) what: Field,
    pub(crate) place: Option<Field>,
    pub(crate) decision: Option<Field>,
    pub(crate) gotcha: Option<Field>,
    pub(crate) depends: Vec<Handle>,
    pub(crate) written: Mark,
}

/// An entry of the decision log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decision {
    pub(crate) title: Title,
    pub(crate) body: Body,
    pub(crate) dispute: Option<Handle>,
    pub(crate) written: Mark,
}
