//! Any program as an agent, described in the settings.

use std::collections::BTreeMap;

use super::launch::{Launch, Request, Session, utf8};
use super::parser::Format;
use crate::error::WorkshopError;

/// A program from the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CustomAgent {
    /// Its name.
    pub name: String,
    /// The program and its arguments. `{task}`, `{workspace}`, `{brief_file}` and `{model}` are
    /// filled in; the brief also comes on standard input.
    pub command: Vec<String>,
    /// How it reports what it used.
    pub usage: UsageReport,
    /// Variables added to its environment.
    pub env: BTreeMap<String, String>,
}

/// How a program reports what it used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UsageReport {
    /// It does not: its output is text.
    #[default]
    None,
    /// In JSON lines on standard output.
    JsonLines,
}

impl CustomAgent {
    /// The form of its output.
    pub fn format(&self) -> Format {
        match self.usage {
            UsageReport::None => Format::Plain,
            UsageReport::JsonLines => Format::JsonLines,
        }
    }

    pub(super) fn launch(&self, request: &Request<'_>) -> Result<Launch, WorkshopError> {
        let name = &self.name;
        let brief = utf8(request.brief)?;
        let values = [
            ("{task}", request.task),
            ("{workspace}", request.workspace),
            ("{brief_file}", &brief),
            ("{model}", request.model.unwrap_or_default()),
        ];
        let mut words = self.command.iter().map(|word| fill(word, &values));
        let Some(program) = words.next().filter(|program| !program.is_empty()) else {
            return Err(WorkshopError::new(format!("the agent {name} has no command")));
        };
        let mut args: Vec<String> = words.collect();
        args.extend(request.extra.iter().cloned());
        if let Session::Resume(id) = request.session {
            let message = format!("the agent {name} cannot resume the session {id}");
            return Err(WorkshopError::new(message));
        }
        Ok(Launch {
            program: program.into(),
            args,
            env: self.env.clone(),
            env_remove: Vec::new(),
            stdin: Some(request.brief.to_owned()),
            session: None,
        })
    }
}

/// Fills in every placeholder, once: values are not looked through again.
fn fill(word: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = values.iter().find(|(name, _)| rest.starts_with(name));
        let (text, length) = known.map_or(("{", 1), |(name, value)| (*value, name.len()));
        filled.push_str(text);
        rest = &rest[length..];
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_once() {
        let values = [("{task}", "a{model}b"), ("{model}", "m")];
        assert_eq!(fill("x{task}y{model}{other}{", &values), "xa{model}bym{other}{");
    }
}
