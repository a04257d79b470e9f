//! Commands: every request to change the state, by name.

pub(crate) mod content;
pub(crate) mod precedence;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::model::admin::{archive, project, runtime};
use crate::model::identity::user::standing;
use crate::model::identity::{agent, authentication, user};
use crate::model::knowledge::blackboard::{
    capsule, decision, dispute, fact, ledger, message, symbol,
};
use crate::model::knowledge::records as remembered;
use crate::model::leasing::{lease, session};
use crate::model::runs::approvals::{escalation, gate, inject, resolve};
use crate::model::runs::envelope::{PayloadArg, inbox};
use crate::model::runs::file::FileArg;
use crate::model::runs::integration::{conflict, salvage};
use crate::model::runs::task::{graph, orders};
use crate::model::runs::workspace::{
    abort, branch, budget, create, grant, group, memory, meter, migrate, priority, process,
    reparent, suspend, terminate, transfer,
};
use crate::model::runs::{
    access, approvals, checkpoint, envelope, integration, integrity, recovery, right, run, signal,
};
use crate::protocol::refusal;
use crate::registry::schema::schema_of;
use crate::values::content::Content;

macro_rules! commands {
    (
        doors { $(
            #[doc = $doc:literal]
            $room:ident $commands:ident { $( $variant:ident $name:literal => $args:ty, $help:literal; )* }
        )* }
        runtime { $( $own:ident $own_name:literal => $own_args:ty; )* }
    ) => {
        /// A request to change the state.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Command {
            $($( #[doc = $help] $variant($args), )*)*
            $( #[doc = concat!("`", $own_name, "`, issued by the runtime itself.")] $own($own_args), )*
        }

        /// A command, by the part of the kernel that handles it.
        #[derive(Clone, Copy, Debug)]
        pub enum CommandRoom<'a> {
            $( #[doc = $doc] $room($commands<'a>), )*
            /// The runtime's own commands.
            Runtime(RuntimeCommand<'a>),
        }

        $(
            #[doc = $doc]
            #[derive(Clone, Copy, Debug)]
            pub enum $commands<'a> {
                $( #[doc = $help] $variant(&'a $args), )*
            }
        )*

        /// The runtime's own commands.
        #[derive(Clone, Copy, Debug)]
        pub enum RuntimeCommand<'a> {
            $( #[doc = concat!("`", $own_name, "`")] $own(&'a $own_args), )*
        }

        impl Command {
            /// The commands that callers can issue, each with its help text.
            pub const DOORS: &'static [(&'static str, &'static str)] = &[$($(($name, $help),)*)*];

            /// The command's name.
            pub fn name(&self) -> &'static str {
                match self {
                    $($( Command::$variant(_) => $name, )*)*
                    $( Command::$own(_) => $own_name, )*
                }
            }

            /// The command, by the part of the kernel that handles it.
            pub fn room(&self) -> CommandRoom<'_> {
                match self {
                    $($( Command::$variant(args) => CommandRoom::$room($commands::$variant(args)), )*)*
                    $( Command::$own(args) => CommandRoom::Runtime(RuntimeCommand::$own(args)), )*
                }
            }

            /// Parses a command by its name. `None` if callers have no command of that name.
            pub fn read(name: &str, args: &str) -> Option<Result<Self, serde_json::Error>> {
                Some(match name {
                    $($( $name => serde_json::from_str::<$args>(args).map(Command::$variant), )*)*
                    _ => return None,
                })
            }

            /// Reads a command that is on record, which may also be one of the runtime's own.
            pub fn read_recorded(name: &str, args: &str) -> Option<Result<Self, serde_json::Error>> {
                Some(match name {
                    $( $own_name => serde_json::from_str::<$own_args>(args).map(Command::$own), )*
                    _ => return Command::read(name, args),
                })
            }

            /// Whether only the runtime itself issues it.
            pub(crate) fn is_runtimes_own(&self) -> bool {
                match self {
                    $($( Command::$variant(_) => false, )*)*
                    $( Command::$own(_) => true, )*
                }
            }

            /// The JSON Schema of a command's arguments.
            pub fn schema(name: &str) -> Option<schemars::Schema> {
                Some(match name {
                    $($( $name => schema_of::<$args>($help), )*)*
                    _ => return None,
                })
            }

            /// Writes the arguments.
            fn serialize_args<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($( Command::$variant(args) => args.serialize(serializer), )*)*
                    $( Command::$own(args) => args.serialize(serializer), )*
                }
            }
        }
    };
}

