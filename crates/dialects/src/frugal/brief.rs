//! Delta briefs: what a worker is handed. A task, the symbols it names, the capsules it builds on,
//! and where the invariants are; never the plan, the conversation or restated criteria.
//!
//! The same material makes the same bytes, always.

use std::fmt::Write as _;

use super::invariants::Found;

/// How unresolved references are dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are shown in their place, as the protocol's first tools did.
    Seed,
    /// They make the brief incomplete, which it says at the top and at the end.
    Strict,
}

/// What the brief is about.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The task.
    pub task: String,
    /// What to do.
    pub spec: String,
    /// How unresolved references are dealt with.
    pub mode: Mode,
    /// The most tokens it may have.
    pub tokens_max: Option<u64>,
}

/// A symbol that was referred to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its id.
    pub id: String,
    /// What it stands for, if anything.
    pub value: Option<String>,
}

/// A capsule of the closure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capsule {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
}

/// What was found for the references.
#[derive(Clone, Debug, Default)]
pub struct Material {
    /// The symbols, in the order they were named.
    pub symbols: Vec<Symbol>,
    /// The closure of the named capsules, dependencies first.
    pub capsules: Vec<Capsule>,
    /// Whether any capsule was named.
    pub wants_capsules: bool,
    /// Named capsules that are not there.
    pub unknown_capsules: Vec<String>,
    /// Capsules that others depend on and that are not there.
    pub missing_dependencies: Vec<String>,
    /// The reference to invariants, and what was found of it.
    pub invariants: Option<(String, Found)>,
}

/// A reference that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The reference.
    pub reference: String,
    /// Why.
    pub why: String,
}

/// A brief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Its text.
    pub text: String,
    /// What leads nowhere.
    pub unresolved: Vec<Unresolved>,
    /// What was left out to stay within the limit.
    pub left_out: Vec<String>,
}

/// A brief that cannot be made as short as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// How many tokens it has with everything left out that can be.
    pub tokens: u64,
    /// How many it may have.
    pub tokens_max: u64,
}

/// A comma-separated list: blanks are dropped, and what is named twice counts once.
pub fn list(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for item in text.split(',') {
        let item: String = item.chars().filter(|c| !c.is_whitespace()).collect();
        if !item.is_empty() && !found.contains(&item) {
            found.push(item);
        }
    }
    found
}

impl Material {
    /// Everything that leads nowhere.
    pub fn unresolved(&self) -> Vec<Unresolved> {
        let of = |reference: &str, why: &str| Unresolved {
            reference: reference.to_owned(),
            why: why.to_owned(),
        };
        let mut found = Vec::new();
        for symbol in self.symbols.iter().filter(|symbol| symbol.value.is_none()) {
            found.push(of(&symbol.id, "unknown symbol id"));
        }
        for id in &self.unknown_capsules {
            found.push(of(id, "no such capsule"));
        }
        for id in &self.missing_dependencies {
            found.push(of(id, "a capsule depends on it, and it is not there"));
        }
        if let Some((reference, Found::Dangling(why))) = &self.invariants {
            found.push(of(reference, why));
        }
        found
    }
}

/// Builds the brief. `count` counts tokens and is asked only if there is a limit.
pub fn build(
    asked: &Asked,
    material: &Material,
    count: &dyn Fn(&str) -> u64,
) -> Result<Brief, TooLong> {
    let unresolved = material.unresolved();
    let mut kept = Kept { symbols: material.symbols.len(), capsules_from: 0 };
    loop {
        let left_out = kept.left_out(material);
        let text = write(asked, material, &unresolved, &kept, &left_out);
        let Some(tokens_max) = asked.tokens_max else {
            return Ok(Brief { text, unresolved, left_out });
        };
        let tokens = count(&text);
        if tokens <= tokens_max {
            return Ok(Brief { text, unresolved, left_out });
        }
        if !kept.drop_one(material) {
            return Err(TooLong { tokens, tokens_max });
        }
    }
}

