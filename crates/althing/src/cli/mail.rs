//! The arguments of `althing send`, `inbox`, `signal`, `checkpoint`, `integrate` and `right`.

use althing_kernel::checkpoint::Confidence;
use althing_kernel::envelope::Priority;
use althing_kernel::file::FilePath;
use althing_kernel::integration::Strategy;
use althing_kernel::integration::conflict::ConflictArg;
use althing_kernel::signal::SignalType;
use althing_kernel::text::Text;
use althing_kernel::token::TypeName;
use clap::{Args, Subcommand};
use std::path::PathBuf;

use super::read::{text, word};
use super::resources::NearLimit;

/// Arguments of `send`.
#[derive(Debug, Args)]
#[command(after_help = "\
`agent:NAME` and `user:NAME` get it in their inbox, whatever they are connected with and whether or
not there is a run. An agent also goes by its role or its tool, if only one has it.

Inside a run, an envelope goes to a workspace: name `root`, a workspace, or give a type. Roles decide
who may send what: a coordinator sends directives and feedback, a worker sends queries. A refusal
lists what is allowed. TEXT is the message itself, `-` reads standard input, `@FILE` reads a file.

Examples:
  althing send agent:cursor 'The parser is ready.' --as alice
  althing send user:ada 'May I merge?' --as alice
  althing send root --type query 'Which grammar?' --as bob
  althing send agent:bob --type feedback @answer.md --as alice
  git diff | althing send agent:bob --type directive - --attach @report.pdf --as alice")]
pub(crate) struct Send {
    /// `agent:NAME`, `user:NAME`, or a workspace of the run.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// The message.
    #[arg(value_name = "TEXT")]
    pub(crate) content: String,
    /// Send an envelope of this type to a workspace: directive, feedback, query, or one the
    /// taxonomy adds.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: Option<TypeName>,
    /// The message it answers.
    #[arg(long, value_name = "ID")]
    pub(crate) reply_to: Option<String>,
    /// How soon it should be read: blocking, urgent, normal.
    #[arg(long, value_name = "P", value_parser = word::<Priority>, default_value = "normal")]
    pub(crate) priority: Priority,
    /// A right of yours to transfer to the receiver; repeat for more.
    #[arg(long = "right", value_name = "RIGHT")]
    pub(crate) rights: Vec<String>,
    /// An attachment, `@FILE` or text; repeat for more.
    #[arg(long = "attach", value_name = "@FILE")]
    pub(crate) attachments: Vec<String>,
}

/// Arguments of `inbox`.
#[derive(Debug, Args)]
#[command(after_help = "\
Everything addressed to you is in one list: messages and handoffs from anybody, and the envelopes,
injections and signals of the workspaces you work in. Reading changes nothing. Taking prints each
message once, most urgent first, and is recorded. The first time an agent takes mail in a new
workspace, it has accepted the work there.

Examples:
  althing inbox --as bob
  althing inbox --take --as bob            up to 16 messages, with their text
  althing inbox --take 1 --as bob
  althing inbox --all --as bob             also those taken before")]
pub(crate) struct Inbox {
    /// Take messages out, at most this many.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "16")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) take: Option<u16>,
    /// Include messages that were taken before or are not delivered yet.
    #[arg(long, conflicts_with = "take")]
    pub(crate) all: bool,
}

/// Arguments of `signal`.
#[derive(Debug, Args)]
#[command(after_help = "\
A signal goes to the workspace above yours. Agents emit ready, started, blocked, checkpoint,
complete, failed and escalation.

Examples:
  althing signal started --as bob
  althing signal blocked --reason 'Which grammar?' --as bob
  althing signal blocked --reason 'Nearly out of tokens.' --budget tokens --as bob
  althing signal complete --as bob")]
pub(crate) struct SignalArgs {
    /// The signal.
    #[arg(value_name = "TYPE", value_parser = word::<SignalType>)]
    pub(crate) signal: SignalType,
    /// The reason; required for blocked, failed and escalation.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
    /// The message, checkpoint or workspace it is about.
    #[arg(long = "ref", value_name = "ID")]
    pub(crate) about: Option<String>,
    #[command(flatten)]
    pub(crate) near: NearLimit,
}

