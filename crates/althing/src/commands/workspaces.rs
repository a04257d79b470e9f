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
use althing_kernel::workspace::view::WorkspaceView;
use althing_kernel::{Command, Reply, Surface, WorkspaceId};

use super::gates::said_to_wait;
use super::integration::said_of_conflict;
use super::{checkpoints, ending, mail, meter, rights, topology, workspace_tree};
use crate::amounts;
use crate::app::App;
use crate::cli::{
    Order, WorkspaceCommand, WorkspaceCreate, WorkspaceList, WorkspaceMigrate, WorkspaceTransfer,
    WorkspaceWrite,
};
use crate::content;
use crate::desk::Desk;
use crate::event_summary::word;
use crate::failure::Failure;
use crate::naming::{Naming, short, short_blob};
use crate::output::{from_now, one_line};
use crate::span::show_secs;
use crate::surfaces;
use crate::table::{free_text, whole};

pub(crate) fn run(app: &App, command: WorkspaceCommand) -> Result<(), Failure> {
    let desk = Desk::open(app)?;
    match command {
        WorkspaceCommand::Create(args) => create(&desk, *args),
        WorkspaceCommand::List(args) => list(&desk, args),
        WorkspaceCommand::Show(args) => show(&desk, &args.id),
        WorkspaceCommand::Tree(args) => workspace_tree::run(&desk, &args),
        WorkspaceCommand::Path(args) => topology::path(&desk, &args.id),
        WorkspaceCommand::Sees(args) => topology::sees(&desk, &args),
        WorkspaceCommand::Abort(args) => order(&desk, args, |workspace, reason| {
            Command::WorkspaceAbort(Abort { reason, workspace })
        }),
        WorkspaceCommand::Suspend(args) => order(&desk, args, |workspace, reason| {
            Command::WorkspaceSuspend(Suspend { reason, workspace })
        }),
        WorkspaceCommand::Resume(args) => {
            let workspace = desk.workspace(&args.id)?;
            tell(&desk, desk.order(Command::WorkspaceResume(Resume { workspace }))?)
        }
        WorkspaceCommand::Migrate(args) => migrate(&desk, args),
        WorkspaceCommand::Terminate(args) => ending::terminate(&desk, args),
        WorkspaceCommand::Grant(args) => ending::grant(&desk, args),
        WorkspaceCommand::Reparent(args) => ending::reparent(&desk, &args),
        WorkspaceCommand::Transfer(args) => transfer(&desk, args),
        WorkspaceCommand::Budget(args) => meter::raise(&desk, &args),
        WorkspaceCommand::Priority(args) => {
            let (workspace, priority) = (desk.workspace(&args.id)?, args.priority);
            let set = SetPriority { priority, workspace };
            let reply = desk.order(Command::WorkspaceSetPriority(set))?;
            if !desk.out().json
                && let Reply::Workspace(view) = &reply
            {
                let now = format!("{} is {}", view.workspace, word(&view.priority));
                return desk.out().say(&now);
            }
            tell(&desk, reply)
        }
        WorkspaceCommand::Write(args) => write(&desk, &args),
        WorkspaceCommand::Files(args) => files(&desk, &args.id),
    }
}

/// The surfaces a workspace may change, as typed; none if left out.
pub(super) fn authority(
    desk: &Desk<'_>,
    texts: &[String],
) -> Result<Option<Vec<Surface>>, Failure> {
    if texts.is_empty() {
        return Ok(None);
    }
    let read = surfaces::read(&desk.project.place, texts, false)?;
    Ok(Some(read.as_slice().to_vec()))
}

