//! What an agent used, read from its own files after it ended. Two agents do not print it.

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use super::event::Usage;
use super::json::{microdollars, number, text};
use super::table::{Adapter, Recorded};

/// Where to look.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// The person's home folder.
    pub home: &'a Path,
    /// Reads a variable of the agent's environment.
    pub variable: fn(&str) -> Option<String>,
    /// The worktree it worked in.
    pub folder: &'a Path,
    /// The session, if it is known.
    pub session: Option<&'a str>,
    /// When the turn was started, in milliseconds since 1970.
    pub since_ms: u64,
}

/// What a turn used, and its session, for an agent that does not print it. The counts are those of
/// the whole session; the caller knows what it used before.
pub fn recorded_usage(adapter: &Adapter, place: &Place<'_>) -> Option<(String, Usage)> {
    match adapter.recorded_usage? {
        Recorded::Copilot => copilot(place),
        Recorded::Continue => continues(place),
    }
}

fn root(place: &Place<'_>, variable: &str, default: &str) -> PathBuf {
    (place.variable)(variable).map_or_else(|| place.home.join(default), PathBuf::from)
}

/// The last of the events of a session says what all of it used.
fn copilot(place: &Place<'_>) -> Option<(String, Usage)> {
    let session = place.session.filter(|session| is_name(session))?;
    let folder = root(place, "COPILOT_HOME", ".copilot").join("session-state").join(session);
    let file = std::fs::File::open(folder.join("events.jsonl")).ok()?;
    let mut usage = None;
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        if !line.contains("session.shutdown") {
            continue;
        }
        let Ok(event) = serde_json::from_str::<Value>(&line) else { continue };
        let models = event
            .pointer("/data/accountingSnapshot/modelMetrics")
            .or_else(|| event.pointer("/data/modelMetrics"))
            .and_then(Value::as_object);
        let Some(models) = models else { continue };
        let sum = models.values().fold(Usage::default(), |sum, model| {
            sum.plus(Usage {
                input: number(model, "/usage/inputTokens"),
                cached: number(model, "/usage/cacheReadTokens"),
                output: number(model, "/usage/outputTokens"),
                cost_microdollars: None,
            })
        });
        usage = Some(sum);
    }
    Some((session.to_owned(), usage?))
}

/// The list of sessions names the folder that each belongs to; the newest since the start is ours.
fn continues(place: &Place<'_>) -> Option<(String, Usage)> {
    let folder = root(place, "CONTINUE_GLOBAL_DIR", ".continue").join("sessions");
    let session = match place.session {
        Some(session) => session.to_owned(),
        None => newest_session(&folder, place)?,
    };
    if !is_name(&session) {
        return None;
    }
    let text = std::fs::read(folder.join(format!("{session}.json"))).ok()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
    let usage = Usage {
        input: number(&value, "/usage/promptTokens"),
        cached: number(&value, "/usage/promptTokensDetails/cachedTokens"),
        output: number(&value, "/usage/completionTokens"),
        cost_microdollars: microdollars(&value, "/usage/totalCost"),
    };
    Some((session, usage))
}

fn newest_session(folder: &Path, place: &Place<'_>) -> Option<String> {
    let list: Vec<Value> =
        serde_json::from_slice(&std::fs::read(folder.join("sessions.json")).ok()?).ok()?;
    let created = |session: &Value| -> Option<u64> { text(session, "/dateCreated")?.parse().ok() };
    let here = |session: &&Value| {
        text(session, "/workspaceDirectory").is_some_and(|own| Path::new(own) == place.folder)
            && created(session).is_some_and(|at| at >= place.since_ms)
    };
    let newest = list.iter().filter(here).max_by_key(|session| created(session))?;
    text(newest, "/sessionId").map(str::to_owned)
}

/// Whether a name of a session is nothing but a name, and leads to no other folder.
fn is_name(session: &str) -> bool {
    !session.is_empty() && session.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::find;

    fn place<'a>(home: &'a Path, session: Option<&'a str>) -> Place<'a> {
        Place { home, variable: |_| None, folder: Path::new("/w"), session, since_ms: 1000 }
    }

    #[test]
    fn copilots_last_count_is_read() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".copilot/session-state/9c28-1");
        std::fs::create_dir_all(&folder).unwrap();
        let events = concat!(
            r#"{"type":"session.start","data":{}}"#,
            "\n",
            r#"{"type":"session.shutdown","data":{"modelMetrics":"#,
            r#"{"m":{"usage":{"inputTokens":1,"outputTokens":1}}}}}"#,
            "\n",
            "garbage session.shutdown\n",
            r#"{"type":"session.shutdown","data":{"accountingSnapshot":{"modelMetrics":"#,
            r#"{"m":{"usage":{"inputTokens":5000,"outputTokens":250,"cacheReadTokens":7}},"#,
            r#""n":{"usage":{"inputTokens":10,"outputTokens":2}}}}}}"#,
            "\n",
        );
        std::fs::write(folder.join("events.jsonl"), events).unwrap();
        let copilot = find("copilot").unwrap();
        let usage = Usage { input: 5010, cached: 7, output: 252, cost_microdollars: None };
        let found = recorded_usage(copilot, &place(home.path(), Some("9c28-1")));
        assert_eq!(found, Some(("9c28-1".to_owned(), usage)));
        for session in [None, Some("../9c28-1"), Some("9c28-2"), Some("")] {
            assert_eq!(recorded_usage(copilot, &place(home.path(), session)), None);
        }
    }

    #[test]
    fn continues_newest_session_in_the_worktree_is_read() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".continue/sessions");
        std::fs::create_dir_all(&folder).unwrap();
        let list = r#"[
            {"sessionId":"old","dateCreated":"900","workspaceDirectory":"/w"},
            {"sessionId":"other","dateCreated":"3000","workspaceDirectory":"/x"},
            {"sessionId":"own","dateCreated":"2000","workspaceDirectory":"/w"}]"#;
        std::fs::write(folder.join("sessions.json"), list).unwrap();
        let session =
            r#"{"usage":{"totalCost":0.0055,"promptTokens":5000,"completionTokens":250}}"#;
        std::fs::write(folder.join("own.json"), session).unwrap();
        let usage = Usage { input: 5000, cached: 0, output: 250, cost_microdollars: Some(5500) };
        let found = recorded_usage(find("cn").unwrap(), &place(home.path(), None));
        assert_eq!(found, Some(("own".to_owned(), usage)));
        assert_eq!(recorded_usage(find("claude").unwrap(), &place(home.path(), None)), None);
    }
}
