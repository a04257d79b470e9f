//! Files of workers that cannot reach the protocol: their result, and heartbeats.
//!
//! A result file names its assignment, and the attempt and nonce of the offer, so that one from an
//! earlier attempt or another lane is recognised as stale. The type here is also the published
//! schema. This module interprets names and contents; other code reads the files.

use althing_engine::screen::repeated;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::form;

/// Name of the result file, at the root of the worktree.
pub const RESULT_FILE: &str = "LANE-RESULT.json";
/// Version of the result file's schema. Files with the same major version are read.
pub const SCHEMA_VERSION: &str = "1.0";
/// Id of the schema.
pub const SCHEMA_ID: &str = "urn:althing:lane-result:1.0";
/// Id of the heartbeat schema.
const HEARTBEAT_SCHEMA_ID: &str = "urn:althing:heartbeat:1.0";
/// Largest result file, in bytes.
pub const RESULT_BYTES_MAX: u64 = 256 * 1024;
/// Longest time another clock may be ahead, in microseconds, before it is ignored.
pub const AHEAD_MAX_US: u64 = 5 * 60 * 1_000_000;
/// Prefix of file names that belong to the protocol and not to the work.
const OWN_PREFIX: &str = ".brainclaw";
const HEARTBEAT_PREFIX: &str = ".brainclaw-heartbeat-";

/// Outcome of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The work is done.
    Completed,
    /// Waits for something else.
    Blocked,
    /// The work failed.
    Failed,
}

/// Verdict of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Approved as it is.
    Approve,
    /// Changes are required.
    RequestChanges,
}

/// A product of a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// Kind of artifact.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 100))]
    pub sort: String,
    /// Location: a path, a commit, an address.
    #[serde(rename = "ref")]
    #[schemars(length(min = 1, max = 400))]
    pub place: String,
    /// Description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1000))]
    pub description: Option<String>,
}

/// The result of a lane, as a worker leaves it at the root of its worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LaneResult {
    /// Version of this schema that the file follows; 1.0 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"^1(\.[0-9]+)?$"))]
    pub schema_version: Option<String>,
    /// The assignment, by its id or short label.
    #[schemars(length(min = 1, max = 100))]
    pub assignment_id: String,
    /// Outcome.
    pub status: Outcome,
    /// Summary in a few sentences.
    #[schemars(length(min = 1, max = 16000))]
    pub summary: String,
    /// The attempt, as the offer named it. May be left out of the first one.
    #[serde(default, alias = "attempt_epoch", skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The nonce of the offer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100))]
    pub nonce: Option<String>,
    /// Changed files, relative to the worktree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 2000), inner(length(min = 1, max = 400)))]
    pub files_changed: Vec<String>,
    /// Products of the work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub artifacts: Vec<Artifact>,
    /// Other remarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16000))]
    pub notes: Option<String>,
    /// Of a review: its verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_verdict: Option<Verdict>,
    /// Of a review: its reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16000))]
    pub review_summary: Option<String>,
    /// Unknown fields; they are ignored and reported.
    #[serde(flatten)]
    #[schemars(skip)]
    pub other: Map<String, Value>,
}

/// The schema, made from the type that reads the file.
pub fn schema() -> Value {
    let settings = schemars::generate::SchemaSettings::draft07();
    let mut schema = settings.into_generator().into_root_schema_for::<LaneResult>();
    schema.insert("$id".to_owned(), SCHEMA_ID.into());
    // A field that a later minor version adds is no fault.
    schema.insert("additionalProperties".to_owned(), true.into());
    schema.to_value()
}

/// The schema of a heartbeat file. Its name identifies the assignment and its modification time the
/// heartbeat, so it may be empty or hold any text: its content is not read.
pub fn heartbeat_schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": HEARTBEAT_SCHEMA_ID,
        "title": "Heartbeat",
        "description": format!(
            "A sign of life of whoever works on an assignment, in {HEARTBEAT_PREFIX}<assignment id> at \
             the root of its worktree. The time the file was last changed is what counts; it may be \
             empty."
        ),
        "type": "object",
        "properties": {
            "schema_version": { "type": "string", "pattern": r"^1(\.[0-9]+)?$" },
            "assignment_id": { "type": "string", "maxLength": 100 },
            "attempt": { "type": "integer", "minimum": 1 },
            "nonce": { "type": "string", "maxLength": 100 },
            "run_id": { "type": "string", "maxLength": 100 },
        },
        "additionalProperties": true,
    })
}

/// Reads a result file, or explains in a sentence why it is invalid.
pub fn read(bytes: &[u8]) -> Result<LaneResult, String> {
    if bytes.len() as u64 > RESULT_BYTES_MAX {
        return Err(format!("{RESULT_FILE} is longer than {RESULT_BYTES_MAX} bytes"));
    }
    let result: LaneResult = serde_json::from_slice(bytes).map_err(|error| unread(&error))?;
    check(&result)?;
    Ok(result)
}