/// What is still in the brief. Capsules go before symbols, and of capsules those that were only
/// depended on go first: a symbol is a line, and without it the task cannot be read.
struct Kept {
    symbols: usize,
    capsules_from: usize,
}

impl Kept {
    fn drop_one(&mut self, material: &Material) -> bool {
        if self.capsules_from < material.capsules.len() {
            self.capsules_from += 1;
        } else if self.symbols > 0 {
            self.symbols -= 1;
        } else {
            return false;
        }
        true
    }

    fn left_out(&self, material: &Material) -> Vec<String> {
        let capsules = &material.capsules[..self.capsules_from];
        let symbols = &material.symbols[self.symbols..];
        capsules
            .iter()
            .map(|capsule| format!("capsule {}", capsule.id))
            .chain(symbols.iter().map(|symbol| format!("symbol {}", symbol.id)))
            .collect()
    }
}

fn write(
    asked: &Asked,
    material: &Material,
    unresolved: &[Unresolved],
    kept: &Kept,
    left_out: &[String],
) -> String {
    let strict = asked.mode == Mode::Strict;
    let mut text = format!("=== DELTA BRIEF — task {} ===\n", one_line(&asked.task));
    // Writing to a string does not fail.
    if strict && !unresolved.is_empty() {
        let count = unresolved.len();
        let _ = writeln!(
            text,
            "!! THIS BRIEF IS INCOMPLETE — {count} ref(s) UNRESOLVED. DO NOT SPAWN ON IT."
        );
    }
    text += "# Refs only. Not the plan, not prior conversation, not restated criteria.\n\n";
    let _ = writeln!(text, "TASK SPEC:\n{}\n", indented(&asked.spec));
    write_symbols(&mut text, &material.symbols[..kept.symbols]);
    let capsules = &material.capsules[kept.capsules_from..];
    if material.wants_capsules && !(capsules.is_empty() && kept.capsules_from > 0) {
        text += "CONTEXT CAPSULES (dependency closure of referenced ids ONLY):\n";
        if !strict && !material.unknown_capsules.is_empty() {
            // As far as it can be written; the rest is said on standard error.
            return text;
        }
        let texts: Vec<&str> = capsules.iter().map(|own| own.text.trim_end_matches('\n')).collect();
        if !texts.is_empty() {
            let _ = writeln!(text, "{}", indented(&texts.join("\n\n")));
        }
        text.push('\n');
    }
    if let Some((reference, found)) = &material.invariants {
        let found = match found {
            Found::Verified { anchor: true } if strict => " (verified: file + anchor)",
            Found::Verified { anchor: false } if strict => " (verified: file exists)",
            _ => "",
        };
        let _ = writeln!(text, "INVARIANTS REF: {}{found}\n", one_line(reference));
    }
    write_rest(&mut text, asked, if strict { unresolved } else { &[] }, left_out);
    text
}

fn write_symbols(text: &mut String, symbols: &[Symbol]) {
    if symbols.is_empty() {
        return;
    }
    text.push_str("SYMBOLS (referenced only):\n");
    for Symbol { id, value } in symbols {
        let value = value.as_deref().map_or_else(|| "<UNRESOLVED>".to_owned(), one_line);
        let _ = writeln!(text, "  {id} = {value}");
    }
    text.push('\n');
}

fn write_rest(text: &mut String, asked: &Asked, unresolved: &[Unresolved], left_out: &[String]) {
    if !left_out.is_empty() {
        let most = asked.tokens_max.unwrap_or_default();
        let _ = writeln!(
            text,
            "LEFT OUT ({}) to stay within {most} tokens — look these up when needed:",
            left_out.len()
        );
        for item in left_out {
            let _ = writeln!(text, "  {item}");
        }
        text.push('\n');
    }
    if !unresolved.is_empty() {
        let count = unresolved.len();
        let _ = writeln!(text, "UNRESOLVED REFS ({count}) — define them or leave them out:");
        for Unresolved { reference, why } in unresolved {
            let _ = writeln!(text, "  !! {} — {}", one_line(reference), one_line(why));
        }
        text.push('\n');
    }
}

