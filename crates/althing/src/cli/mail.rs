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
Who may send what to whom is fixed by roles: a coordinator directs and gives feedback, a worker
asks. A refusal lists what is allowed. TEXT is taken as it is, `-` reads standard input, `@FILE`
reads a file.

Examples:
  althing send root --type query 'Which grammar?' --as bob
  althing send agent:bob --type feedback @answer.md --as alice
  git diff | althing send agent:bob --type directive - --attach @report.pdf --as alice")]
pub(crate) struct Send {
    /// The workspace it is for.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// What is in it.
    #[arg(value_name = "TEXT")]
    pub(crate) content: String,
    /// Its type: directive, feedback, query, or one the taxonomy adds.
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) kind: TypeName,
    /// The envelope it answers.
    #[arg(long, value_name = "ENV")]
    pub(crate) reply_to: Option<String>,
    /// How soon it wants to be read: blocking, urgent, normal.
    #[arg(long, value_name = "P", value_parser = word::<Priority>, default_value = "normal")]
    pub(crate) priority: Priority,
    /// A right of yours that goes over to the receiver; repeat for more.
    #[arg(long = "right", value_name = "RIGHT")]
    pub(crate) rights: Vec<String>,
    /// What comes with it, `@FILE` or text; repeat for more.
    #[arg(long = "attach", value_name = "@FILE")]
    pub(crate) attachments: Vec<String>,
}

/// Arguments of `inbox`.
#[derive(Debug, Args)]
#[command(after_help = "\
Looking changes nothing. Taking shows each message once, most pressing first, and is on record;
whoever takes mail in a new workspace has shown up there.

Examples:
  althing inbox --as bob
  althing inbox --take --as bob            up to 16 messages, with their text
  althing inbox --take 1 --as bob
  althing inbox --all --as bob             also what was taken before")]
pub(crate) struct Inbox {
    /// Take messages out, at most this many.
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "16")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) take: Option<u16>,
    /// Also what was taken before, and what is still on its way.
    #[arg(long, conflicts_with = "take")]
    pub(crate) all: bool,
}

/// Arguments of `signal`.
#[derive(Debug, Args)]
#[command(after_help = "\
A signal goes to the workspace above yours. There are eleven; an agent emits ready, started,
blocked, checkpoint, complete, failed and escalation.

Examples:
  althing signal started --as bob
  althing signal blocked --reason 'Which grammar?' --as bob
  althing signal blocked --reason 'Nearly out of tokens.' --budget tokens --as bob
  althing signal complete --as bob")]
pub(crate) struct SignalArgs {
    /// Which signal.
    #[arg(value_name = "TYPE", value_parser = word::<SignalType>)]
    pub(crate) signal: SignalType,
    /// Why; blocked, failed and escalation need it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
    /// The envelope, checkpoint or workspace it is about.
    #[arg(long = "ref", value_name = "ID")]
    pub(crate) about: Option<String>,
    #[command(flatten)]
    pub(crate) near: NearLimit,
}

/// Arguments of `checkpoint`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing checkpoint create --intent 'half way' --file src/parser.rs --as bob
  althing checkpoint list agent:bob")]
pub(crate) struct CheckpointArgs {
    #[command(subcommand)]
    pub(crate) command: CheckpointCommand,
}

/// What to do about checkpoints.
#[derive(Debug, Subcommand)]
pub(crate) enum CheckpointCommand {
    /// Record how far the work in your workspace has come.
    Create(CheckpointCreate),
    /// List the checkpoints of a workspace, oldest first.
    List(CheckpointList),
    /// Show one checkpoint, or a file of it.
    Show(CheckpointShow),
}

/// Arguments of `checkpoint create`.
#[derive(Debug, Args)]
#[command(after_help = "\
It builds on the newest checkpoint of the workspace by itself. PATH is read from the current folder,
`:/PATH` from the project root; its content is what lies there now, or what `=@FILE` names.

Examples:
  althing checkpoint create --intent 'half way' --file src/parser.rs --as bob
  althing checkpoint create --intent 'the parser' --final --confidence high \\
      --file src/parser.rs --file src/lib.rs=@../draft.rs --deleted src/old.rs --as bob
  althing checkpoint create --intent 'seen' --type observation --content 'All quiet.' --as eve")]
