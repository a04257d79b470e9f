//! The requirements with what shows them, read from their files and checked against each other.
//!
//! `docs/conformance.json` is made from what is read here.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The names of tests, by the id of what they show.
pub(crate) type Shown = BTreeMap<String, BTreeSet<String>>;

/// How much a requirement asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Keyword {
    Must,
    Should,
    May,
    /// It explains and asks for nothing itself.
    Note,
}

/// The kind of a reason that is given instead of a test, or beside one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// Not built yet.
    Later,
    /// Built in another way than the protocol says: a deviation.
    Differs,
    /// Nothing a program can test.
    Outside,
}

/// A reason given for a requirement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Reason {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// One thing the protocol asks for.
#[derive(Clone, Debug)]
pub(crate) struct Requirement {
    pub(crate) id: String,
    pub(crate) level: u8,
    pub(crate) keyword: Keyword,
    pub(crate) text: String,
    pub(crate) tests: BTreeSet<String>,
    pub(crate) reason: Option<Reason>,
}

/// Requirements about one thing.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    pub(crate) title: String,
    pub(crate) requirements: Vec<Requirement>,
    /// The prefix of the ids of its requirements.
    prefix: String,
}

/// All requirements, in the order of their file.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) areas: Vec<Area>,
}

impl Keyword {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Keyword::Must => "MUST",
            Keyword::Should => "SHOULD",
            Keyword::May => "MAY",
            Keyword::Note => "NOTE",
        }
    }

    fn named(text: &str) -> Option<Self> {
        let all = [Keyword::Must, Keyword::Should, Keyword::May, Keyword::Note];
        all.into_iter().find(|keyword| keyword.as_str() == text)
    }
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Kind::Later => "later",
            Kind::Differs => "differs",
            Kind::Outside => "outside",
        }
    }

    fn named(text: &str) -> Option<Self> {
        [Kind::Later, Kind::Differs, Kind::Outside].into_iter().find(|kind| kind.as_str() == text)
    }
}

impl Tables {
    /// Reads the files and joins them with the tests. All that is wrong is told at once, one
    /// fault on each line.
    pub(crate) fn read(requirements: &str, reasons: &str, tests: &Shown) -> Result<Self, String> {
        let mut faults = Vec::new();
        let mut tables = Tables { areas: Vec::new() };
        for (number, line) in lines(requirements) {
            if let Err(why) = tables.take(line) {
                faults.push(format!("requirements, line {number}: {why}"));
            }
        }
        for (number, line) in lines(reasons) {
            if let Err(why) = tables.explain(line) {
                faults.push(format!("reasons, line {number}: {why}"));
            }
        }
        for (id, names) in tests {
            match tables.get(id) {
                Some(requirement) => requirement.tests.clone_from(names),
                None => faults.push(format!("{id} is shown by a test, but there is no such id")),
            }
        }
        faults.extend(tables.all().filter_map(Requirement::fault));
        if faults.is_empty() { Ok(tables) } else { Err(faults.join("\n")) }
    }

    /// Every requirement.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Requirement> {
        self.areas.iter().flat_map(|area| &area.requirements)
    }

    fn get(&mut self, id: &str) -> Option<&mut Requirement> {
        let mut all = self.areas.iter_mut().flat_map(|area| &mut area.requirements);
        all.find(|requirement| requirement.id == id)
    }

    /// Takes a line of the file of requirements.
    fn take(&mut self, line: &str) -> Result<(), &'static str> {
        if let Some(heading) = line.strip_prefix("= ") {
            let (code, title) = heading.split_once(' ').ok_or("an area has a code and a title")?;
            let (title, prefix) = (title.to_owned(), format!("W-{code}-"));
            self.areas.push(Area { title, requirements: Vec::new(), prefix });
            return Ok(());
        }
        let requirement = read_requirement(line).ok_or("not `ID LEVEL KEYWORD sentence.`")?;
        let area = self.areas.last_mut().ok_or("a requirement before any area")?;
        if !requirement.id.starts_with(&area.prefix) {
            return Err("it is not in the area of its id");
        }
        if area.requirements.last().is_some_and(|last| last.id >= requirement.id) {
            return Err("ids of an area are in order, each once");
        }
        area.requirements.push(requirement);
        Ok(())
    }

    /// Takes a line of the file of reasons.
    fn explain(&mut self, line: &str) -> Result<(), String> {
        let form = || "not `KIND IDS: sentence.`".to_owned();
        let (head, text) = line.split_once(": ").ok_or_else(form)?;
        let (kind, ids) = head.split_once(' ').ok_or_else(form)?;
        let kind = Kind::named(kind).ok_or_else(|| format!("{kind} is no kind of reason"))?;
        for part in ids.split(", ") {
            for requirement in self.range(part)? {
                let reason = Reason { kind, text: text.to_owned() };
                if requirement.reason.replace(reason).is_some() {
                    return Err(format!("{} has two reasons", requirement.id));
                }
            }
        }
        Ok(())
    }

    /// The requirements that `ID` or `FIRST..LAST` names.
    fn range(&mut self, part: &str) -> Result<&mut [Requirement], String> {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        for area in &mut self.areas {
            let place = |id: &str| area.requirements.iter().position(|own| own.id == id);
            match (place(first), place(last)) {
                (Some(from), Some(to)) if from <= to => {
                    return Ok(&mut area.requirements[from..=to]);
                }
                (Some(_), Some(_)) => return Err(format!("{part} goes back")),
                _ => {}
            }
        }
        Err(format!("{part} is no requirement, nor a range within an area"))
    }
}

