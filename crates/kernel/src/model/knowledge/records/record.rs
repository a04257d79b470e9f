//! The record itself: its text, state, author, provenance and fields.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::field::Fields;
use crate::model::knowledge::records::table::Table;
use crate::model::knowledge::records::vocabulary::{Origin, Status, Visibility};
use crate::registry::record_id::{Kind, RecordId};
use crate::values::door::Door;
use crate::values::id::WorkspaceId;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

/// The most tags of a record.
pub const TAGS_MAX: usize = 32;

/// The text of a record.
pub type Body = Text<16_000>;

/// Tags: sorted, without duplicates, at most [`TAGS_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Tags(Vec<Label>);

impl Tags {
    /// Takes a list, or returns an error if it is too long.
    pub fn new(mut list: Vec<Label>) -> Result<Self, String> {
        list.sort();
        list.dedup();
        match list.len() {
            count if count <= TAGS_MAX => Ok(Tags(list)),
            count => Err(format!("a record has at most {TAGS_MAX} tags, not {count}")),
        }
    }

    /// The tags.
    pub fn as_slice(&self) -> &[Label] {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for Tags {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Tags::new(Vec::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Tags {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Tags".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let item = generator.subschema_for::<Label>();
        schemars::json_schema!({ "type": "array", "items": item, "maxItems": TAGS_MAX })
    }
}

/// The provenance of a record, besides its author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The author's confidence in it, from 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    pub confidence_percent: Option<u8>,
    /// Details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Label>,
    /// The kind of origin.
    pub kind: Origin,
    /// The source it was derived from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Label>,
}

impl Provenance {
    /// The default provenance for an author.
    pub(crate) fn of(author: &Principal) -> Self {
        let kind = match author {
            Principal::Agent(_) => Origin::Agent,
            Principal::User(_) => Origin::Human,
            Principal::System => Origin::Auto,
        };
        Provenance { confidence_percent: None, detail: None, kind, source: None }
    }
}

/// A record of shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The id.
    pub id: RecordId,
    /// The current state.
    pub status: Status,
    /// The text.
    pub text: Body,
    /// The tags.
    pub tags: Tags,
    /// The author.
    pub author: Principal,
    /// The principal who changed it last; the system for changes by timeout.
    pub updated_by: Principal,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The entry of the trail that created it.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub created_seq: u64,
    /// The entry that last changed it.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub updated_seq: u64,
    /// The version: 1 at creation, plus one with each change.
    pub version: u32,
    /// The session it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
    /// The way in that it came through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub door: Option<Door>,
    /// The way in that its last change came through, if it was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_door: Option<Door>,
    /// The provenance.
    pub provenance: Provenance,
    /// Further fields.
    pub fields: Fields,
}

impl Record {
    /// A record with only a text, in the first state of its kind, that no entry of the trail is known
    /// of yet.
    pub(crate) fn new(id: RecordId, author: Principal, at: Timestamp, text: Body) -> Self {
        Record {
            id,
            status: id.kind.table().states[0],
            text,
            tags: Tags::default(),
            provenance: Provenance::of(&author),
            updated_by: author.clone(),
            author,
            created_at: at,
            updated_at: at,
            created_seq: 0,
            updated_seq: 0,
            version: 1,
            session: None,
            door: None,
            last_door: None,
            fields: Fields::default(),
        }
    }

    /// The table of its kind.
    pub fn table(&self) -> &'static Table {
        self.id.kind.table()
    }

    /// Whether it is live: not in an ended state.
    pub fn is_live(&self) -> bool {
        self.table().is_live(self.word())
    }

    /// Whether its state is final.
    pub fn is_terminal(&self) -> bool {
        self.table().is_terminal(self.word())
    }

    /// Whether it is an assignment that is active or about to be.
    pub fn is_open_work(&self) -> bool {
        let at_work = matches!(
            self.status,
            Status::Created
                | Status::Offered
                | Status::Accepted
                | Status::Started
                | Status::Blocked
                | Status::Retrying
        );
        self.id.kind == Kind::Assignment && at_work
    }

    /// The plan of an assignment that is active or about to be.
    pub(crate) fn worked_on(&self) -> Option<RecordId> {
        self.fields.plan_id.filter(|_| self.is_open_work())
    }

    /// Whether it is an assignment that its agent took up by itself.
    pub fn is_own_work(&self) -> bool {
        self.is_for(&self.author)
    }

    /// Whether it is assigned to this principal.
    pub fn is_for(&self, who: &Principal) -> bool {
        matches!(who, Principal::Agent(name) if self.fields.agent.as_ref() == Some(name))
    }

    /// Whether this principal dispatched it.
    pub fn is_dispatched_by(&self, who: &Principal) -> bool {
        self.fields.dispatcher.as_ref() == Some(who)
    }

    /// The agent to do the work.
    pub fn agent(&self) -> Option<&AgentName> {
        self.fields.agent.as_ref()
    }

    /// When it entered its current state.
    pub fn since(&self) -> Timestamp {
        self.fields.stamps.get(&self.status).copied().unwrap_or(self.created_at)
    }

    /// When an assignment becomes overdue unless a heartbeat or other evidence of work arrives.
    pub fn silent_from(&self) -> Option<Timestamp> {
        let span = |secs: Option<u32>| Span::from_secs(secs.unwrap_or_default().into());
        let fields = &self.fields;
        let heard = fields.last_heartbeat_at.unwrap_or_default().max(self.since());
        match self.status {
            Status::Offered => Some(self.since().after(span(fields.acceptance_ttl_secs))),
            Status::Accepted => Some(heard.after(span(fields.acceptance_ttl_secs))),
            Status::Started => Some(heard.after(span(fields.heartbeat_ttl_secs))),
            _ => None,
        }
        .filter(|_| fields.agent.is_some())
    }

    /// Whether it is overdue for a heartbeat.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.silent_from().is_some_and(|from| from <= now)
    }

    /// When it expires.
    pub(crate) fn runs_out(&self) -> Option<Timestamp> {
        self.fields.expires_at.filter(|_| self.status == Status::Active)
    }

    /// Whether somebody may see it: private records are visible to their author and to people.
    pub(crate) fn is_seen_by(&self, who: &Principal) -> bool {
        !self.is_private() || self.author == *who || !matches!(who, Principal::Agent(_))
    }

    /// Whether it is private to its author.
    pub(crate) fn is_private(&self) -> bool {
        self.fields.visibility == Some(Visibility::Private)
    }

    /// Moves the record to a state and updates its timestamps and counters.
    pub(crate) fn enter(&mut self, to: Status, at: Timestamp) {
        self.status = to;
        let fields = &mut self.fields;
        fields.stamps.insert(to, at);
        match to {
            Status::InProgress | Status::Started if fields.started_at.is_none() => {
                fields.started_at = Some(at);
            }
            Status::Done | Status::Completed | Status::Integrated => fields.completed_at = Some(at),
            Status::Retrying => {
                fields.retry_count = Some(fields.retry_count.unwrap_or_default() + 1);
                fields.attempt = Some(fields.attempt.unwrap_or(1) + 1);
            }
            _ => {}
        }
        if matches!(to, Status::Accepted | Status::Started) && fields.agent.is_some() {
            fields.last_heartbeat_at = Some(at);
        }
    }
}
