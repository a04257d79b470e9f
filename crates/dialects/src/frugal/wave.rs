//! The token cost of a wave of workers, with and without the frugal protocol.
//!
//! The project in `examples/wave` is planned in ten waves of ten tasks. Without the protocol every
//! worker gets the plan, the criteria, the context and all that was done before. The frugal way
//! writes a table of symbols once, hands out briefs that refer to it, and keeps capsules of the
//! work done. Both are built here as texts and counted with the tokenizer; no figure is hard-coded.

use std::collections::BTreeMap;

use super::brief::{self, Asked, Brief, Material, Mode, Symbol};
use super::capsule::{self, CapsuleText};
use super::invariants::Found;
use super::ledger::percent;
use super::message::{Body, Message, NonEmpty, TaskResult, TaskStatus};

/// Most workers per wave that have tasks.
pub const WORKERS_MAX: usize = 10;
/// Most waves that have tasks.
pub const WAVES_MAX: usize = 10;

const PLAN: &str = include_str!("../../../../examples/wave/plan.md");
const CRITERIA: &str = include_str!("../../../../examples/wave/criteria.md");
const CONTEXT: &str = include_str!("../../../../examples/wave/context.md");
const INTERFACES: &str = include_str!("../../../../examples/wave/interfaces.md");
const DECISIONS: &str = include_str!("../../../../examples/wave/decisions.md");
const TASKS: &str = include_str!("../../../../examples/wave/tasks.txt");
/// The rules of that project.
const RULES: &str = "plan.md#rules-of-the-house";
/// Time of every capsule, fixed so that the counts are reproducible.
const TS: &str = "2026-04-01T08:00:00Z";

/// A task of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id: wave and part.
    pub id: String,
    /// The symbol of its file.
    pub file: String,
    /// The symbols of its criteria.
    pub criteria: Vec<String>,
    /// The instructions.
    pub spec: String,
    /// A pitfall for the next task.
    pub note: String,
    /// The capsule it builds on.
    pub builds_on: Option<String>,
    /// Dependencies of its own capsule.
    depends: Vec<String>,
}

/// The project.
#[derive(Clone, Debug)]
pub struct Project {
    /// The symbol table: files and criteria.
    pub symbols: Vec<(String, String)>,
    /// Its tasks, by wave.
    pub waves: Vec<Vec<Task>>,
}

/// The measured token counts.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Measured {
    /// Workers per wave.
    pub workers: usize,
    /// Number of waves.
    pub waves: usize,
    /// The tokenizer.
    pub tokenizer: &'static str,
    /// Tokens without the protocol, by purpose.
    pub restated: BTreeMap<&'static str, u64>,
    /// Tokens with the protocol, by purpose.
    pub frugal: BTreeMap<&'static str, u64>,
    /// Number of references in briefs.
    pub references: usize,
    /// References that a worker could not have followed from the brief alone.
    pub unresolved: Vec<String>,
}

impl Measured {
    /// All tokens without the protocol.
    pub fn restated_tokens(&self) -> u64 {
        self.restated.values().sum()
    }

    /// All tokens with the protocol.
    pub fn frugal_tokens(&self) -> u64 {
        self.frugal.values().sum()
    }

    /// The change, such as `-95%`.
    pub fn change(&self) -> String {
        percent(self.restated_tokens(), self.frugal_tokens()).unwrap_or_default()
    }
}

