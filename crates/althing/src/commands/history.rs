//! `althing trail at` and `althing trail diff`

use althing_engine::history::{self, Change, Difference, Moment, Picture, TaskThen, WorkspaceThen};
use althing_kernel::Timestamp;
use althing_kernel::envelope::view::EnvelopeView;
use althing_kernel::query::{LeaseView, SessionView};

use crate::app::App;
use crate::cli::{TrailAt, TrailDiff};
use crate::commands::leases;
use crate::error::Error;
use crate::event_summary::word;
use crate::moment;
use crate::naming::{short, short_ids};
use crate::output::{Tone, clock_time, counted, one_line};

fn read(text: &str, now: Timestamp) -> Result<Moment, Error> {
    moment::parse(text, now).map_err(Error::usage)
}

pub(crate) fn at(app: &App, args: &TrailAt) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    engine.check_reads_everything(project.asker()?.as_ref())?;
    let mut picture = history::at(&engine, read(&args.moment, engine.now())?)?;
    if app.out.json {
        return app.out.value(&picture);
    }
    app.out.line(headline(app, &picture))?;
    picture.leases.sort_by_key(|lease| lease.epoch);
    leases::table(app, &picture.leases, picture.time)?;
    let live = picture.workspaces.iter().filter(|known| !known.status.is_terminal());
    for known in live {
        app.out.line(one_line(&format!("workspace  {}", describe_workspace(known))))?;
    }
    for task in picture.tasks.iter().filter(|task| !task.status.is_terminal()) {
        app.out.cut_line(one_line(&format!("task       {}", describe_task(task))))?;
    }
    for envelope in &picture.mail {
        app.out.line(one_line(&format!("mail       {}", describe_mail(envelope))))?;
    }
    for user in &picture.users {
        app.out.line(one_line(&format!("person     {}", user.user)))?;
    }
    Ok(())
}

fn describe_mail(envelope: &EnvelopeView) -> String {
    let EnvelopeView { kind, from, to, status, .. } = envelope;
    let stands = if envelope.delivered_at.is_some() { "unread" } else { "on its way" };
    format!("{stands}  {kind} {} -> {}  {}", short(from), short(to), word(status))
}

fn describe_workspace(known: &WorkspaceThen) -> String {
    let agent = known.agent.as_ref().map_or("the system", |agent| agent.as_str());
    format!("{}  {} of {agent}  {}", known.status, known.role, short(&known.workspace))
}

fn describe_task(task: &TaskThen) -> String {
    // The name may be long and is cut; the id is what other commands take.
    format!("{}  {}  {}", task.status, short(&task.task), task.name)
}

fn headline(app: &App, picture: &Picture) -> String {
    let Picture { seq, time, sessions, agents, users, .. } = picture;
    let title = app.out.paint(Tone::Strong, &clock_time(*time));
    format!(
        "{title}, after entry {seq}: {}, {}, {}",
        counted(agents.len() as u64, "agent", "agents"),
        counted(users.len() as u64, "person", "people"),
        counted(sessions.len() as u64, "open session", "open sessions")
    )
}

pub(crate) fn diff(app: &App, args: &TrailDiff) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    engine.check_reads_everything(project.asker()?.as_ref())?;
    let (from, to) = (read(&args.from, engine.now())?, read(&args.to, engine.now())?);
    let difference = history::diff(&engine, from, to)?;
    if app.out.json {
        return app.out.value(&difference);
    }
    show(app, &difference)
}

fn show(app: &App, difference: &Difference) -> Result<(), Error> {
    let Difference { from_seq, from_time, to_seq, to_time, .. } = difference;
    let (from, to) = (clock_time(*from_time), clock_time(*to_time));
    let entries = counted(to_seq - from_seq, "entry", "entries");
    app.out.line(format!("from {from} (entry {from_seq}) to {to} (entry {to_seq}): {entries}"))?;
    let mut lines = Vec::new();
    let agents = &difference.agents.added;
    lines.extend(agents.iter().map(|agent| (Sign::New, format!("agent    {}", agent.agent))));
    let users = &difference.users.added;
    lines.extend(users.iter().map(|user| (Sign::New, format!("person   {}", user.user))));
    each(&mut lines, &difference.sessions, |session: &SessionView| {
        format!("session  {}  {}", session.agent, short(&session.workspace))
    });
    each(&mut lines, &difference.leases, |lease: &LeaseView| {
        let (surfaces, until) = (leases::list(&lease.surfaces), clock_time(lease.expires_at));
        format!("lease    {}  {surfaces}  until {until}  {}", lease.holder, lease.lease)
    });
    each(&mut lines, &difference.workspaces, |known| {
        format!("workspace  {}", describe_workspace(known))
    });
    each(&mut lines, &difference.tasks, |task| format!("task       {}", describe_task(task)));
    each(&mut lines, &difference.mail, |envelope| {
        format!("mail       {}", describe_mail(envelope))
    });
    if lines.is_empty() {
        return app.out.line("nothing changed");
    }
    for (sign, text) in lines {
        let (mark, tone) = sign.shown();
        let line = format!("{mark} {}", one_line(&short_ids(&text)));
        app.out.cut_line(app.out.paint(tone, &line))?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Sign {
    New,
    Changed,
    Gone,
}

impl Sign {
    fn shown(self) -> (char, Tone) {
        match self {
            Sign::New => ('+', Tone::Good),
            Sign::Changed => ('~', Tone::Strong),
            Sign::Gone => ('-', Tone::Bad),
        }
    }
}

fn each<T>(lines: &mut Vec<(Sign, String)>, change: &Change<T>, say: impl Fn(&T) -> String) {
    let parts =
        [(Sign::New, &change.added), (Sign::Changed, &change.changed), (Sign::Gone, &change.gone)];
    for (sign, items) in parts {
        lines.extend(items.iter().map(|item| (sign, say(item))));
    }
}
