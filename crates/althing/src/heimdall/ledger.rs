//! `heimdall-ledger`: tokens, counted or reported.

use althing_dialects::frugal::ledger::{Delta, Total, delta, report};
use althing_dialects::frugal::tokens;
use althing_kernel::Command;
use althing_kernel::blackboard::ledger::{Baseline, By, Log};
use althing_kernel::blackboard::view::{DeltaView, SumView};
use althing_kernel::workspace::meter::Amount;
use std::collections::BTreeMap;

use super::args::{Args, unexpected, unknown};
use super::{Stop, context, order};
use crate::command_context::CommandContext;
use crate::error::Error;
use crate::frugal::log_line;
use crate::typed::label;

pub(super) const HELP: &str = "\
heimdall-ledger: what messages and briefs cost

  heimdall-ledger log --role R --kind K (--tokens N | --file F | --text T) [--msg-id M]
                      [--task T] [--agent A] [--tool X]
  heimdall-ledger baseline --role R --tokens N
  heimdall-ledger report [--by role|agent|task|tool|kind]
  heimdall-ledger delta [--role R]

A file or a text is counted with o200k_base; a number is what the caller says and kept as such.
Exit codes: 0 done, 1 refused, 2 wrong usage.
";

pub(super) fn run(mut args: Args) -> Result<String, Stop> {
    let first = args.next();
    match first.as_deref() {
        Some("log") => log(args),
        Some("baseline") => baseline(args),
        Some("report") => {
            let mut by = "role".to_owned();
            while let Some(flag) = args.next() {
                match flag.as_str() {
                    "--by" => by = args.value(&flag)?,
                    other => return Err(unexpected(other)),
                }
            }
            Ok(report(&by, &totals(&context()?, &by)?))
        }
        Some("delta") => {
            let mut role = None;
            while let Some(flag) = args.next() {
                match flag.as_str() {
                    "--role" => role = Some(args.value(&flag)?),
                    other => return Err(unexpected(other)),
                }
            }
            Ok(delta(&deltas(&context()?, role.as_deref())?))
        }
        _ => Err(unknown(first)),
    }
}

fn number(text: &str) -> Result<u64, Stop> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let wrong = || Stop::error(2, "--tokens must be a non-negative integer");
    digits.then(|| text.parse().ok()).flatten().ok_or_else(wrong)
}

fn log(mut args: Args) -> Result<String, Stop> {
    let mut given = BTreeMap::new();
    let (mut tokens, mut counted) = (None, None);
    while let Some(flag) = args.next() {
        let value = args.value(&flag);
        match flag.as_str() {
            "--role" | "--kind" | "--task" | "--agent" | "--tool" | "--msg-id" => {
                given.insert(flag, value?);
            }
            "--tokens" => tokens = Some(number(&value?)?),
            "--text" => counted = Some(tokens::count(&value?)),
            "--file" => {
                let text = crate::input::read_file(value?.as_ref())?;
                counted = Some(tokens::count(&text));
            }
            other => return Err(unexpected(other)),
        }
    }
    if tokens.is_some() && counted.is_some() {
        return Err(Stop::usage("give --tokens, or something to count, not both"));
    }
    let value = |name: &str| given.get(name).filter(|text| !text.is_empty());
    let (Some(role), Some(kind), Some(number)) =
        (value("--role"), value("--kind"), tokens.or(counted))
    else {
        return Err(Stop::usage("log needs --role, --kind and --tokens (or --file, or --text)"));
    };
    let optional = |name: &str| given.get(name).map(|text| label(text)).transpose();
    let line = Log {
        agent: optional("--agent")?,
        msg_id: optional("--msg-id")?,
        task: optional("--task")?,
        tool: optional("--tool")?,
        ..log_line(role, kind, number, counted.is_some())?
    };
    order(&context()?, Command::LedgerLog(line))?;
    Ok(format!("logged {role}/{kind}={number}\n"))
}

fn baseline(mut args: Args) -> Result<String, Stop> {
    let (mut role, mut tokens) = (None, None);
    while let Some(flag) = args.next() {
        match flag.as_str() {
            "--role" => role = Some(args.value(&flag)?),
            "--tokens" => tokens = Some(number(&args.value(&flag)?)?),
            other => return Err(unexpected(other)),
        }
    }
    let (Some(role), Some(tokens)) = (role, tokens) else {
        return Err(Stop::usage("baseline needs --role and --tokens"));
    };
    if tokens == 0 {
        return Err(Stop::error(2, "--tokens of a baseline must be a positive integer"));
    }
    let set = Baseline { role: label(&role)?, tokens: Amount::new(tokens) };
    order(&context()?, Command::LedgerBaseline(set))?;
    Ok(format!("baseline {role} = {tokens} (v1)\n"))
}

fn totals(context: &CommandContext<'_>, by: &str) -> Result<Vec<Total>, Stop> {
    let found = context.token_report(by_word(by)?)?;
    let total = |row: SumView| Total {
        name: row.name.to_string(),
        tokens: row.tokens,
        messages: row.messages,
    };
    Ok(found.map(|found| found.rows).unwrap_or_default().into_iter().map(total).collect())
}

/// By what tokens are summed up, as it is typed.
fn by_word(word: &str) -> Result<By, Error> {
    serde_json::from_value(word.into()).map_err(Error::unreadable)
}

fn deltas(context: &CommandContext<'_>, role: Option<&str>) -> Result<Vec<Delta>, Stop> {
    let found = context.token_deltas(role.map(label).transpose()?)?;
    let of = |row: DeltaView| Delta {
        role: row.role.to_string(),
        baseline: row.baseline,
        measured: row.measured,
    };
    let rows: Vec<Delta> = found.into_iter().map(of).collect();
    // A role nobody has heard of has used nothing.
    let none = |role: &str| Delta { role: role.to_owned(), baseline: None, measured: 0 };
    Ok(if rows.is_empty() { role.map(none).into_iter().collect() } else { rows })
}
