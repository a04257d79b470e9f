//! How far an agent is, and how its turn is to be judged.

use std::collections::BTreeSet;
use std::path::Path;

use super::event::{Event, Retry, Usage};
use super::lines::readable;
use super::parser::{Format, Parser};
use crate::process::{Ended, LogReader, Outcome};

/// How many characters of the last line are kept.
const LINE_MAX: usize = 200;
/// How many files are remembered.
const FILES_MAX: usize = 1000;
/// How much of the log is read at a time.
const PIECE: usize = 1 << 20;

/// Everything a turn said so far, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The session, by which the agent can be resumed.
    pub session: Option<String>,
    /// What it used.
    pub usage: Usage,
    /// How many tools it called.
    pub tools: u64,
    /// The files it said it changed.
    pub files: BTreeSet<String>,
    /// The last line that says something, for a table.
    pub last_line: Option<String>,
    /// The last line that was no event.
    pub last_note: Option<String>,
    /// What is wrong, unless the agent went on after it.
    pub trouble: Option<Trouble>,
    /// How it reported its end.
    pub finished: Option<Finished>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// A rate limit.
    RateLimited(Option<Retry>),
    /// A missing or wrong login.
    AuthFailed(String),
    /// Anything else.
    Failed(String),
}

/// The report of an agent's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its last words.
    pub text: Option<String>,
    /// Whether it calls that a success.
    pub ok: bool,
}

impl Progress {
    /// Takes an event.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Started { session } => self.session = Some(session.clone()),
            Event::Text(text) => {
                self.say(text);
                self.went_on();
            }
            Event::Tool { summary, .. } => {
                self.tools = self.tools.saturating_add(1);
                self.say(summary);
                self.went_on();
            }
            Event::FileChanged { path } => {
                if self.files.len() < FILES_MAX {
                    self.files.insert(path.clone());
                }
            }
            Event::Usage(usage) => self.usage = *usage,
            Event::RateLimited { retry } => {
                // A later report of the same limit may not say any more when it ends. A wait that
                // was announced before is over: the agent tried again by itself.
                let known = match self.trouble {
                    Some(Trouble::RateLimited(Some(Retry::At(at)))) => Some(Retry::At(at)),
                    _ => None,
                };
                self.trouble = Some(Trouble::RateLimited(retry.or(known)));
            }
            Event::AuthFailed { reason } => self.fail(Trouble::AuthFailed(reason.clone())),
            Event::Failed { reason } => self.fail(Trouble::Failed(reason.clone())),
            Event::Note(line) => self.last_note = Some(readable(line, LINE_MAX)),
            Event::Finished { text, ok } => {
                self.finished = Some(Finished { text: text.clone(), ok: *ok });
                if *ok {
                    self.trouble = None;
                }
            }
        }
    }

    fn say(&mut self, text: &str) {
        let line = readable(text, LINE_MAX);
        if !line.is_empty() {
            self.last_line = Some(line);
        }
    }

    fn fail(&mut self, trouble: Trouble) {
        // A general failure that follows a limit or a login is its consequence.
        let is_general = matches!(trouble, Trouble::Failed(_));
        if !is_general || matches!(self.trouble, None | Some(Trouble::Failed(_))) {
            self.trouble = Some(trouble);
        }
    }

    /// The model answered, so what was wrong before is over.
    fn went_on(&mut self) {
        self.trouble = None;
        self.finished = None;
    }
}

/// How a turn is to be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The agent says it is done, and its exit code does not say otherwise. Whether it is true is
    /// for the checks to say.
    Done {
        /// Its last words.
        text: Option<String>,
    },
    /// Its provider refuses for a while. This was no attempt.
    RateLimited {
        /// When it may be tried again.
        retry: Option<Retry>,
    },
    /// It is not logged in. A person has to act.
    AuthFailed {
        /// What it said.
        reason: String,
    },
    /// Somebody ordered it to stop.
    Stopped,
    /// Its time was over.
    TimedOut,
    /// It could not be started.
    CouldNotStart {
        /// The reason.
        reason: String,
    },
    /// It failed in another way.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// Judges a turn by everything it said and by how its process ended. Success is exit code 0 and a