pub(crate) struct CheckpointCreate {
    /// Why it exists, in your words.
    #[arg(long, value_name = "TEXT", value_parser = text::<2000>)]
    pub(crate) intent: Text<2000>,
    /// Ready to be merged.
    #[arg(long = "final")]
    pub(crate) is_final: bool,
    /// Its type: artifact, observation, or one the taxonomy adds.
    #[arg(long = "type", value_name = "TYPE", default_value = "artifact")]
    pub(crate) kind: TypeName,
    /// How sure you are: high, medium, low.
    #[arg(long, value_name = "C", value_parser = word::<Confidence>, default_value = "medium")]
    pub(crate) confidence: Confidence,
    /// A file it changes, with what is in it now; repeat for more.
    #[arg(long = "file", value_name = "PATH[=@FILE]")]
    pub(crate) files: Vec<String>,
    /// A file it deletes; repeat for more.
    #[arg(long, value_name = "PATH")]
    pub(crate) deleted: Vec<String>,
    /// What it says: text, `-` or `@FILE`.
    #[arg(long, value_name = "TEXT")]
    pub(crate) content: Option<String>,
    /// A thing it holds that can be named on its own; repeat for more.
    #[arg(long = "artifact", value_name = "NAME=@FILE")]
    pub(crate) artifacts: Vec<String>,
}

/// Arguments of `checkpoint list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing checkpoint list agent:bob")]
pub(crate) struct CheckpointList {
    /// Which workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
}

/// Arguments of `checkpoint show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing checkpoint show cp_01k9x
  althing checkpoint show cp_01k9x --file src/parser.rs > parser.rs")]
pub(crate) struct CheckpointShow {
    /// Which checkpoint.
    #[arg(value_name = "CP")]
    pub(crate) id: String,
    /// Print this file as the checkpoint has it.
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
}

/// Arguments of `integrate`.
#[derive(Debug, Args)]
#[command(after_help = "\
Once a workspace said `complete`, somebody decides: its newest final checkpoint is merged into the
workspace above it, or the work is done again, or it is of no use.

Examples:
  althing integrate agent:bob accept --as alice
  althing integrate agent:bob accept --strategy layered --as alice    notices what others changed
  althing integrate agent:bob resolve --resolution 'take the later one' --as alice
  althing integrate agent:bob revise --reason 'no tests' --as alice")]
pub(crate) struct Integrate {
    /// The workspace whose work it is.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    #[command(subcommand)]
    pub(crate) command: IntegrateCommand,
}

/// What becomes of finished work.
#[derive(Debug, Subcommand)]
pub(crate) enum IntegrateCommand {
    /// It is good: merge it.
    Accept(IntegrateAccept),
    /// It could be good: somebody does it again.
    #[command(after_help = "\
Example:
  althing integrate agent:bob revise --reason 'no tests' --as alice")]
    Revise(Judgement),
    /// It is of no use.
    #[command(after_help = "\
Example:
  althing integrate agent:bob reject --reason 'not what was asked' --as alice")]
    Reject(Judgement),
    /// Save something of a workspace that failed.
    Salvage(IntegrateSalvage),
    /// Settle a conflict that stopped a merge.
    Resolve(IntegrateResolve),
}

