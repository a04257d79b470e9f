//! `althing workspace`

use althing_kernel::file::File;
use althing_kernel::query::{Answer, OfWorkspace, Query, WorkspaceList as List};
use althing_kernel::text::Text;
use althing_kernel::workspace::abort::Abort;
use althing_kernel::workspace::create::Create;
use althing_kernel::workspace::memory::Write;
use althing_kernel::workspace::migrate::Migrate;
use althing_kernel::workspace::priority::SetPriority;
use althing_kernel::workspace::suspend::{Resume, Suspend};
use althing_kernel::workspace::transfer::Transfer;
use althing_kernel::workspace::view::{PeerState, WorkspaceView};
use althing_kernel::{Command, Reply, Surface, Timestamp, WorkspaceId};

use super::gates::note_waiting;
use super::integration::describe_conflict;
use super::{checkpoints, ending, mail, meter, rights, topology, workspace_tree};
use crate::amounts;
use althing_services::runner::end_idle_processes;

use crate::app::App;
use crate::cli::{
    Order, WorkspaceCommand, WorkspaceCreate, WorkspaceList, WorkspaceMigrate, WorkspaceTransfer,
    WorkspaceWrite,
};
use crate::command_context::CommandContext;
use crate::content;
use crate::error::Error;
use crate::event_summary::word;
use crate::naming::{Naming, short, short_blob};
use crate::output::{counted, from_now, one_line};
use crate::span::show_secs;
use crate::surfaces;
use crate::table::{free_text, whole};

pub(crate) fn run(app: &App, command: WorkspaceCommand) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    match command {
        WorkspaceCommand::Create(args) => create(&context, *args),
        WorkspaceCommand::List(args) => list(&context, args),
        WorkspaceCommand::Show(args) => show(&context, &args.id),
        WorkspaceCommand::Tree(args) => workspace_tree::run(&context, &args),
        WorkspaceCommand::Path(args) => topology::path(&context, &args.id),
        WorkspaceCommand::Sees(args) => topology::sees(&context, &args),
        WorkspaceCommand::Abort(args) => {
            order(&context, args, |workspace, reason| {
                Command::WorkspaceAbort(Abort { reason, workspace })
            })?;
            end_idle_processes(&context.request)
        }
        WorkspaceCommand::Suspend(args) => {
            order(&context, args, |workspace, reason| {
                Command::WorkspaceSuspend(Suspend { reason, workspace })
            })?;
            end_idle_processes(&context.request)
        }
        WorkspaceCommand::Resume(args) => {
            let workspace = context.workspace(&args.id)?;
            print_reply(&context, context.order(Command::WorkspaceResume(Resume { workspace }))?)
        }
        WorkspaceCommand::Migrate(args) => migrate(&context, args),
        WorkspaceCommand::Terminate(args) => ending::terminate(&context, args),
        WorkspaceCommand::Grant(args) => ending::grant(&context, args),
        WorkspaceCommand::Reparent(args) => ending::reparent(&context, &args),
        WorkspaceCommand::Transfer(args) => transfer(&context, args),
        WorkspaceCommand::Budget(args) => meter::raise(&context, &args),
        WorkspaceCommand::Priority(args) => {
            let (workspace, priority) = (context.workspace(&args.id)?, args.priority);
            let set = SetPriority { priority, workspace };
            let reply = context.order(Command::WorkspaceSetPriority(set))?;
            if !context.out().json
                && let Reply::Workspace(view) = &reply
            {
                let now = format!("{} is {}", view.workspace, word(&view.priority));
                return context.out().say(&now);
            }
            print_reply(&context, reply)
        }
        WorkspaceCommand::Write(args) => write(&context, &args),
        WorkspaceCommand::Files(args) => files(&context, &args.id),
    }
}

/// The surfaces a workspace may change, as typed; none if left out.
pub(super) fn authority(
    context: &CommandContext<'_>,
    texts: &[String],
) -> Result<Option<Vec<Surface>>, Error> {
    if texts.is_empty() {
        return Ok(None);
    }
    let read = surfaces::read(&context.project.place, texts, false)?;
    Ok(Some(read.as_slice().to_vec()))
}

