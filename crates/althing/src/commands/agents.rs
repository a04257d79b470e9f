//! `althing agents`

use althing_kernel::query::{Answer, Everything, Query};
use althing_kernel::{Command, agent};

use crate::app::App;
use crate::cli::AgentsCommand;
use crate::error::Error;
use crate::output::from_now;

pub(crate) fn run(app: &App, command: Option<&AgentsCommand>) -> Result<(), Error> {
    match command {
        None => list(app),
        Some(AgentsCommand::Register) => register(app),
    }
}

fn register(app: &App) -> Result<(), Error> {
    let project = app.project()?;
    let engine = project.engine()?;
    let client = project.client(app, &engine)?;
    let reply = client.execute(Command::AgentRegister(agent::Register::default()))?;
    if app.out.json {
        return app.out.value(&reply);
    }
    app.out.line(format!("{} is known", client.principal()))
}

fn list(app: &App) -> Result<(), Error> {
    let engine = app.project()?.engine()?;
    let Answer::Agents(agents) = engine.ask(&Query::AgentList(Everything {}))? else {
        return Err(Error::unavailable("an unexpected answer"));
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
                from_now(agent.registered_at, engine.now()),
                agent.key.short(),
            ]
        })
        .collect();
    app.out.table(&["AGENT", "LEASES", "SESSIONS", "FIRST SEEN", "KEY"], &rows)
}