/// Arguments of `integrate accept`.
#[derive(Debug, Args)]
#[command(after_help = "\
`direct` copies, `layered` copies and stops at files that an earlier merge left with other content,
`evaluated` takes the result you made of both. A file with that result is a JSON list:

  [{\"path\": \"src/lib.rs\", \"content\": \"…\"}, {\"path\": \"src/old.rs\", \"content\": null}]

Before the decision the project's checks (`checks` in `[integrate]` of althing.toml) and those of
--check run by `sh -c` in a temporary folder with the merged files: what is committed, what was
merged before, and this work. One that fails stops the merge as a `constraint_breach`. They run the
code of the work with your rights.

Examples:
  althing integrate agent:bob accept --as alice
  althing integrate agent:bob accept --check 'cargo test' --as alice
  althing integrate agent:bob accept --strategy evaluated --merged both.json --as alice
  althing integrate agent:bob accept --strategy evaluated --merged both.json \\
    --conflict 'semantic_contradiction=two names for one thing' --as alice")]
pub(crate) struct IntegrateAccept {
    /// How it is merged: direct, layered, evaluated.
    #[arg(long, value_name = "S", value_parser = word::<Strategy>, default_value = "direct")]
    pub(crate) strategy: Strategy,
    /// With evaluated: the files as they should be.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) merged: Option<PathBuf>,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
    #[command(flatten)]
    pub(crate) findings: Findings,
}

/// What is wrong with a merge, as far as one knows or finds out.
#[derive(Debug, Args)]
pub(crate) struct Findings {
    /// A command that has to succeed on the result; repeat for more.
    #[arg(long = "check", value_name = "CMD")]
    pub(crate) checks: Vec<String>,
    /// Leave the project's checks out; for people alone.
    #[arg(long, conflicts_with = "checks")]
    pub(crate) no_checks: bool,
    /// Something that does not go together, as TYPE=TEXT; repeat for more. The types are
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
The workspace stays failed. Without --only and --merged every file of the checkpoint is taken. The
files go to the workspace above it, or to the nearest one further up that still takes work.

Examples:
  althing integrate agent:bob salvage --reason 'the parser is fine' --as alice
  althing integrate agent:bob salvage --only src/parser.rs --as alice
  althing integrate agent:bob salvage --checkpoint 2mx04e --merged mended.json --as alice")]
pub(crate) struct IntegrateSalvage {
    /// Which checkpoint; the newest final one, else the newest, if left out.
    #[arg(long, value_name = "CP")]
    pub(crate) checkpoint: Option<String>,
    /// Only this file of it, from the project root; repeat for more.
    #[arg(long, value_name = "PATH")]
    pub(crate) only: Vec<FilePath>,
    /// The files as they should be, as for `accept`; no others are taken.
    #[arg(long, value_name = "FILE.json", conflicts_with = "only")]
    pub(crate) merged: Option<PathBuf>,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
    #[command(flatten)]
    pub(crate) findings: Findings,
}

/// Arguments of `integrate revise` and `integrate reject`.
#[derive(Debug, Args)]
pub(crate) struct Judgement {
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `integrate resolve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --merged what came in wins. With --rework the workspace fails and the work is done again.
With --escalate a person decides: `althing gate list` shows it.

Examples:
  althing integrate agent:bob resolve --resolution 'the later one' --as alice
  althing integrate agent:bob resolve 2mx04e --resolution 'both' --merged both.json --as alice")]
pub(crate) struct IntegrateResolve {
    /// Which conflict; not needed if only one is open.
    #[arg(value_name = "CONFLICT")]
    pub(crate) conflict: Option<String>,
    /// What was decided, in words.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) resolution: Text<1000>,
    /// Have the work done again instead.
    #[arg(long)]
    pub(crate) rework: bool,
    /// Have a person settle it: it waits at a gate.
    #[arg(long, conflicts_with_all = ["rework", "merged"])]
    pub(crate) escalate: bool,
    /// The files as they should be, as for `accept`.
    #[arg(long, value_name = "FILE.json")]
    pub(crate) merged: Option<PathBuf>,
}

/// Arguments of `right`.
#[derive(Debug, Args)]
#[command(after_help = "\
A workspace and the one above it may write to each other from the start. Every other way is a right
somebody granted, and roles still decide what may be sent on it.

Examples:
  althing right grant agent:bob agent:carol --once --as alice
  althing right list agent:bob
  althing right revoke right_01k9x --reason 'done' --as alice")]
pub(crate) struct RightArgs {
    #[command(subcommand)]
    pub(crate) command: RightCommand,
}

/// What to do about rights.
#[derive(Debug, Subcommand)]
pub(crate) enum RightCommand {
    /// Let one workspace send to another.
    Grant(RightGrant),
    /// Take a right to send away (coordinator).
    Revoke(RightRevoke),
    /// List the rights that lead out of and into workspaces.
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
    /// One message only.
    #[arg(long)]
    pub(crate) once: bool,
}

/// Arguments of `right revoke`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  althing right revoke 2ed0ck --reason 'done' --as alice")]
pub(crate) struct RightRevoke {
    /// Which right.
    #[arg(value_name = "RIGHT")]
    pub(crate) id: String,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `right list`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing right list                      all of them
  althing right list agent:bob            those of bob's workspace, and those to it
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
