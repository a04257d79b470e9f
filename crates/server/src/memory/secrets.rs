//! Secrets: text is looked through before it is stored, since what is on the trail stays there.

use althing_dialects::memory::secrets::{Finding, scan};
use serde_json::{Map, Value, json};

use super::Verbs;
use super::seat::Secrets;
use crate::fault::Fault;

impl Verbs<'_> {
    /// Refuses what looks like a secret, or says so. No secret is repeated in the answer.
    pub(super) fn check_secrets(&self, data: &Map<String, Value>) -> Result<Vec<Value>, Fault> {
        let mut found: Vec<(String, Finding)> = Vec::new();
        for (name, value) in data {
            look_through(name, value, &mut found);
        }
        found.retain(|(_, finding)| finding.is_leak());
        let told = |(field, finding): &(String, Finding)| {
            let Finding { what, excerpt, .. } = finding;
            json!({ "field": field, "what": what, "excerpt": excerpt })
        };
        let Some((field, first)) = found.first() else { return Ok(Vec::new()) };
        let details: Vec<Value> = found.iter().map(told).collect();
        let message = format!("'{field}' seems to hold a secret: {}", first.excerpt);
        match self.seat.secrets() {
            Secrets::Strict => {
                let way = "take it out; what is stored once stays on the trail";
                let fault = Fault::usage(format!("{message}; {way}"));
                Err(fault.with(json!({ "findings": details })))
            }
            Secrets::Warn => Ok(vec![message.into()]),
        }
    }

    /// The same for single texts, each with the name of its argument.
    pub(super) fn check_words(&self, said: &[(&str, Option<&str>)]) -> Result<Vec<Value>, Fault> {
        let given =
            said.iter().filter_map(|(name, text)| Some(((*name).to_owned(), (*text)?.into())));
        self.check_secrets(&given.collect())
    }
}

fn look_through(name: &str, value: &Value, found: &mut Vec<(String, Finding)>) {
    match value {
        Value::String(text) => {
            found.extend(scan(text).into_iter().map(|finding| (name.to_owned(), finding)));
        }
        Value::Array(list) => list.iter().for_each(|one| look_through(name, one, found)),
        Value::Object(own) => {
            for (inner, value) in own {
                look_through(&format!("{name}.{inner}"), value, found);
            }
        }
        _ => {}
    }
}
