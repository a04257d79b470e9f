//! `heimdall-ledger`: tokens, counted or reported.

use althing_dialects::frugal::ledger::{Delta, Total, delta, report};
use althing_dialects::frugal::tokens;
use serde_json::{Value, json};

use super::args::{Args, unexpected, unknown};
use super::{Stop, desk};
use crate::frugal::Desk;

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
            Ok(report(&by, &totals(&desk()?, &by)?))
        }
        Some("delta") => {
            let mut role = None;
            while let Some(flag) = args.next() {
                match flag.as_str() {
                    "--role" => role = Some(args.value(&flag)?),
                    other => return Err(unexpected(other)),
                }
            }
            Ok(delta(&deltas(&desk()?, role.as_deref())?))
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
    let mut line = json!({});
    let mut text = None;
    while let Some(flag) = args.next() {
        let value = args.value(&flag);
        match flag.as_str() {
            "--role" | "--kind" | "--task" | "--agent" | "--tool" => {
                line[&flag[2..]] = value?.into();
            }
            "--msg-id" => line["msg_id"] = value?.into(),
            "--tokens" => line["tokens"] = number(&value?)?.into(),
            "--text" => text = Some(value?),
            "--file" => {
                let path = value?;
                text = Some(crate::input::read_file(path.as_ref())?);
            }
            other => return Err(unexpected(other)),
        }
    }
    if let Some(text) = text {
        if line.get("tokens").is_some() {
            return Err(Stop::usage("give --tokens, or something to count, not both"));
        }
        line["tokens"] = tokens::count(&text).into();
        line["tokenizer"] = tokens::TOKENIZER.into();
    }
    let said = |name: &str| line.get(name).is_some_and(|value| value.as_str() != Some(""));
    if !(said("role") && said("kind") && said("tokens")) {
        return Err(Stop::usage("log needs --role, --kind and --tokens (or --file, or --text)"));
    }
    desk()?.act("ledger.log", &line)?;
    let shown = |name: &str| line[name].as_str().unwrap_or_default();
    Ok(format!("logged {}/{}={}\n", shown("role"), shown("kind"), line["tokens"]))
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
    desk()?.act("ledger.baseline", &json!({ "role": role, "tokens": tokens }))?;
    Ok(format!("baseline {role} = {tokens} (v1)\n"))
}

fn totals(desk: &Desk, by: &str) -> Result<Vec<Total>, Stop> {
    let found = desk.ask("ledger.report", &json!({ "by": by }))?.unwrap_or_default();
    let rows = found["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let number = |row: &Value, name: &str| row[name].as_u64().unwrap_or_default();
    let total = |row: &Value| Total {
        name: row["name"].as_str().unwrap_or_default().to_owned(),
        tokens: number(row, "tokens"),
        messages: number(row, "messages"),
    };
    Ok(rows.iter().map(total).collect())
}

fn deltas(desk: &Desk, role: Option<&str>) -> Result<Vec<Delta>, Stop> {
    let asked = role.map_or_else(|| json!({}), |role| json!({ "role": role }));
    let found = desk.ask("ledger.delta", &asked)?;
    let rows = found.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let of = |row: &Value| Delta {
        role: row["role"].as_str().unwrap_or_default().to_owned(),
        baseline: row["baseline"].as_u64(),
        measured: row["measured"].as_u64().unwrap_or_default(),
    };
    let rows: Vec<Delta> = rows.iter().map(of).collect();
    // A role nobody has heard of has used nothing.
    let none = |role: &str| Delta { role: role.to_owned(), baseline: None, measured: 0 };
    Ok(if rows.is_empty() { role.map(none).into_iter().collect() } else { rows })
}
