//! The arguments of `althing blob`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `blob`.
#[derive(Debug, Args)]
#[command(after_help = "\
Content is stored in the state folder under the SHA-256 of its bytes. The same content is stored
once, is checked on every read, and is never changed or deleted.

Examples:
  althing blob put report.pdf          prints its name, sha256:…
  git diff | althing blob put          from standard input
  althing blob get sha256:… -o report.pdf
  althing blob list")]
pub(crate) struct Blob {
    #[command(subcommand)]
    pub(crate) command: BlobCommand,
}

/// Subcommands of `blob`.
#[derive(Debug, Subcommand)]
pub(crate) enum BlobCommand {
    /// Store content and print its name.
    Put(BlobPut),
    /// Write stored content to standard output or a file.
    Get(BlobGet),
    /// List all stored content.
    List,
}

/// Arguments of `blob put`.
#[derive(Debug, Args)]
#[command(after_help = "\
Content of up to 256 MiB. Once the name is printed, the content survives a power cut.

Examples:
  althing blob put report.pdf
  git diff | althing blob put -")]
pub(crate) struct BlobPut {
    /// The file to store; `-` or nothing reads standard input.
    pub(crate) file: Option<PathBuf>,
}

/// Arguments of `blob get`.
#[derive(Debug, Args)]
#[command(after_help = "\
The content is checked against its hash before the first byte is written. Exit code 1: it is not
stored here. Exit code 5: it is damaged; storing the same content again repairs it. With --json,
errors and the result of -o are printed as JSON.

Examples:
  althing blob get sha256:… > report.pdf
  althing blob get sha256:… -o report.pdf")]
pub(crate) struct BlobGet {
    /// The name that `blob put` printed.
    pub(crate) name: String,
    /// The file to write; an existing file is replaced.
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}