fn create(desk: &Desk<'_>, args: WorkspaceCreate) -> Result<(), Failure> {
    let binding = args.binding;
    let allowance = binding.allowance;
    let create = Create {
        agent: binding.worker,
        authority: authority(desk, &binding.authority)?,
        budget: allowance.budget.unwrap_or_default(),
        context: args.context.as_deref().map(|text| content::read(desk, text)).transpose()?,
        delegate: args.delegate,
        directive: args
            .directive
            .as_deref()
            .map(|text| content::payload(desk, text))
            .transpose()?,
        global_trail: args.global_trail,
        caused_by: args.caused_by.as_deref().map(|text| mail::envelope(desk, text)).transpose()?,
        group: allowance.group,
        idle_timeout_s: args.idle_timeout,
        liveness_interval_s: allowance.liveness,
        mounts: args.mounts,
        owner: binding.owner,
        parent: binding.parent.as_deref().map(|text| desk.workspace(text)).transpose()?,
        priority: args.priority,
        role: binding.role,
        task: args.task.as_deref().map(|text| desk.task(text)).transpose()?,
        timeout_s: binding.timeout,
        visibility: desk.workspace_list(&binding.visibility)?,
        warn_at_percent: allowance.warn_at,
    };
    let client = desk.client()?;
    desk.introduce(&client, &create.agent)?;
    tell(desk, client.execute(Command::WorkspaceCreate(create))?)
}

fn order(
    desk: &Desk<'_>,
    args: Order,
    command: impl FnOnce(WorkspaceId, Option<Text<1000>>) -> Command,
) -> Result<(), Failure> {
    let id = desk.workspace(&args.id)?;
    tell(desk, desk.order(command(id, args.reason))?)
}

fn migrate(desk: &Desk<'_>, args: WorkspaceMigrate) -> Result<(), Failure> {
    let workspace = desk.workspace(&args.id)?;
    let client = desk.client()?;
    desk.introduce(&client, &args.to)?;
    let migrate = Migrate { agent: args.to, reason: args.reason, workspace };
    tell(desk, client.execute(Command::WorkspaceMigrate(migrate))?)
}

fn transfer(desk: &Desk<'_>, args: WorkspaceTransfer) -> Result<(), Failure> {
    let workspace = desk.workspace(&args.id)?;
    let words = format!("{} answers for {workspace} from now on", args.to);
    let transfer = Transfer { reason: args.reason, to: args.to, workspace };
    let reply = desk.order(Command::WorkspaceTransfer(transfer))?;
    if desk.out().json { desk.out().value(&reply) } else { desk.out().say(&words) }
}

fn write(desk: &Desk<'_>, args: &WorkspaceWrite) -> Result<(), Failure> {
    let path = surfaces::file(&desk.project.place, &args.path)?;
    let workspace = desk.acting_in()?;
    let content = args.content.as_deref().map(|text| content::read(desk, text)).transpose()?;
    let said = if content.is_some() { "wrote" } else { "removed" };
    let words = format!("{said} {path}");
    let reply = desk.order(Command::WorkspaceWrite(Write { content, path, workspace }))?;
    if desk.out().json { desk.out().value(&reply) } else { desk.out().line(words) }
}

/// Tells what a command made of a workspace.
pub(super) fn tell(desk: &Desk<'_>, reply: Reply) -> Result<(), Failure> {
    if desk.out().json {
        return desk.out().value(&reply);
    }
    if said_to_wait(desk, &reply)? {
        return Ok(());
    }
    let Reply::Workspace(view) = reply else { return Err(Failure::unexpected(&reply)) };
    let agent = view.agent.as_ref().map_or("the system", |agent| agent.as_str());
    desk.out().say(&format!("{} {} for {agent} is {}", view.role, view.workspace, view.status))
}

