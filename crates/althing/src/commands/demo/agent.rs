//! An agent of the demo: a process that writes its part of the program, with the faults that real
//! agents have.

use std::path::{Path, PathBuf};
use std::process::Command as Process;
use std::time::{Duration, Instant};

use crate::app::App;
use crate::cli::{DemoAgent, DemoTask};
use crate::error::Error;

/// How long an agent waits for another one before it goes on alone.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks whether something has come.
const LOOK: Duration = Duration::from_millis(20);
/// How long it waits before it asks for a file again.
const ASK_AGAIN: Duration = Duration::from_millis(400);
/// The exit code of `althing hook edit` for a file that somebody else holds.
const HELD: i32 = 3;

const LEXER: &str = include_str!("calc/lib/lexer.awk");
const PARSER: &str = include_str!("calc/lib/parser.awk");
const PRINTER: &str = include_str!("calc/lib/printer.awk");
const COMMAND: &str = include_str!("calc/calc");
const TESTS: &str = include_str!("calc/test.sh");
const CHANGES: &str = "CHANGES";
const README: &str = "README.md";

pub(crate) fn run(app: &App, args: &DemoAgent) -> Result<(), Error> {
    let own = Agent { app, meet: &args.meet };
    match args.task {
        DemoTask::Lexer => own.lexer(),
        DemoTask::Parser => own.parser(),
        DemoTask::Printer => own.noted("lib/printer.awk", PRINTER, ["printer", "command"]),
        DemoTask::Command => own.noted("calc", COMMAND, ["command", "printer"]),
        DemoTask::Manual => own.manual(),
        DemoTask::Examples => own.examples(),
        DemoTask::Tests => {
            own.ask("test.sh", || Ok(()))?;
            write("test.sh", TESTS)?;
            own.say("test.sh is written")
        }
    }
}

struct Agent<'a> {
    app: &'a App,
    /// A folder in which agents leave signs for each other, so that they meet on any machine.
    meet: &'a Path,
}

impl Agent<'_> {
    /// Writes half of its file and is killed. Started again, it finds the half and writes the rest.
    fn lexer(&self) -> Result<(), Error> {
        let file = "lib/lexer.awk";
        self.ask(file, || Ok(()))?;
        if Path::new(file).exists() {
            self.say("goes on with the half of lib/lexer.awk that is there")?;
        } else {
            let half: Vec<&str> = LEXER.lines().take(LEXER.lines().count() / 2).collect();
            write(file, &half.join("\n"))?;
            self.say("half of lib/lexer.awk is written")?;
            self.leave(super::HALF_DONE)?;
            std::thread::sleep(PATIENCE);
        }
        write(file, LEXER)
    }

    /// Says that it is done when it is not. Told so, it does it well.
    fn parser(&self) -> Result<(), Error> {
        let file = "lib/parser.awk";
        self.ask(file, || Ok(()))?;
        if Path::new(file).exists() {
            write(file, PARSER)?;
            return self.say("products bind more than sums now");
        }
        write(file, &PARSER.replace("return 2", "return 1"))?;
        self.say("lib/parser.awk is done, everything works")
    }

    /// Writes a file and a line of the list of changes, at the same time as another one. It does not ask
    /// for the list first, so whoever is merged second has a conflict to resolve.
    fn noted(&self, file: &str, text: &str, [own, other]: [&str; 2]) -> Result<(), Error> {
        let changes = read(CHANGES)?;
        if changes.contains("<<<<<<<") {
            write(CHANGES, &both_sides(&changes))?;
            return self.say("the conflict in CHANGES is resolved, both lines are kept");
        }
        self.ask(file, || Ok(()))?;
        write(file, text)?;
        write(CHANGES, &format!("{changes}- {file} is there.\n"))?;
        self.leave(own)?;
        self.wait_for(other);
        self.say(&format!("{file} is written"))
    }

    fn manual(&self) -> Result<(), Error> {
        self.ask(README, || Ok(()))?;
        self.leave("manual")?;
        self.wait_for("refused");
        let text = "    calc EXPRESSION\n\nSigns are `+`, `-`, `*`, `/` and brackets.";
        self.fill_in("(how to call it is to be written)", text)
    }

    /// Wants the file that the one before has in hand: it is refused, and waits.
    fn examples(&self) -> Result<(), Error> {
        self.wait_for("manual");
        self.ask(README, || self.leave("refused"))?;
        self.fill_in("(examples are to be written)", "    $ calc '2 + 3 * 4'\n    14")
    }

    fn fill_in(&self, place: &str, text: &str) -> Result<(), Error> {
        write(README, &read(README)?.replace(place, text))?;
        self.say("README.md is written")
    }

    fn say(&self, text: &str) -> Result<(), Error> {
        self.app.out.line(text)
    }

    /// Asks whether a file may be edited, as the hooks of agents do, until it may.
    fn ask(&self, file: &str, refused: impl Fn() -> Result<(), Error>) -> Result<(), Error> {
        loop {
            let asked = Process::new(super::stage::this_program()?)
                .args(["hook", "edit", "--path", file])
                .output()
                .map_err(|error| Error::unavailable(format!("`althing hook edit`: {error}")))?;
            match asked.status.code() {
                Some(0) => return Ok(()),
                Some(HELD) => {
                    let reason = String::from_utf8_lossy(&asked.stderr);
                    let first = reason.split([';', '\n']).next().unwrap_or_default();
                    self.say(&format!("refused at the edit: {first}"))?;
                    refused()?;
                    std::thread::sleep(ASK_AGAIN);
                }
                _ => {
                    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
                    return Err(Error::unavailable(format!("`althing hook edit`: {said}")));
                }
            }
        }
    }

    fn leave(&self, sign: &str) -> Result<(), Error> {
        let path = self.meet.join(sign);
        std::fs::write(&path, b"")
            .map_err(|error| Error::unavailable(format!("{}: {error}", path.display())))
    }

    fn wait_for(&self, sign: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.meet.join(sign).exists() && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
    }
}

fn read(file: &str) -> Result<String, Error> {
    std::fs::read_to_string(file).map_err(|error| Error::unavailable(format!("{file}: {error}")))
}

fn write(file: &str, text: &str) -> Result<(), Error> {
    let path = PathBuf::from(file);
    let failed = |error: std::io::Error| Error::unavailable(format!("{file}: {error}"));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(&path, text).map_err(failed)?;
    if text.starts_with("#!") {
        super::stage::make_executable(&path).map_err(failed)?;
    }
    Ok(())
}

/// A text in which both sides of each conflict are kept.
fn both_sides(text: &str) -> String {
    let mut in_base = false;
    let mut kept = String::new();
    for line in text.lines() {
        let is = |mark: &str| line.starts_with(mark);
        // Some people have git show what was there before, too.
        in_base = is("|||||||") || (in_base && !is("======="));
        let is_mark = is("<<<<<<<") || is("=======") || is(">>>>>>>");
        if !in_base && !is_mark {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::both_sides;

    #[test]
    fn both_sides_of_a_conflict_are_kept() {
        let plain = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> x\nd\n";
        assert_eq!(both_sides(plain), "a\nb\nc\nd\n");
        let with_base = "<<<<<<< HEAD\nb\n||||||| base\nold\n=======\nc\n>>>>>>> x\n";
        assert_eq!(both_sides(with_base), "b\nc\n");
    }
}
