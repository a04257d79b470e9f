//! One turn of an agent: starting its process, hearing what it says, and judging how it ended.

use althing_kernel::text::Text;
use althing_kernel::workspace::meter::{Amount, Report as MeterReport};
use althing_kernel::workspace::process::{Outcome, Report};
use althing_kernel::{Command, Rule, Timestamp, WorkspaceId};
use althing_workshop::agents::{
    Agent, Moment, Place, Progress, Request, Retry, Session, Usage, Verdict, Wiring,
    recorded_usage, session_id,
};
use althing_workshop::attempt_tree::AttemptTree;
use althing_workshop::process::{self, Ended, Start, Status};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use super::attempt::{Attempt, write_whole};
use super::brief::feedback;
use super::prepare::{BRIEF, git};
use super::shared::Shared;
use super::team::{AgentKind, Slot};
use crate::context::ProjectContext;
use crate::error::Error;

/// The file with the message of a further turn.
const MESSAGE: &str = "message.md";
/// How much later than the kernel the process that watches over an agent ends it.
const TIMEOUT_SLACK_MS: u64 = 2_000;
/// How long agents rest if their provider does not say how long.
const REST_DEFAULT: Duration = Duration::from_mins(1);
/// The longest rest.
const REST_MAX: Duration = Duration::from_hours(6);

/// The moments at which an agent of a run asks Althing.
const HOOKS: &[Moment] = &[Moment::Edit, Moment::Session, Moment::Prompt, Moment::Stop];

/// A turn to start.
pub(crate) struct Turn<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) attempt: &'a Attempt,
    pub(crate) kind: &'a AgentKind,
    pub(crate) slot: &'a Slot,
    /// The name of the run.
    pub(crate) run: &'a str,
    pub(crate) tree: &'a AttemptTree,
    /// The conversation to go on with.
    pub(crate) session: Option<String>,
    /// What was found after the turn before.
    pub(crate) evidence: Option<&'a str>,
    /// Counts the turns, from 1.
    pub(crate) number: u32,
}

impl Turn<'_> {
    /// Starts the agent. Whoever started it before, or does so at the same time, has done it for both.
    pub(crate) fn start(&self) -> Result<(), Error> {
        let folder = &self.attempt.folder;
        let agent = self.kind.agent()?;
        let session = self.session.as_deref().filter(|_| agent.can_resume());
        let message = self.message(session.is_some() && agent.remembers_brief())?;
        let own = session_id(self.attempt.id.as_str(), self.number);
        let env = self.env();
        let files = folder.join("files");
        let request = Request {
            task: &self.attempt.key,
            workspace: self.attempt.id.as_str(),
            folder: self.tree.path(),
            brief: &message,
            files: &files,
            program: self.kind.program.as_deref(),
            model: self.shared.settings.model.as_deref(),
            session: session.map_or(Session::New(Some(&own)), Session::Resume),
            wiring: Some(Wiring {
                althing: &self.shared.settings.althing,
                hooks: HOOKS,
                mcp: true,
            }),
            extra: &[],
            env: &env,
            inherited: |name| std::env::var(name).ok(),
            is_offline: self.shared.settings.offline,
        };
        let launch = agent.launch(&request).map_err(git)?;
        let mut spec = launch.spec(self.attempt.id.as_str(), self.number, self.tree.path());
        let grace = self.shared.settings.grace.as_millis();
        // The process that watches over it ends it in time, also when no runner is there.
        let limit = self.attempt.terms().timeout_s.map(|own| own.span().secs());
        let limit = limit.unwrap_or(self.shared.settings.timeout.as_secs());
        spec.timeout_ms = Some(limit.saturating_mul(1_000).saturating_add(TIMEOUT_SLACK_MS));
        spec.grace_ms = u64::try_from(grace).unwrap_or(u64::MAX);
        match process::start(&self.shared.settings.althing, folder, &spec).map_err(git)? {
            Start::Started | Start::Running | Start::AlreadyRan => Ok(()),
        }
    }

    /// The file that the agent reads first: its brief, or what was found after its last turn.
    fn message(&self, has_brief: bool) -> Result<std::path::PathBuf, Error> {
        let brief = self.attempt.folder.join(BRIEF);
        let Some(evidence) = self.evidence else { return Ok(brief) };
        let mut text = feedback(evidence);
        if !has_brief {
            let whole = std::fs::read_to_string(&brief)
                .map_err(|error| Error::unavailable(format!("{}: {error}", brief.display())))?;
            text = format!("{whole}\n\n{text}");
        }
        let path = self.attempt.folder.join(MESSAGE);
        write_whole(&path, text.as_bytes())?;
        Ok(path)
    }

    fn env(&self) -> BTreeMap<String, String> {
        let slot = self.slot.number;
        let settings = &self.shared.settings;
        let offset = u32::try_from(slot.saturating_sub(1)).unwrap_or(0) * u32::from(settings.ports);
        let port = u32::from(settings.port_base) + offset;
        let brief = self.attempt.folder.join(BRIEF).display().to_string();
        [
            ("ALTHING_AGENT", self.attempt.agent.to_string()),
            ("ALTHING_TASK", self.attempt.key.clone()),
            ("ALTHING_WORKSPACE", self.attempt.id.to_string()),
            ("ALTHING_SLOT", slot.to_string()),
            ("ALTHING_PORT_BASE", port.to_string()),
            ("ALTHING_BRIEF", brief),
            ("ALTHING_RUN", self.run.to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }
}

/// Records that a process began.
pub(crate) fn began(
    context: &ProjectContext,
    id: &WorkspaceId,
    program: &str,
    session: Option<&str>,
) -> Result<(), Error> {
    let report = Report {
        ended: None,
        exit_code: None,
        program: Text::lossy(program),
        reason: None,
        session: session.map(Text::lossy),
        until: None,
        wall_time: None,
        workspace: id.clone(),
    };
    context.execute(Command::WorkspaceProcess(report)).map(drop)
}

/// Records that a process began whose start is not on record, unless another one is there as running.
pub(crate) fn began_once(
    context: &ProjectContext,
    id: &WorkspaceId,
    program: &str,
) -> Result<(), Error> {
    match began(context, id, program, None) {
        Err(error) if error.rule() == Rule::ProcessReport => Ok(()),
        other => other,
    }
}

/// How a turn ended, for the trail.
pub(crate) struct Over<'a> {
    pub(crate) outcome: Outcome,
    pub(crate) exit_code: Option<i32>,
    pub(crate) program: &'a str,
    pub(crate) reason: Option<String>,
    pub(crate) session: Option<String>,
    pub(crate) rests: Option<Duration>,
    pub(crate) took: Option<Duration>,
}

