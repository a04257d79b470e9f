//! Commands: everything a caller can ask the kernel to do, by name.

use schemars::JsonSchema;
use serde::Serialize;

use crate::content::Content;
use crate::envelope::{self, PayloadArg, inbox};
use crate::file::FileArg;
use crate::integration::{self, conflict};
use crate::task::{graph, orders};
use crate::workspace::{abort, create, memory, migrate, suspend};
use crate::{
    access, agent, checkpoint, lease, project, recovery, right, run, runtime, session, signal, user,
};

macro_rules! commands {
    (
        doors { $( $variant:ident $name:literal => $args:ty, $help:literal; )* }
        runtime { $( $own:ident $own_name:literal => $own_args:ty; )* }
    ) => {
        /// A request to change something.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Command {
            $( #[doc = $help] $variant($args), )*
            $( #[doc = concat!("`", $own_name, "`, issued by the runtime itself.")] $own($own_args), )*
        }

        impl Command {
            /// The commands that doors offer, each with what it does.
            pub const DOORS: &'static [(&'static str, &'static str)] = &[$(($name, $help)),*];

            /// The command's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $( Command::$variant(_) => $name, )*
                    $( Command::$own(_) => $own_name, )*
                }
            }

            /// Reads a command that came in through a door. `None` if no door has one of that name.
            pub fn read(name: &str, args: &str) -> Option<Result<Self, serde_json::Error>> {
                Some(match name {
                    $( $name => serde_json::from_str::<$args>(args).map(Command::$variant), )*
                    _ => return None,
                })
            }

            /// Whether it is the runtime's own, with no door for anybody else.
            pub fn is_runtimes_own(&self) -> bool {
                match self {
                    $( Command::$variant(_) => false, )*
                    $( Command::$own(_) => true, )*
                }
            }

            /// The JSON Schema of a command's arguments.
            pub fn schema(name: &str) -> Option<schemars::Schema> {
                Some(match name {
                    $( $name => schema_of::<$args>($help), )*
                    _ => return None,
                })
            }

            /// Writes the arguments.
            pub fn serialize_args<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Command::$variant(args) => args.serialize(serializer), )*
                    $( Command::$own(args) => args.serialize(serializer), )*
                }
            }
        }
    };
}

commands! {
    doors {
        SessionOpen "session.open" => session::Open,
            "Begin a session in a fresh workspace.";
        SessionClose "session.close" => session::Close,
            "End a session and the leases it holds.";
        LeaseOpen "lease.open" => lease::Open,
            "Hold a set of surfaces, all or none.";
        LeaseRenew "lease.renew" => lease::Renew,
            "Keep a lease for another time to live.";
        LeaseRelease "lease.release" => lease::Release,
            "Give a lease back.";
        LeaseForce "lease.force" => lease::Force,
            "End somebody else's lease (people and the coordinator only).";
        UserCreate "user.create" => user::Create,
            "Sign up the first user, or let another person in.";
        AgentRegister "agent.register" => agent::Register,
            "Show up once, so that others can give you work.";
        RunStart "run.start" => run::Start,
            "Begin a run: the coordinator's workspace, with its roles and types.";
        RunHandOver "run.hand_over" => run::HandOver,
            "Give the post of coordinator to another agent.";
        RunEnd "run.end" => run::End,
            "End the run, well or by force.";
        WorkspaceCreate "workspace.create" => create::Create,
            "Make a workspace for an agent (coordinator, or a delegate below itself).";
        WorkspaceAbort "workspace.abort" => abort::Abort,
            "End a workspace at once, and what is below it (coordinator).";
        WorkspaceSuspend "workspace.suspend" => suspend::Suspend,
            "Pause a workspace (coordinator).";
        WorkspaceResume "workspace.resume" => suspend::Resume,
            "Let a paused workspace go on (coordinator).";
        WorkspaceMigrate "workspace.migrate" => migrate::Migrate,
            "Give a workspace another agent (coordinator, or a delegate below itself).";
        WorkspaceWrite "workspace.write" => memory::Write,
            "Put a file into the working memory of one's workspace.";
        EnvelopeSend "envelope.send" => envelope::Send,
            "Send a message to one workspace.";
        InboxTake "inbox.take" => inbox::Take,
            "Take what was delivered, most pressing first.";
        SignalEmit "signal.emit" => signal::Emit,
            "Say how one's workspace stands: ready, started, blocked, complete, failed…";
        CheckpointCreate "checkpoint.create" => checkpoint::Create,
            "Record how far the work in one's workspace has come.";
        TaskGraph "task.graph" => graph::Plan,
            "Plan a graph of tasks (coordinator).";
        TaskAdd "task.add" => graph::Add,
            "Add a task to a graph (coordinator).";
        TaskApprove "task.approve" => orders::Approve,
            "Let planned tasks be taken up (coordinator).";
        TaskAssign "task.assign" => orders::Assign,
            "Create a workspace for a task that is ready (coordinator).";
        TaskRetry "task.retry" => orders::Retry,
            "Let a failed task be taken up again (coordinator).";
        TaskCancel "task.cancel" => orders::Cancel,
            "Give a task up, and end the workspace that works on it (coordinator).";
        IntegrationDecide "integration.decide" => integration::Decide,
            "Accept, revise or reject what a workspace finished.";
        ConflictResolve "conflict.resolve" => conflict::Resolve,
            "Settle a conflict that stopped a merge.";
        RightGrant "right.grant" => right::Grant,
            "Let one workspace send to another.";
        RightRevoke "right.revoke" => right::Revoke,
            "Take a right to send away (coordinator).";
    }
    runtime {
        ProjectCreate "project.create" => project::Create;
        RuntimeRekey "runtime.rekey" => runtime::Rekey;
        RuntimeUnauthentic "runtime.unauthentic" => runtime::NoteUnauthentic;
        RuntimeRestored "runtime.restored" => runtime::NoteRestored;
        RuntimeDegraded "runtime.degraded" => runtime::NoteDegraded;
        RuntimeRecover "runtime.recover" => recovery::Recover;
        TrailDenied "trail.denied" => access::NoteDenied;
    }
}