fn create(context: &CommandContext<'_>, args: WorkspaceCreate) -> Result<(), Error> {
    let binding = args.binding;
    let allowance = binding.allowance;
    let create = Create {
        agent: binding.worker,
        authority: authority(context, &binding.authority)?,
        budget: allowance.budget.unwrap_or_default(),
        context: args.context.as_deref().map(|text| content::read(context, text)).transpose()?,
        delegate: args.delegate,
        directive: args
            .directive
            .as_deref()
            .map(|text| content::payload(context, text))
            .transpose()?,
        global_trail: args.global_trail,
        caused_by: args
            .caused_by
            .as_deref()
            .map(|text| mail::envelope(context, text))
            .transpose()?,
        group: allowance.group,
        idle_timeout_s: args.idle_timeout,
        liveness_interval_s: allowance.liveness,
        mounts: args.mounts,
        owner: binding.owner,
        parent: binding.parent.as_deref().map(|text| context.workspace(text)).transpose()?,
        priority: args.priority,
        role: binding.role,
        task: args.task.as_deref().map(|text| context.task(text)).transpose()?,
        timeout_s: binding.timeout,
        visibility: context.workspace_list(&binding.visibility)?,
        warn_at_percent: allowance.warn_at,
    };
    let client = context.client()?;
    context.introduce(&client, &create.agent)?;
    print_reply(context, client.execute(Command::WorkspaceCreate(create))?)
}

fn order(
    context: &CommandContext<'_>,
    args: Order,
    command: impl FnOnce(WorkspaceId, Option<Text<1000>>) -> Command,
) -> Result<(), Error> {
    let id = context.workspace(&args.id)?;
    print_reply(context, context.order(command(id, args.reason))?)
}

fn migrate(context: &CommandContext<'_>, args: WorkspaceMigrate) -> Result<(), Error> {
    let workspace = context.workspace(&args.id)?;
    let client = context.client()?;
    if context.engine()?.world()?.state.workspace(&workspace).is_some() {
        context.introduce(&client, &args.to)?;
    }
    let migrate = Migrate { agent: args.to, reason: args.reason, workspace };
    print_reply(context, client.execute(Command::WorkspaceMigrate(migrate))?)
}

fn transfer(context: &CommandContext<'_>, args: WorkspaceTransfer) -> Result<(), Error> {
    let workspace = context.workspace(&args.id)?;
    let words = format!("{} answers for {workspace} from now on", args.to);
    let transfer = Transfer { reason: args.reason, to: args.to, workspace };
    let reply = context.order(Command::WorkspaceTransfer(transfer))?;
    if context.out().json { context.out().value(&reply) } else { context.out().say(&words) }
}

fn write(context: &CommandContext<'_>, args: &WorkspaceWrite) -> Result<(), Error> {
    let path = surfaces::file(&context.project.place, &args.path)?;
    let workspace = context.acting_in()?;
    let stored = args.content.as_deref().map(|text| content::read(context, text)).transpose()?;
    let verb = if stored.is_some() { "wrote" } else { "removed" };
    let words = format!("{verb} {path}");
    let write = Write { content: stored, path, workspace };
    let reply = context.order(Command::WorkspaceWrite(write))?;
    if context.out().json { context.out().value(&reply) } else { context.out().line(words) }
}

/// Tells what a command made of a workspace.
pub(super) fn print_reply(context: &CommandContext<'_>, reply: Reply) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(&reply);
    }
    if note_waiting(context, &reply)? {
        return Ok(());
    }
    let Reply::Workspace(view) = reply else { return Err(Error::unexpected(&reply)) };
    let agent = view.agent.as_ref().map_or("the system", |agent| agent.as_str());
    context.out().say(&format!("{} {} for {agent} is {}", view.role, view.workspace, view.status))
}