impl Requirement {
    /// The mistake in its reason or tests, if there is one.
    fn fault(&self) -> Option<String> {
        let kind = self.reason.as_ref().map(|reason| reason.kind);
        let why = match (kind, self.tests.first()) {
            (None, None) => "has neither a test nor a reason".to_owned(),
            (Some(Kind::Later), Some(test)) => {
                format!("is said to come later, but {test} shows it")
            }
            (Some(Kind::Outside), Some(test)) => {
                format!("is said to be nothing to test, but {test} shows it")
            }
            _ => return None,
        };
        Some(format!("{} {why}", self.id))
    }
}

/// Lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    numbered.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn read_requirement(line: &str) -> Option<Requirement> {
    let mut words = line.splitn(4, ' ');
    let id = words.next().filter(|id| is_id(id))?.to_owned();
    let level = words.next()?.strip_prefix('L')?.parse().ok()?;
    let keyword = Keyword::named(words.next()?)?;
    let text = words.next()?.to_owned();
    let fits = (1..=3).contains(&level) && text.ends_with('.');
    let (tests, reason) = (BTreeSet::new(), None);
    fits.then_some(Requirement { id, level, keyword, text, tests, reason })
}

/// Whether a text has the form of an id: `W-AREA-01`.
pub(crate) fn is_id(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [prefix, area, number] = parts.as_slice() else { return false };
    let is_area = !area.is_empty() && area.bytes().all(|byte| byte.is_ascii_uppercase());
    *prefix == "W" && is_area && number.len() == 2 && number.bytes().all(|b| b.is_ascii_digit())
}

const REQUIREMENTS: &str = "# Two areas.\n= ID Identity\nW-ID-01 L1 MUST One.\nW-ID-02 L2 MAY Two.\n\
                            W-ID-04 L3 SHOULD Four.\n= ENV Envelopes\nW-ENV-01 L1 NOTE None.\n";
const REASONS: &str = "\n# Why.\nlater W-ID-02..W-ID-04: Not yet.\noutside W-ENV-01: A note.\n";

fn shown(pairs: &[(&str, &str)]) -> Shown {
    let mut shown = Shown::new();
    for (id, test) in pairs {
        shown.entry((*id).to_owned()).or_default().insert((*test).to_owned());
    }
    shown
}

fn read() -> Tables {
    Tables::read(REQUIREMENTS, REASONS, &shown(&[("W-ID-01", "rules::a"), ("W-ID-01", "rules::b")]))
        .unwrap()
}

#[test]
fn requirements_tests_and_reasons_come_together() {
    let tables = read();
    let kinds: Vec<_> =
        tables.all().map(|own| own.reason.as_ref().map(|reason| reason.kind)).collect();
    assert_eq!(kinds, [None, Some(Kind::Later), Some(Kind::Later), Some(Kind::Outside)]);
    assert_eq!(tables.areas[0].requirements[0].tests.len(), 2);
}

#[test]
fn files_that_do_not_fit_are_told_apart() {
    let cases = [
        ("W-ID-01 L1 MUST One.", "", &[][..], "before any area"),
        ("= ID Identity\nW-ENV-01 L1 MUST One.", "", &[], "not in the area"),
        ("= ID Identity\nW-ID-02 L1 MUST A.\nW-ID-01 L1 MUST B.", "", &[], "in order"),
        ("= ID Identity\nW-ID-01 L4 MUST One.", "", &[], "line 2: not `ID"),
        ("= ID Identity\nW-ID-01 L1 WILL One.", "", &[], "not `ID"),
        ("= ID Identity\nW-ID-01 L1 MUST One", "", &[], "not `ID"),
        ("= ID", "", &[], "a code and a title"),
        (REQUIREMENTS, "", &[], "W-ID-01 has neither a test nor a reason"),
        (REQUIREMENTS, "perhaps W-ID-01: Why.", &[], "perhaps is no kind"),
        (REQUIREMENTS, "later: Why.", &[], "not `KIND"),
        (REQUIREMENTS, "later W-ID-03: Why.", &[], "W-ID-03 is no requirement"),
        (REQUIREMENTS, "later W-ID-02..W-ID-01: Why.", &[], "goes back"),
        (REQUIREMENTS, "later W-ID-01..W-ENV-01: Why.", &[], "within an area"),
        (REQUIREMENTS, "later W-ID-01, W-ID-01: Why.", &[], "W-ID-01 has two reasons"),
        (REQUIREMENTS, REASONS, &[("W-ID-09", "t")], "W-ID-09 is shown by a test, but"),
        (REQUIREMENTS, REASONS, &[("W-ID-02", "t")], "W-ID-02 is said to come later, but t"),
        (REQUIREMENTS, REASONS, &[("W-ENV-01", "t")], "W-ENV-01 is said to be nothing to test"),
    ];
    for (requirements, reasons, tests, words) in cases {
        let faults = Tables::read(requirements, reasons, &shown(tests)).unwrap_err();
        assert!(faults.contains(words), "{words}: {faults}");
    }
    let differs = REASONS.to_owned() + "differs W-ID-01: Otherwise.";
    assert!(Tables::read(REQUIREMENTS, &differs, &shown(&[])).is_ok(), "a reason will do");
    assert!(Tables::read(REQUIREMENTS, &differs, &shown(&[("W-ID-01", "t")])).is_ok());
}

#[test]
fn ids_have_one_form() {
    assert!(is_id("W-ID-01") && is_id("W-TRAIL-46"));
    for bad in
        ["", "W-ID", "W-ID-1", "W-ID-001", "A-ID-01", "W-id-01", "W--01", "W-ID-01.", "W-ID-0x"]
    {
        assert!(!is_id(bad), "{bad}");
    }
}
