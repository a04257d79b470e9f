//! Kinds of records, and the ids of records.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::values::string_newtype::{inline_schema, serde_as_text};
use crate::values::time::JSON_INTEGER_MAX;

macro_rules! kinds {
    ($( $variant:ident $name:literal $prefix:literal; )*) => {
        /// The kind of a record. The set is closed.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
            JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Kind {
            $( #[doc = concat!("`", $name, "`, with ids that begin with `", $prefix, "`.")] $variant, )*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &'static [Kind] = &[$(Kind::$variant),*];

            /// The name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Kind::$variant => $name),* }
            }

            /// The prefix of its ids.
            pub const fn prefix(self) -> &'static str {
                match self { $(Kind::$variant => $prefix),* }
            }
        }
    };
}

kinds! {
    Constraint "constraint" "cst";
    Decision "decision" "dec";
    Trap "trap" "trp";
    Plan "plan" "pln";
    Claim "claim" "clm";
    Handoff "handoff" "hnd";
    Candidate "candidate" "cnd";
    Assignment "assignment" "asgn";
    Message "message" "msg";
    Sequence "sequence" "seq";
    Loop "loop" "lop";
    Fact "fact" "fct";
    Symbol "symbol" "sym";
    Capsule "capsule" "cap";
}

impl Kind {
    /// Whether records of this kind are stored. A claim is not: it is a lease, shown like a record.
    pub const fn is_stored(self) -> bool {
        !matches!(self, Kind::Claim)
    }

    /// The id of a record of this kind.
    pub(crate) const fn numbered(self, number: u64) -> RecordId {
        RecordId { kind: self, number }
    }

    /// The command that writes records of this kind, if it is not `memory.create`.
    pub const fn written_with(self) -> Option<&'static str> {
        match self {
            Kind::Claim => Some("lease.open"),
            Kind::Fact => Some("fact.set"),
            Kind::Symbol => Some("symbol.set"),
            Kind::Capsule => Some("capsule.write"),
            Kind::Constraint
            | Kind::Decision
            | Kind::Trap
            | Kind::Plan
            | Kind::Handoff
            | Kind::Candidate
            | Kind::Assignment
            | Kind::Message
            | Kind::Sequence
            | Kind::Loop => None,
        }
    }

    /// The indefinite article for its name.
    pub const fn article(self) -> &'static str {
        if matches!(self, Kind::Assignment) { "an" } else { "a" }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// The id of a record: its kind, and its number among those of the kind. The number of a claim is
/// the fencing epoch of its lease.
///
/// It is written `pln_0000002a`, and people say `pln#42`; both are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId {
    /// Its kind.
    pub kind: Kind,
    /// Its number, from 1 on.
    pub number: u64,
}

/// The error for text that is no id of a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no id of a record: expected a prefix with `_` and at least 8 hexadecimal digits, \
     or with `#` and a number, such as `pln_0000002a` or `pln#42`"
)]
pub struct RecordIdError(String);

/// The minimum number of digits of an id.
const DIGITS_MIN: usize = 8;

impl RecordId {
    /// The id of a claim, from the fencing epoch of its lease.
    pub const fn claim(epoch: u64) -> Self {
        RecordId { kind: Kind::Claim, number: epoch }
    }

    /// The short form for people: `pln#42`.
    pub fn label(&self) -> String {
        format!("{}#{}", self.kind.prefix(), self.number)
    }
}

impl std::fmt::Display for RecordId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{}_{:08x}", self.kind.prefix(), self.number))
    }
}

impl std::str::FromStr for RecordId {
    type Err = RecordIdError;

    fn from_str(text: &str) -> Result<Self, RecordIdError> {
        let unknown = || RecordIdError(text.chars().take(40).collect());
        let at = text.find(['_', '#']).ok_or_else(unknown)?;
        let (prefix, rest) = text.split_at(at);
        let digits = &rest[1..];
        let kind = Kind::ALL.iter().find(|kind| kind.prefix() == prefix).ok_or_else(unknown)?;
        let hex = digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let number = if rest.starts_with('#') {
            let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse().ok().filter(|_| plain)
        } else {
            u64::from_str_radix(digits, 16).ok().filter(|_| hex && digits.len() >= DIGITS_MIN)
        };
        let number = number.filter(|number| (1..=JSON_INTEGER_MAX).contains(number));
        Ok(RecordId { kind: *kind, number: number.ok_or_else(unknown)? })
    }
}

serde_as_text!(RecordId, "the id of a record", str::parse);
inline_schema!(
    RecordId,
    { "type": "string", "pattern": "^[a-z]{3,4}(_[0-9a-f]{8,}|#[0-9]+)$" }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_and_its_label_are_the_same_record() {
        for kind in Kind::ALL {
            for number in [1, 42, u64::from(u32::MAX) + 1, JSON_INTEGER_MAX] {
                let id = RecordId { kind: *kind, number };
                assert_eq!(id.to_string().parse(), Ok(id));
                assert_eq!(id.label().parse(), Ok(id));
            }
        }
        assert_eq!(RecordId { kind: Kind::Plan, number: 42 }.to_string(), "pln_0000002a");
        let bad = ["", "pln", "pln_2a", "pln_0000002A", "pln#", "pln#+1", "pln#0", "pln_00000000"];
        for bad in bad.into_iter().chain(["xyz#1", "PLN#1", "pln#9999999999999999", "pln_é"]) {
            assert!(bad.parse::<RecordId>().is_err(), "{bad}");
        }
    }
}
