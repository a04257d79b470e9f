//! The arguments of `althing gate`, `inject`, `escalations` and `highway`.

use althing_kernel::approvals::{EscalationFallback, GateFallback, GateType, Preset};
use althing_kernel::envelope::Priority;
use althing_kernel::text::Text;
use althing_kernel::token::TypeName;
use althing_kernel::workspace::budget::Budget;
use althing_kernel::{UserId, task, workspace};
use clap::{Args, Subcommand};
use std::path::PathBuf;

use super::read::{text, user, word};

/// Arguments of `gate`.
#[derive(Debug, Args)]
#[command(after_help = "\
A gate holds something until a person approves it: plans by default, and whatever `althing highway`
sets. Answers need the person's passphrase. If nobody answers in time, what waits is rejected: it
stays where it is, and `gate ask` asks again. Only a person can choose another fallback.

Examples:
  althing gate list
  althing gate list --watch
  althing gate approve --user ada                  the first one in ada's queue
  althing gate approve 8fk2md 02xj4s --user ada
  althing gate reject 8fk2md --reason 'out of scope' --user ada
  althing gate modify 8fk2md --name 'Parser, without macros' --user ada
  althing gate ask 8fk2md --as lead                nobody answered in time")]
pub(crate) struct GateArgs {
    #[command(subcommand)]
    pub(crate) command: GateCommand,
}

/// Subcommands of `gate`.
#[derive(Debug, Subcommand)]
pub(crate) enum GateCommand {
    /// List the open gates, each queue in order.
    List(GateList),
    /// Show one gate with everything the answer depends on.
    #[command(after_help = "\
Example:
  althing gate show 8fk2md")]
    Show(OneGate),
    /// Approve what waits.
    #[command(after_help = "\
Without GATE, the first one in your own queue is meant. If a person chose that unanswered gates are
left to the coordinator, it approves them once their time is over; `gate list` shows them.

Examples:
  althing gate approve --user ada
  althing gate approve --all --user ada            all of them
  althing gate approve --as lead                   left to the coordinator")]
    Approve(GateAnswer),
    /// Reject what waits.
    #[command(after_help = "\
Without GATE, the first one in your own queue is meant.

Examples:
  althing gate reject --reason 'not now' --user ada
  althing gate reject 8fk2md --reason 'out of scope' --user ada")]
    Reject(GateAnswer),
    /// Approve it with changes.
    Modify(Box<GateModify>),
    /// Ask people again about what nobody answered in time.
    #[command(after_help = "\
It waits at a new gate, as it was ordered. Whoever ordered it can ask again, the coordinator, and
people who may answer there. `gate list --all` shows gates that nobody answered.

Example:
  althing gate ask 8fk2md --as lead")]
    Ask(OneGate),
}

/// Arguments of `gate list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing gate list
  althing gate list --owner ada --all
  althing gate list --watch                        redraws on changes")]
pub(crate) struct GateList {
    /// Include answered gates of this run.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only the queue of this person.
    #[arg(long, value_name = "USER", value_parser = user)]
    pub(crate) owner: Option<UserId>,
    /// Keep running and print every change (JSON lines with --json).
    #[arg(long)]
    pub(crate) watch: bool,
}

/// A command about one gate.
#[derive(Debug, Args)]
pub(crate) struct OneGate {
    /// The gate.
    #[arg(value_name = "GATE")]
    pub(crate) id: String,
}

