//! `plan`: making tasks.

use althing_kernel::lease::{Surfaces, split_scope};
use althing_kernel::records::create::Create;
use althing_kernel::records::field::Few;
use althing_kernel::records::view::MemoryReply;
use althing_kernel::records::vocabulary::Priority;
use althing_kernel::records::{Fields, Kind, RecordId};
use althing_kernel::text::Text;
use althing_kernel::{Command, Reply, Surface};
use serde::Serialize;

use super::{Worded, first_line};
use crate::context::ProjectContext;
use crate::error::Error;

/// A task to be made.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// The text; its first line is the title.
    pub text: String,
    /// The files it is about, as surfaces. They are claimed with the task.
    pub scope: Vec<String>,
    /// The tasks that have to be done first.
    pub after: Vec<RecordId>,
    /// The priority; medium if none is given.
    pub priority: Option<Priority>,
}

/// A task that was made.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// The task as people write it.
    pub task: String,
    /// Its id.
    pub id: RecordId,
    /// Its title.
    pub title: String,
    /// The files it is about.
    pub scope: Vec<String>,
}

/// The tasks that were made.
#[derive(Clone, Debug, Serialize)]
pub struct Plans {
    /// The tasks, in the order they were given.
    pub tasks: Vec<Made>,
}

impl Worded for Plans {
    fn text(&self) -> String {
        let line = |made: &Made| {
            let scope = match made.scope.as_slice() {
                [] => String::new(),
                scope => format!("  ({})", scope.join(", ")),
            };
            format!("{} is planned: {}{scope}", made.task, made.title)
        };
        self.tasks.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Planned {
    /// Reads a task as people write it: a text, whose last words may name files as `@PATH`.
    pub fn read(text: &str) -> Self {
        let mut words: Vec<&str> = text.split(' ').collect();
        let mut scope = Vec::new();
        while let Some(path) = words.last().and_then(|last| last.strip_prefix('@')) {
            if path.is_empty() || words.len() == 1 {
                break;
            }
            scope.insert(0, path.to_owned());
            words.pop();
        }
        let text = if scope.is_empty() { text.to_owned() } else { words.join(" ") };
        let text = text.trim_end().to_owned();
        Planned { text, scope, ..Planned::default() }
    }
}

/// The task that somebody names.
pub fn task_of(text: &str) -> Result<RecordId, Error> {
    let wrong = || {
        let failure = Error::usage(format!("{text:?} is no task; write one such as pln#1"));
        failure.hint("`althing board` lists the open tasks.")
    };
    let id: RecordId = text.trim().parse().map_err(|_| wrong())?;
    if id.kind == Kind::Plan { Ok(id) } else { Err(wrong()) }
}

/// Makes tasks, one after another.
pub fn plan(context: &ProjectContext, tasks: &[Planned]) -> Result<Plans, Error> {
    let creations: Vec<Create> = tasks.iter().map(creation).collect::<Result<_, _>>()?;
    let mut made = Vec::new();
    for (create, task) in creations.into_iter().zip(tasks) {
        let record = match context.execute(Command::MemoryCreate(Box::new(create)))? {
            Reply::Memory(reply) => match *reply {
                MemoryReply::Record(record) => record,
                other => return Err(Error::unexpected(&other)),
            },
            other => return Err(Error::unexpected(&other)),
        };
        made.push(Made {
            task: record.id.label(),
            id: record.id,
            title: first_line(record.text.as_str()).to_owned(),
            scope: task.scope.clone(),
        });
    }
    Ok(Plans { tasks: made })
}

fn creation(task: &Planned) -> Result<Create, Error> {
    let mut create = Create::plain(Kind::Plan, Text::new(&task.text).map_err(Error::unreadable)?);
    let scope = task.scope.join(", ");
    if !scope.is_empty() {
        surfaces(&scope)?;
    }
    create.fields = Fields {
        depends_on: Few::new(task.after.clone()).map_err(Error::usage)?,
        priority: task.priority,
        scope: match scope.as_str() {
            "" => None,
            scope => Some(Text::new(scope).map_err(Error::unreadable)?),
        },
        ..Fields::default()
    };
    Ok(create)
}

/// Surfaces from a list with commas between.
pub(super) fn surfaces(scope: &str) -> Result<Surfaces, Error> {
    let list: Result<Vec<Surface>, _> = split_scope(scope).into_iter().map(Surface::new).collect();
    let list = list.map_err(|error| Error::usage(format!("{scope:?}: {error}")))?;
    Surfaces::new(list).map_err(|error| Error::usage(format!("{scope:?}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_task_name_its_files() {
        let read = |text: &str| {
            let Planned { text, scope, .. } = Planned::read(text);
            (text, scope.join(" "))
        };
        let pair = |text: &str, scope: &str| (text.to_owned(), scope.to_owned());
        assert_eq!(read("Write it @src/a.rs @docs"), pair("Write it", "src/a.rs docs"));
        assert_eq!(read("Ask @ada about it"), pair("Ask @ada about it", ""));
        assert_eq!(read("@src"), pair("@src", ""));
        assert_eq!(read("mail me @"), pair("mail me @", ""));
    }
}