impl Project {
    /// The project of the examples.
    pub fn example() -> Result<Self, String> {
        let mut project = Project { symbols: Vec::new(), waves: Vec::new() };
        for line in TASKS.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            match line.split_once(" = ") {
                Some((id, path)) => project.symbols.push((id.to_owned(), path.to_owned())),
                None => project.add(line)?,
            }
        }
        project.symbols.extend(criteria());
        Ok(project)
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        let wrong = || format!("not a task: {line}");
        let parts: Vec<&str> = line.split(" | ").collect();
        let [id, refs, spec, note] = parts.as_slice() else { return Err(wrong()) };
        let (file, criteria) = refs.split_once(' ').ok_or_else(wrong)?;
        let (wave, part) = id.split_once('.').ok_or_else(wrong)?;
        let wave: usize = wave.parse().map_err(|_| wrong())?;
        let before = (wave > 1).then(|| format!("{}.{part}", wave - 1));
        let types = (wave > 1).then(|| format!("1.{part}"));
        if self.waves.len() < wave {
            self.waves.push(Vec::new());
        }
        let own = self.waves.get_mut(wave.wrapping_sub(1)).ok_or_else(wrong)?;
        own.push(Task {
            id: (*id).to_owned(),
            file: file.to_owned(),
            criteria: criteria.split(',').map(str::to_owned).collect(),
            spec: (*spec).to_owned(),
            note: (*note).to_owned(),
            builds_on: before,
            depends: types.into_iter().collect(),
        });
        Ok(())
    }

    fn value(&self, id: &str) -> Option<&str> {
        self.symbols.iter().find(|(own, _)| own == id).map(|(_, value)| value.as_str())
    }

    fn task(&self, id: &str) -> Option<&Task> {
        self.waves.iter().flatten().find(|task| task.id == id)
    }

    /// The brief of a task.
    pub fn brief(&self, task: &Task) -> Brief {
        let ids = std::iter::once(&task.file).chain(&task.criteria);
        let symbol =
            |id: &String| Symbol { id: id.clone(), value: self.value(id).map(str::to_owned) };
        let closure = self.closure(task);
        let material = Material {
            symbols: ids.map(symbol).collect(),
            wants_capsules: task.builds_on.is_some(),
            capsules: closure
                .into_iter()
                .map(|task| brief::Capsule { id: task.id.clone(), text: task.capsule() })
                .collect(),
            invariants: Some((RULES.to_owned(), Found::Verified { anchor: true })),
            ..Material::default()
        };
        let asked = Asked {
            task: task.id.clone(),
            spec: task.spec.clone(),
            mode: Mode::Strict,
            tokens_max: None,
        };
        // Without a limit no brief is too long.
        brief::build(&asked, &material, &|_| 0).unwrap_or_else(|_| Brief {
            text: String::new(),
            unresolved: Vec::new(),
            left_out: Vec::new(),
        })
    }

    /// The tasks that a task builds on, dependencies first.
    fn closure(&self, task: &Task) -> Vec<&Task> {
        let mut found: Vec<&Task> = Vec::new();
        let mut next = task.builds_on.as_deref().and_then(|id| self.task(id));
        while let Some(task) = next {
            if found.iter().any(|own| own.id == task.id) {
                break;
            }
            found.insert(0, task);
            next = task.depends.first().and_then(|id| self.task(id));
        }
        found
    }

    /// The text a worker gets without the protocol.
    fn restated(&self, task: &Task, done: &str) -> String {
        let criteria: Vec<&str> = task.criteria.iter().map(String::as_str).collect();
        let (file, spec) = (self.value(&task.file).unwrap_or_default(), &task.spec);
        format!(
            "{PLAN}\n{CRITERIA}\n{CONTEXT}\n{INTERFACES}\n{DECISIONS}\n# Done so far\n\n{done}\n# Your task: {}\n\n\
             {spec}\n\nFile: {file}. Criteria: {}.\n",
            task.id,
            criteria.join(", ")
        )
    }

    /// The report of a finished task without the protocol: prose, with the criteria it met.
    fn prose_report(&self, task: &Task) -> String {
        let file = self.value(&task.file).unwrap_or_default();
        let met = task.criteria.iter().filter_map(|id| Some(format!(" {id}: {}", self.value(id)?)));
        format!(
            "Task {} is done: {} ({file}). Criteria met:{} Note: {}.\n",
            task.id,
            task.spec,
            met.collect::<String>(),
            task.note
        )
    }

    /// Number of references in a brief, and those that cannot be followed from its text alone.
    fn follow(&self, task: &Task, text: &str) -> (usize, Vec<String>) {
        let symbols = std::iter::once(&task.file)
            .chain(&task.criteria)
            .map(|id| (id.clone(), self.value(id).map(|value| format!("\n  {id} = {value}\n"))));
        let capsules = self
            .closure(task)
            .into_iter()
            .map(|on| (on.id.clone(), Some(format!("\n  id: {}\n", on.id))));
        let notes = self
            .closure(task)
            .into_iter()
            .map(|on| (format!("note of {}", on.id), Some(format!("\n  GOTCHA: {}\n", on.note))));
        let own = [(task.id.clone(), Some(format!("TASK SPEC:\n  {}\n", task.spec)))];
        let wanted: Vec<_> = symbols.chain(capsules).chain(notes).chain(own).collect();
        let lacks = |(_, line): &&(String, Option<String>)| {
            line.as_ref().is_none_or(|line| !text.contains(line))
        };
        let lacking = wanted.iter().filter(lacks).map(|(id, _)| format!("{}: {id}", task.id));
        (wanted.len(), lacking.collect())
    }

    /// Builds and counts both.
    pub fn measure(&self, workers: usize, waves: usize, count: &dyn Fn(&str) -> u64) -> Measured {
        let (workers, waves) = (workers.min(WORKERS_MAX), waves.min(WAVES_MAX));
        let mut measured = Measured {
            workers,
            waves,
            tokenizer: super::tokens::TOKENIZER,
            restated: BTreeMap::new(),
            frugal: BTreeMap::new(),
            references: 0,
            unresolved: Vec::new(),
        };
        let rows: Vec<String> = self.symbols.iter().map(|(id, v)| format!("{id}\t{v}\n")).collect();
        let table = rows.concat();
        measured.frugal.insert("symbol_table", count(&table));
        let mut done = String::new();
        for wave in self.waves.iter().take(waves) {
            let tasks = &wave[..workers.min(wave.len())];
            let reports: String = tasks.iter().map(|task| self.prose_report(task)).collect();
            for task in tasks {
                self.measure_task(task, &done, &mut measured, count);
            }
            done += &reports;
        }
        measured
    }

    fn measure_task(
        &self,
        task: &Task,
        done: &str,
        measured: &mut Measured,
        count: &dyn Fn(&str) -> u64,
    ) {
        *measured.restated.entry("restated_brief").or_default() +=
            count(&self.restated(task, done));
        *measured.restated.entry("report").or_default() += count(&self.prose_report(task));
        let brief = self.brief(task);
        let (references, lacking) = self.follow(task, &brief.text);
        measured.references += references;
        measured.unresolved.extend(lacking);
        *measured.frugal.entry("delta_brief").or_default() += count(&brief.text);
        *measured.frugal.entry("task_result").or_default() += count(&task.result());
        *measured.frugal.entry("capsule").or_default() += count(&task.capsule());
    }
}

