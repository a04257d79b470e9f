//! Types of `record`: state, arguments of commands and bodies of events.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use crate::model::knowledge::records::field::Fields;
use crate::model::knowledge::records::kind::RecordId;
use crate::model::knowledge::records::table::Table;
use crate::model::knowledge::records::vocabulary::{Origin, Status, Visibility};
use crate::values::id::WorkspaceId;
use crate::values::label::Label;
use crate::values::name::AgentName;
use crate::values::principal::Principal;
use crate::values::text::Text;
use crate::values::time::{Span, Timestamp};

/// The most tags of a record.
pub const TAGS_MAX: usize = 32;

/// What a record says.
pub type Body = Text<16_000>;

/// Tags: sorted, none twice, at most [`TAGS_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Tags(Vec<Label>);

impl Tags {
    /// Takes a list, if it is not too long.
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

/// Where a record comes from, besides its author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// How sure whoever made it is, from 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 100))]
    pub confidence_percent: Option<u8>,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Label>,
    /// What sort of origin.
    pub kind: Origin,
    /// What it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Label>,
}

impl Provenance {
    /// What goes without saying for an author.
    pub(crate) fn of(author: &Principal) -> Self {
        let kind = match author {
            Principal::Agent(_) => Origin::Agent,
            Principal::User(_) => Origin::Human,
            Principal::System => Origin::Auto,
        };
        Provenance { confidence_percent: None, detail: None, kind, source: None }
    }
}

/// Something that is remembered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Which one.
    pub id: RecordId,
    /// The state it is in.
    pub status: Status,
    /// What it says.
    pub text: Body,
    /// What it is filed under.
    pub tags: Tags,
    /// Who wrote it.
    pub author: Principal,
    /// Who changed it last; the runtime where time did.
    pub updated_by: Principal,
    /// When.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The entry of the trail that created it.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub created_seq: u64,
    /// The entry that last changed it.
    #[serde(deserialize_with = "crate::values::time::exact_integer")]
    pub updated_seq: u64,
    /// How often it was written: 1 at its creation.
    pub version: u32,
    /// The session it was written in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<WorkspaceId>,
    /// Where it comes from.
    pub provenance: Provenance,
    /// What else it says.
    pub fields: Fields,
}

impl Record {
    /// What the table says about its kind.
    pub fn table(&self) -> &'static Table {
        self.id.kind.table()
    }

    /// Whether it is to be reckoned with.
    pub fn is_live(&self) -> bool {
        self.table().is_live(self.status)
    }

    /// Whether no step leads on.
    pub fn is_terminal(&self) -> bool {
        self.table().is_terminal(self.status)
    }

    /// Whether it is this agent's to work on.
    pub fn is_for(&self, who: &Principal) -> bool {
        matches!(who, Principal::Agent(name) if self.fields.agent.as_ref() == Some(name))
    }

    /// Whether this one gave it out.
    pub fn is_dispatched_by(&self, who: &Principal) -> bool {
        self.fields.dispatcher.as_ref() == Some(who)
    }

    /// The agent who is to do it.
    pub fn agent(&self) -> Option<&AgentName> {
        self.fields.agent.as_ref()
    }

    /// When its state was entered.
    pub fn since(&self) -> Timestamp {
        self.fields.stamps.get(&self.status).copied().unwrap_or(self.created_at)
    }

    /// When an assignment has been silent for too long, if nothing else shows that somebody is at
    /// work on it.
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

    /// Whether nothing was heard of it for too long.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.silent_from().is_some_and(|from| from <= now)
    }

    /// When it runs out by itself.
    pub(crate) fn runs_out(&self) -> Option<Timestamp> {
        self.fields.expires_at.filter(|_| self.status == Status::Active)
    }

    /// Whether somebody may see it: what is private is for its author and for people.
    pub(crate) fn is_seen_by(&self, who: &Principal) -> bool {
        !self.is_private() || self.author == *who || !matches!(who, Principal::Agent(_))
    }

    /// Whether its author keeps it to themselves.
    pub(crate) fn is_private(&self) -> bool {
        self.fields.visibility == Some(Visibility::Private)
    }

    /// It enters a state.
    pub(crate) fn enter(&mut self, to: Status, at: Timestamp) {
        self.status = to;
        let fields = &mut self.fields;
        fields.stamps.insert(to, at);
        match to {
            Status::InProgress | Status::Started if fields.started_at.is_none() => {
                fields.started_at = Some(at);
            }
            Status::Done | Status::Completed => fields.completed_at = Some(at),
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