// Each command is listed under the part of the kernel that handles it, so a missing handler does
// not compile.
commands! {
    doors {
        #[doc = "Sessions of agents."]
        Session SessionCommand {
            SessionOpen "session.open" => session::Open,
                "Open a session in a new workspace.";
            SessionClose "session.close" => session::Close,
                "End a session and the leases it holds.";
        }
        #[doc = "Leases on surfaces."]
        Lease LeaseCommand {
            LeaseOpen "lease.open" => lease::Open,
                "Claim a set of surfaces, all or none.";
            LeaseRenew "lease.renew" => lease::Renew,
                "Renew a lease for another time to live.";
            LeaseRelease "lease.release" => lease::Release,
                "Release a lease.";
            LeaseUse "lease.use" => lease::Use,
                "Say that files are about to be changed: claims what is free, refuses what others hold.";
            LeaseForce "lease.force" => lease::Force,
                "End somebody else's lease (people and the coordinator only).";
        }
        #[doc = "People and their capabilities."]
        User UserCommand {
            UserCreate "user.create" => user::Create,
                "Sign up the first user, or add another.";
            UserSuspend "user.suspend" => standing::Suspend,
                "Keep a person from acting until they are resumed.";
            UserResume "user.resume" => standing::Resume,
                "Let a suspended person act again.";
            UserBlock "user.block" => standing::Block,
                "Keep a person from acting until something is resolved.";
            UserUnblock "user.unblock" => standing::Unblock,
                "Let a blocked person act again.";
            UserDeactivate "user.deactivate" => standing::Deactivate,
                "Deactivate a person who leaves; what they did and own stays.";
            UserReactivate "user.reactivate" => standing::Reactivate,
                "Reactivate a person who left.";
            CapabilityGrant "capability.grant" => user::grant::Grant,
                "Grant a capability; nobody grants what they do not hold.";
            CapabilityRevoke "capability.revoke" => user::grant::Revoke,
                "Revoke a capability.";
        }
        #[doc = "Agents."]
        Agent AgentCommand {
            AgentRegister "agent.register" => agent::Register,
                "Register, so that others can give you work, and describe yourself.";
            AgentHeartbeat "agent.heartbeat" => agent::Beat,
                "Report that you are alive.";
            AgentRevoke "agent.revoke" => agent::OfAgent,
                "Keep an agent from opening and renewing leases (people and the coordinator only).";
            AgentReinstate "agent.reinstate" => agent::OfAgent,
                "Let a revoked agent hold leases again (people and the coordinator only).";
        }
        #[doc = "The blackboard that everybody shares."]
        Blackboard BlackboardCommand {
            SymbolSet "symbol.set" => symbol::Set,
                "Set what a symbol stands for.";
            FactSet "fact.set" => fact::Set,
                "Set a fact; the last write wins.";
            FactDelete "fact.delete" => fact::Delete,
                "Delete a fact.";
            CapsuleWrite "capsule.write" => capsule::Write,
                "Write a capsule: at most ten lines for the next worker.";
            DecisionAppend "decision.append" => decision::Append,
                "Record a decision.";
            DisputeRaise "dispute.raise" => dispute::Raise,
                "Record a dispute over surfaces, for people to settle.";
            LedgerLog "ledger.log" => ledger::Log,
                "Count the tokens of a message.";
            LedgerBaseline "ledger.baseline" => ledger::Baseline,
                "Set the tokens a role used before, to compare with.";
            MessageNote "message.note" => message::Note,
                "Record what was decided about a message on receipt.";
        }
        #[doc = "Records of the memory."]
        Memory MemoryCommand {
            MemoryCreate "memory.create" => Box<remembered::create::Create>,
                "Create a record: a constraint, decision, trap, plan, handoff, candidate, assignment…";
            MemoryUpdate "memory.update" => Box<remembered::update::Update>,
                "Change the text or fields of a record.";
            MemoryMove "memory.move" => Box<remembered::transition::Move>,
                "Change the state of a record; related records change with it.";
            MemoryStep "memory.step" => remembered::step::TakeStep,
                "Set the state of a step of a plan; with the last one done, the plan is done.";
            MemoryProgress "memory.progress" => Box<remembered::assign::Progress>,
                "Report progress on an assignment (its agent).";
            MemorySweep "memory.sweep" => remembered::sweep::Sweep,
                "Move overdue assignments on.";
            MemoryConverge "memory.converge" => remembered::assign::Converge,
                "End a stuck assignment.";
            MemoryArchive "memory.archive" => remembered::archive::Archive,
                "Archive an ended record; the trail keeps it.";
            MemoryTurn "memory.turn" => remembered::round::TakeTurn,
                "Report the result of a turn in a loop (the slot's agent, or the loop's author).";
            MemoryOffer "memory.offer" => Box<remembered::offer::Offer>,
                "Offer work to agents: a claim, an assignment and a message for each, all at once.";
            MemoryLoop "memory.loop" => Box<remembered::loops::InLoop>,
                "Act in a loop: give a turn, advance to a phase, bind, take over, verify, ask.";
        }
        #[doc = "Beginning and finishing work on files."]
        Work WorkCommand {
            WorkBegin "work.begin" => remembered::work::Begin,
                "Begin work: open a session, claim surfaces, and renew what one holds, all at once.";
            WorkNext "work.next" => remembered::next::Next,
                "Take the most urgent task that is ready, with its claim, all at once.";
            WorkFinish "work.finish" => remembered::work::Finish,
                "Release a claim and set the state of the plan it was held for.";
        }
        #[doc = "Runs and their workspaces."]
        Workspace WorkspaceCommand {
            RunStart "run.start" => run::Start,
                "Begin a run: the coordinator's workspace, with its roles and types.";
            RunHandOver "run.hand_over" => run::HandOver,
                "Make another agent the coordinator.";
            RunHold "run.hold" => run::SetHold,
                "Stop giving out work, or go on (coordinator).";
            RunLand "run.land" => run::Land,
                "Record that the result of a run was put onto a branch of the project (coordinator).";
            RunEnd "run.end" => run::End,
                "End the run, regularly or by force.";
            WorkspaceCreate "workspace.create" => create::Create,
                "Create a workspace for an agent (coordinator, or a delegate below itself).";
            WorkspaceAbort "workspace.abort" => abort::Abort,
                "End a workspace at once, and those below it (coordinator).";
            WorkspaceSuspend "workspace.suspend" => suspend::Suspend,
                "Suspend a workspace (coordinator).";
            WorkspaceResume "workspace.resume" => suspend::Resume,
                "Resume a suspended workspace (coordinator).";
            WorkspaceMigrate "workspace.migrate" => migrate::Migrate,
                "Give a workspace another agent (coordinator, or a delegate below itself).";
            WorkspaceTerminate "workspace.terminate" => terminate::Terminate,
                "Ask a workspace to finish within a time (coordinator, or a delegate below itself).";
            WorkspaceGrantVisibility "workspace.grant_visibility" => grant::GrantVisibility,
                "Let a workspace see another one (coordinator, or a delegate below itself).";
            WorkspaceReparent "workspace.reparent" => reparent::Reparent,
                "Put a workspace that lost its parent below another one (coordinator).";
            WorkspaceTransfer "workspace.transfer" => transfer::Transfer,
                "Transfer a workspace to another owner (coordinator, or its owner).";
            WorkspaceModifyBudget "workspace.modify_budget" => budget::Modify,
                "Raise limits of a workspace (coordinator, or a delegate below itself).";
            WorkspaceSetPriority "workspace.set_priority" => priority::SetPriority,
                "Change the priority of a workspace (coordinator).";
            WorkspaceBatchAbort "workspace.batch_abort" => group::AbortGroup,
                "Abort the live workspaces of a group (coordinator).";
            WorkspaceBatchPriority "workspace.batch_priority" => group::GroupPriority,
                "Change the priority of the workspaces of a group (coordinator).";
            MeterReport "meter.report" => meter::Report,
                "Add tokens and cost that a workspace used.";
            WorkspaceWrite "workspace.write" => memory::Write,
                "Put a file into the working memory of one's workspace.";
            WorkspaceBranch "workspace.branch" => branch::SetBranch,
                "Record the branch that the files of a workspace are on.";
            WorkspaceProcess "workspace.process" => process::Report,
                "Record that an agent's process began or ended in a workspace.";
        }
        #[doc = "Signals, envelopes and inboxes."]
        Message MessageCommand {
            EnvelopeSend "envelope.send" => envelope::Send,
                "Send a message to one workspace.";
            InboxTake "inbox.take" => inbox::Take,
                "Take what was delivered, most urgent first.";
            SignalEmit "signal.emit" => signal::Emit,
                "Report the state of one's workspace: ready, started, blocked, complete, failed…";
        }
        #[doc = "Checkpoints, tasks and their integration."]
        Plan PlanCommand {
            CheckpointCreate "checkpoint.create" => checkpoint::Create,
                "Record how far the work in one's workspace has come.";
            TaskGraph "task.graph" => graph::Plan,
                "Plan a graph of tasks (coordinator).";
            TaskAdd "task.add" => graph::Add,
                "Add a task to a graph (coordinator).";
            TaskApprove "task.approve" => orders::Approve,
                "Approve planned tasks, so that they can be assigned (coordinator).";
            TaskAssign "task.assign" => orders::Assign,
                "Create a workspace for a task that is ready (coordinator).";
            TaskRetry "task.retry" => orders::Retry,
                "Let a failed task be assigned again (coordinator).";
            TaskCancel "task.cancel" => orders::Cancel,
                "Cancel a task, and end the workspace that works on it (coordinator).";
            IntegrationDecide "integration.decide" => integration::Decide,
                "Accept, revise or reject what a workspace finished.";
            IntegrationSalvage "integration.salvage" => salvage::Salvage,
                "Merge a checkpoint of a failed workspace.";
            IntegrationUndo "integration.undo" => integration::Undo,
                "Record that merged work was taken back by a commit that reverts it (coordinator).";
            ConflictResolve "conflict.resolve" => conflict::Resolve,
                "Resolve a conflict that stopped a merge.";
        }
        #[doc = "Gates, escalations and what people inject."]
        Approval ApprovalCommand {
            HighwayConfigure "highway.configure" => approvals::Wish,
                "Set what waits for people: gates, escalations, injection (people).";
            HighwayInject "highway.inject" => inject::Inject,
                "Send a message to any workspace from outside (people).";
            GateResolve "gate.resolve" => resolve::Resolve,
                "Answer at a gate: approve, reject or modify (people).";
            GateAsk "gate.ask" => gate::Ask,
                "Ask people again about what was rejected because nobody answered in time.";
            EscalationAnswer "escalation.answer" => escalation::Answer,
                "Answer an escalation (people).";
        }
        #[doc = "Refusals that were decided outside the kernel."]
        Refusal RefusalCommand {
            RefusalRecord "refusal.record" => refusal::RecordRefusal,
                "Record that a command of one's own was refused for a reason outside the trail; answers \
                with that refusal.";
        }
        #[doc = "Rights to send."]
        Right RightCommand {
            RightGrant "right.grant" => right::Grant,
                "Let one workspace send to another.";
            RightRevoke "right.revoke" => right::Revoke,
                "Revoke a right to send (coordinator).";
        }
    }
    runtime {
        ProjectCreate "project.create" => project::Create;
        RuntimeRekey "runtime.rekey" => runtime::Rekey;
        RuntimeUnauthentic "runtime.unauthentic" => runtime::NoteUnauthentic;
        RuntimeRestored "runtime.restored" => runtime::NoteRestored;
        RuntimeDegraded "runtime.degraded" => runtime::NoteDegraded;
        RuntimeRecover "runtime.recover" => recovery::Recover;
        RuntimeDisconnect "runtime.disconnect" => session::Disconnect;
        TrailDenied "trail.denied" => access::NoteDenied;
        TrailCompact "trail.compact" => archive::Compact;
        TrailPrune "trail.prune" => archive::Prune;
        TrailSnapshot "trail.snapshot" => archive::NoteSnapshot;
        AccessRefused "access.refused" => access::NoteRefused;
        RuntimeAuthentic "runtime.authentic" => authentication::NoteAuthentic;
        RuntimeViolated "runtime.violated" => integrity::NoteViolation;
    }
}

pub(crate) type Visit<'v, E> = &'v mut dyn FnMut(&mut Content) -> Result<(), E>;

pub(crate) fn in_payload<E>(payload: &mut PayloadArg, visit: Visit<'_, E>) -> Result<(), E> {
    visit(&mut payload.content)?;
    payload.attachments.iter_mut().try_for_each(visit)
}

pub(crate) fn in_files<E>(files: &mut [FileArg], visit: Visit<'_, E>) -> Result<(), E> {
    files.iter_mut().filter_map(|file| file.content.as_mut()).try_for_each(visit)
}

impl Command {
    /// The arguments as JSON in canonical form, as [`Command::read_recorded`] takes them.
    pub fn args(&self) -> Result<Box<RawValue>, serde_json::Error> {
        serde_json::value::to_raw_value(&Args(self))
    }
}

/// A command's arguments, for serialization.
struct Args<'a>(&'a Command);

impl Serialize for Args<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_args(serializer)
    }
}
