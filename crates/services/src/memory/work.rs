//! `work`: opens a session, claims a scope and returns what the caller should know first.

use althing_dialects::frugal::haid::called;
use althing_dialects::memory::PROTOCOL;
use althing_dialects::memory::budget::{Budget, CHARS_DEFAULT};
use althing_dialects::memory::entity;
use althing_dialects::memory::facade::Facade;
use althing_dialects::memory::item::brief;
use althing_dialects::memory::moment::utc;
use althing_dialects::memory::words::from_now;
use althing_kernel::lease::{Open, Surfaces};
use althing_kernel::query::sessions;
use althing_kernel::records::work::{Begin, Begun, ClaimStatus};
use althing_kernel::records::{Kind, Record, RecordId, Status};
use althing_kernel::{Command, Reply, Timestamp};
use serde_json::{Value, json};
use std::time::Instant;

use super::args::{Intent, Work};
use super::board::{marked, row};
use super::claims::{self, Claim, Found};
use super::context::{change, changed_since};
use super::find::record;
use super::ranking::{Wanted, density, open_plans, stale};
use super::session::Present;
use super::write::request_label;
use super::{Verb, Verbs};
use crate::error::Error;

/// The longest compact answer, in characters.
pub(super) const COMPACT_CHARS: usize = 5_000;

/// Longest list in a full answer; the budget may shorten it further.
const LISTED_MAX: usize = 500;

/// The lengths of the lists in an answer.
struct Lengths {
    selected: usize,
    changes: usize,
    plans: usize,
    warnings: usize,
    waiting: usize,
}

const COMPACT: Lengths = Lengths { selected: 5, changes: 5, plans: 5, warnings: 3, waiting: 5 };
const FULL: Lengths = Lengths {
    selected: 20,
    changes: LISTED_MAX,
    plans: LISTED_MAX,
    warnings: 5,
    waiting: LISTED_MAX,
};

/// The point from which changes are news to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Since {
    /// The entry up to which they have looked.
    Look(u64),
    /// The time their session began.
    Session(Timestamp),
    /// Their first visit: nothing is news.
    First,
    /// Unknown: what people have seen is not tracked.
    Unknown,
}

impl Intent {
    fn name(self) -> &'static str {
        match self {
            Intent::Execute => "execute",
            Intent::Consult => "consult",
            Intent::Resume => "resume",
            Intent::Review => "review",
        }
    }
}

