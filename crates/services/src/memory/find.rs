//! `find` and `get`

use althing_dialects::memory::budget::{Budget, CHARS_DEFAULT};
use althing_dialects::memory::entity;
use althing_dialects::memory::filter::{self, Filter};
use althing_dialects::memory::item::{
    confidence, is_auto, is_called, is_legacy, item, kernel_name,
};
use althing_dialects::memory::words::counted;
use althing_kernel::AgentName;
use althing_kernel::blackboard::Label;
use althing_kernel::records::{Kind, Record, RecordId, Status};
use serde_json::{Map, Value, json};

use super::args::{Find, Get};
use super::claims::{self, Claim, Found, surfaces};
use super::hints::unknown;
use super::session::Present;
use super::{Verb, Verbs};
use crate::error::Error;

/// Search results before they are cut to a page.
#[derive(Default)]
struct Hits {
    items: Vec<Value>,
    total: usize,
    legacy: usize,
    unsure: usize,
    resolved: usize,
    /// Whether ended claims were left out of the search.
    over: bool,
}

impl Hits {
    /// Counts a match, and adds it if it is on the page.
    fn add(
        &mut self,
        filter: &Filter,
        show: impl FnOnce() -> Result<Value, Error>,
    ) -> Result<(), Error> {
        let at = self.total;
        self.total += 1;
        if at >= filter.offset && self.items.len() < filter.limit {
            self.items.push(show()?);
        }
        Ok(())
    }
}

impl Verbs<'_> {
    pub(super) fn find(&self, args: &Find) -> Result<Value, Error> {
        let mut filter = Filter::read(args.entity, &args.filter).map_err(Error::usage)?;
        filter.of(&self.principal());
        if let Some(limit) = &args.limit {
            filter.limit = filter::limit(limit).map_err(Error::usage)?;
        }
        if let Some(offset) = &args.offset {
            filter.offset = filter::offset(offset).map_err(Error::usage)?;
        }
        let budget = Budget::new(CHARS_DEFAULT, args.budget_tokens).map_err(Error::usage)?;
        let present = self.present()?;
        let mut hits = match args.entity {
            Kind::Claim => found_claims(&present, &filter)?,
            kind => found_records(&present, kind, &filter)?,
        };
        for found in &mut hits.items {
            only(found, &args.fields);
        }
        Ok(page(args, &filter, budget, hits))
    }

    pub(super) fn get(&self, args: &Get) -> Result<Value, Error> {
        let budget = Budget::new(CHARS_DEFAULT, args.budget_tokens).map_err(Error::usage)?;
        let present = self.present()?;
        let found = fetch(&present, args.entity, &args.id)?;
        let rest = json!({ "entity": args.entity });
        let mut page = budget.page(&rest, vec![found]);
        Ok(json!({ "entity": args.entity, "item": page.items.pop() }))
    }
}

/// One item in full, by its id.
pub(super) fn fetch(present: &Present, kind: Kind, text: &str) -> Result<Value, Error> {
    if let Some(own) = present.state.memory().with_key(kind, text) {
        return Ok(item(own, present.now));
    }
    let id = entity::id(kind, text).map_err(Error::usage)?;
    if kind == Kind::Claim {
        return match claims::find(present, id)? {
            Found::Known(claim) => claim.item(present),
            Found::Over => Ok(over(id)),
        };
    }
    Ok(item(&present.state.shown(record(present, id)?), present.now))
}

/// The records that match a filter.
fn found_records(present: &Present, kind: Kind, filter: &Filter) -> Result<Hits, Error> {
    let mut hits = Hits::default();
    for record in present.state.memory().newest(kind, None) {
        let shown = present.state.shown(record);
        let record = shown.as_ref();
        if !fits(record, filter) {
            continue;
        }
        if hides(record, filter, &mut hits) {
            continue;
        }
        hits.add(filter, || Ok(item(record, present.now)))?;
    }
    Ok(hits)
}

/// The claims that match a filter.
fn found_claims(present: &Present, filter: &Filter) -> Result<Hits, Error> {
    let wanted = filter.scope.as_deref().map(surfaces).transpose()?;
    let is_open = filter.status.is_none_or(|status| status == Status::Open);
    let mut all = Vec::new();
    if is_open {
        all.extend(match &wanted {
            Some(wanted) => claims::overlapping(present, wanted),
            None => claims::live(&present.state, present.now),
        });
    }
    if filter.status.is_some_and(|status| status != Status::Open) {
        all.extend(claims::ended(present)?);
    }
    let fits = |claim: &Claim| {
        filter.status.is_none_or(|status| claim.status == status)
            && [&filter.agent, &filter.author]
                .into_iter()
                .flatten()
                .all(|name| is_called(&claim.holder, name))
            && filter.plan.is_none_or(|plan| claim.plan() == Some(plan))
            && filter.has_tags(&[])
            && filter.source.as_deref().is_none_or(|source| source == "lease")
            && filter.auto_generated != Some(true)
            // Open claims were found by their surfaces already.
            && (claim.status == Status::Open
                || wanted.as_ref().is_none_or(|wanted| claim.meets(wanted)))
    };
    // Claims are numbered, so the newest number tells how many were ever opened.
    let opened = usize::try_from(present.state.epoch()).unwrap_or(usize::MAX);
    let over = filter.status.is_none() && opened > all.len();
    let mut hits = Hits { over, ..Hits::default() };
    for claim in all.iter().filter(|claim| fits(claim)) {
        hits.add(filter, || Ok(claim.listed(present)))?;
    }
    Ok(hits)
}

