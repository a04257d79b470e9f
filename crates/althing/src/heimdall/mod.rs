//! The program under its other names: `heimdall-resolve` and so on.
//!
//! Those tools have arguments, outputs and exit codes of their own, which scripts rely on and
//! which the parser of `althing` cannot mimic; they are read by hand here. Look-ups only read the
//! store, so that they can be called thousands of times.

mod args;
mod blackboard;
mod brief;
mod capsule;
mod claim;
mod gate;
mod haid;
mod ledger;
mod log;
mod protocol;
mod resolve;
pub(crate) mod shims;
mod validate;

use althing_dialects::frugal::plain::plain;
use althing_engine::screen::without_secrets;
use althing_engine::{Client, EngineError};
use althing_kernel::{Command, Door, Reply};
use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use crate::app::App;
use crate::cli::Globals;
use crate::command_context::CommandContext;
use crate::error::{Error, exit_code};
use crate::refusals::Operation;
use args::Args;

pub(crate) use shims::MCP_NAME;

/// The tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Protocol,
    Validate,
    Resolve,
    Capsule,
    Brief,
    Blackboard,
    Ledger,
    Gate,
    Claim,
    Haid,
}

impl Tool {
    /// All of them.
    pub(crate) const ALL: &'static [Tool] = &[
        Tool::Protocol,
        Tool::Validate,
        Tool::Resolve,
        Tool::Capsule,
        Tool::Brief,
        Tool::Blackboard,
        Tool::Ledger,
        Tool::Gate,
        Tool::Claim,
        Tool::Haid,
    ];

    /// The name it is called by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::Protocol => "heimdall-protocol",
            Tool::Validate => "heimdall-validate",
            Tool::Resolve => "heimdall-resolve",
            Tool::Capsule => "heimdall-capsule",
            Tool::Brief => "heimdall-brief",
            Tool::Blackboard => "heimdall-blackboard",
            Tool::Ledger => "heimdall-ledger",
            Tool::Gate => "heimdall-gate",
            Tool::Claim => "heimdall-claim",
            Tool::Haid => "heimdall-haid",
        }
    }

    /// The tool that a program called so is.
    pub(crate) fn called(program: &OsStr) -> Option<Self> {
        let name = Path::new(program).file_name()?.to_str()?;
        let name = name.strip_suffix(std::env::consts::EXE_SUFFIX).unwrap_or(name);
        Tool::ALL.iter().copied().find(|tool| tool.name() == name)
    }

    fn help(self) -> &'static str {
        match self {
            Tool::Protocol => protocol::HELP,
            Tool::Validate => validate::HELP,
            Tool::Resolve => resolve::HELP,
            Tool::Capsule => capsule::HELP,
            Tool::Brief => brief::HELP,
            Tool::Blackboard => blackboard::HELP,
            Tool::Ledger => ledger::HELP,
            Tool::Gate => gate::HELP,
            Tool::Claim => claim::HELP,
            Tool::Haid => haid::HELP,
        }
    }

    /// Runs the tool. Its refusal is on record.
    fn run(self, args: Args) -> Result<String, Stop> {
        let operation = self.operation(&args);
        self.perform(args).map_err(|mut stop| {
            let (Some(operation), Some(refusal)) = (operation, stop.refusal.take()) else {
                return stop;
            };
            let rule = refusal.rule();
            let recorded = operation.on_record(&app(false), refusal);
            // If it could not be recorded, that is the answer.
            if recorded.rule() == rule { stop } else { recorded.into() }
        })
    }

    /// The operation that arguments stand for; `None` if they only ask.
    fn operation(self, args: &Args) -> Option<Operation> {
        let verb = args.first()?;
        let name = match (self, verb) {
            (Tool::Claim, "claim") => "lease.open",
            (Tool::Claim, "release") if args.has("--override") => "lease.force",
            (Tool::Claim, "release") => "lease.release",
            (Tool::Claim, "heartbeat") => "lease.renew",
            (Tool::Haid, "register") => "agent.register",
            (Tool::Haid, "heartbeat") => "agent.heartbeat",
            (Tool::Haid, "revoke") => "agent.revoke",
            (Tool::Haid, "reinstate") => "agent.reinstate",
            (Tool::Capsule, "write") => "capsule.write",
            (Tool::Resolve, "set") => "symbol.set",
            (Tool::Blackboard, "set") => "fact.set",
            (Tool::Blackboard, "del") => "fact.delete",
            (Tool::Ledger, "log") => "ledger.log",
            (Tool::Ledger, "baseline") => "ledger.baseline",
            (Tool::Validate, "--to") => "envelope.send",
            // `heimdall-protocol` runs another tool, which records its own.
            _ => return None,
        };
        Some(Operation::of_anybody(name))
    }

    fn perform(self, args: Args) -> Result<String, Stop> {
        match self {
            Tool::Protocol => protocol::run(args),
            Tool::Validate => validate::run(args),
            Tool::Resolve => resolve::run(args),
            Tool::Capsule => capsule::run(args),
            Tool::Brief => brief::run(args),
            Tool::Blackboard => blackboard::run(args),
            Tool::Ledger => ledger::run(args),
            Tool::Gate => gate::run(args),
            Tool::Claim => claim::run(args),
            Tool::Haid => haid::run(args),
        }
    }
}

