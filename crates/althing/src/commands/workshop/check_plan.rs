//! `althing plan check`

use althing_kernel::task::graph::Plan;
use althing_services::runner::forecast::{Forecast, forecast};
use serde::Serialize;

use crate::app::App;
use crate::cli::PlanCheck;
use crate::error::Error;
use crate::output::{Tone, counted, one_line};
use crate::plan_file;
use crate::table::{free_text, whole};

/// What is told about a plan.
#[derive(Serialize)]
struct Checked {
    tasks: usize,
    #[serde(flatten)]
    forecast: Forecast,
}

pub(crate) fn check(app: &App, args: &PlanCheck) -> Result<(), Error> {
    let plan = plan_file::open(app, &args.plan)?;
    let forecast = forecast(&plan.tasks);
    if app.out.json {
        return app.out.value(&Checked { tasks: plan.tasks.len(), forecast });
    }
    draw(app, &plan, &forecast)
}

/// Draws the plan round by round, and says what was found.
fn draw(app: &App, plan: &Plan, forecast: &Forecast) -> Result<(), Error> {
    let out = app.out;
    let mut rows = Vec::new();
    for (round, keys) in forecast.rounds.iter().enumerate() {
        for task in plan.tasks.iter().filter(|task| keys.iter().any(|key| key == task.key.as_str()))
        {
            let terms = task.terms.as_deref();
            let list =
                |all: Vec<String>| if all.is_empty() { "-".to_owned() } else { all.join(" ") };
            let touches =
                terms.map(|terms| terms.touches.iter().map(ToString::to_string).collect());
            rows.push(vec![
                (round + 1).to_string(),
                task.key.to_string(),
                list(task.depends_on.iter().map(ToString::to_string).collect()),
                terms
                    .and_then(|terms| terms.agent.as_ref())
                    .map_or("any".into(), ToString::to_string),
                list(touches.unwrap_or_default()),
                one_line(task.name.as_str()),
            ]);
        }
    }
    let columns = [
        whole("ROUND"),
        whole("TASK"),
        free_text("AFTER"),
        whole("AGENT"),
        free_text("TOUCHES"),
        free_text("TITLE"),
    ];
    out.table(&columns, &rows)?;
    for overlap in &forecast.overlaps {
        let [one, other] = &overlap.tasks;
        let path =
            overlap.path.as_ref().map(|path| format!(", such as {path}")).unwrap_or_default();
        let may = out.paint(Tone::Warn, "one after the other:");
        out.line(format!("{may} {one} and {other} may touch the same files{path}"))?;
    }
    if !forecast.open.is_empty() {
        out.line(format!("no `touches`, claimed as they are edited: {}", forecast.open.join(" ")))?;
    }
    out.line(format!(
        "{} in at least {}: {}",
        counted(plan.tasks.len() as u64, "task", "tasks"),
        counted(forecast.rounds.len() as u64, "round", "rounds"),
        forecast.longest.join(" → ")
    ))
}
