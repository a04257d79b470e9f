//! Everything a person has to know before they answer at a gate.

use althing_kernel::access::reads_all_content;
use althing_kernel::approvals::request::Request;
use althing_kernel::approvals::view::GateView;
use althing_kernel::checkpoint::CheckpointView;
use althing_kernel::content::Content;
use althing_kernel::envelope::PayloadArg;
use althing_kernel::envelope::view::EnvelopeView;
use althing_kernel::file::FileArg;
use althing_kernel::integration::conflict::{ConflictArg, Resolve};
use althing_kernel::integration::salvage::Salvage;
use althing_kernel::integration::{Decide, Decision};
use althing_kernel::task::view::TaskView;
use althing_kernel::workspace::create::Create;
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Actor, CheckpointId, Principal, WorkspaceId};
use serde_json::{Value, json};

use super::integration::describe_conflict;
use crate::amounts::{budget_words, show_cost};
use crate::command_context::CommandContext;
use crate::content;
use crate::error::Error;
use crate::event_summary::word;
use crate::naming::{short_blob, short_ids};
use crate::output::{counted, one_line};
use crate::span::show_secs;

/// The longest content that is shown beside its hash.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Facts in the order they are shown.
#[derive(Default)]
struct Sheet(Vec<(&'static str, String)>);

impl Sheet {
    fn put(&mut self, key: &'static str, value: &(impl ToString + ?Sized)) {
        self.0.push((key, value.to_string()));
    }

    fn put_if<T: ToString>(&mut self, key: &'static str, value: Option<&T>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    fn each<T: ToString>(&mut self, key: &'static str, values: impl IntoIterator<Item = T>) {
        for value in values {
            self.put(key, &value);
        }
    }
}

/// Prints everything that waits at a gate.
pub(super) fn print(context: &CommandContext<'_>, gate: &GateView) -> Result<(), Error> {
    let mut sheet = Sheet::default();
    let mut text = None;
    if let Some(task) = &gate.task {
        of_task(&mut sheet, task);
        text = Some(task.description.clone());
    }
    if let Some(sent) = &gate.envelope {
        of_envelope(&mut sheet, sent);
        text = Some(sent.payload.content.clone());
    }
    match &gate.request {
        Some(Request::Create(create)) => {
            of_create(&mut sheet, create);
            let blob = create.directive.as_ref().and_then(|payload| payload.content.blob());
            text = blob.cloned().or(text);
        }
        Some(Request::Integrate(decide)) => of_merge(context, &mut sheet, decide),
        Some(Request::Salvage(salvage)) => of_salvage(context, &mut sheet, salvage)?,
        Some(Request::Resolve(resolve)) => of_resolve(context, &mut sheet, resolve),
        Some(Request::Abort(abort)) => {
            if let Some(view) = seen(context, &abort.workspace) {
                of_workspace(&mut sheet, &view);
            }
            sheet.put_if("reason", abort.reason.as_ref());
        }
        None => {}
    }
    for (key, value) in sheet.0 {
        context.out().fact(key, 12, &one_line(&short_ids(&value)))?;
    }
    if text.is_some() && !may_read(context, gate)? {
        return context.out().line("  (what it says is for those who decide)");
    }
    let blobs = context.blobs();
    for line in text.iter().flat_map(|blob| content::shown(&blobs, blob)) {
        context.out().line(format!("  {line}"))?;
    }
    Ok(())
}

/// Whether somebody reads what waits: people, the coordinator, and whoever asked for it. To whom a
/// message is to go reads it once it has arrived.
fn may_read(context: &CommandContext<'_>, gate: &GateView) -> Result<bool, Error> {
    let Some(own @ Principal::Agent(_)) = context.project.asker()? else { return Ok(true) };
    let asked = gate.asked_by == Actor::from(own.clone());
    Ok(asked || reads_all_content(&context.engine()?.world()?.state, Some(&own)))
}

/// A workspace, if whoever asks may read it.
fn seen(context: &CommandContext<'_>, id: &WorkspaceId) -> Option<WorkspaceView> {
    context.workspace_view(id.clone()).ok()
}

fn of_task(sheet: &mut Sheet, task: &TaskView) {
    sheet.put("task", &format!("{}  {:?}", task.task, task.name));
    sheet.put("priority", &word(&task.priority));
    sheet.put_if("part of", task.parent_task.as_ref());
    sheet.each("after", &task.depends_on);
    if let Some(estimate) = &task.estimate {
        let tokens = counted(estimate.tokens, "token", "tokens");
        let (time, cost) = (show_secs(estimate.wall_time_s), show_cost(estimate.cost));
        sheet.put("estimate", &format!("{tokens}, {time}, cost {cost}"));
    }
}

fn of_envelope(sheet: &mut Sheet, sent: &EnvelopeView) {
    sheet.put("message", &sent.envelope);
    sheet.put("from", &sent.from);
    sheet.put("to", &sent.to);
    sheet.put("kind", &sent.kind);
    sheet.put("priority", &word(&sent.priority));
    sheet.put_if("answers", sent.in_reply_to.as_ref());
    sheet.each("carries", &sent.rights);
    sheet.each("attached", &sent.payload.attachments);
}

fn of_create(sheet: &mut Sheet, create: &Create) {
    sheet.put("role", &create.role);
    sheet.put("agent", &create.agent);
    sheet.put_if("below", create.parent.as_ref());
    sheet.put_if("task", create.task.as_ref());
    sheet.put_if("owned by", create.owner.as_ref());
    sheet.put_if("because of", create.caused_by.as_ref());
    match &create.authority {
        None => sheet.put("may change", "whatever the workspace above may"),
        Some(own) if own.is_empty() => sheet.put("may change", "nothing"),
        Some(own) => {
            let own: Vec<&str> = own.iter().map(althing_kernel::Surface::as_str).collect();
            sheet.put("may change", &own.join(" "));
        }
    }
    sheet.each("may read", &create.visibility);
    if create.global_trail {
        sheet.put("may read", "the whole trail");
    }
    if create.delegate {
        sheet.put("delegate", "may create workspaces below itself");
    }
    if create.budget.is_empty() {
        sheet.put("budget", "not limited");
    } else {
        sheet.put("budget", &budget_words(&create.budget));
    }
    if let Some(percent) = create.warn_at_percent {
        sheet.put("warned at", &format!("{} %", percent.get()));
    }
    for (key, time) in [
        ("may take", create.timeout_s),
        ("shows up in", create.idle_timeout_s),
        ("watched", create.liveness_interval_s),
    ] {
        sheet.put_if(key, time.map(|time| show_secs(time.secs())).as_ref());
    }
    if let Some(priority) = create.priority {
        sheet.put("urgency", &word(&priority));
    }
    sheet.put_if("group", create.group.as_ref());
    sheet.each("tool", &create.mounts);
    sheet.put_if("context", create.context.as_ref().and_then(Content::blob));
    let attached = create.directive.iter().flat_map(|payload: &PayloadArg| &payload.attachments);
    sheet.each("attached", attached.filter_map(Content::blob));
}

fn of_workspace(sheet: &mut Sheet, view: &WorkspaceView) {
    let agent = view.agent.as_ref().map_or("the system", |agent| agent.as_str());
    sheet.put("workspace", &format!("{} of {agent} is {}", view.workspace, view.status));
}

fn checkpoint(
    context: &CommandContext<'_>,
    id: &WorkspaceId,
    which: Option<&CheckpointId>,
) -> Option<CheckpointView> {
    let made = context.checkpoints(id).ok()?;
    made.into_iter().find(|made| Some(&made.checkpoint) == which)
}

fn of_checkpoint(sheet: &mut Sheet, made: &CheckpointView) {
    let (status, sure) = (word(&made.status), word(&made.confidence));
    sheet.put("checkpoint", &format!("{}  {status}, confidence {sure}", made.checkpoint));
    sheet.put("intent", &made.intent);
    for file in &made.files_changed {
        let content = file.content.as_ref().map_or_else(|| "deleted".to_owned(), short_blob);
        sheet.put("file", &format!("{}  {content}", file.path));
    }
}

/// Files as somebody says they should be.
fn of_files(sheet: &mut Sheet, files: &[FileArg]) {
    for file in files {
        let content = file.content.as_ref().map(Content::blob);
        let content = match content {
            None => "deleted".to_owned(),
            Some(blob) => blob.map_or_else(String::new, short_blob),
        };
        sheet.put("merged", &format!("{}  {content}", file.path));
    }
}

/// The conflicts found before the command was issued.
fn of_findings(sheet: &mut Sheet, found: &[ConflictArg]) {
    for conflict in found {
        let about: Vec<String> = conflict.resources.iter().map(ToString::to_string).collect();
        let about =
            if about.is_empty() { String::new() } else { format!(": {}", about.join(", ")) };
        let words = format!("{} {}{about}", word(&conflict.kind), conflict.description);
        sheet.put("FOUND", &words);
    }
    if !found.is_empty() {
        sheet.put("if approved", "the merge stops at what was found; it is then to be settled");
    }
}

fn of_merge(context: &CommandContext<'_>, sheet: &mut Sheet, decide: &Decide) {
    if let Some(view) = seen(context, &decide.workspace) {
        of_workspace(sheet, &view);
        sheet.put_if("into", view.parent.as_ref());
        let made = checkpoint(context, &decide.workspace, view.latest_final.as_ref());
        if let Some(made) = &made {
            of_checkpoint(sheet, made);
        }
    }
    if decide.decision != Decision::Accept {
        sheet.put("decision", &word(&decide.decision));
    }
    sheet.put("strategy", &word(&decide.strategy.unwrap_or_default()));
    of_files(sheet, decide.merged.as_deref().unwrap_or_default());
    sheet.put_if("reason", decide.reason.as_ref());
    of_findings(sheet, &decide.conflicts);
}

fn of_salvage(
    context: &CommandContext<'_>,
    sheet: &mut Sheet,
    salvage: &Salvage,
) -> Result<(), Error> {
    if let Some(view) = seen(context, &salvage.workspace) {
        of_workspace(sheet, &view);
        let newest = view.latest_final.as_ref().or(view.head.as_ref());
        let which = salvage.checkpoint.as_ref().or(newest);
        let made = checkpoint(context, &salvage.workspace, which);
        if let Some(made) = &made {
            of_checkpoint(sheet, made);
        }
    }
    let target = context.engine()?.world()?.state.salvage_target(&salvage.workspace);
    sheet.put_if("into", target.as_ref());
    of_files(sheet, &salvage.merged);
    sheet.put_if("reason", salvage.reason.as_ref());
    of_findings(sheet, &salvage.conflicts);
    Ok(())
}

fn of_resolve(context: &CommandContext<'_>, sheet: &mut Sheet, resolve: &Resolve) {
    if let Some(view) = seen(context, &resolve.workspace) {
        of_workspace(sheet, &view);
        let open = view.conflicts.iter().filter(|open| open.id == resolve.conflict);
        for open in open {
            sheet.put("conflict", &describe_conflict(open));
        }
        let made = checkpoint(context, &resolve.workspace, view.latest_final.as_ref());
        if let Some(made) = &made {
            of_checkpoint(sheet, made);
        }
    }
    sheet.put("settled by", &word(&resolve.strategy));
    sheet.put("resolution", &resolve.resolution);
    of_files(sheet, resolve.merged.as_deref().unwrap_or_default());
}

/// A gate for scripts: as the kernel shows it, with short texts beside their hashes, and what it
/// takes to judge a merge.
pub(super) fn json(context: &CommandContext<'_>, gate: &GateView) -> Result<Value, Error> {
    let mut value =
        serde_json::to_value(gate).map_err(|error| Error::unavailable(error.to_string()))?;
    let readable = may_read(context, gate)?;
    for (at, name) in [
        ("/task", "/description"),
        ("/envelope", "/payload/content"),
        ("/request/create/directive", "/content/blob"),
    ] {
        let Some(owner) = value.pointer_mut(at).filter(|_| readable) else { continue };
        let text = owner.pointer(name).and_then(Value::as_str);
        let text = text.and_then(|name| short_text(context, name));
        if let Some(text) = text {
            owner["text"] = text.into();
        }
    }
    let about = match &gate.request {
        Some(Request::Integrate(decide)) => Some(&decide.workspace),
        Some(Request::Resolve(resolve)) => Some(&resolve.workspace),
        _ => None,
    };
    if let Some(view) = about.and_then(|id| seen(context, id)) {
        let made = checkpoint(context, &view.workspace, view.latest_final.as_ref());
        value["checkpoint"] = json!(made);
        value["conflicts"] = json!(view.conflicts);
        value["workspace_status"] = json!(view.status);
    }
    Ok(value)
}

/// Content that is short and text.
fn short_text(context: &CommandContext<'_>, name: &str) -> Option<String> {
    let bytes = context.blobs().get(&name.parse().ok()?).ok()?;
    String::from_utf8(bytes).ok().filter(|text| text.len() <= TEXT_BYTES_MAX)
}
