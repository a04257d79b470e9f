//! `althing tick`: the clock process, which lets deadlines take effect when they pass.

use serde_json::json;
use std::time::Duration;

use crate::app::App;
use crate::cli::Tick;
use crate::command_context::CommandContext;
use crate::error::Error;

/// The longest pause between two looks.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn run(app: &App, args: &Tick) -> Result<(), Error> {
    let context = CommandContext::open(app)?;
    let engine = context.engine()?;
    loop {
        let before = engine.world()?.seq();
        engine.record_lost()?;
        engine.record_due()?;
        let after = engine.world()?.seq();
        if after > before || !args.follow {
            tell(&context, after.saturating_sub(before))?;
        }
        if !args.follow {
            return Ok(());
        }
        let present = context.request.present()?;
        let due = present.state.next_deadline().map(althing_kernel::Timestamp::micros);
        let left = due.map(|at| at.saturating_sub(present.now.micros()));
        let pause = left.map_or(LOOK, Duration::from_micros).clamp(Duration::from_millis(10), LOOK);
        engine.subscribe(after)?.next(pause)?;
    }
}

fn tell(context: &CommandContext<'_>, entries: u64) -> Result<(), Error> {
    if context.out().json {
        return context.out().value(&json!({ "recorded": entries }));
    }
    let what = match entries {
        0 => "nothing is due".to_owned(),
        1 => "1 entry recorded".to_owned(),
        more => format!("{more} entries recorded"),
    };
    context.out().line(what)
}