/// Describes where a file is invalid, without naming Rust types.
fn unread(error: &serde_json::Error) -> String {
    let why = match form::ParseError::read(&error.to_string()) {
        form::ParseError::Ours(message) => message,
        form::ParseError::Word(what, word) => format!("'{}' {what}", repeated(&word)),
        form::ParseError::Sort => "a value is of another sort than it should be".to_owned(),
    };
    let (line, column) = (error.line(), error.column());
    format!("{RESULT_FILE}, line {line}, column {column}: {why}")
}

fn check(result: &LaneResult) -> Result<(), String> {
    let version = result.schema_version.as_deref().unwrap_or(SCHEMA_VERSION);
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    if major != "1" || minor.is_empty() || !minor.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("schema_version {version:?} is not one of 1.x"));
    }
    within("assignment_id", Some(&result.assignment_id), 1, 100)?;
    within("summary", Some(&result.summary), 1, 16_000)?;
    within("nonce", result.nonce.as_ref(), 0, 100)?;
    within("notes", result.notes.as_ref(), 0, 16_000)?;
    within("review_summary", result.review_summary.as_ref(), 0, 16_000)?;
    if result.files_changed.len() > 2_000 || result.artifacts.len() > 64 {
        return Err("more than 2000 files_changed or 64 artifacts".to_owned());
    }
    for path in &result.files_changed {
        within("files_changed", Some(path), 1, 400)?;
    }
    for artifact in &result.artifacts {
        within("artifacts.type", Some(&artifact.sort), 1, 100)?;
        within("artifacts.ref", Some(&artifact.place), 1, 400)?;
        within("artifacts.description", artifact.description.as_ref(), 0, 1_000)?;
    }
    Ok(())
}

fn within(name: &str, text: Option<&String>, min: usize, max: usize) -> Result<(), String> {
    let Some(text) = text else { return Ok(()) };
    let length = text.chars().count();
    if length < min || (min > 0 && text.trim().is_empty()) {
        return Err(format!("{name} is empty"));
    }
    if length > max {
        return Err(format!("{name} has {length} characters, more than {max}"));
    }
    Ok(())
}

/// The offer that a result must answer.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The names of the assignment: its id and its short label.
    pub names: &'a [&'a str],
    /// Number of the attempt.
    pub attempt: u32,
    /// The nonce it was offered with.
    pub nonce: Option<&'a str>,
}

/// Reasons why a result does not answer the offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stale {
    /// For another assignment.
    OtherAssignment,
    /// Of another attempt, or of an unnamed one though there were several.
    OtherAttempt,
    /// With the nonce of another offer.
    OtherNonce,
}

impl Stale {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Stale::OtherAssignment => "other_assignment",
            Stale::OtherAttempt => "other_attempt",
            Stale::OtherNonce => "other_nonce",
        }
    }
}

impl LaneResult {
    /// Whether this answers the offer. Each attempt has another nonce, so a result with the nonce
    /// need not name the attempt; one that names neither is of the first.
    pub fn fits(&self, offer: &Offer<'_>) -> Result<(), Stale> {
        if !offer.names.contains(&self.assignment_id.as_str()) {
            return Err(Stale::OtherAssignment);
        }
        match (self.nonce.as_deref(), offer.nonce) {
            (Some(own), Some(asked)) if own != asked => return Err(Stale::OtherNonce),
            _ => {}
        }
        let is_current = match self.attempt {
            Some(attempt) => attempt == offer.attempt,
            None => offer.attempt == 1,
        };
        if is_current { Ok(()) } else { Err(Stale::OtherAttempt) }
    }

    /// The fields that are not in the schema and are ignored.
    pub fn ignored(&self) -> Vec<&str> {
        // The reference's fence and review fields are known and not needed.
        const KNOWN: &[&str] = &[
            "turn_id",
            "run_id",
            "execution_contract_hash",
            "workspace_digest",
            "artifact_type",
            "body",
        ];
        self.other.keys().map(String::as_str).filter(|name| !KNOWN.contains(name)).collect()
    }
}

/// Evidence of work, strongest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// A result file.
    ResultFile,
    /// A commit after the offer.
    Commit,
    /// The heartbeat file.
    HeartbeatFile,
    /// A changed file of the worktree.
    WorktreeFile,
    /// The acknowledgement of the offer.
    AckFile,
}

/// A sign of life and its time, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sign {
    /// The evidence.
    pub evidence: Evidence,
    /// Time, in microseconds.
    pub at: u64,
}

/// The time that a file or commit claims, if plausible. A clock a little ahead counts as now; one
/// far ahead is ignored.
pub fn believed(at: u64, now: u64) -> Option<u64> {
    (at <= now.saturating_add(AHEAD_MAX_US)).then_some(at.min(now))
}

/// The signs given at a moment or later, strongest evidence first.
pub fn since(signs: &[Sign], from: u64) -> Vec<Sign> {
    let mut signs: Vec<Sign> = signs.iter().copied().filter(|sign| sign.at >= from).collect();
    signs.sort_by_key(|sign| (sign.evidence, u64::MAX - sign.at));
    signs
}

/// Paths of an assignment's heartbeats, relative to its worktree.
pub fn heartbeat_files(assignment: &str) -> [String; 2] {
    [
        format!("{HEARTBEAT_PREFIX}{assignment}"),
        format!(".brainclaw/coordination/runtime/signal/{assignment}.heartbeat"),
    ]
}