impl Verbs<'_> {
    pub(super) fn work(&self, args: &Work) -> Result<Value, Error> {
        let start = Instant::now();
        let compact = args.compact.unwrap_or(true);
        let chars = if compact { COMPACT_CHARS } else { CHARS_DEFAULT };
        let budget = Budget::new(chars, args.budget_tokens).map_err(Error::usage)?;
        let scope = args.scope.as_deref().filter(|scope| !scope.trim().is_empty());
        let scope = scope.map(claims::surfaces).transpose()?;
        let before = self.present()?;
        let plan = args.plan.as_deref().map(|plan| entity::id(Kind::Plan, plan)).transpose();
        let plan = plan.map_err(Error::usage)?;
        if let Some(plan) = plan {
            record(&before, plan)?;
        }
        let since = self.anchor(&before, args.intent);
        let mut facade = Facade::new(args.intent.name());
        let claim = match &scope {
            Some(scope) if args.intent == Intent::Execute => {
                Some(wanted(args, scope.clone(), plan)?)
            }
            _ => None,
        };
        let looked = matches!(since, Since::First) || self.news(&before, since, 0).1 > 0;
        let known = self.session(&before.state, before.now)?;
        let begun = self.begin(&before, claim.clone(), looked)?;
        let present = self.present()?;
        if let Some(session) = &begun.session {
            let opened = begun.session_opened || known.as_ref() != Some(session);
            let action = if opened { "opened" } else { "reused" };
            facade.effect(action, "session", session.as_str());
        }
        facade.field("session_id", begun.session.as_ref().map(|id| id.as_str().to_owned()));
        let over = plan.and_then(|plan| before.state.memory().record(plan));
        if let Some(over) = over.filter(|plan| claim.is_some() && plan.is_terminal()) {
            facade.warn("plan_is_over", format!("{} is {}", over.id, over.word()));
        }
        let claim = match &claim {
            Some(open) => claimed(&present, args, open, &begun, &mut facade)?,
            None => self.unclaimed(&present, args, scope.as_ref(), &mut facade),
        };
        let lengths = if compact { &COMPACT } else { &FULL };
        self.seed(&present, args, since, lengths, &mut facade);
        next_steps(self, &present, args, claim.as_ref(), &mut facade);
        if compact {
            facade.result("_compact", true);
            facade.result("hint", "compact: false, or bclaw_context, shows more");
        }
        let mut answer = budget.shorten(facade.answer());
        let took = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        answer["duration_ms"] = took.into();
        Ok(answer)
    }

    /// The point from which changes are news: the beginning of the caller's session for `resume`,
    /// else their last look.
    fn anchor(&self, before: &Present, intent: Intent) -> Since {
        let Some(agent) = self.agent() else { return Since::Unknown };
        if intent == Intent::Resume {
            let open = sessions(&before.state, before.now);
            let own = open.iter().filter(|session| session.agent == agent);
            if let Some(began) = own.map(|session| session.opened_at).min() {
                return Since::Session(began);
            }
        }
        let looked = before.state.agent(&agent).and_then(|known| known.looked);
        looked.map_or(Since::First, Since::Look)
    }

    /// Opens the session and the claim with one command. The command also marks everything up to
    /// now as seen; changes made before the answer is built are reported twice rather than never.
    fn begin(&self, before: &Present, claim: Option<Open>, looked: bool) -> Result<Begun, Error> {
        let asked = Begin { claim, client: Some(self.label()), looked };
        match self.client_in(before)?.execute(Command::WorkBegin(asked)) {
            Ok(Reply::Begun(begun)) => Ok(*begun),
            Ok(other) => Err(Error::unexpected(&other)),
            // The arguments are called `task` and `scope`; the command names them as fields of the claim.
            Err(error) => Err(Error::from(error).reworded(|message| {
                message.replace("'claim.purpose'", "'task'").replace("'claim.surfaces", "'scope")
            })),
        }
    }

    /// Reports that nothing is claimed, and which claims overlap the scope.
    fn unclaimed(
        &self,
        present: &Present,
        args: &Work,
        scope: Option<&Surfaces>,
        facade: &mut Facade,
    ) -> Option<Claim> {
        if let Some(scope) = scope {
            report(&claims::in_the_way(present, &self.principal(), scope), present.now, facade);
        } else if args.intent == Intent::Execute {
            facade.warn("no_scope", "nothing was claimed: execute needs a 'scope' to claim");
        }
        facade.field("claim_status", "none");
        None
    }

    /// Adds ranked records, changes, plans and the caller's open work to the answer.
    fn seed(
        &self,
        present: &Present,
        args: &Work,
        since: Since,
        lengths: &Lengths,
        facade: &mut Facade,
    ) {
        let scope = args.scope.as_deref().and_then(|scope| claims::surfaces(scope).ok());
        let target = args.target.as_deref().and_then(|path| super::ranking::path_of(path).ok());
        let path = target.or_else(|| scope.map(|scope| scope.as_slice()[0].as_str().to_owned()));
        let wanted = Wanted {
            path: path.as_deref(),
            text: args.task.as_deref().unwrap_or_default(),
            limit: lengths.selected,
            pending: false,
            fill: true,
        };
        let (news, total) = self.news(present, since, lengths.changes);
        let (after, from) = match since {
            Since::Look(seq) => (Some(seq), None),
            Since::Session(at) => (None, Some(at)),
            Since::First | Since::Unknown => (None, None),
        };
        let plans = open_plans(&present.state);
        facade
            .result("protocol", PROTOCOL)
            .result("context_schema", "althing.memory/1")
            .result("memory_version", present.state.seq())
            .result("memory_density", density(&present.state))
            .result("selected", self.select(present, &wanted).0)
            .result(
                "context_diff",
                news.iter()
                    .map(|record| change(&present.state.shown(record), after, from))
                    .collect::<Vec<Value>>(),
            )
            .result("changed_total", total)
            .result("first_visit", since == Since::First)
            .result("news_since", after.map_or_else(|| json!(from.map(utc)), Value::from))
            .result(
                "plan_summary",
                plans
                    .iter()
                    .take(lengths.plans)
                    .map(|plan| row(&present.state.shown(plan)))
                    .collect::<Vec<Value>>(),
            )
            .result("plan_total", present.state.memory().count(Kind::Plan, Some(true)))
            .result("stale_warnings", stale(&present.state, present.now, lengths.warnings))
            .result("open_work", self.open_work(present, lengths.waiting));
        if let Some(plan) = args.plan.as_deref().and_then(|id| entity::id(Kind::Plan, id).ok())
            && let Ok(record) = record(present, plan)
        {
            facade.result("plan", row(&present.state.shown(record)));
        }
        if let Some(message) = args.message.as_deref()
            && let Ok(id) = entity::id(Kind::Message, message)
            && let Ok(record) = record(present, id)
        {
            facade.result("message", row(record));
        }
    }

    /// The newest changes by others since a point, and the number of all of them. On a first visit
    /// nothing is news.
    fn news<'p>(
        &self,
        present: &'p Present,
        since: Since,
        limit: usize,
    ) -> (Vec<&'p Record>, usize) {
        let mut news = match since {
            Since::Look(seq) => changed_since(present, None, Some(seq)),
            Since::Session(at) => changed_since(present, Some(at), None),
            Since::First | Since::Unknown => Vec::new(),
        };
        let own = self.principal();
        news.retain(|record| record.updated_by != own);
        let total = news.len();
        news.truncate(limit);
        (news, total)
    }

    /// The caller's claims, assignments, handoffs and messages.
    fn open_work(&self, present: &Present, limit: usize) -> Value {
        let own = self.principal();
        let claims = claims::held_by(&present.state, present.now, &own);
        let mut work = json!({ "total": { "claims": claims.len() } });
        work["claims"] = claims.iter().take(limit).map(Claim::conflict).collect();
        for (name, kind) in [
            ("assignments", Kind::Assignment),
            ("handoffs", Kind::Handoff),
            ("messages", Kind::Message),
        ] {
            let waiting = self.context.project().search_cache().waiting(&present.state, &own, kind);
            let records = waiting.iter().filter_map(|id| present.state.memory().record(*id));
            work["total"][name] = waiting.len().into();
            work[name] = records
                .take(limit)
                .map(|record| marked(&present.state.shown(record), present.now))
                .collect();
        }
        work
    }
}