impl Over<'_> {
    /// Records that a process ended, unless that is on record.
    pub(crate) fn record_once(
        &self,
        context: &ProjectContext,
        id: &WorkspaceId,
    ) -> Result<(), Error> {
        match self.record(context, id) {
            Err(error) if error.rule() == Rule::ProcessReport => Ok(()),
            other => other,
        }
    }

    fn record(&self, context: &ProjectContext, id: &WorkspaceId) -> Result<(), Error> {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let until = self.rests.map(|rest| {
            Timestamp::from_micros(context.now().micros().saturating_add(micros(rest)))
        });
        let report = Report {
            ended: Some(self.outcome),
            exit_code: self.exit_code,
            program: Text::lossy(self.program),
            reason: self.reason.as_deref().map(Text::lossy),
            session: self.session.as_deref().map(Text::lossy),
            until,
            wall_time: self.took.map(|took| Amount::new(micros(took))),
            workspace: id.clone(),
        };
        context.execute(Command::WorkspaceProcess(report)).map(drop)
    }
}

/// Adds what an agent used to what it printed, for agents that only write it to their own files.
pub(crate) fn add_recorded(
    kind: &AgentKind,
    folder: &Path,
    ended: &Ended,
    before: Usage,
    progress: &mut Progress,
) {
    let Ok(Agent::Known(adapter)) = kind.agent() else { return };
    let Some(home) = std::env::home_dir() else { return };
    let place = Place {
        home: &home,
        variable: |name| std::env::var(name).ok(),
        folder,
        session: progress.session.as_deref(),
        since_ms: ended.since_ms,
    };
    if let Some((session, used)) = recorded_usage(adapter, &place) {
        progress.usage = used.since(before);
        progress.session = Some(session);
    }
}

/// How long agents of a kind rest after their provider refused.
pub(crate) fn rest(retry: Option<Retry>, now: Timestamp) -> Duration {
    let now = Duration::from_micros(now.micros());
    let rest = match retry {
        None => REST_DEFAULT,
        Some(Retry::After(time)) => time,
        Some(Retry::At(at)) => Duration::from_secs(at).saturating_sub(now),
    };
    rest.clamp(Duration::from_secs(1), REST_MAX)
}

/// The outcome of a turn, for the trail.
pub(crate) fn outcome_of(verdict: &Verdict) -> (Outcome, Option<String>) {
    match verdict {
        Verdict::Done { .. } => (Outcome::Finished, None),
        Verdict::RateLimited { .. } => (Outcome::RateLimited, None),
        Verdict::Stopped => (Outcome::Stopped, None),
        Verdict::TimedOut => (Outcome::TimedOut, None),
        Verdict::AuthFailed { reason }
        | Verdict::CouldNotStart { reason }
        | Verdict::Failed { reason } => (Outcome::Failed, Some(reason.clone())),
    }
}

/// Puts tokens and cost on the meter.
pub(crate) fn meter(
    context: &ProjectContext,
    id: &WorkspaceId,
    (tokens, cost): (u64, u64),
) -> Result<(), Error> {
    if tokens == 0 && cost == 0 {
        return Ok(());
    }
    let report = MeterReport {
        cost: Amount::new(cost),
        tokens: Amount::new(tokens),
        workspace: Some(id.clone()),
    };
    context.execute(Command::MeterReport(report)).map(drop)
}

/// The state of an attempt's process.
pub(crate) fn status(folder: &Path) -> Result<Status, Error> {
    process::status(folder).map_err(git)
}