/// Arguments of `checkpoint`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing checkpoint 'parser done, tests missing' --as bob
  althing checkpoint 'the parser' --file src/parser.rs --final --as bob     in a run
  althing checkpoint create --intent 'half way' --file src/parser.rs --as bob
  althing checkpoint list agent:bob")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct CheckpointArgs {
    #[command(subcommand)]
    pub(crate) command: Option<CheckpointCommand>,
    #[command(flatten)]
    pub(crate) note: CheckpointNote,
}

/// Arguments of `checkpoint` about the task in hand.
#[derive(Debug, Args)]
pub(crate) struct CheckpointNote {
    /// How far your task is, for whoever goes on with it.
    #[arg(value_name = "TEXT", required = true)]
    pub(crate) text: Option<String>,
    /// A changed file; repeat for more. In a run its content is recorded.
    #[arg(long = "file", value_name = "PATH")]
    pub(crate) files: Vec<String>,
    /// Mark it as ready to be merged.
    #[arg(long = "final")]
    pub(crate) is_final: bool,
}

/// Subcommands of `checkpoint`.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    /// Record the state of your workspace, in every detail.
    Create(CheckpointCreate),
    /// List the checkpoints of a workspace, oldest first.
    List(CheckpointList),
    /// Show a checkpoint, or print one of its files.
    Show(CheckpointShow),
}

/// Arguments of `checkpoint create`.
#[derive(Debug, Args)]
#[command(after_help = "\
A checkpoint builds on the newest one of the workspace. PATH is relative to the current folder,
`:/PATH` to the project root. The file's current content is recorded, or that of `=@FILE`.

Examples:
  althing checkpoint create --intent 'half way' --file src/parser.rs --as bob
  althing checkpoint create --intent 'the parser' --final --confidence high \\
      --file src/parser.rs --file src/lib.rs=@../draft.rs --deleted src/old.rs --as bob
  althing checkpoint create --intent 'seen' --type observation --content 'All quiet.' --as eve")]
pub(crate) struct CheckpointCreate {
    /// The purpose of this state, in your words.
    #[arg(long, value_name = "TEXT", value_parser = text::<2000>)]
    pub(crate) intent: Text<2000>,
    /// Mark it as ready to be merged.
    #[arg(long = "final")]
    pub(crate) is_final: bool,
    /// Its type: artifact, observation, or one the taxonomy adds.
    #[arg(long = "type", value_name = "TYPE", default_value = "artifact")]
    pub(crate) kind: TypeName,
    /// How sure you are: high, medium, low.
    #[arg(long, value_name = "C", value_parser = word::<Confidence>, default_value = "medium")]
    pub(crate) confidence: Confidence,
    /// A changed file; repeat for more.
    #[arg(long = "file", value_name = "PATH[=@FILE]")]
    pub(crate) files: Vec<String>,
    /// A deleted file; repeat for more.
    #[arg(long, value_name = "PATH")]
    pub(crate) deleted: Vec<String>,
    /// Its text: text, `-` or `@FILE`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) content: Option<String>,
    /// A named artifact; repeat for more.
    #[arg(long = "artifact", value_name = "NAME=@FILE")]
    pub(crate) artifacts: Vec<String>,
}

/// Arguments of `checkpoint list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing checkpoint list agent:bob")]
pub(crate) struct CheckpointList {
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
}

/// Arguments of `checkpoint show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing checkpoint show knfgp0
  althing checkpoint show knfgp0 --file src/parser.rs > parser.rs")]
pub(crate) struct CheckpointShow {
    /// The checkpoint.
    #[arg(value_name = "CP")]
    pub(crate) id: String,
    /// Print this file of the checkpoint.
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
}