/// Reports the status of the requested claim.
fn claimed(
    present: &Present,
    args: &Work,
    open: &Open,
    begun: &Begun,
    facade: &mut Facade,
) -> Result<Option<Claim>, Error> {
    let Some(epoch) = begun.claim.as_ref().map(|lease| lease.epoch) else {
        let met = begun.collisions.iter();
        let met = met.filter_map(|own| claims::by_epoch(present, own.epoch));
        report(&met.collect::<Vec<Claim>>(), present.now, facade);
        facade.field("claim_status", "conflict");
        if !args.advisory {
            facade.partial();
        }
        return Ok(None);
    };
    let live = claims::by_epoch(present, epoch).filter(|_| begun.claim_status != ClaimStatus::Over);
    let Some(claim) = live else {
        let id = RecordId::claim(epoch);
        let status = match claims::find(present, id)? {
            Found::Known(claim) => claim.status.as_str(),
            Found::Over => "over",
        };
        let message =
            format!("{id} of this request is {status}; claim again with another request id");
        facade.warn("claim_is_over", message).field("claim_status", "none");
        return Ok(None);
    };
    let id = claim.id.to_string();
    let is_new = begun.claim_status == ClaimStatus::Created;
    let (status, action) = if is_new { ("created", "created") } else { ("existing", "reuse") };
    facade.field("claim_status", status).field("claim_id", id.as_str());
    facade.effect(action, "claim", &id).artifact("claim", &id);
    if !is_new && args.ttl.is_some() {
        facade.effect("renewed", "claim", &id);
    }
    if let Some(message) = claims::unchanged(&claim, open).filter(|_| !is_new) {
        facade.warn("claim_unchanged", message);
    }
    facade.result("claim", claim.conflict());
    Ok(Some(claim))
}