/// Path of the acknowledgement of an offer, relative to the worktree.
pub fn ack_file(assignment: &str) -> String {
    format!(".brainclaw/coordination/runtime/ack/{assignment}.ack")
}

/// Whether the file at a path belongs to the protocol and is not work to keep.
pub fn is_own(path: &[u8]) -> bool {
    let mut parts = path.split(|byte| *byte == b'/');
    let is_result = path.eq_ignore_ascii_case(RESULT_FILE.as_bytes());
    is_result || parts.any(|part| part.starts_with(OWN_PREFIX.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(rest: &str) -> LaneResult {
        let head = r#""assignment_id":"asgn_00000001","status":"completed","summary":"Done.""#;
        read(format!("{{{head}{rest}}}").as_bytes()).unwrap()
    }

    #[test]
    fn the_schema_matches_the_reader() {
        let schema = schema();
        let required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(required, ["assignment_id", "status", "summary"]);
        assert_eq!(schema["properties"]["summary"]["maxLength"], 16_000);
        assert!(schema["properties"]["other"].is_null(), "{schema}");
        for name in required {
            let mut whole = serde_json::to_value(result("")).unwrap();
            whole.as_object_mut().unwrap().remove(name);
            let why = read(whole.to_string().as_bytes()).unwrap_err();
            assert!(why.contains(name), "{why}");
        }
    }

    #[test]
    fn files_that_are_no_results_are_refused_with_the_reason() {
        let head = r#"{"assignment_id":"asgn#1","status":"completed","summary":"#;
        let long = "x".repeat(16_001);
        for (text, reason) in [
            ("", "EOF"),
            ("[]", "of another sort"),
            (r#"{"assignment_id":"a","status":"perhaps","summary":"x"}"#, "perhaps"),
            (&format!("{head}\"  \"}}"), "summary is empty"),
            (&format!("{head}\"{long}\"}}"), "more than 16000"),
            (&format!("{head}\"x\",\"schema_version\":\"2.0\"}}"), "2.0"),
            (&format!("{head}\"x\",\"artifacts\":[{{\"type\":\"a\"}}]}}"), "ref"),
        ] {
            let why = read(text.as_bytes()).unwrap_err();
            assert!(why.contains(reason), "{text:.60}: {why}");
        }
        assert!(read(&vec![b' '; 300_000]).unwrap_err().contains("longer"));
        let later =
            result(r#","schema_version":"1.7","mood":"good","turn_id":"t"}"#.trim_end_matches('}'));
        assert_eq!(later.ignored(), ["mood"], "a later minor version is read");
    }

    #[test]
    fn a_result_answers_one_offer() {
        let names = ["asgn_00000001", "asgn#1"];
        let offer = |attempt, nonce| Offer { names: &names, attempt, nonce };
        let plain = result("");
        assert_eq!(plain.fits(&offer(1, Some("n"))), Ok(()));
        assert_eq!(plain.fits(&offer(2, None)), Err(Stale::OtherAttempt));
        assert_eq!(
            plain.fits(&Offer { names: &["asgn_00000002"], ..offer(1, None) }),
            Err(Stale::OtherAssignment)
        );
        let second = result(r#","attempt_epoch":2,"nonce":"n""#);
        assert_eq!(second.fits(&offer(2, Some("n"))), Ok(()));
        assert_eq!(second.fits(&offer(3, Some("n"))), Err(Stale::OtherAttempt));
        assert_eq!(second.fits(&offer(2, Some("m"))), Err(Stale::OtherNonce));
    }

    #[test]
    fn a_clock_a_little_ahead_means_now() {
        let now = 1_000_000_000_000;
        assert_eq!(believed(now - 1, now), Some(now - 1));
        assert_eq!(believed(now + AHEAD_MAX_US, now), Some(now));
        assert_eq!(believed(now + AHEAD_MAX_US + 1, now), None);
    }

    #[test]
    fn stronger_evidence_comes_first() {
        let sign = |evidence, at| Sign { evidence, at };
        let signs = [
            sign(Evidence::WorktreeFile, 9),
            sign(Evidence::HeartbeatFile, 5),
            sign(Evidence::Commit, 2),
            sign(Evidence::ResultFile, 6),
        ];
        let order: Vec<Evidence> = since(&signs, 5).iter().map(|sign| sign.evidence).collect();
        assert_eq!(order, [Evidence::ResultFile, Evidence::HeartbeatFile, Evidence::WorktreeFile]);
    }

    #[test]
    fn the_protocols_own_files_are_no_work() {
        for own in [
            "LANE-RESULT.json",
            ".brainclaw-heartbeat-asgn_1",
            ".brainclaw/x/y",
            "a/.brainclaw.yml",
        ] {
            assert!(is_own(own.as_bytes()), "{own}");
        }
        for work in ["src/lib.rs", "docs/LANE-RESULT.json", "brainclaw.md"] {
            assert!(!is_own(work.as_bytes()), "{work}");
        }
    }
}