/// Arguments of `gate approve` and `gate reject`.
#[derive(Debug, Args)]
pub(crate) struct GateAnswer {
    /// The gates.
    #[arg(value_name = "GATE")]
    pub(crate) ids: Vec<String>,
    /// Everything in your own queue.
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `gate modify`.
#[derive(Debug, Args)]
#[command(after_help = "\
What can be changed depends on the gate. Task: name, description, priority, estimate. New
workspace: urgency, visibility, budget. Message: content. Escalated conflict: files. `gate show`
lists it.

Examples:
  althing gate modify 8fk2md --name 'Parser' --description @parser.md --priority urgent --user ada
  althing gate modify 8fk2md --urgency critical --visibility root --user ada
  althing gate modify 8fk2md --content 'Please use the old format.' --user ada")]
pub(crate) struct GateModify {
    /// The gate.
    #[arg(value_name = "GATE")]
    pub(crate) id: String,
    /// Of a task: its name.
    #[arg(long, value_name = "TEXT", value_parser = text::<200>)]
    pub(crate) name: Option<Text<200>>,
    /// Of a task: its description; text, `-` or `@FILE`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Of a task: normal, elevated, urgent.
    #[arg(long, value_name = "P", value_parser = word::<task::Priority>)]
    pub(crate) priority: Option<task::Priority>,
    /// Of a task: its estimated use, as tokens,seconds,cost.
    #[arg(long, value_name = "T,S,C")]
    pub(crate) estimate: Option<String>,
    /// Of a new workspace: critical, interactive, normal, background.
    #[arg(long, value_name = "P", value_parser = word::<workspace::Priority>)]
    pub(crate) urgency: Option<workspace::Priority>,
    /// Of a new workspace: what it may use, such as tokens=200k,cost=3.
    #[arg(long, value_name = "WHAT=N,…", value_parser = crate::amounts::budget)]
    pub(crate) budget: Option<Budget>,
    /// Of a new workspace: a workspace it may read; repeat for more, `none` for none.
    #[arg(long, value_name = "WS")]
    pub(crate) visibility: Vec<String>,
    /// Of a message: its content; text, `-` or `@FILE`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) content: Option<String>,
    /// Of a conflict: the files as they should be, as for `integrate`.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) merged: Option<PathBuf>,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `inject`.
#[derive(Debug, Args)]
#[command(after_help = "\
You need `inject_directive` for workspaces you own, or `inject_directive_any` for all. The message
is marked as yours, and work that follows from it is on your account.

Examples:
  althing inject agent:bob 'Leave the lexer alone.' --user ada
  althing inject root 'Please also do the changelog.' --type directive --user ada")]
pub(crate) struct InjectArgs {
    /// The workspace to send to.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// The message; text, `-` or `@FILE`.
    #[arg(value_name = "TEXT")]
    pub(crate) content: String,
    /// Its type: directive, feedback, query, or one the taxonomy adds.
    #[arg(long = "type", value_name = "TYPE", default_value = "feedback")]
    pub(crate) kind: TypeName,
    /// How soon it should be read: blocking, urgent, normal.
    #[arg(long, value_name = "P", value_parser = word::<Priority>)]
    pub(crate) priority: Option<Priority>,
}

/// Arguments of `escalations`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing escalations                              open questions to people
  althing escalations --watch                      keep running and print changes
  althing escalations answer 9sk2aa 'MIT, as the rest.' --user ada
  althing escalations abort 9sk2aa --reason 'not needed any more' --user ada
  althing escalations delegate 9sk2aa --user ada   let the coordinator answer")]
pub(crate) struct EscalationArgs {
    #[command(subcommand)]
    pub(crate) command: Option<EscalationCommand>,
    /// Only those for this person.
    #[arg(long, value_name = "USER", value_parser = user)]
    pub(crate) owner: Option<UserId>,
    /// Keep running and print every change (JSON lines with --json).
    #[arg(long)]
    pub(crate) watch: bool,
}

/// Subcommands of `escalations`.
#[derive(Debug, Subcommand)]
pub(crate) enum EscalationCommand {
    /// Answer the question; the agent reads it in its inbox.
    #[command(after_help = "\
Example:
  althing escalations answer 9sk2aa 'MIT, as the rest.' --user ada")]
    Answer(EscalationAnswer),
    /// Abort the workspace that asked.
    #[command(after_help = "\
Example:
  althing escalations abort 9sk2aa --reason 'not needed' --user ada")]
    Abort(EscalationAbort),
    /// Let the coordinator answer.
    #[command(after_help = "\
Example:
  althing escalations delegate 9sk2aa --user ada")]
    Delegate(OneEscalation),
}

/// Arguments of `escalations answer`.
#[derive(Debug, Args)]
pub(crate) struct EscalationAnswer {
    /// The escalation.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The answer; text, `-` or `@FILE`.
    #[arg(value_name = "TEXT")]
    pub(crate) content: String,
}

/// Arguments of `escalations abort`.
#[derive(Debug, Args)]
pub(crate) struct EscalationAbort {
    /// The escalation.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// A command about one escalation.
#[derive(Debug, Args)]
pub(crate) struct OneEscalation {
    /// The escalation.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

/// Arguments of `highway`.
#[derive(Debug, Args)]
#[command(after_help = "\
Gates: task_approval, workspace_create, envelope_delivery, integration, conflict_resolution,
workspace_abort. Presets: `autonomous` (plans wait 30 s, then go on), `supervised` (plans and merges
wait 15 min, then the coordinator decides), `gated` (everything waits for a person, however long).
By default plans wait 15 min and are rejected if nobody answers. If people have signed up, only they
can choose that unanswered gates are approved or left to the coordinator; who did is shown.

Examples:
  althing highway show
  althing highway set supervised --user ada
  althing highway set autonomous --gate integration=on --wait integration=1h --user ada
  althing highway set --fallback task_approval=reject --user ada")]
pub(crate) struct HighwayArgs {
    #[command(subcommand)]
    pub(crate) command: HighwayCommand,
}

/// Subcommands of `highway`.
#[derive(Debug, Subcommand)]
pub(crate) enum HighwayCommand {
    /// Show the settings of this run.
    #[command(after_help = "\
Example:
  althing highway show")]
    Show,
    /// Change the settings of this run.
    Set(HighwaySet),
}

/// Arguments of `highway set`.
#[derive(Debug, Args)]
#[command(after_help = "\
Settings that are not mentioned stay. TIME is 30s, 15m, 2d, or `forever`.

Examples:
  althing highway set supervised --user ada
  althing highway set --gate workspace_create=on --wait workspace_create=10m --user ada
  althing highway set --escalation-wait forever --injection off --user ada")]
pub(crate) struct HighwaySet {
    /// The preset to start from: autonomous, supervised, gated.
    #[arg(value_name = "PRESET", value_parser = word::<Preset>)]
    pub(crate) preset: Option<Preset>,
    /// Switch a gate on or off; repeat for more.
    #[arg(long = "gate", value_name = "GATE=on|off", value_parser = pair)]
    pub(crate) gates: Vec<(GateType, String)>,
    /// How long a gate waits; repeat for more.
    #[arg(long = "wait", value_name = "GATE=TIME", value_parser = pair)]
    pub(crate) waits: Vec<(GateType, String)>,
    /// The action if nobody answers in time: approve, reject, `escalate_to_coordinator`; repeat for more.
    #[arg(long = "fallback", value_name = "GATE=F", value_parser = fallback)]
    pub(crate) fallbacks: Vec<(GateType, GateFallback)>,
    /// Whether escalations reach people: on, off.
    #[arg(long, value_name = "on|off", value_parser = switch)]
    pub(crate) escalations: Option<bool>,
    /// How long an escalation waits.
    #[arg(long, value_name = "TIME")]
    pub(crate) escalation_wait: Option<String>,
    /// The action if nobody answers in time: approve, reject, `delegate_to_coordinator`.
    #[arg(long, value_name = "F", value_parser = word::<EscalationFallback>)]
    pub(crate) escalation_fallback: Option<EscalationFallback>,
    /// Whether people may write to workspaces: on, off.
    #[arg(long, value_name = "on|off", value_parser = switch)]
    pub(crate) injection: Option<bool>,
}

fn pair(given: &str) -> Result<(GateType, String), String> {
    let (gate, value) = given.split_once('=').ok_or("write GATE=VALUE")?;
    Ok((word(gate)?, value.to_owned()))
}

fn fallback(given: &str) -> Result<(GateType, GateFallback), String> {
    let (gate, value) = pair(given)?;
    Ok((gate, word(&value)?))
}

/// On or off.
pub(crate) fn switch(given: &str) -> Result<bool, String> {
    match given {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("write on or off".to_owned()),
    }
}
