//! The command line about people: all people, what they may do.

use althing_kernel::UserId;
use althing_kernel::capability::Capability;
use althing_kernel::text::Text;
use clap::{Args, Subcommand};

use super::read::{text, user, word};

/// Arguments of `users`.
#[derive(Debug, Args)]
#[command(after_help = "\
Managing people needs the capability `deactivate_user`; the first person has it.

Examples:
  althing users                                        all people
  althing users show bob                               rights and workspaces
  althing users suspend bob --reason 'on leave' --user ada
  althing users grant bob view_trail_any --user ada")]
pub(crate) struct Users {
    #[command(subcommand)]
    pub(crate) command: Option<UsersCommand>,
}

/// Subcommands of `users`.
#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    /// List the people.
    List,
    /// Show one person: state, capabilities, workspaces.
    #[command(after_help = "\
Example:
  althing users show bob")]
    Show(OneUser),
    /// Add a person (as a person who manages people: `--user YOU`).
    Add(UsersAdd),
    /// Suspend a person. Their running work continues.
    #[command(after_help = "\
Example:
  althing users suspend bob --reason 'on leave' --user ada")]
    Suspend(SaidOfUser),
    /// Resume a suspended person.
    #[command(after_help = "\
Example:
  althing users resume bob --user ada")]
    Resume(SaidOfUser),
    /// Block a person until a condition is resolved.
    #[command(after_help = "\
Example:
  althing users block bob --condition 'contract not signed' --user ada")]
    Block(ConditionOfUser),
    /// Unblock a person: the condition is resolved.
    #[command(after_help = "\
Example:
  althing users unblock bob --condition 'contract signed' --user ada")]
    Unblock(ConditionOfUser),
    /// Deactivate a person who left. Their history and their workspaces stay.
    #[command(after_help = "\
Example:
  althing users deactivate bob --reason 'left the team' --user ada")]
    Deactivate(SaidOfUser),
    /// Reactivate a person.
    #[command(after_help = "\
Example:
  althing users reactivate bob --user ada")]
    Reactivate(SaidOfUser),
    /// Grant capabilities; you must hold them yourself.
    #[command(after_help = "\
Example:
  althing users grant bob abort_any suspend_any --user ada")]
    Grant(UsersGrant),
    /// Revoke capabilities.
    #[command(after_help = "\
Example:
  althing users revoke bob abort_any --reason 'too eager' --user ada")]
    Revoke(UsersRevoke),
}

/// A question about one person.
#[derive(Debug, Args)]
pub(crate) struct OneUser {
    /// The person's user id.
    #[arg(value_name = "ID", value_parser = user)]
    pub(crate) id: UserId,
}

/// Arguments of `users add`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  althing users add bob ed25519:… --user ada
  althing users add eve ed25519:… --capability view_trail_any --user ada")]
pub(crate) struct UsersAdd {
    /// The person's user id.
    pub(crate) name: String,
    /// The public key that `althing login` printed for them.
    pub(crate) key: String,
    /// A capability; repeat for more [default: those for their own workspaces].
    #[arg(long = "capability", value_name = "NAME", value_parser = word::<Capability>)]
    pub(crate) capabilities: Vec<Capability>,
}

/// Something that is done about one person, with a reason.
#[derive(Debug, Args)]
pub(crate) struct SaidOfUser {
    /// The person's user id.
    #[arg(value_name = "ID", value_parser = user)]
    pub(crate) id: UserId,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Something that is done about one person because of a condition.
#[derive(Debug, Args)]
pub(crate) struct ConditionOfUser {
    /// The person's user id.
    #[arg(value_name = "ID", value_parser = user)]
    pub(crate) id: UserId,
    /// The condition; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) condition: Text<1000>,
}

/// Arguments of `users grant`.
#[derive(Debug, Args)]
pub(crate) struct UsersGrant {
    /// The person's user id.
    #[arg(value_name = "ID", value_parser = user)]
    pub(crate) id: UserId,
    /// The capabilities to grant.
    #[arg(value_name = "CAPABILITY", required = true, value_parser = word::<Capability>)]
    pub(crate) capabilities: Vec<Capability>,
}

/// Arguments of `users revoke`.
#[derive(Debug, Args)]
pub(crate) struct UsersRevoke {
    /// The person's user id.
    #[arg(value_name = "ID", value_parser = user)]
    pub(crate) id: UserId,
    /// The capabilities to revoke.
    #[arg(value_name = "CAPABILITY", required = true, value_parser = word::<Capability>)]
    pub(crate) capabilities: Vec<Capability>,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `workspace transfer`.
#[derive(Debug, Args)]
#[command(after_help = "\
Changes the owner of this one workspace, not of those below it. The originator stays.

Example:
  althing workspace transfer agent:bob eve --reason 'eve knows parsers' --user ada")]
pub(crate) struct WorkspaceTransfer {
    /// The workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// The new owner.
    #[arg(value_name = "USER", value_parser = user)]
    pub(crate) to: UserId,
    /// The reason; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}
