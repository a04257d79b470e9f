//! Arguments of `althing demo` and of its agents.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Arguments of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Six scripted agents of three kinds build a calculator, through `althing run`. Two of them want the
same file, one is killed, one says that it is done and is not, one merge conflicts, and a person
approves. In the end the program runs. Git, sh and awk are needed.

Example:
  althing demo --keep      keep the repository, to look around in it")]
pub(crate) struct Demo {
    /// Keep the repository.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Arguments of an agent of the demo.
#[derive(Debug, Args)]
pub(crate) struct DemoAgent {
    /// Its task.
    #[arg(value_enum)]
    pub(crate) task: DemoTask,
    /// Where agents leave signs for each other.
    #[arg(long)]
    pub(crate) meet: PathBuf,
}

/// A task of the demo.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DemoTask {
    Lexer,
    Parser,
    Printer,
    Command,
    Manual,
    Examples,
    Tests,
}