/// final report of success, for agents that make one.
pub fn verdict(format: Format, progress: &Progress, ended: &Ended) -> Verdict {
    if let Outcome::CouldNotStart(reason) = &ended.outcome {
        return Verdict::CouldNotStart { reason: reason.clone() };
    }
    if ended.stopped {
        return Verdict::Stopped;
    }
    if ended.timed_out {
        return Verdict::TimedOut;
    }
    let finished = progress.finished.as_ref();
    let is_reported = finished.map_or(!format.reports_its_end(), |finished| finished.ok);
    let trouble = progress.trouble.clone().or_else(|| trouble_of_exit(format, &ended.outcome));
    if ended.outcome == Outcome::Exited(0) && is_reported && trouble.is_none() {
        let text = finished.and_then(|finished| finished.text.clone());
        return Verdict::Done { text: text.or_else(|| progress.last_line.clone()) };
    }
    match trouble {
        Some(Trouble::RateLimited(retry)) => Verdict::RateLimited { retry },
        Some(Trouble::AuthFailed(reason)) => Verdict::AuthFailed { reason },
        Some(Trouble::Failed(reason)) => Verdict::Failed { reason },
        None => Verdict::Failed { reason: reason_of(progress, &ended.outcome) },
    }
}

/// Gemini's exit code is the status of the last response, cut to a byte, or one of its own.
fn trouble_of_exit(format: Format, outcome: &Outcome) -> Option<Trouble> {
    let (Format::Gemini, Outcome::Exited(code)) = (format, outcome) else { return None };
    match code {
        // 429 and 529.
        173 | 17 => Some(Trouble::RateLimited(None)),
        // 401, 403, and no login at all.
        145 | 147 | 41 => Some(Trouble::AuthFailed(format!("exit code {code}"))),
        55 => Some(Trouble::Failed("the folder is not trusted".to_owned())),
        _ => None,
    }
}

fn reason_of(progress: &Progress, outcome: &Outcome) -> String {
    let how = match outcome {
        Outcome::Exited(0) => "it exited without a report of success".to_owned(),
        Outcome::Exited(code) => format!("it exited with code {code}"),
        Outcome::Killed(signal) => format!("signal {signal} ended it"),
        Outcome::CouldNotStart(reason) => reason.clone(),
    };
    match progress.last_note.as_ref().or(progress.last_line.as_ref()) {
        Some(said) => format!("{how}; its last line: {said}"),
        None => how,
    }
}

/// Follows the log of a turn. It can be thrown away at any time: a new one reads the log again.
#[derive(Debug)]
pub struct Follower {
    reader: LogReader,
    parser: Parser,
    progress: Progress,
}

impl Follower {
    /// Follows an agent's output in an attempt's folder, from where its turn begins. `before` is
    /// what the same session used in earlier turns.
    pub fn new(folder: &Path, log_start: u64, format: Format, before: Usage) -> Self {
        Follower {
            reader: LogReader::new(folder, log_start),
            parser: Parser::new(format, before),
            progress: Progress::default(),
        }
    }

    /// Everything said so far.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Reads what is new.
    pub fn catch_up(&mut self) -> std::io::Result<Vec<Event>> {
        let mut events = Vec::new();
        loop {
            let piece = self.reader.read(PIECE)?;
            if piece.skipped > 0 {
                self.parser.skip();
            }
            if piece.bytes.is_empty() {
                break;
            }
            events.extend(self.parser.take(&piece.bytes));
        }
        self.note(&events);
        Ok(events)
    }

    /// Reads the rest of a turn that is over.
    pub fn finish(&mut self) -> std::io::Result<Vec<Event>> {
        let mut events = self.catch_up()?;
        let last = self.parser.finish();
        self.note(&last);
        events.extend(last);
        Ok(events)
    }

