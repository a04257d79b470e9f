//! The subscriber: one line for each event, and one for each span when it ends, with its time.
//!
//! It does what this program needs and no more, so that no further crates are built and shipped
//! for a log that is mostly off.

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::filter::Filter;
use crate::output::one_line;

/// The form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Json,
}

/// Writes lines to standard error.
pub(super) struct Lines {
    filter: Filter,
    format: Format,
    next: AtomicU64,
    spans: Mutex<HashMap<u64, Span>>,
}

/// A span that has not ended.
struct Span {
    metadata: &'static Metadata<'static>,
    fields: Fields,
    begun: Instant,
    handles: usize,
}

/// The names and values of a span or an event.
#[derive(Default)]
struct Fields(Map<String, Value>);

thread_local! {
    /// The spans that this thread is in, the innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Lines {
    pub(super) fn new(filter: Filter, format: Format) -> Self {
        Lines { filter, format, next: AtomicU64::new(1), spans: Mutex::default() }
    }

    fn spans(&self) -> MutexGuard<'_, HashMap<u64, Span>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of the spans that this thread is in.
    fn within(&self) -> Vec<&'static str> {
        let spans = self.spans();
        let name = |id: &u64| spans.get(id).map(|span| span.metadata.name());
        ENTERED.with_borrow(|entered| entered.iter().filter_map(name).collect())
    }

    fn write(&self, metadata: &Metadata<'_>, fields: Map<String, Value>, took: Option<Duration>) {
        let within = self.within();
        let line = match self.format {
            Format::Text => text(metadata, &within, fields, took),
            Format::Json => json_line(metadata, &within, fields, took),
        };
        // If standard error is gone, nobody wants to know.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

fn text(
    metadata: &Metadata<'_>,
    within: &[&str],
    mut fields: Map<String, Value>,
    took: Option<Duration>,
) -> String {
    let (now, level, target) = (Timestamp::now(), metadata.level(), metadata.target());
    let mut line = format!("{now:.6} {level:>5} {target}: ");
    for name in within {
        line.push_str(name);
        line.push_str(": ");
    }
    let message = fields.remove("message");
    line.push_str(message.as_ref().and_then(Value::as_str).unwrap_or_else(|| metadata.name()));
    for (name, value) in fields {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        // Writing into a text does not fail.
        let _ = write!(line, " {name}={value}");
    }
    if let Some(took) = took {
        let _ = write!(line, " took={took:?}");
    }
    // Errors quote paths and input, and a terminal would act on what these may hold.
    let mut line = one_line(&line);
    line.push('\n');
    line
}

fn json_line(
    metadata: &Metadata<'_>,
    within: &[&str],
    mut fields: Map<String, Value>,
    took: Option<Duration>,
) -> String {
    let message = fields.remove("message").unwrap_or_else(|| metadata.name().into());
    let mut line = json!({
        "time": format!("{:.6}", Timestamp::now()),
        "level": metadata.level().as_str(),
        "target": metadata.target(),
        "message": message,
        "fields": fields,
        "within": within,
    });
    if let Some(took) = took {
        line["took_us"] = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).into();
    }
    format!("{line}\n")
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.filter.level(metadata.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.filter.most())
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let metadata = attributes.metadata();
        let span = Span { metadata, fields, begun: Instant::now(), handles: 1 };
        self.spans().insert(id, span);
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        if let Some(span) = self.spans().get_mut(&id.into_u64()) {
            values.record(&mut span.fields);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.write(event.metadata(), fields.0, None);
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(at) = entered.iter().rposition(|own| *own == id.into_u64()) {
                entered.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(span) = self.spans().get_mut(&id.into_u64()) {
            span.handles += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut spans = self.spans();
        let Some(span) = spans.get_mut(&id.into_u64()) else { return false };
        span.handles -= 1;
        if span.handles > 0 {
            return false;
        }
        let ended = spans.remove(&id.into_u64());
        drop(spans);
        if let Some(span) = ended {
            self.write(span.metadata, span.fields.0, Some(span.begun.elapsed()));
        }
        true
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}