/// Arguments of `integrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
When a workspace has signalled `complete`, the coordinator or a person decides about its newest
final checkpoint: merge it into the workspace above, ask for another attempt, or reject it.

Examples:
  althing integrate agent:bob accept --as alice
  althing integrate agent:bob accept --strategy layered --as alice
  althing integrate agent:bob resolve --resolution 'take the later one' --as alice
  althing integrate agent:bob revise --reason 'no tests' --as alice")]
pub(crate) struct Integrate {
    /// The workspace that did the work.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    #[command(subcommand)]
    pub(crate) command: IntegrateCommand,
}

/// Subcommands of `integrate`.
#[derive(Debug, Subcommand)]
pub(crate) enum IntegrateCommand {
    /// Merge the work.
    Accept(IntegrateAccept),
    /// Fail the workspace; the task can be tried again.
    #[command(after_help = "\
Example:
  althing integrate agent:bob revise --reason 'no tests' --as alice")]
    Revise(Judgement),
    /// Fail the workspace: the work is not wanted.
    #[command(after_help = "\
Example:
  althing integrate agent:bob reject --reason 'not what was asked' --as alice")]
    Reject(Judgement),
    /// Merge checkpointed files of a failed workspace.
    Salvage(IntegrateSalvage),
    /// Resolve a conflict that stopped a merge.
    Resolve(IntegrateResolve),
}