    fn note(&mut self, events: &[Event]) {
        for event in events {
            self.progress.take(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn after(events: &[Event]) -> Progress {
        let mut progress = Progress::default();
        for event in events {
            progress.take(event);
        }
        progress
    }

    fn ended(outcome: Outcome) -> Ended {
        Ended {
            turn: 1,
            outcome,
            timed_out: false,
            stopped: false,
            since_ms: 0,
            wall_ms: 0,
            cpu_ms: None,
            memory_peak: None,
            left_behind: 0,
            stuck: Vec::new(),
            log_start: 0,
            log_end: 0,
        }
    }

    fn done(ok: bool) -> Event {
        Event::Finished { text: Some("the end".to_owned()), ok }
    }

    fn limited(retry: Option<Retry>) -> Event {
        Event::RateLimited { retry }
    }

    #[test]
    fn success_is_exit_code_0_and_a_report_of_success() {
        let is_done = |format, events: &[Event], outcome| {
            let verdict = verdict(format, &after(events), &ended(outcome));
            matches!(verdict, Verdict::Done { .. })
        };
        assert!(is_done(Format::Claude, &[done(true)], Outcome::Exited(0)));
        // Interrupted agents exit with 0 as well.
        assert!(!is_done(Format::Claude, &[], Outcome::Exited(0)));
        assert!(!is_done(Format::Claude, &[done(true)], Outcome::Exited(1)));
        assert!(!is_done(Format::Claude, &[done(false)], Outcome::Exited(0)));
        assert!(!is_done(Format::Pi, &[limited(None), done(false)], Outcome::Exited(0)));
        assert!(is_done(Format::Plain, &[], Outcome::Exited(0)));
        assert!(!is_done(Format::JsonLines, &[done(false)], Outcome::Exited(0)));
        assert!(!is_done(Format::Aider, &[limited(None)], Outcome::Exited(0)));
        // A report that was followed by more work was not the last word.
        let more = Event::Text("and another thing".to_owned());
        assert!(!is_done(Format::Codex, &[done(true), more], Outcome::Exited(0)));
    }

    #[test]
    fn a_limit_counts_only_if_the_agent_did_not_get_over_it() {
        let failed = ended(Outcome::Exited(1));
        let at = Some(Retry::At(1_794_998_000));
        let short = Some(Retry::After(Duration::from_millis(500)));
        let judged = |events: &[Event]| verdict(Format::Claude, &after(events), &failed);
        assert_eq!(judged(&[limited(at), limited(None)]), Verdict::RateLimited { retry: at });
        assert_eq!(judged(&[limited(short)]), Verdict::RateLimited { retry: short });
        // That wait is over.
        let retry = None;
        assert_eq!(judged(&[limited(short), limited(None)]), Verdict::RateLimited { retry });
        let went_on = [limited(at), Event::Text("on it".to_owned())];
        assert!(matches!(judged(&went_on), Verdict::Failed { .. }));
        let general = [limited(None), Event::Failed { reason: "gave up".to_owned() }];
        assert_eq!(judged(&general), Verdict::RateLimited { retry: None });
    }

    #[test]
    fn an_order_and_a_time_out_come_before_what_was_said() {
        let mut stopped = ended(Outcome::Exited(0));
        stopped.stopped = true;
        let progress = after(&[done(true)]);
        assert_eq!(verdict(Format::Claude, &progress, &stopped), Verdict::Stopped);
        let mut late = ended(Outcome::Killed(9));
        late.timed_out = true;
        assert_eq!(verdict(Format::Claude, &progress, &late), Verdict::TimedOut);
    }

    #[test]
    fn exit_codes_of_gemini_are_statuses() {
        let judged =
            |code| verdict(Format::Gemini, &Progress::default(), &ended(Outcome::Exited(code)));
        assert_eq!(judged(173), Verdict::RateLimited { retry: None });
        assert!(matches!(judged(145), Verdict::AuthFailed { .. }));
        assert!(matches!(judged(41), Verdict::AuthFailed { .. }));
        assert!(matches!(judged(1), Verdict::Failed { .. }));
    }

    #[test]
    fn a_failure_without_a_report_says_the_last_line() {
        let progress = after(&[Event::Note("Error: no such option".to_owned())]);
        let Verdict::Failed { reason } =
            verdict(Format::Codex, &progress, &ended(Outcome::Exited(2)))
        else {
            panic!()
        };
        assert_eq!(reason, "it exited with code 2; its last line: Error: no such option");
    }
}
