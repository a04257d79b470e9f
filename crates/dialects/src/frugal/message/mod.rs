//! The six messages of the dialect.
//!
//! Each is a Rust type. A table made from those types ([`SHAPES`]) is the one source of the
//! published schema ([`schema`]) and of the validator ([`check`]), so the two cannot differ.

mod check;
mod schema;
mod shape;
mod words;

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

            /// The value for a word.
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
    /// Result of a task.
    TaskStatus {
        /// Done as asked.
        Pass "pass",
        /// Not done as asked.
        Fail "fail",
        /// Partly done.
        Partial "partial",
    }
    /// Result of a gate.
    GateStatus {
        /// Open.
        Pass "pass",
        /// Shut.
        Fail "fail",
    }
    /// Severity.
    Severity {
        /// Work stops until there is an answer.
        Blocker "blocker",
        /// Somebody should look.
        Warning "warning",
        /// For information.
        Info "info",
    }
    /// State of a wave.
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

/// The message types, and the table of their fields.
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

        /// The content of a message.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Body { $( $(#[$doc])* $name($name), )* }

        impl Body {
            /// The value of `type`.
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

        /// The fields of each message type, in the order of publication.
        pub const SHAPES: &[(&str, &[Field])] = &[
            $( ($word, &[
                $( Field { name: stringify!($need), required: true, sort: <$need_ty as Shape>::SORT }, )*
                $( Field { name: stringify!($may), required: false, sort: <$may_ty as Shape>::SORT }, )*
            ]), )*
        ];
    };
}

messages! {
    /// An agent takes a task.
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
    /// A task has ended.
    TaskResult "task_result" {
        required {
            /// The task.
            task: String,
            /// Result of the task.
            status: TaskStatus,
        }
        optional {
            /// Numbers of the criteria that are met.
            criteria: Vec<Number>,
            /// The commit with the work.
            commit: String,
            /// The capsule with the summary of the work.
            capsule: String,
        }
    }
    /// A gate was evaluated.
    GateReport "gate_report" {
        required {
            /// The gate.
            gate_id: String,
            /// Result of the gate.
            status: GateStatus,
        }
        optional {
            /// Path of the report; never the report itself.
            report_ref: String,
            /// The wave it belongs to.
            wave: Nullable,
        }
    }
    /// An agent needs help.
    Escalation "escalation" {
        required {
            /// The reason.
            reason: NonEmpty,
            /// Severity.
            severity: Severity,
        }
        optional {
            /// References to the subject.
            refs: Vec<String>,
        }
    }
    /// An agent asks a question.
    Question "question" {
        required {
            /// The question.
            question: NonEmpty,
        }
        optional {
            /// References to the subject.
            refs: Vec<String>,
        }
    }
    /// Progress of a wave.
    Checkpoint "checkpoint" {
        required {
            /// The wave.
            wave: String,
            /// State of the wave.
            state: WaveState,
        }
        optional {
            /// Capsules of the work done.
            capsules: Vec<String>,
        }
    }
}

/// The fields that every message has besides `type`.
pub const COMMON: &[Field] = &[
    Field { name: "from", required: true, sort: <NonEmpty as Shape>::SORT },
    Field { name: "msg_id", required: true, sort: <NonEmpty as Shape>::SORT },
    Field { name: "reply_to", required: false, sort: <String as Shape>::SORT },
    Field { name: "ts", required: false, sort: <String as Shape>::SORT },
];

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Sender.
    pub from: NonEmpty,
    /// Its id.
    pub msg_id: NonEmpty,
    /// The message it answers.
    pub reply_to: Option<String>,
    /// Time of sending.
    pub ts: Option<String>,
    /// Content.
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