fn indented(text: &str) -> String {
    text.split('\n').map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// A value cannot pass itself off as another line of the brief.
fn one_line(text: &str) -> String {
    text.replace('\r', "\\r").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(mode: Mode, tokens_max: Option<u64>) -> Asked {
        Asked { task: "3.2".into(), spec: "implement book diff".into(), mode, tokens_max }
    }

    fn material() -> Material {
        let symbol = |id: &str, value: Option<&str>| Symbol {
            id: id.into(),
            value: value.map(str::to_owned),
        };
        let capsule = |id: &str| Capsule { id: id.into(), text: format!("---\nid: {id}\n---\n") };
        Material {
            symbols: vec![symbol("F12", Some("src/matching/engine.ts")), symbol("NOPE", None)],
            capsules: vec![capsule("w1"), capsule("w2")],
            wants_capsules: true,
            invariants: Some(("INVARIANTS.md".into(), Found::Verified { anchor: false })),
            ..Material::default()
        }
    }

    fn words(text: &str) -> u64 {
        text.split_whitespace().count() as u64
    }

    #[test]
    fn the_first_form_is_kept_to_the_byte() {
        let brief = build(&asked(Mode::Seed, None), &material(), &words).unwrap();
        let expected = "\
=== DELTA BRIEF — task 3.2 ===
# Refs only. Not the plan, not prior conversation, not restated criteria.

TASK SPEC:
  implement book diff

SYMBOLS (referenced only):
  F12 = src/matching/engine.ts
  NOPE = <UNRESOLVED>

CONTEXT CAPSULES (dependency closure of referenced ids ONLY):
  ---
  id: w1
  ---
  
  ---
  id: w2
  ---

INVARIANTS REF: INVARIANTS.md

";
        assert_eq!(brief.text, expected);
    }

    #[test]
    fn the_strict_form_says_what_it_lacks() {
        let brief = build(&asked(Mode::Strict, None), &material(), &words).unwrap();
        assert!(brief.text.contains("!! THIS BRIEF IS INCOMPLETE — 1 ref(s) UNRESOLVED."));
        assert!(brief.text.contains("UNRESOLVED REFS (1)"));
        assert!(brief.text.contains("  !! NOPE — unknown symbol id\n"));
        assert!(brief.text.contains("INVARIANTS REF: INVARIANTS.md (verified: file exists)\n"));
    }

    #[test]
    fn the_limit_is_a_limit_and_what_went_is_named() {
        let whole = words(&build(&asked(Mode::Seed, None), &material(), &words).unwrap().text);
        let mut least = None;
        for most in 0..=whole {
            match build(&asked(Mode::Seed, Some(most)), &material(), &words) {
                Ok(brief) => {
                    assert!(words(&brief.text) <= most, "{brief:?}");
                    for item in &brief.left_out {
                        assert!(brief.text.contains(&format!("  {item}\n")), "{brief:?}");
                    }
                    least = least.or(Some(most));
                }
                Err(too_long) => assert!(too_long.tokens > most && least.is_none()),
            }
        }
        assert!(least.is_some_and(|least| least < whole));
    }

    #[test]
    fn lists_are_cleaned() {
        assert_eq!(list(" a, b ,,a, c d "), ["a", "b", "cd"]);
    }

    #[test]
    fn values_cannot_forge_sections() {
        let mut material = material();
        material.symbols[0].value = Some("x\nTASK SPEC:\n  something else".into());
        let text = build(&asked(Mode::Seed, None), &material, &words).unwrap().text;
        assert_eq!(text.lines().filter(|line| *line == "TASK SPEC:").count(), 1);
    }
}
