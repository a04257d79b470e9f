//! `althing ps`

use althing_services::runner::{self, AttemptView};

use crate::app::App;
use crate::cli::Ps;
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::naming::short;
use crate::output::{from_now, one_line};
use crate::table::{free_text, whole};

pub(crate) fn ps(app: &App, args: &Ps) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let all = runner::attempts(&context.request, args.all)?;
    let out = context.out();
    if out.json {
        return out.value(&all);
    }
    if all.is_empty() {
        out.note("no agent works; `althing run PLAN --agents NAME` begins a run");
        return Ok(());
    }
    let now = context.now();
    let row = |own: &AttemptView| {
        let process = match own.pid {
            Some(pid) => pid.to_string(),
            None => own.process.to_owned(),
        };
        vec![
            own.task.clone(),
            own.attempt.to_string(),
            own.agent.clone(),
            own.status.to_string(),
            from_now(own.since, now),
            process,
            own.tokens.to_string(),
            short(&own.workspace).clone(),
            one_line(&own.title),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let columns = [
        whole("TASK"),
        whole("TRY"),
        whole("AGENT"),
        whole("STATE"),
        whole("SINCE"),
        whole("PROCESS"),
        whole("TOKENS"),
        whole("WORKSPACE"),
        free_text("TITLE"),
    ];
    out.table(&columns, &rows)
}
