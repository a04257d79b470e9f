//! `althing users`

use althing_kernel::capability::Capability;
use althing_kernel::query::{Answer, Everything, OfUser, Query, UserWork};
use althing_kernel::user::grant::{Grant, Revoke};
use althing_kernel::user::standing::{Block, Deactivate, Reactivate, Resume, Suspend, Unblock};
use althing_kernel::user::view::UserView;
use althing_kernel::{Command, PublicKey, Reply, Rule, UserId, WorkspaceId, user};

use crate::app::App;
use crate::cli::{UsersAdd, UsersCommand};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::output::{counted, from_now, one_line};

pub(crate) fn run(app: &App, command: Option<UsersCommand>) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let command = match command {
        None | Some(UsersCommand::List) => return list(&context),
        Some(UsersCommand::Show(args)) => return show(&context, args.id),
        Some(UsersCommand::Add(args)) => let_in(args)?,
        Some(UsersCommand::Suspend(args)) => {
            Command::UserSuspend(Suspend { reason: args.reason, user: args.id })
        }
        Some(UsersCommand::Resume(args)) => {
            Command::UserResume(Resume { reason: args.reason, user: args.id })
        }
        Some(UsersCommand::Block(args)) => {
            Command::UserBlock(Block { condition: args.condition, user: args.id })
        }
        Some(UsersCommand::Unblock(args)) => {
            Command::UserUnblock(Unblock { condition: args.condition, user: args.id })
        }
        Some(UsersCommand::Deactivate(args)) => {
            Command::UserDeactivate(Deactivate { reason: args.reason, user: args.id })
        }
        Some(UsersCommand::Reactivate(args)) => {
            Command::UserReactivate(Reactivate { reason: args.reason, user: args.id })
        }
        Some(UsersCommand::Grant(args)) => {
            let grant = |capability| Grant { capability, user: args.id.clone() };
            let each = args.capabilities.iter().map(|one| Command::CapabilityGrant(grant(*one)));
            return change(&context, each.collect());
        }
        Some(UsersCommand::Revoke(args)) => {
            let revoke = |capability| {
                let (reason, user) = (args.reason.clone(), args.id.clone());
                Revoke { capability, reason, user }
            };
            let each = args.capabilities.iter().map(|one| Command::CapabilityRevoke(revoke(*one)));
            return change(&context, each.collect());
        }
    };
    change(&context, vec![command])
}

fn let_in(args: UsersAdd) -> Result<Command, Error> {
    let wrong = |error: &dyn std::fmt::Display| Error::usage(error.to_string());
    let user = UserId::new(&args.name).map_err(|error| wrong(&error))?;
    let key: PublicKey = args.key.parse().map_err(|error| wrong(&error))?;
    let capabilities = (!args.capabilities.is_empty()).then_some(args.capabilities);
    Ok(Command::UserCreate(user::Create { capabilities, key, user }))
}

/// Issues commands one after another, as one person; the first that is refused is the last.
fn change(context: &CommandContext<'_>, commands: Vec<Command>) -> Result<(), Error> {
    if context.project.asker()?.is_none() {
        let message = "who says so? a person who manages people";
        return Err(Error::misuse(Rule::WhoAreYou, message).hint("Pass `--user YOUR_NAME`."));
    }
    let client = context.client()?;
    let mut last = None;
    for command in commands {
        last = Some(client.execute(command)?);
    }
    let Some(Reply::User(view)) = last else { return Err(Error::unexpected(&last)) };
    if context.out().json {
        return context.out().value(&view);
    }
    context.out().line(format!("{} is {}", view.user, standing(&view)))?;
    context.out().fact("may ", 4, &abilities(&view.capabilities))
}

fn standing(view: &UserView) -> String {
    let why = view.reason.as_ref().map_or_else(String::new, |why| format!(": {}", one_line(why)));
    format!("{}{why}", view.status)
}

fn abilities(capabilities: &[Capability]) -> String {
    capabilities.iter().map(|one| one.as_str()).collect::<Vec<_>>().join(" ")
}

fn list(context: &CommandContext<'_>) -> Result<(), Error> {
    let users = match context.ask(&Query::UserList(Everything {}))? {
        Answer::Users(users) => users,
        other => return Err(Error::unexpected(&other)),
    };
    if context.out().json {
        return context.out().value(&users);
    }
    if users.is_empty() {
        return context.out().line("nobody has signed up yet; `althing login NAME` does that");
    }
    let may = |view: &UserView| match view.capabilities.len() {
        all if all == Capability::ALL.len() => "everything".to_owned(),
        some => counted(some as u64, "capability", "capabilities"),
    };
    let rows: Vec<Vec<String>> = users
        .iter()
        .map(|view| {
            vec![
                view.user.to_string(),
                view.status.to_string(),
                may(view),
                view.created_by.to_string(),
                from_now(view.created_at, context.now()),
                view.key.short(),
            ]
        })
        .collect();
    context.out().table(&["USER", "STATUS", "CAPABILITIES", "ADDED BY", "ADDED", "KEY"], &rows)
}

fn show(context: &CommandContext<'_>, user: UserId) -> Result<(), Error> {
    let work = match context.ask(&Query::UserGet(OfUser { user }))? {
        Answer::User(work) => *work,
        other => return Err(Error::unexpected(&other)),
    };
    if context.out().json {
        return context.out().value(&work);
    }
    let UserWork { user: view, owns, owned, causes, caused } = work;
    let out = context.out();
    out.line(format!("user     {}", view.user))?;
    out.line(format!(
        "stands   {}; changed {}",
        standing(&view),
        from_now(view.since, context.now())
    ))?;
    out.line(format!(
        "added by {}, {}",
        view.created_by,
        from_now(view.created_at, context.now())
    ))?;
    out.line(format!("key      {}", view.key))?;
    for (n, one) in view.capabilities.iter().enumerate() {
        let title = if n == 0 { "may" } else { "" };
        out.cut_line(format!("{title:<8} {:<24} {}", one.as_str(), one.help()))?;
    }
    let names = context.workspace_naming()?;
    let listed = |ids: &[WorkspaceId], all: usize| {
        let shown: Vec<String> = ids.iter().map(|id| names.short(id)).collect();
        let ended = all - ids.len();
        let more = if ended == 0 { String::new() } else { format!(" (and {ended} that ended)") };
        format!(
            "{}{more}",
            if shown.is_empty() { "nothing now".to_owned() } else { shown.join(" ") }
        )
    };
    out.fact("owns", 9, &listed(&owns, owned))?;
    out.fact("caused", 9, &listed(&causes, caused))
}