fn list(context: &CommandContext<'_>, args: WorkspaceList) -> Result<(), Error> {
    let asked = List {
        above: context.workspace_if(args.above.as_deref())?,
        agent: args.worker,
        below: context.workspace_if(args.below.as_deref())?,
        beside: context.workspace_if(args.beside.as_deref())?,
        group: None,
        leaves: args.leaves,
        live: args.live,
        orphans: args.orphans,
        originator: args.originator,
        owner: args.owner,
        role: args.role,
        status: args.status,
    };
    let narrow = asked != List::default();
    let found = context.workspaces(asked)?;
    if context.out().json {
        return context.out().value(&found);
    }
    if found.is_empty() {
        return context.out().line(if narrow {
            "no workspace fits"
        } else {
            "there are no workspaces; `althing coordinator start` begins a run"
        });
    }
    table(context, &found)
}

/// Workspaces, one a line.
pub(super) fn table(context: &CommandContext<'_>, found: &[WorkspaceView]) -> Result<(), Error> {
    let naming = context.workspace_naming()?;
    let row = |view: &WorkspaceView| {
        vec![
            naming.short(&view.workspace),
            view.role.to_string(),
            view.agent.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            view.owner.to_string(),
            state_of(view).to_owned(),
            from_now(view.since, context.now()),
            view.inbox.to_string(),
            view.parent.as_ref().map_or_else(|| "-".to_owned(), |parent| naming.short(parent)),
        ]
    };
    let titles = ["WORKSPACE", "ROLE", "AGENT", "OWNER", "STATE", "SINCE", "MAIL", "BELOW"];
    context.out().table(&titles, &found.iter().map(row).collect::<Vec<_>>())
}

/// The state of a workspace, or of the host of a peer.
pub(super) fn state_of(view: &WorkspaceView) -> &'static str {
    match &view.peer {
        Some(peer) if !view.status.is_terminal() => peer.state.as_str(),
        _ => view.status.as_str(),
    }
}

/// The properties of a peer, line by line.
fn facts_of_peer(view: &WorkspaceView, now: Timestamp) -> Vec<(&'static str, String)> {
    let Some(peer) = &view.peer else { return Vec::new() };
    let mut facts = Vec::new();
    if let Some(client) = &peer.client {
        facts.push(("client", one_line(client)));
    }
    let connections = match (peer.connections, peer.state) {
        (_, PeerState::Gone) => "its host is gone".to_owned(),
        (0, PeerState::Active) => "none kept; each call is one of its own".to_owned(),
        (count, PeerState::Active) => count.to_string(),
    };
    facts.push(("connections", connections));
    facts.push(("connected", from_now(view.created_at, now)));
    facts.push(("active", from_now(peer.last_activity, now)));
    facts.push(("holds", counted(peer.leases as u64, "claim", "claims")));
    facts
}

fn show(context: &CommandContext<'_>, text: &str) -> Result<(), Error> {
    let id = context.workspace(text)?;
    let view = context.workspace_view(id.clone())?;
    if context.out().json {
        return context.out().value(&view);
    }
    let naming = context.workspace_naming()?;
    for (key, value) in facts(context, &view, &naming) {
        context.out().fact(key, 12, &one_line(&value))?;
    }
    if !view.is_of_run() {
        return Ok(());
    }
    let made = context.checkpoints(&id)?;
    if !made.is_empty() {
        context.out().line("\ncheckpoints:")?;
        checkpoints::table(context, &made)?;
    }
    let (memory, merged) = files_of(context, id.clone())?;
    for (title, files) in [("\nworking memory:", memory), ("\nmerged into it:", merged)] {
        if !files.is_empty() {
            context.out().line(title)?;
            file_table(context, &files)?;
        }
    }
    let rights = context.rights(&id)?;
    if !rights.is_empty() {
        context.out().line("\nrights:")?;
        rights::table(context, &rights)?;
    }
    Ok(())
}