/// A record by its id.
pub(super) fn record(present: &Present, id: RecordId) -> Result<&Record, Error> {
    present.state.memory().record(id).ok_or_else(|| unknown(id))
}

/// An item for a claim that ended too long ago to be looked up.
fn over(id: RecordId) -> Value {
    json!({
        "id": id.to_string(),
        "short_label": id.label(),
        "kind": Kind::Claim,
        "status": "over",
        "text": "this claim ended; `althing trail` shows how",
    })
}

fn fits(record: &Record, filter: &Filter) -> bool {
    let fields = &record.fields;
    let agent = fields.agent.as_ref().map(AgentName::as_str);
    let [to, assignee] = [&fields.to, &fields.assignee].map(|own| own.as_ref().map(Label::as_str));
    let is_any = |asked: &Option<String>, own: &[Option<&str>]| {
        let Some(asked) = asked.as_deref().map(kernel_name) else { return true };
        own.iter().flatten().any(|own| kernel_name(own) == asked)
    };
    let tags: Vec<&str> = record.tags.as_slice().iter().map(Label::as_str).collect();
    filter.status.is_none_or(|status| record.status == status)
        && filter.has_tags(&tags)
        && filter.author.as_deref().is_none_or(|name| is_called(&record.author, name))
        && filter.plan.is_none_or(|plan| fields.plan_id == Some(plan))
        && filter.auto_generated.is_none_or(|auto| is_auto(record) == auto)
        && filter.source.as_deref().is_none_or(|source| {
            let own = record.provenance.source.as_ref();
            own.is_some_and(|own| own.as_str() == source)
                || record.provenance.kind.as_str() == source
        })
        && is_any(&filter.agent, &[agent, to])
        && is_any(&filter.to, &[to])
        && is_any(&filter.assignee, &[assignee])
}

/// Whether a match is hidden by default: legacy, low-confidence and resolved records are counted
/// instead.
fn hides(record: &Record, filter: &Filter, hits: &mut Hits) -> bool {
    let is_resolved = record.id.kind == Kind::Candidate && !record.is_live();
    let count = if is_legacy(record) && !filter.legacy {
        &mut hits.legacy
    } else if is_auto(record) && confidence(record) < filter.confidence {
        &mut hits.unsure
    } else if is_resolved && filter.status.is_none() {
        &mut hits.resolved
    } else {
        return false;
    };
    *count += 1;
    true
}

/// Removes all fields but the requested ones and the id.
fn only(item: &mut Value, fields: &[String]) {
    if let (Value::Object(own), false) = (item, fields.is_empty()) {
        own.retain(|name, _| name == "id" || fields.iter().any(|field| field == name));
    }
}

/// The answer: as many items as the budget allows, and the offset of the next page.
fn page(args: &Find, filter: &Filter, budget: Budget, hits: Hits) -> Value {
    let kind = args.entity;
    let mut answer = json!({
        "entity": kind,
        "total": hits.total,
        "excluded_legacy": hits.legacy,
        "excluded_low_confidence_auto_reflect": hits.unsure,
        "warnings": [],
    });
    if hits.resolved > 0 {
        answer["excluded_resolved"] = hits.resolved.into();
        let left_out = counted(hits.resolved, "candidate");
        answer["hint"] = format!(
            "{left_out} that were accepted, rejected or merged left out; filter by 'status' to see them"
        )
        .into();
    }
    if hits.over {
        answer["excluded_over"] = true.into();
        answer["hint"] = "released and expired claims are left out; filter by 'status' released \
                          or expired to see recent ones"
            .into();
    }
    let page = budget.page(&answer, hits.items);
    let end = filter.offset + page.items.len();
    answer["returned"] = page.items.len().into();
    answer["has_more"] = (end < hits.total).into();
    if end < hits.total {
        answer["next_offset"] = end.into();
        let mut again: Map<String, Value> = args.filter.clone();
        again.insert("offset".to_owned(), end.into());
        again.insert("limit".to_owned(), filter.limit.into());
        let args = json!({ "entity": kind, "filter": again });
        answer["next_actions"] =
            json!([{ "tool": Verb::Find.tool(), "args": args, "when": "for the next page" }]);
    }
    if page.omitted > 0 {
        answer["omitted_for_size"] = page.omitted.into();
    }
    answer["items"] = page.items.into();
    answer
}
