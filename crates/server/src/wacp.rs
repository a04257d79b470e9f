//! The nouns of WACP as tools: tasks, inboxes, envelopes, signals, checkpoints, integration.
//!
//! A tool takes the arguments of the command or the question it is named after, as the kernel reads
//! them, and answers with its reply. Nothing is decided here.

use althing_kernel::checkpoint::Create as CheckpointCreate;
use althing_kernel::envelope::Send;
use althing_kernel::envelope::inbox::Take;
use althing_kernel::integration::Decide;
use althing_kernel::integration::conflict::Resolve;
use althing_kernel::query::{
    Everything, InboxList, OfCheckpoint, OfTask, OfWorkspace, Query, TaskList, TaskReady,
    WorkspaceList,
};
use althing_kernel::run::Start;
use althing_kernel::signal::Emit;
use althing_kernel::task::graph::Plan;
use althing_kernel::task::orders::{Approve, Assign, Cancel, Retry};
use althing_kernel::{Blob, Command};
use althing_services::frugal::{Ledger, identify};
use althing_services::{Error, ProjectContext};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::dialect::{Dialect, Speech, Tool};

/// The name the server gives to hosts.
const SERVER: &str = "althing-wacp";

/// How this dialect answers.
const SPEECH: Speech = Speech {
    attribution: "agent",
    failure: |fault| {
        let error = json!({ "error": fault.object() });
        (error.clone(), error)
    },
    text: Value::to_string,
};

/// The dialect.
pub fn dialect(ledger: Ledger) -> Dialect {
    Dialect {
        server: SERVER,
        version: env!("CARGO_PKG_VERSION"),
        instructions: "Workspaces of a run (WACP 0.1). A worker takes its inbox, signals started, \
            makes checkpoints and signals complete; the coordinator plans, assigns and integrates.",
        tools: tools(),
        identify: Box::new(move |call| identify(&ledger, call)),
        speech: &SPEECH,
        protocol: Some(("wacp", "0.1")),
    }
}

/// The tools.
pub(crate) fn tools() -> Vec<Tool> {
    [questions(), of_workers(), of_coordinators()].into_iter().flatten().collect()
}

fn questions() -> Vec<Tool> {
    vec![
        asks("wacp_run_get", "The current run.", |of: Everything| Query::RunGet(of)),
        asks("wacp_workspace_list", "The workspaces.", |list: WorkspaceList| {
            Query::WorkspaceList(list)
        }),
        asks("wacp_workspace_get", "One workspace.", |of: OfWorkspace| Query::WorkspaceGet(of)),
        asks("wacp_task_list", "The tasks of the run.", |list: TaskList| Query::TaskList(list)),
        asks(
            "wacp_task_ready",
            "The tasks that can be assigned, most urgent first.",
            |of: TaskReady| Query::TaskReadyList(of),
        ),
        asks("wacp_task_get", "One task, with its description.", |of: OfTask| Query::TaskGet(of)),
        asks("wacp_inbox_list", "What is in an inbox, without taking it.", |list: InboxList| {
            Query::InboxList(list)
        }),
        asks("wacp_checkpoint_get", "One checkpoint.", |of: OfCheckpoint| Query::CheckpointGet(of)),
    ]
}

fn of_workers() -> Vec<Tool> {
    vec![
        orders("wacp_inbox_take", "Take what was delivered to your workspace.", |take: Take| {
            Command::InboxTake(take)
        }),
        orders("wacp_send", "Send an envelope to one workspace.", |send: Send| {
            Command::EnvelopeSend(send)
        }),
        orders("wacp_signal", "Report the state of your workspace.", |emit: Emit| {
            Command::SignalEmit(emit)
        }),
        orders(
            "wacp_checkpoint_create",
            "Record how far the work in your workspace is.",
            |create: CheckpointCreate| Command::CheckpointCreate(create),
        ),
    ]
}

fn of_coordinators() -> Vec<Tool> {
    vec![
        orders("wacp_run_start", "Begin a run.", |start: Start| Command::RunStart(start)),
        orders("wacp_task_graph", "Plan a graph of tasks (coordinator).", |plan: Plan| {
            Command::TaskGraph(plan)
        }),
        orders("wacp_task_approve", "Approve planned tasks (coordinator).", |own: Approve| {
            Command::TaskApprove(own)
        }),
        orders("wacp_task_assign", "Assign a ready task (coordinator).", |assign: Assign| {
            Command::TaskAssign(assign)
        }),
        orders("wacp_task_retry", "Let a failed task be assigned again.", |retry: Retry| {
            Command::TaskRetry(retry)
        }),
        orders("wacp_task_cancel", "Cancel a task (coordinator).", |cancel: Cancel| {
            Command::TaskCancel(cancel)
        }),
        orders("wacp_integrate", "Accept, revise or reject finished work.", |decide: Decide| {
            Command::IntegrationDecide(decide)
        }),
        orders(
            "wacp_conflict_resolve",
            "Resolve a conflict that stopped a merge.",
            |own: Resolve| Command::ConflictResolve(own),
        ),
    ]
}

/// A tool that answers a question.
fn asks<A: DeserializeOwned + JsonSchema + 'static>(
    name: &'static str,
    description: &'static str,
    query: impl Fn(A) -> Query + std::marker::Send + Sync + 'static,
) -> Tool {
    let answer =
        move |context: &ProjectContext, args: A| told(context, &context.ask(&query(args))?);
    Tool::taking::<A>(name, description, &SPEECH, answer).reading()
}

/// A tool that carries out a command.
fn orders<A: DeserializeOwned + JsonSchema + 'static>(
    name: &'static str,
    description: &'static str,
    command: impl Fn(A) -> Command + std::marker::Send + Sync + 'static,
) -> Tool {
    let reply =
        move |context: &ProjectContext, args: A| told(context, &context.execute(command(args))?);
    Tool::taking::<A>(name, description, &SPEECH, reply)
}

/// An answer on the wire: always an object, with the text of messages that were taken and of task
/// descriptions beside their hashes.
fn told(context: &ProjectContext, answer: &impl Serialize) -> Result<Value, Error> {
    let mut value = serde_json::to_value(answer)
        .map_err(|error| Error::defect(format!("an answer cannot be written: {error}")))?;
    if let Value::Array(items) = value {
        value = json!({ "items": items });
    }
    let envelopes = value["envelopes"].as_array_mut().into_iter().flatten();
    for envelope in envelopes.filter(|envelope| envelope["taken"] == true) {
        let text = stored(context, &envelope["payload"]["content"]);
        add(envelope, text);
    }
    if value.get("description").is_some() {
        let text = stored(context, &value["description"]);
        add(&mut value, text);
    }
    Ok(value)
}

fn add(value: &mut Value, text: Option<String>) {
    if let Some(text) = text {
        value["text"] = text.into();
    }
}

fn stored(context: &ProjectContext, name: &Value) -> Option<String> {
    let blob: Blob = name.as_str()?.parse().ok()?;
    String::from_utf8(context.blobs().get(&blob).ok()?).ok()
}
