//! `althing agents`, `althing users`

use althing_kernel::query::{Answer, Everything, Query};
use althing_kernel::{Command, PublicKey, Rule, UserId, agent, user};
use serde_json::json;

use crate::app::App;
use crate::cli::{AgentsCommand, UsersCommand};
use crate::failure::Failure;
use crate::output::clock_time;

pub(crate) fn run(app: &App, command: Option<&AgentsCommand>) -> Result<(), Failure> {
    match command {
        None => list(app),
        Some(AgentsCommand::Register) => register(app),
    }
}

fn register(app: &App) -> Result<(), Failure> {
    let project = app.project()?;
    let engine = project.engine()?;
    let client = project.client(app, &engine)?;
    let reply = client.execute(Command::AgentRegister(agent::Register {}))?;
    if app.out.json {
        return app.out.value(&reply);
    }
    app.out.line(format!("{} is known", client.principal()))
}

fn list(app: &App) -> Result<(), Failure> {
    let engine = app.project()?.engine()?;
    let Answer::Agents(agents) = engine.ask(&Query::AgentList(Everything {}))? else {
        return Err(Failure::unavailable("an unexpected answer"));
    };
    if app.out.json {
        return app.out.value(&agents);
    }
    if agents.is_empty() {
        return app.out.line("no agent has done anything yet");
    }
    let rows: Vec<Vec<String>> = agents
        .iter()
        .map(|agent| {
            vec![
                agent.agent.to_string(),
                agent.leases.to_string(),
                agent.sessions.len().to_string(),
                clock_time(agent.registered_at),
                agent.key.short(),
            ]
        })
        .collect();
    app.out.table(&["AGENT", "LEASES", "SESSIONS", "FIRST SEEN", "KEY"], &rows)
}

pub(crate) fn users(app: &App, command: Option<UsersCommand>) -> Result<(), Failure> {
    if let Some(UsersCommand::Add(add)) = command {
        return let_in(app, &add.name, &add.key);
    }
    let engine = app.project()?.engine()?;
    let Answer::Users(users) = engine.ask(&Query::UserList(Everything {}))? else {
        return Err(Failure::unavailable("an unexpected answer"));
    };
    if app.out.json {
        return app.out.value(&users);
    }
    if users.is_empty() {
        return app.out.line("nobody has signed up yet; `althing login NAME` does that");
    }
    let rows: Vec<Vec<String>> = users
        .iter()
        .map(|user| {
            vec![
                user.user.to_string(),
                user.created_by.to_string(),
                clock_time(user.created_at),
                user.key.short(),
            ]
        })
        .collect();
    app.out.table(&["USER", "LET IN BY", "WHEN", "KEY"], &rows)
}

fn let_in(app: &App, name: &str, key: &str) -> Result<(), Failure> {
    let wrong = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    let user = UserId::new(name).map_err(|error| wrong(&error))?;
    let key: PublicKey = key.parse().map_err(|error| wrong(&error))?;
    let project = app.project()?;
    let engine = project.engine()?;
    if project.asker()?.is_none() {
        let message = "who lets them in? a person who is in";
        return Err(Failure::misuse(Rule::WhoAreYou, message).hint("Pass `--user YOUR_NAME`."));
    }
    let client = project.client(app, &engine)?;
    client.execute(Command::UserCreate(user::Create { key, user: user.clone() }))?;
    if app.out.json {
        return app.out.value(&json!({ "user": user, "key": key }));
    }
    app.out.line(format!("{user} is in"))
}
