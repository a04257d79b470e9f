//! The error of every door: a kind, the rule it rests on, a message, details and a hint.

pub use althing_engine::ErrorKind;
use althing_engine::screen::{masked, without_secrets};
use althing_engine::{Client, EngineError};
use althing_kernel::records::Kind;
use althing_kernel::refusal::{Details, OutsideKind};
use althing_kernel::{Refusal, Rule, Surface, Timestamp};
use althing_workshop::WorkshopError;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt;

/// The hint where stored content is damaged or missing.
pub const BLOB_HINT: &str =
    "Store the same content again with `althing blob put FILE`; a backup keeps it in `blobs`.";

/// A request that failed. Hosts get it as a result, so that a model can read it and go on; the
/// command line prints it and exits with a code that its kind decides.
pub struct Error(Box<Parts>);

/// A surface that somebody holds until a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The holder's name.
    pub holder: String,
    /// The surface.
    pub surface: Surface,
    /// The time the lease runs out, unless it is renewed.
    pub until: Timestamp,
}

/// Facts that hints are made from. On the wire they are part of the details.
#[derive(Clone, Debug, Default)]
struct Facts {
    code: Option<&'static str>,
    entity: Option<Kind>,
    allowed: Option<Vec<String>>,
    owner: Option<String>,
    held: Vec<Held>,
}

struct Parts {
    kind: ErrorKind,
    rule: Rule,
    message: String,
    details: Value,
    facts: Facts,
    /// A hint of its own; without one, the rule's applies.
    hint: Option<Cow<'static, str>>,
    /// The name a dialect has for this failure, shown in place of the kind's.
    label: Option<&'static str>,
    /// Title and text for hosts that only show text; without them, message and hint are shown.
    wording: Option<(String, String)>,
    /// Whether the trail has an entry about it.
    is_on_record: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    fn new(kind: ErrorKind, rule: Rule, message: impl Into<String>) -> Self {
        Error(Box::new(Parts {
            kind,
            rule,
            // A message may repeat what the caller typed.
            message: without_secrets(message.into()),
            details: json!({}),
            facts: Facts::default(),
            hint: None,
            label: None,
            wording: None,
            is_on_record: false,
            source: None,
        }))
    }

    /// Input that cannot be used.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, Rule::Usage, message)
    }

    /// Input that cannot be parsed: the parser's message, with secrets masked.
    pub fn unreadable(error: impl fmt::Display) -> Self {
        Error::usage(masked(&error.to_string()))
    }

    /// Input that cannot be used, citing this rule.
    pub fn misuse(rule: Rule, message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, rule, message)
    }

    /// A refusal by a rule, before a command is issued.
    pub fn refused(rule: Rule, message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Refused, rule, message)
    }

    /// Something that does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::NotFound, Rule::NotFound, message)
    }

    /// A surface that somebody else holds.
    pub fn collision(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Collision, Rule::NoOverlap, message)
    }

    /// A file, a program or a terminal that failed.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unavailable, Rule::StoreUnavailable, message)
    }

    /// A trail, a proof or a head that fails verification.
    pub fn integrity(rule: Rule, message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Integrity, rule, message)
    }

    /// A requirement of the protocol that is not met.
    pub fn unmet(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unmet, Rule::Conformance, message)
    }

    /// A defect of Althing itself.
    pub fn defect(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Defect, Rule::StoreUnavailable, message)
    }

    /// A reply of another type than the request expects.
    pub fn unexpected(what: &impl fmt::Debug) -> Self {
        Error::defect(format!("an unexpected answer: {what:?}"))
    }

    /// The same error with these details.
    #[must_use]
    pub fn with(mut self, mut details: Value) -> Self {
        mask(&mut details);
        self.0.details = details;
        self
    }

    /// The same error with a code that tells it from others of its kind.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Self {
        self.0.details["code"] = code.into();
        self.0.facts.code = Some(code);
        self
    }

    /// The same error about something of this kind.
    #[must_use]
    pub fn about(mut self, kind: Kind) -> Self {
        self.0.details["entity"] = json!(kind);
        self.0.facts.entity = Some(kind);
        self
    }

    /// The same error with the choices that would be accepted.
    #[must_use]
    pub fn allowing(mut self, allowed: Vec<String>) -> Self {
        self.0.details["allowed"] = json!(allowed);
        self.0.facts.allowed = Some(allowed);
        self
    }

    /// The same error about something that belongs to this agent.
    #[must_use]
    pub fn owned_by(mut self, owner: String) -> Self {
        self.0.details["owner"] = owner.as_str().into();
        self.0.facts.owner = Some(owner);
        self
    }

    /// The same error with the surfaces in the way.
    #[must_use]
    pub fn holding(mut self, held: Vec<Held>) -> Self {
        self.0.facts.held = held;
        self
    }

    /// The same error resting on another rule.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Self {
        self.0.rule = rule;
        self
    }

    /// The same error with a hint of its own in place of the rule's.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.0.hint = Some(match hint.into() {
            Cow::Owned(hint) => without_secrets(hint).into(),
            own @ Cow::Borrowed(_) => own,
        });
        self
    }

    /// The same error with the hint of its rule.
    #[must_use]
    pub fn without_hint(mut self) -> Self {
        self.0.hint = None;
        self
    }

    /// The same error under the name that a dialect has for it.
    #[must_use]
    pub fn labelled(mut self, label: &'static str) -> Self {
        self.0.label = Some(label);
        self
    }

    /// The same error with a title and a text for hosts that only show text.
    #[must_use]
    pub fn with_wording(mut self, title: impl Into<String>, text: impl Into<String>) -> Self {
        self.0.wording = Some((without_secrets(title.into()), without_secrets(text.into())));
        self
    }

    /// The same error with another message. Its cause is dropped, because it repeats the old one.
    #[must_use]
    pub fn reworded(mut self, words: impl FnOnce(&str) -> String) -> Self {
        self.0.message = without_secrets(words(&self.0.message));
        self.0.source = None;
        self
    }

    /// The same error with its cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// The same error. A refusal that is not on record yet is recorded in the caller's name: it was
    /// decided before the kernel was asked. If recording fails, returns that error instead.
    #[must_use]
    pub fn recorded(mut self, client: &Client, command: &str) -> Self {
        if self.0.is_on_record {
            return self;
        }
        let kind = match self.0.kind {
            ErrorKind::Refused => OutsideKind::Denied,
            ErrorKind::Collision => OutsideKind::Collision,
            ErrorKind::NotFound => OutsideKind::NotFound,
            _ => return self,
        };
        match client.refuse(command, kind, self.0.rule, &self.0.message) {
            EngineError::Refused(refusal) if refusal.rule == self.0.rule => {
                self.0.is_on_record = true;
                self
            }
            // Something else was refused before it, and that is on record.
            error => error.into(),
        }
    }

    /// Whether it is a refusal that the trail has no entry about.
    pub fn is_unrecorded_refusal(&self) -> bool {
        let is_refusal =
            matches!(self.0.kind, ErrorKind::Refused | ErrorKind::Collision | ErrorKind::NotFound);
        is_refusal && !self.0.is_on_record
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The rule it rests on.
    pub fn rule(&self) -> Rule {
        self.0.rule
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The details.
    pub fn details(&self) -> &Value {
        &self.0.details
    }

    /// The code that tells it from others of its kind.
    pub fn code(&self) -> Option<&'static str> {
        self.0.facts.code
    }

    /// The kind of record it is about, if it names one.
    pub fn entity(&self) -> Option<Kind> {
        self.0.facts.entity
    }

    /// The choices that would be accepted, if they are known.
    pub fn allowed(&self) -> Option<&[String]> {
        self.0.facts.allowed.as_deref()
    }

    /// The agent whom the record belongs to, if that is known.
    pub fn owner(&self) -> Option<&str> {
        self.0.facts.owner.as_deref()
    }

    /// The surfaces in the way.
    pub fn held(&self) -> &[Held] {
        &self.0.facts.held
    }

    /// The hint: the error's own, or that of its rule.
    pub fn way_out(&self) -> &str {
        self.0.hint.as_deref().unwrap_or(self.0.rule.way_out())
    }

    /// The kernel's refusal that caused it, if one did.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self.0.source.as_ref()?.downcast_ref()? {
            EngineError::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The error object that every door gives.
    pub fn object(&self) -> Value {
        json!({
            "kind": self.0.label.unwrap_or(self.0.kind.as_str()),
            "rule": self.0.rule.id(),
            "message": self.0.message,
            "way_out": self.way_out(),
            "details": self.0.details,
        })
    }

    /// The error for hosts that only show text.
    pub fn text(&self) -> Value {
        let (title, text) = match &self.0.wording {
            Some((title, text)) => (title.as_str(), text.as_str()),
            // The message is enough: the list of tools says how to call them.
            None if self.0.kind == ErrorKind::Usage => (self.message(), ""),
            None => (self.message(), self.0.rule.way_out()),
        };
        json!({ "error": title, "detail": text, "rule": self.0.rule.id() })
    }
}