fn list(desk: &Desk<'_>, args: WorkspaceList) -> Result<(), Failure> {
    let asked = List {
        above: desk.workspace_if(args.above.as_deref())?,
        agent: args.worker,
        below: desk.workspace_if(args.below.as_deref())?,
        beside: desk.workspace_if(args.beside.as_deref())?,
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
    let found = desk.workspaces(asked)?;
    if desk.out().json {
        return desk.out().value(&found);
    }
    if found.is_empty() {
        return desk.out().line(if narrow {
            "no workspace fits"
        } else {
            "there are no workspaces; `althing coordinator start` begins a run"
        });
    }
    table(desk, &found)
}

/// Workspaces, one a line.
pub(super) fn table(desk: &Desk<'_>, found: &[WorkspaceView]) -> Result<(), Failure> {
    let naming = desk.workspace_naming()?;
    let row = |view: &WorkspaceView| {
        vec![
            naming.short(&view.workspace),
            view.role.to_string(),
            view.agent.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
            view.owner.to_string(),
            view.status.to_string(),
            from_now(view.since, desk.now()),
            view.inbox.to_string(),
            view.parent.as_ref().map_or_else(|| "-".to_owned(), |parent| naming.short(parent)),
        ]
    };
    let titles = ["WORKSPACE", "ROLE", "AGENT", "OWNER", "STATE", "SINCE", "MAIL", "BELOW"];
    desk.out().table(&titles, &found.iter().map(row).collect::<Vec<_>>())
}

fn show(desk: &Desk<'_>, text: &str) -> Result<(), Failure> {
    let id = desk.workspace(text)?;
    let view = desk.workspace_view(id.clone())?;
    if desk.out().json {
        return desk.out().value(&view);
    }
    let naming = desk.workspace_naming()?;
    for (key, value) in facts(desk, &view, &naming) {
        desk.out().fact(key, 12, &one_line(&value))?;
    }
    let made = desk.checkpoints(&id)?;
    if !made.is_empty() {
        desk.out().line("\ncheckpoints:")?;
        checkpoints::table(desk, &made)?;
    }
    let (memory, merged) = files_of(desk, id.clone())?;
    for (title, files) in [("\nworking memory:", memory), ("\nmerged into it:", merged)] {
        if !files.is_empty() {
            desk.out().line(title)?;
            file_table(desk, &files)?;
        }
    }
    let rights = desk.rights(&id)?;
    if !rights.is_empty() {
        desk.out().line("\nrights:")?;
        rights::table(desk, &rights)?;
    }
    Ok(())
}

/// The properties of a workspace, line by line.
fn facts(desk: &Desk<'_>, view: &WorkspaceView, naming: &Naming) -> Vec<(&'static str, String)> {
    let now = desk.now();
    let list = |words: Vec<String>| words.join(" ");
    let mut facts = vec![
        ("workspace", short(&view.workspace)),
        ("role", view.role.to_string()),
        ("agent", view.agent.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string)),
        ("state", format!("{}; changed {}", view.status, from_now(view.since, now))),
    ];
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
        facts.push(("watched", format!("told of after {interval} of silence")));
    }
    facts.push(("mail", format!("{} in its inbox", view.inbox)));
    for conflict in &view.conflicts {
        facts.push(("conflict", said_of_conflict(conflict)));
    }
    facts
}

fn files_of(desk: &Desk<'_>, workspace: WorkspaceId) -> Result<(Vec<File>, Vec<File>), Failure> {
    match desk.ask(&Query::WorkspaceFiles(OfWorkspace { workspace }))? {
        Answer::Files(view) => Ok((view.memory, view.merged)),
        other => Err(Failure::unexpected(&other)),
    }
}

fn files(desk: &Desk<'_>, text: &str) -> Result<(), Failure> {
    let workspace = desk.workspace(text)?;
    if desk.out().json {
        return desk.out().value(&desk.ask(&Query::WorkspaceFiles(OfWorkspace { workspace }))?);
    }
    let (memory, merged) = files_of(desk, workspace)?;
    let row = |place: &'static str| {
        move |file: &File| vec![place.to_owned(), file.path.to_string(), content_of(file)]
    };
    let rows: Vec<Vec<String>> =
        memory.iter().map(row("memory")).chain(merged.iter().map(row("merged"))).collect();
    if rows.is_empty() {
        return desk.out().line("no files");
    }
    desk.out().table(&[whole("IN"), free_text("PATH"), whole("CONTENT")], &rows)
}

fn content_of(file: &File) -> String {
    file.content.as_ref().map_or_else(|| "deleted".to_owned(), short_blob)
}

/// Files with what is in them, by hash.
pub(super) fn file_table(desk: &Desk<'_>, files: &[File]) -> Result<(), Failure> {
    let row = |file: &File| vec![file.path.to_string(), content_of(file)];
    desk.out()
        .table(&[free_text("PATH"), whole("CONTENT")], &files.iter().map(row).collect::<Vec<_>>())
}
