//! The six messages of the dialect.
//!
//! Each is a Rust type. A table made from those types ([`SHAPES`]) is the one source of the
//! published schema ([`schema`]) and of what the validator checks ([`check`]), so the two cannot
//! say different things.

mod check;
mod schema;
mod shape;

pub use check::{MESSAGE_BYTES_MAX, Report, check, read, report};
pub use schema::{SCHEMA_ID, schema};
pub use shape::{Field, NonEmpty, Nullable, Shape, Sort};

use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize};
use serde_json::Number;

/// A closed set of words, as a type.
macro_rules! words {
    ($( $(#[$doc:meta])* $name:ident { $( $(#[$word_doc:meta])* $variant:ident $word:literal ),* $(,)? } )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name { $( $(#[$word_doc])* #[serde(rename = $word)] $variant ),* }

        impl $name {
            /// All words, in the order they are published.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word.
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word ),* }
            }

            /// The value a word stands for.
            pub fn of(word: &str) -> Option<Self> {
                match word { $( $word => Some(Self::$variant), )* _ => None }
            }
        }

        impl Shape for $name {
            const SORT: Sort = Sort::OneOf(Self::WORDS);
        }
    )*};
}

words! {
    /// How a task came out.
    TaskStatus {
        /// As asked.
        Pass "pass",
        /// Not as asked.
        Fail "fail",
        /// In part.
        Partial "partial",
    }
    /// How a gate came out.
    GateStatus {
        /// Open.
        Pass "pass",
        /// Shut.
        Fail "fail",
    }
    /// How bad it is.
    Severity {
        /// Nothing goes on without an answer.
        Blocker "blocker",
        /// Somebody should look.
        Warning "warning",
        /// Good to know.
        Info "info",
    }
    /// How a wave stands.
    WaveState {
        /// Begun.
        Started "started",
        /// On its way.
        InProgress "in_progress",
        /// Done.
        Complete "complete",
        /// Stuck.
        Blocked "blocked",
    }
}

/// The message types, and the table of what each has.
macro_rules! messages {
    ($(
        $(#[$doc:meta])*
        $name:ident $word:literal {
            required { $( $(#[$need_doc:meta])* $need:ident: $need_ty:ty, )* }
            optional { $( $(#[$may_doc:meta])* $may:ident: $may_ty:ty, )* }
        }
    )*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
            pub struct $name {
                $( $(#[$need_doc])* pub $need: $need_ty, )*
                $(
                    $(#[$may_doc])*
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    pub $may: Option<$may_ty>,
                )*
            }
        )*

        /// What a message is about.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Body { $( $(#[$doc])* $name($name), )* }

        impl Body {
            /// The word in `type`.
            pub fn word(&self) -> &'static str {
                match self { $( Body::$name(_) => $word, )* }
            }

            fn write<S: serde::Serializer>(&self, map: &mut S::SerializeMap) -> Result<(), S::Error> {
                match self {
                    $( Body::$name(body) => {
                        $( map.serialize_entry(stringify!($need), &body.$need)?; )*
                        $( if let Some(value) = &body.$may {
                            map.serialize_entry(stringify!($may), value)?;
                        } )*
                        Ok(())
                    } )*
                }
            }

            fn read(word: &str, value: serde_json::Value) -> Option<Self> {
                match word {
                    $( $word => serde_json::from_value(value).ok().map(Body::$name), )*
                    _ => None,
                }
            }
        }

        /// What each type of message has, in the order it is published.
        pub const SHAPES: &[(&str, &[Field])] = &[
            $( ($word, &[
                $( Field { name: stringify!($need), required: true, sort: <$need_ty as Shape>::SORT }, )*
                $( Field { name: stringify!($may), required: false, sort: <$may_ty as Shape>::SORT }, )*
            ]), )*
        ];
    };
}

messages! {
    /// Somebody takes a task.
    TaskClaim "task_claim" {
        required {
            /// The task.
            task: String,
        }
        optional {
            /// Symbols it needs.
            symbols: Vec<String>,
            /// Capsules it needs.
            capsules: Vec<String>,
        }
    }
    /// A task came to an end.
    TaskResult "task_result" {
        required {
            /// The task.
            task: String,
            /// How it came out.
            status: TaskStatus,
        }
        optional {
            /// Numbers of the criteria that are met.
            criteria: Vec<Number>,
            /// The commit with the work.
            commit: String,
            /// The capsule that says what was done.
            capsule: String,
        }
    }
    /// A gate was tried.
    GateReport "gate_report" {
        required {
            /// Which gate.
            gate_id: String,
            /// How it came out.
            status: GateStatus,
        }
        optional {
            /// Where the report is; never the report itself.
            report_ref: String,
            /// The wave it belongs to.
            wave: Nullable,
        }
    }
    /// Somebody needs help.
    Escalation "escalation" {
        required {
            /// Why.
            reason: NonEmpty,
            /// How bad it is.
            severity: Severity,
        }
        optional {
            /// What it is about.
            refs: Vec<String>,
        }
    }
    /// Somebody wants to know something.
    Question "question" {
        required {
            /// What.
            question: NonEmpty,
        }
        optional {
            /// What it is about.
            refs: Vec<String>,
        }
    }
    /// How far a wave has come.
    Checkpoint "checkpoint" {
        required {
            /// Which wave.
            wave: String,
            /// How it stands.
            state: WaveState,
        }
        optional {
            /// What was done, by capsule.
            capsules: Vec<String>,
        }
    }
}

/// What every message has besides `type`.
pub const COMMON: &[Field] = &[
    Field { name: "from", required: true, sort: <NonEmpty as Shape>::SORT },
    Field { name: "msg_id", required: true, sort: <NonEmpty as Shape>::SORT },
    Field { name: "reply_to", required: false, sort: <String as Shape>::SORT },
    Field { name: "ts", required: false, sort: <String as Shape>::SORT },
];

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who says it.
    pub from: NonEmpty,
    /// Its id.
    pub msg_id: NonEmpty,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// When it was said.
    pub ts: Option<String>,
    /// What it says.
    pub body: Body,
}

impl Serialize for Message {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.body.word())?;
        map.serialize_entry("from", &self.from)?;
        map.serialize_entry("msg_id", &self.msg_id)?;
        for (name, value) in [("reply_to", &self.reply_to), ("ts", &self.ts)] {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        self.body.write::<S>(&mut map)?;
        map.end()
    }
}