/// The properties of a workspace, line by line.
fn facts(
    context: &CommandContext<'_>,
    view: &WorkspaceView,
    naming: &Naming,
) -> Vec<(&'static str, String)> {
    let now = context.now();
    let list = |words: Vec<String>| words.join(" ");
    let mut facts = vec![
        ("workspace", short(&view.workspace)),
        ("role", view.role.to_string()),
        ("agent", view.agent.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string)),
        ("state", format!("{}; changed {}", state_of(view), from_now(view.since, now))),
    ];
    facts.extend(facts_of_peer(view, now));
    if let Some(ended) = view.ended {
        facts.push(("ended by", ended.as_str().to_owned()));
    }
    if let Some(reason) = &view.reason {
        facts.push(("because", one_line(reason)));
    }
    if let Some(parent) = &view.parent {
        facts.push(("below", naming.short(parent)));
    }
    if let Some(task) = &view.task {
        facts.push(("task", short(task)));
    }
    facts.push(("owner", format!("{}, caused by {}", view.owner, view.originator)));
    facts.push(("may change", list(view.authority.iter().map(ToString::to_string).collect())));
    if !view.visibility.is_empty() {
        facts.push(("may read", list(view.visibility.iter().map(|id| naming.short(id)).collect())));
    }
    if !view.mounts.is_empty() {
        facts.push(("tools", list(view.mounts.clone())));
    }
    if view.delegate {
        facts.push(("delegate", "may create workspaces below itself".to_owned()));
    }
    if let Some(deadline) = view.deadline {
        facts.push(("deadline", from_now(deadline, now)));
    }
    if let Some(ends) = view.grace_ends {
        let when = format!("asked to; its time ends {}", from_now(ends, now));
        facts.push(("finish", when));
    }
    if let Some(lost) = &view.orphan_of {
        facts.push(("orphan", format!("its parent {} ended", naming.short(lost))));
    }
    if let Some(group) = &view.group {
        facts.push(("group", group.clone()));
    }
    facts.push(("priority", word(&view.priority)));
    if !view.budget.is_empty() {
        facts.push(("budget", amounts::budget_words(&view.budget)));
    }
    if let Some(interval) = view.liveness_interval_s {
        let interval = show_secs(interval.secs());
        facts.push(("watched", format!("reported after {interval} of silence")));
    }
    facts.push(("mail", format!("{} in its inbox", view.inbox)));
    for conflict in &view.conflicts {
        facts.push(("conflict", describe_conflict(conflict)));
    }
    facts
}

fn files_of(
    context: &CommandContext<'_>,
    workspace: WorkspaceId,
) -> Result<(Vec<File>, Vec<File>), Error> {
    match context.ask(&Query::WorkspaceFiles(OfWorkspace { workspace }))? {
        Answer::Files(view) => Ok((view.memory, view.merged)),
        other => Err(Error::unexpected(&other)),
    }
}

fn files(context: &CommandContext<'_>, text: &str) -> Result<(), Error> {
    let workspace = context.workspace(text)?;
    if context.out().json {
        return context
            .out()
            .value(&context.ask(&Query::WorkspaceFiles(OfWorkspace { workspace }))?);
    }
    let (memory, merged) = files_of(context, workspace)?;
    let row = |place: &'static str| {
        move |file: &File| vec![place.to_owned(), file.path.to_string(), content_of(file)]
    };
    let rows: Vec<Vec<String>> =
        memory.iter().map(row("memory")).chain(merged.iter().map(row("merged"))).collect();
    if rows.is_empty() {
        return context.out().line("no files");
    }
    context.out().table(&[whole("IN"), free_text("PATH"), whole("CONTENT")], &rows)
}

fn content_of(file: &File) -> String {
    file.content.as_ref().map_or_else(|| "deleted".to_owned(), short_blob)
}

/// Files with what is in them, by hash.
pub(super) fn file_table(context: &CommandContext<'_>, files: &[File]) -> Result<(), Error> {
    let row = |file: &File| vec![file.path.to_string(), content_of(file)];
    context
        .out()
        .table(&[free_text("PATH"), whole("CONTENT")], &files.iter().map(row).collect::<Vec<_>>())
}
