//! The command line about people: who is in, how they stand, what they may do.

use althing_kernel::UserId;
use althing_kernel::capability::Capability;
use althing_kernel::text::Text;
use clap::{Args, Subcommand};

use super::read::{text, user, word};

/// Arguments of `users`.
#[derive(Debug, Args)]
#[command(after_help = "\
What is about people takes a person who holds `deactivate_user`; the first who signed up does.

Examples:
  althing users                                        who is in, how they stand
  althing users show bob                               what bob may do, and what is his
  althing users suspend bob --reason 'on leave' --user ada
  althing users grant bob view_trail_any --user ada")]
pub(crate) struct Users {
    #[command(subcommand)]
    pub(crate) command: Option<UsersCommand>,
}

/// What to do about people.
#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    /// List the people.
    List,
    /// Show one person: how they stand, what they may do, what they answer for.
    #[command(after_help = "\
Example:
  althing users show bob")]
    Show(OneUser),
    /// Let a person in, as a person who manages people (`--user YOU`).
    Add(UsersAdd),
    /// Keep a person from acting until they are resumed. Their running work goes on.
    #[command(after_help = "\
Example:
  althing users suspend bob --reason 'on leave' --user ada")]
    Suspend(SaidOfUser),
    /// Let a suspended person act again.
    #[command(after_help = "\
Example:
  althing users resume bob --user ada")]
    Resume(SaidOfUser),
    /// Keep a person from acting until something is resolved.
    #[command(after_help = "\
Example:
  althing users block bob --condition 'contract not signed' --user ada")]
    Block(ConditionOfUser),
    /// Say that what kept a person from acting is resolved.
    #[command(after_help = "\
Example:
  althing users unblock bob --condition 'contract signed' --user ada")]
    Unblock(ConditionOfUser),
    /// Let a person leave. What they did and what they answer for stays.
    #[command(after_help = "\
Example:
  althing users deactivate bob --reason 'left the team' --user ada")]
    Deactivate(SaidOfUser),
    /// Take a person back who left.
    #[command(after_help = "\
Example:
  althing users reactivate bob --user ada")]
    Reactivate(SaidOfUser),
    /// Let a person do more. Nobody grants what they do not hold.
    #[command(after_help = "\
Example:
  althing users grant bob abort_any suspend_any --user ada")]
    Grant(UsersGrant),
    /// Let a person do less.
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
  althing users add eve ed25519:… --capability view_trail_any --user ada     may read, and no more")]
pub(crate) struct UsersAdd {
    /// The person's user id.
    pub(crate) name: String,
    /// The public key that `althing login` showed them.
    pub(crate) key: String,
    /// What they may do; repeat for more. What concerns their own workspaces, if left out.
    #[arg(long = "capability", value_name = "NAME", value_parser = word::<Capability>)]
    pub(crate) capabilities: Vec<Capability>,
}

/// Something that is done about one person, with a reason.
#[derive(Debug, Args)]
pub(crate) struct SaidOfUser {
    /// The person's user id.
    #[arg(value_name = "ID", value_parser = user)]
    pub(crate) id: UserId,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Something that is done about one person because of a condition.
#[derive(Debug, Args)]
pub(crate) struct ConditionOfUser {
    /// The person's user id.
    #[arg(value_name = "ID", value_parser = user)]
    pub(crate) id: UserId,
    /// What has to be resolved, or was; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) condition: Text<1000>,
}

/// Arguments of `users grant`.
#[derive(Debug, Args)]
pub(crate) struct UsersGrant {
    /// The person's user id.
    #[arg(value_name = "ID", value_parser = user)]
    pub(crate) id: UserId,
    /// What they may do from now on.
    #[arg(value_name = "CAPABILITY", required = true, value_parser = word::<Capability>)]
    pub(crate) capabilities: Vec<Capability>,
}

/// Arguments of `users revoke`.
#[derive(Debug, Args)]
pub(crate) struct UsersRevoke {
    /// The person's user id.
    #[arg(value_name = "ID", value_parser = user)]
    pub(crate) id: UserId,
    /// What they may not do any more.
    #[arg(value_name = "CAPABILITY", required = true, value_parser = word::<Capability>)]
    pub(crate) capabilities: Vec<Capability>,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}

/// Arguments of `workspace transfer`.
#[derive(Debug, Args)]
#[command(after_help = "\
It is about this one workspace and nothing below it. Who caused it stays as it is.

Example:
  althing workspace transfer agent:bob eve --reason 'eve knows parsers' --user ada")]
pub(crate) struct WorkspaceTransfer {
    /// Which workspace.
    #[arg(value_name = "WS")]
    pub(crate) id: String,
    /// Who answers for it from now on.
    #[arg(value_name = "USER", value_parser = user)]
    pub(crate) to: UserId,
    /// Why; everybody can read it.
    #[arg(long, value_name = "TEXT", value_parser = text::<1000>)]
    pub(crate) reason: Option<Text<1000>>,
}
