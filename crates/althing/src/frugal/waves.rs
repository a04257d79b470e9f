//! The token cost of a wave of workers, with and without references, for people to read.

use althing_dialects::frugal::ledger::{Delta, delta_line};
use althing_dialects::frugal::tokens;
use althing_dialects::frugal::wave::{Measured, Project};
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::error::Error;
use crate::output::counted;

/// The waves that are shown: workers and waves.
pub(crate) const SIZES: &[(usize, usize)] = &[(3, 1), (3, 3), (5, 5), (3, 10), (10, 10)];

/// Builds and counts the waves.
pub(crate) fn measure(sizes: &[(usize, usize)]) -> Result<Vec<Measured>, Error> {
    let project = Project::example().map_err(Error::unavailable)?;
    let measured: Vec<Measured> = sizes
        .iter()
        .map(|(workers, waves)| project.measure(*workers, *waves, &tokens::count))
        .collect();
    match measured.iter().flat_map(|one| &one.unresolved).next() {
        None => Ok(measured),
        Some(lacking) => Err(Error::unavailable(format!(
            "a worker could not follow {lacking} from the brief alone"
        ))),
    }
}

/// One line per size.
pub(crate) fn line(measured: &Measured) -> String {
    let Measured { workers, waves, .. } = measured;
    let word = if *waves == 1 { "wave: " } else { "waves:" };
    format!(
        "{workers:>2} workers x {waves:>2} {word} {:>8} -> {:>6} tokens ({})",
        measured.restated_tokens(),
        measured.frugal_tokens(),
        measured.change()
    )
}

/// The tokens of one way, by kind.
pub(crate) fn parts(parts: &BTreeMap<&'static str, u64>) -> String {
    let list: Vec<String> = parts.iter().map(|(kind, tokens)| format!("{kind} {tokens}")).collect();
    list.join(", ")
}

/// The demonstration of the dialect's own command line.
pub(crate) fn demo(sizes: &[(usize, usize)]) -> Result<String, Error> {
    let measured = measure(sizes)?;
    let Some(first) = measured.first() else { return Ok(String::new()) };
    let (before, after) = (first.restated_tokens(), first.frugal_tokens());
    let mut text = format!(
        "{} workers in each of {} on the project in examples/wave, built and counted ({}):\n",
        first.workers,
        counted(first.waves as u64, "wave", "waves"),
        first.tokenizer
    );
    // Writing to a string does not fail.
    let _ = writeln!(text, "  v1, restated:  {before} tokens ({})", parts(&first.restated));
    let _ = writeln!(text, "  v2, by refs:   {after} tokens ({})", parts(&first.frugal));
    let delta = Delta { role: "orchestration".to_owned(), baseline: Some(before), measured: after };
    let _ = writeln!(text, "  {}", delta_line(&delta));
    if measured.len() > 1 {
        text += "\nMore workers, more waves:\n";
        for one in &measured {
            let _ = writeln!(text, "  {}", line(one));
        }
    }
    let references: usize = measured.iter().map(|one| one.references).sum();
    let _ = writeln!(
        text,
        "\nEvery one of {references} references was followed from the brief alone. Not counted:\n\
         what workers read for themselves, and the schemas of the tools they are offered."
    );
    let _ =
        writeln!(text, "(summary-card line: orchestration: {before} -> {after} tokens, measured)");
    Ok(text)
}