impl Command {
    /// Shows every piece of content that comes with the command, so that it can be stored.
    pub fn each_content<E>(
        &mut self,
        visit: &mut dyn FnMut(&mut Content) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Command::WorkspaceCreate(args) => {
                args.context.as_mut().map_or(Ok(()), &mut *visit)?;
                args.directive.as_mut().map_or(Ok(()), |payload| in_payload(payload, visit))
            }
            Command::WorkspaceWrite(args) => args.content.as_mut().map_or(Ok(()), visit),
            Command::EnvelopeSend(args) => in_payload(&mut args.payload, visit),
            Command::CheckpointCreate(args) => {
                args.content.as_mut().map_or(Ok(()), &mut *visit)?;
                args.artifacts.iter_mut().try_for_each(|artifact| visit(&mut artifact.content))?;
                in_files(&mut args.files_changed, visit)
            }
            Command::TaskGraph(args) => {
                args.tasks.iter_mut().try_for_each(|task| visit(&mut task.description))
            }
            Command::TaskAdd(args) => visit(&mut args.description),
            Command::IntegrationDecide(args) => {
                args.merged.as_mut().map_or(Ok(()), |files| in_files(files, visit))
            }
            Command::ConflictResolve(args) => {
                args.merged.as_mut().map_or(Ok(()), |files| in_files(files, visit))
            }
            _ => Ok(()),
        }
    }
}

type Visit<'v, E> = &'v mut dyn FnMut(&mut Content) -> Result<(), E>;

fn in_payload<E>(payload: &mut PayloadArg, visit: Visit<'_, E>) -> Result<(), E> {
    visit(&mut payload.content)?;
    payload.attachments.iter_mut().try_for_each(visit)
}

fn in_files<E>(files: &mut [FileArg], visit: Visit<'_, E>) -> Result<(), E> {
    files.iter_mut().filter_map(|file| file.content.as_mut()).try_for_each(visit)
}

/// The schema of a type, titled with what it is for.
pub(crate) fn schema_of<T: JsonSchema>(help: &str) -> schemars::Schema {
    let mut schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    schema.insert("description".to_owned(), help.into());
    schema
}

/// A command's arguments as something that can be serialised.
pub struct Args<'a>(pub &'a Command);

impl Serialize for Args<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_args(serializer)
    }
}