/// Builds the requested claim.
fn wanted(args: &Work, scope: Surfaces, plan: Option<RecordId>) -> Result<Open, Error> {
    let open = claims::open(scope, args.task.as_deref(), plan, args.ttl.as_ref())?;
    let request_id = args.request_id.as_deref().map(request_label).transpose()?;
    Ok(Open { request_id, ..open })
}

/// Reports overlapping claims of others.
fn report(others: &[Claim], now: Timestamp, facade: &mut Facade) {
    if others.is_empty() {
        return;
    }
    facade.result("claim_conflicts", others.iter().map(Claim::conflict).collect::<Vec<Value>>());
    for claim in others.iter().take(3) {
        let message = format!(
            "{} holds {} until {} ({}; {})",
            called(&claim.holder),
            brief(&claim.scope(), 80),
            utc(claim.expires_at),
            from_now(claim.expires_at, now),
            claim.id
        );
        facade.warn("scope_already_claimed", message);
    }
}

/// Suggests next tool calls, with arguments that can be used as they are.
fn next_steps(
    verbs: &Verbs<'_>,
    present: &Present,
    args: &Work,
    claim: Option<&Claim>,
    facade: &mut Facade,
) {
    let own = verbs.principal();
    if let Some(claim) = claim {
        let plan = claim.plan().and_then(|plan| present.state.memory().record(plan));
        if let Some(plan) =
            plan.filter(|plan| plan.word() == Status::Open && !present.state.is_governed(plan))
        {
            let to = json!({ "entity": "plan", "id": plan.id.to_string(), "to": "in_progress" });
            facade.next(Verb::Transition.tool(), to, "now, so that others see it");
        }
        let to = json!({ "entity": "claim", "id": claim.id.to_string(), "to": "released" });
        facade.next(Verb::Transition.tool(), to, "when you are done there");
        return;
    }
    let offered = present.state.memory().newest(Kind::Assignment, Some(true));
    let offered = offered.filter(|record| record.status == Status::Offered && record.is_for(&own));
    for record in offered.take(1) {
        let to = json!({ "entity": "assignment", "id": record.id.to_string(), "to": "accepted" });
        facade.next(Verb::Transition.tool(), to, "to accept what was offered to you");
    }
    if let Some(scope) = args.scope.as_deref() {
        let find = json!({ "entity": "claim", "filter": { "scope": scope } });
        facade.next(Verb::Find.tool(), find, "to see who holds what there");
    }
    if present.state.memory().is_empty() {
        // The suggestion needs the text of the task.
        if let Some(text) = args.task.as_deref() {
            let create = json!({ "entity": "plan", "data": { "text": text } });
            facade.next(Verb::Create.tool(), create, "to tell others what you work on");
        }
    } else {
        let board = json!({ "kind": "board" });
        facade.next(Verb::Context.tool(), board, "to see who works on what");
    }
}