/// Masks the secrets in all text of a value. Names of fields are our own.
fn mask(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_secrets(std::mem::take(text)),
        Value::Array(list) => list.iter_mut().for_each(mask),
        Value::Object(fields) => fields.values_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { kind, rule, message, details, source, .. } = &*self.0;
        let mut out = f.debug_struct("Error");
        out.field("kind", kind).field("rule", rule).field("message", message);
        out.field("details", details).field("source", source).finish_non_exhaustive()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}

impl From<EngineError> for Error {
    fn from(source: EngineError) -> Self {
        let mut error = Error::new(source.kind(), source.rule(), source.to_string());
        // The kernel records what it refuses.
        error.0.is_on_record = matches!(source, EngineError::Refused(_));
        let error = match &source {
            EngineError::Refused(refusal) => match &refusal.details {
                Details::Collisions(collisions) => {
                    let held = collisions.iter().map(|own| Held {
                        holder: own.holder.to_string().trim_start_matches("agent:").to_owned(),
                        surface: own.surface.clone(),
                        until: own.expires_at,
                    });
                    error.with(json!({ "collisions": collisions })).holding(held.collect())
                }
                Details::Allowed(allowed) => error.allowing(allowed.clone()),
                Details::Findings(findings) => error.with(json!({ "findings": findings })),
                Details::Lanes(collisions) => error.with(json!({ "collisions": collisions })),
                Details::Plan(plan) => error.with(json!({ "plan": plan })),
                Details::None {} => error,
            },
            EngineError::Pruned { .. } => {
                error.hint("Look at a backup or a snapshot from before it was deleted.")
            }
            EngineError::Clock(_) => error.hint("Set this machine's clock right."),
            EngineError::WitnessUnreadable(_) => {
                error.hint("Compare with a head kept elsewhere before deleting that file.")
            }
            EngineError::BlobDamaged { blob, .. } => {
                error.with(json!({ "blob": blob })).hint(BLOB_HINT)
            }
            EngineError::Damaged { seq, what } => {
                error.with(json!({ "entry": seq, "fault": what }))
            }
            _ => error,
        };
        error.caused_by(source)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        EngineError::from(refusal).into()
    }
}

impl From<WorkshopError> for Error {
    fn from(source: WorkshopError) -> Self {
        Error::unavailable(source.message()).caused_by(source)
    }
}