/// Arguments of `integrate accept`.
#[derive(Debug, Args)]
#[command(after_help = "\
`direct` takes the files as they are. `layered` also stops at files that an earlier merge changed.
`evaluated` takes the result you made of both, as a file with a JSON list:

  [{\"path\": \"src/lib.rs\", \"content\": \"…\"}, {\"path\": \"src/old.rs\", \"content\": null}]

Before the merge, the project's checks (`checks` in `[integrate]` of althing.toml) and those of
--check run with `sh -c` in a temporary folder with the merged files. A failing check stops the
merge as a `constraint_breach`. Checks run the agents' code with your permissions.

Examples:
  althing integrate agent:bob accept --as alice
  althing integrate agent:bob accept --check 'cargo test' --as alice
  althing integrate agent:bob accept --strategy evaluated --merged both.json --as alice
  althing integrate agent:bob accept --strategy evaluated --merged both.json \\
    --conflict 'semantic_contradiction=two names for one thing' --as alice")]
pub(crate) struct IntegrateAccept {
    /// How to merge: direct, layered, evaluated.
    #[arg(long, value_name = "S", value_parser = word::<Strategy>, default_value = "direct")]
    pub(crate) strategy: Strategy,
    /// With evaluated: the merged files.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) merged: Option<PathBuf>,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
    #[command(flatten)]
    pub(crate) findings: Findings,
}

/// Checks to run on a merge, and problems that are known already.
#[derive(Debug, Args)]
pub(crate) struct Findings {
    /// A command that has to succeed on the merged files; repeat for more.
    #[arg(long = "check", value_name = "CMD")]
    pub(crate) checks: Vec<String>,
    /// Skip the project's checks (people only).
    #[arg(long, conflicts_with = "checks")]
    pub(crate) no_checks: bool,
    /// A conflict you found, as TYPE=TEXT; repeat for more. The types are
    /// `content_overlap`, `semantic_contradiction`, `dependency_violation`, `constraint_breach`.
    #[arg(long = "conflict", value_name = "TYPE=TEXT", value_parser = conflict)]
    pub(crate) conflicts: Vec<ConflictArg>,
}

fn conflict(given: &str) -> Result<ConflictArg, String> {
    let (kind, description) = given.split_once('=').ok_or("write it as TYPE=TEXT")?;
    let (kind, description) = (word(kind)?, text(description)?);
    Ok(ConflictArg { description, resources: Vec::new(), kind })
}

/// Arguments of `integrate salvage`.
#[derive(Debug, Args)]
#[command(after_help = "\
The workspace stays failed. By default every file of the checkpoint is taken. The files go to the
nearest workspace above that is still open.

Examples:
  althing integrate agent:bob salvage --reason 'the parser is fine' --as alice
  althing integrate agent:bob salvage --only src/parser.rs --as alice
  althing integrate agent:bob salvage --checkpoint 2mx04e --merged mended.json --as alice")]
pub(crate) struct IntegrateSalvage {
    /// The checkpoint [default: the newest final one, else the newest].
    #[arg(long, value_name = "CP")]
    pub(crate) checkpoint: Option<String>,
    /// Only this file, from the project root; repeat for more.
    #[arg(long, value_name = "PATH")]
    pub(crate) only: Vec<FilePath>,
    /// The merged files, as for `accept`; no others are taken.
    #[arg(long, value_name = "FILE.json", conflicts_with = "only")]
    pub(crate) merged: Option<PathBuf>,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
    #[command(flatten)]
    pub(crate) findings: Findings,
}

/// Arguments of `integrate revise` and `integrate reject`.
#[derive(Debug, Args)]
pub(crate) struct Judgement {
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `integrate resolve`.
#[derive(Debug, Args)]
#[command(after_help = "\
By default the incoming work wins. With --rework the workspace fails, and the task can be tried
again. With --escalate a person decides; `althing gate list` shows the question.

Examples:
  althing integrate agent:bob resolve --resolution 'the later one' --as alice
  althing integrate agent:bob resolve 2mx04e --resolution 'both' --merged both.json --as alice")]
pub(crate) struct IntegrateResolve {
    /// The conflict, if several are open.
    #[arg(value_name = "CONFLICT")]
    pub(crate) conflict: Option<String>,
    /// The decision, in words.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) resolution: Text<1000>,
    /// Fail the workspace; the task can be tried again.
    #[arg(long)]
    pub(crate) rework: bool,
    /// Let a person decide, at a gate.
    #[arg(long, conflicts_with_all = ["rework", "merged"])]
    pub(crate) escalate: bool,
    /// The merged files, as for `accept`.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) merged: Option<PathBuf>,
}

/// Arguments of `right`.
#[derive(Debug, Args)]
#[command(after_help = "\
A workspace and the one above it may write to each other from the start. Anything else needs a
right, and roles still decide what may be sent.

Examples:
  althing right grant agent:bob agent:carol --once --as alice
  althing right list agent:bob
  althing right revoke rrdc93 --reason 'done' --as alice")]
pub(crate) struct RightArgs {
    #[command(subcommand)]
    pub(crate) command: RightCommand,
}

/// Subcommands of `right`.
#[derive(Debug, Subcommand)]
pub(crate) enum RightCommand {
    /// Let one workspace send to another.
    Grant(RightGrant),
    /// Revoke a right (coordinator).
    Revoke(RightRevoke),
    /// List rights to send.
    List(RightList),
}

/// Arguments of `right grant`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing right grant agent:bob agent:carol --once --as alice")]
pub(crate) struct RightGrant {
    /// The workspace that may send.
    pub(crate) holder: String,
    /// The workspace it may send to.
    pub(crate) target: String,
    /// For one message only.
    #[arg(long)]
    pub(crate) once: bool,
}

/// Arguments of `right revoke`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing right revoke 2ed0ck --reason 'done' --as alice")]
pub(crate) struct RightRevoke {
    /// The right.
    #[arg(value_name = "RIGHT")]
    pub(crate) id: String,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `right list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing right list                      all of them
  althing right list agent:bob            rights from and to bob's workspace
  althing right list --from agent:bob     whom bob may write to
  althing right list --to agent:bob       who may write to bob")]
pub(crate) struct RightList {
    /// Only rights this workspace holds, and those to it.
    #[arg(value_name = "WS")]
    pub(crate) id: Option<String>,
    /// Only rights this workspace holds.
    #[arg(long, value_name = "WS")]
    pub(crate) from: Option<String>,
    /// Only rights to this workspace.
    #[arg(long, value_name = "WS")]
    pub(crate) to: Option<String>,
}