impl Task {
    /// The capsule of the work done.
    pub fn capsule(&self) -> String {
        capsule::render(&CapsuleText {
            id: &self.id,
            depends: &self.depends,
            ts: TS,
            what: &self.spec,
            place: Some(&self.file),
            decision: None,
            gotcha: Some(&self.note),
        })
    }

    /// The final message of a worker.
    pub fn result(&self) -> String {
        let number =
            |id: &String| id.strip_prefix('C').and_then(|number| number.parse::<u64>().ok());
        let (from, msg_id) = (NonEmpty::new("coder"), NonEmpty::new(format!("r{}", self.id)));
        let (Some(from), Some(msg_id)) = (from, msg_id) else { return String::new() };
        let message = Message {
            from,
            msg_id,
            reply_to: None,
            ts: None,
            body: Body::TaskResult(TaskResult {
                task: self.id.clone(),
                status: TaskStatus::Pass,
                criteria: Some(self.criteria.iter().filter_map(number).map(Into::into).collect()),
                commit: Some("a2ef507".to_owned()),
                capsule: Some(self.id.clone()),
            }),
        };
        serde_json::to_string(&message).unwrap_or_default()
    }
}

/// The sentence of each criterion.
fn criteria() -> impl Iterator<Item = (String, String)> {
    CRITERIA.lines().filter_map(|line| {
        let (id, sentence) = line.split_once(". ")?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_id = id.strip_prefix('C').is_some_and(is_number);
        is_id.then(|| (id.to_owned(), sentence.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frugal::invariants::look_up;
    use crate::frugal::{message, tokens};

    #[test]
    fn the_example_project_is_complete() {
        let project = Project::example().unwrap();
        assert_eq!(project.waves.len(), WAVES_MAX);
        assert!(project.waves.iter().all(|wave| wave.len() == WORKERS_MAX));
        assert_eq!(project.symbols.len(), 40);
        for task in project.waves.iter().flatten() {
            assert!(project.value(&task.file).is_some(), "{task:?}");
            assert!(task.criteria.iter().all(|id| project.value(id).is_some()), "{task:?}");
            assert!(task.builds_on.iter().all(|id| project.task(id).is_some()), "{task:?}");
            assert!(task.capsule().lines().count() <= 10, "{task:?}");
            assert!(message::read(task.result().as_bytes()).is_ok(), "{task:?}");
        }
        let rules = look_up(RULES, &|_| Ok(PLAN.to_owned()));
        assert_eq!(rules, Found::Verified { anchor: true });
    }

    #[test]
    fn a_brief_has_all_a_worker_needs_and_not_the_plan() {
        let project = Project::example().unwrap();
        for task in project.waves.iter().flatten() {
            let text = project.brief(task).text;
            assert_eq!(project.follow(task, &text).1, Vec::<String>::new());
            assert!(!text.contains("Tideline is a berth board"), "{text}");
            let cut = text.replacen(" = ", " : ", 1);
            assert!(!project.follow(task, &cut).1.is_empty(), "the check notices what lacks");
        }
    }

    #[test]
    fn frugal_waves_cost_a_tenth_and_many_of_them_a_twentieth() {
        let project = Project::example().unwrap();
        let share = |workers, waves| {
            let measured = project.measure(workers, waves, &tokens::count);
            assert_eq!(measured.unresolved, Vec::<String>::new());
            (100 * measured.frugal_tokens()).div_ceil(measured.restated_tokens())
        };
        assert!(share(3, 1) <= 10, "{}", share(3, 1));
        assert!(share(3, 10) <= 5, "{}", share(3, 10));
        assert!(share(10, 10) <= 5, "{}", share(10, 10));
    }
}