/// A tool that ends other than well.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    out: String,
    err: String,
    code: u8,
    /// Whether the help follows on standard error.
    help: bool,
    /// The refusal that it is, if the trail has no entry about it.
    refusal: Option<Error>,
}

impl Stop {
    /// With a message. Secrets that it repeats are masked.
    fn error(code: u8, message: impl std::fmt::Display) -> Self {
        let err = without_secrets(format!("error: {message}\n"));
        Stop { err, code, ..Stop::default() }
    }

    /// A refusal in the words of these tools, which say neither a rule nor a hint.
    fn refused(code: u8, refusal: Error) -> Self {
        let stop = Stop::error(code, refusal.message());
        Stop { refusal: Some(refusal), ..stop }
    }

    /// Wrong usage.
    fn usage(message: impl std::fmt::Display) -> Self {
        Stop { help: true, ..Stop::error(2, message) }
    }
}

impl From<Error> for Stop {
    fn from(failure: Error) -> Self {
        let way_out = failure.way_out();
        let mut stop = Stop::error(exit_code(failure.kind()), failure.message());
        stop.err += &lines([format!("  [{}] {way_out}", failure.rule())]);
        stop.refusal = Some(failure).filter(Error::is_unrecorded_refusal);
        stop
    }
}

/// Issues a command as whoever asks, and shows its warnings.
fn order(context: &CommandContext<'_>, command: Command) -> Result<Reply, Error> {
    Ok(order_as(context, &context.client()?, command)?)
}

/// Issues a command through a client that is open already, and shows its warnings.
fn order_as(
    context: &CommandContext<'_>,
    client: &Client,
    command: Command,
) -> Result<Reply, EngineError> {
    let done = client.execute(command);
    context.app.warn();
    done
}

/// Lines, each with its end.
fn lines(all: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for line in all {
        text += &line;
        text.push('\n');
    }
    text
}

/// Runs a tool.
pub(crate) fn main(tool: Tool, given: Vec<OsString>) -> ExitCode {
    let ended = match Args::new(given) {
        Ok(args) if args.asks_for_help() => Ok(tool.help().to_owned()),
        Ok(args) => tool.run(args),
        Err(stop) => Err(stop),
    };
    let (out, err, code) = match ended {
        Ok(out) => (out, String::new(), 0),
        Err(stop) if stop.help => (stop.out, stop.err + tool.help(), stop.code),
        Err(stop) => (stop.out, stop.err, stop.code),
    };
    let mut stdout = std::io::stdout();
    // Files may have been written into and arguments may hold anything; a terminal would act on it.
    let written = stdout.write_all(plain(&out).as_bytes()).and_then(|()| stdout.flush());
    // If standard error cannot be written either, nothing is left to report it on.
    let _ = std::io::stderr().write_all(plain(&err).as_bytes());
    match written {
        // A reader that went away is no failure of ours.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let _ = writeln!(std::io::stderr(), "error: the answer could not be written: {error}");
            ExitCode::from(4)
        }
        _ => ExitCode::from(code),
    }
}

/// The project around the current folder.
fn context() -> Result<CommandContext<'static>, Error> {
    context_with(false)
}

/// The same, with a person's passphrase on standard input.
fn context_with(passphrase_stdin: bool) -> Result<CommandContext<'static>, Error> {
    CommandContext::beginning(app(passphrase_stdin))
}

/// The program as these tools are, without options of their own.
fn app(passphrase_stdin: bool) -> App {
    let app = App::new(Globals {
        project: None,
        store: None,
        agent: None,
        user: None,
        session: None,
        workspace: None,
        json: false,
        no_pager: true,
        passphrase_stdin,
        verbose: 0,
    });
    App { door: Door::Heimdall, ..app }
}
