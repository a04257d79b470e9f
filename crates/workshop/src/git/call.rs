//! One call of the git program: the settings it runs with, its input, and its answer.
//!
//! No hook and no monitor that a repository configures is started. Filters are: stored content has
//! to be what git itself would make of the files. Variables named `GIT_…` are not passed on, so that
//! a caller inside a hook does not aim git at another repository. Each call is a process group of
//! its own: a key pressed in the terminal, or the death of the caller, does not stop it half-way.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output, Stdio};
use std::time::{Duration, Instant};

use super::author::Author;
use super::object_id::ObjectId;
use crate::file_lock::FileLock;
use crate::step::step;

/// How long a call is repeated while another git holds a lock it needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A call of git that did not answer as it should.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no such program.
    #[error("git cannot be found")]
    Missing,
    /// The program could not be started or heard.
    #[error("git {command} cannot be run in {}: {source}", folder.display())]
    Start {
        /// The subcommand.
        command: String,
        /// The folder it was to run in.
        folder: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// It refused.
    #[error("git {command} failed in {}: {said}", folder.display())]
    Failed {
        /// The subcommand.
        command: String,
        /// The folder it ran in.
        folder: PathBuf,
        /// The exit code; none if a signal ended it.
        code: Option<i32>,
        /// Its own words.
        said: String,
    },
    /// Another git holds a lock, or one that was killed left it behind.
    #[error("git {command} waited in vain for {}", lock.display())]
    Locked {
        /// The subcommand.
        command: String,
        /// The lock file.
        lock: PathBuf,
    },
    /// The answer is not in the form that is documented.
    #[error("the answer of git {command} cannot be read: {what}")]
    Unreadable {
        /// The subcommand.
        command: String,
        /// The part that is wrong.
        what: String,
    },
}

impl GitError {
    /// The way out.
    pub fn hint(&self) -> String {
        match self {
            GitError::Missing => "install git 2.40 or newer, or add it to the PATH".to_owned(),
            GitError::Start { .. } => "check that the folder exists and can be read".to_owned(),
            GitError::Failed { said, .. } if said.contains("dubious ownership") => {
                "the folder belongs to another user: git config --global --add safe.directory \
                 FOLDER"
                    .to_owned()
            }
            GitError::Failed { .. } => "settle what git says and repeat the command".to_owned(),
            GitError::Locked { lock, .. } => {
                format!("if no git runs there any more, remove the file: rm '{}'", lock.display())
            }
            GitError::Unreadable { .. } => "use git 2.40 or newer".to_owned(),
        }
    }

    /// The words of git, if it refused.
    pub(crate) fn said(&self) -> &str {
        if let GitError::Failed { said, .. } = self { said } else { "" }
    }

    pub(crate) fn unreadable(command: &str, what: impl Into<String>) -> Self {
        GitError::Unreadable { command: command.to_owned(), what: what.into() }
    }
}

/// A call in the making.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    folder: PathBuf,
    git_dir: Option<PathBuf>,
    work_tree: Option<PathBuf>,
    index: Option<PathBuf>,
    args: Vec<OsString>,
    settings: Vec<String>,
    variables: Vec<(&'static str, OsString)>,
    input: Option<&'a [u8]>,
    lock: Option<&'a FileLock>,
    author: Option<&'a Author>,
    patience: Duration,
    /// Exit codes besides 0 that are answers.
    answers: &'static [i32],
    has_magic: bool,
}

/// The answer of a call.
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) printed: Vec<u8>,
    /// Warnings, or the reason of a refusal.
    pub(crate) said: String,
}

impl<'a> Call<'a> {
    /// A call in a folder; git looks for the repository around it.
    pub(crate) fn new<A: AsRef<OsStr>>(
        folder: &Path,
        args: impl IntoIterator<Item = A>,
    ) -> Call<'a> {
        Call {
            folder: folder.to_owned(),
            git_dir: None,
            work_tree: None,
            index: None,
            args: args.into_iter().map(|arg| arg.as_ref().to_owned()).collect(),
            settings: Vec::new(),
            variables: Vec::new(),
            input: None,
            lock: None,
            author: None,
            patience: PATIENCE,
            answers: &[],
            has_magic: false,
        }
    }

    /// Names the repository, so that git looks for none.
    pub(crate) fn git_dir(mut self, git_dir: &Path) -> Self {
        self.git_dir = Some(git_dir.to_owned());
        self
    }

    /// Names the files it is about.
    pub(crate) fn work_tree(mut self, work_tree: &Path) -> Self {
        self.work_tree = Some(work_tree.to_owned());
        self
    }

    /// Uses an index that is nobody's.
    pub(crate) fn index(mut self, index: &Path) -> Self {
        self.index = Some(index.to_owned());
        self
    }

    /// The same call with other arguments.
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        self
    }

    /// Adds one more argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Overrules a setting for this call.
    pub(crate) fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// Passes a variable on.
    pub(crate) fn variable(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// Hands it something to read.
    pub(crate) fn input(mut self, input: &'a [u8]) -> Self {
        self.input = Some(input);
        self
    }

    /// Makes the call part of what a lock guards: if this process is killed, the lock stays taken
    /// until git has ended too. Nobody finds the work of a git that still runs.
    pub(crate) fn under(mut self, lock: &'a FileLock) -> Self {
        self.lock = Some(lock);
        self
    }

    /// Names the author of commits.
    pub(crate) fn author(mut self, author: &'a Author) -> Self {
        self.author = Some(author);
        self
    }

    /// Waits this long for git's own locks.
    pub(crate) fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Takes these exit codes for answers too.
    pub(crate) fn answers(mut self, codes: &'static [i32]) -> Self {
        self.answers = codes;
        self
    }

    /// Lets patterns among the arguments be patterns. Without it every path is taken literally.
    pub(crate) fn with_magic(mut self) -> Self {
        self.has_magic = true;
        self
    }

    /// The subcommand, for messages.
    fn command(&self) -> String {
        self.args.first().map(|arg| arg.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Runs git, again while a lock of git's is taken.
    pub(crate) fn run(&self) -> Result<Answer, GitError> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(3);
        loop {
            let answer = self.once()?;
            if answer.code == 0 || self.answers.contains(&answer.code) {
                return Ok(answer);
            }
            let Some(lock) = taken_lock(&answer.said) else {
                return Err(self.failed(&answer));
            };
            if begun.elapsed() >= self.patience {
                return Err(GitError::Locked { command: self.command(), lock });
            }
            // The process id keeps those who wait from waking at the same time.
            let jitter = Duration::from_millis(u64::from(std::process::id() % 7));
            std::thread::sleep(pause + jitter);
            pause = (pause * 2).min(Duration::from_millis(200));
        }
    }

    fn failed(&self, answer: &Answer) -> GitError {
        GitError::Failed {
            command: self.command(),
            folder: self.work_tree.clone().unwrap_or_else(|| self.folder.clone()),
            code: (answer.code >= 0).then_some(answer.code),
            said: answer.said.trim().to_owned(),
        }
    }

    /// Runs git once. The code is negative if a signal ended it.
    fn once(&self) -> Result<Answer, GitError> {
        let cannot = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::NotFound if self.folder.is_dir() => GitError::Missing,
            _ => GitError::Start { command: self.command(), folder: self.folder.clone(), source },
        };
        let mut process = self.process();
        let mut notes = None;
        match (self.lock, self.input) {
            (Some(lock), None) => {
                process.stdin(lock.shared().map_err(cannot)?);
                // A pipe nobody reads any more would end a git that has something to say.
                let file = lock.notes().map_err(cannot)?;
                process.stderr(file.try_clone().map_err(cannot)?);
                notes = Some(file);
            }
            (_, Some(_)) => drop(process.stdin(Stdio::piped())),
            (None, None) => drop(process.stdin(Stdio::null())),
        }
        step(&format!("before git {}", self.command()));
        let child = process.spawn().map_err(cannot)?;
        step(&format!("during git {}", self.command()));
        let output = self.converse(child).map_err(cannot)?;
        let said = match notes {
            Some(file) => read_back(file).map_err(cannot)?,
            None => output.stderr,
        };
        let code = output.status.code().unwrap_or(-1);
        let said = String::from_utf8_lossy(&said).into_owned();
        Ok(Answer { code, printed: output.stdout, said })
    }

    /// Hands over the input while the answer is read: git may answer before it has read all.
    fn converse(&self, mut child: std::process::Child) -> std::io::Result<Output> {
        let stdin = child.stdin.take();
        std::thread::scope(|scope| {
            if let (Some(mut stdin), Some(input)) = (stdin, self.input) {
                scope.spawn(move || {
                    // Git reads everything, or says on its own why it did not.
                    if let Err(error) = stdin.write_all(input) {
                        tracing::debug!(%error, "git did not read all of its input");
                    }
                });
            }
            child.wait_with_output()
        })
    }

    fn process(&self) -> Process {
        let mut git = Process::new("git");
        git.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
        // Nothing is tidied up in the background, in a tree that may be about to go.
        git.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]);
        for setting in &self.settings {
            git.args(["-c", setting]);
        }
        for (name, _) in std::env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                git.env_remove(name);
            }
        }
        let places = [
            ("GIT_DIR", &self.git_dir),
            ("GIT_WORK_TREE", &self.work_tree),
            ("GIT_INDEX_FILE", &self.index),
        ];
        for (name, place) in places {
            if let Some(place) = place {
                git.env(name, place);
            }
        }
        if let Some(author) = self.author {
            author.sign(&mut git);
        }
        // Refusals are recognized by their words. Names stay UTF-8 for filters.
        git.env("LC_ALL", "C.UTF-8").env_remove("LANGUAGE");
        git.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0");
        if !self.has_magic {
            git.env("GIT_LITERAL_PATHSPECS", "1");
        }
        git.envs(self.variables.iter().map(|(name, value)| (name, value)));
        git.args(&self.args).current_dir(self.work_tree.as_ref().unwrap_or(&self.folder));
        git.stdout(Stdio::piped()).stderr(Stdio::piped());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut git, 0);
        git
    }

    /// The bytes it printed.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, GitError> {
        self.run().map(|answer| answer.printed)
    }

    /// Runs it for what it does.
    pub(crate) fn done(&self) -> Result<(), GitError> {
        self.run().map(|_| ())
    }

    /// The text it printed, without the line break at the end.
    pub(crate) fn line(&self) -> Result<String, GitError> {
        Ok(String::from_utf8_lossy(&self.bytes()?).trim_end_matches('\n').to_owned())
    }

    /// The path it printed.
    pub(crate) fn path(&self) -> Result<PathBuf, GitError> {
        let bytes = self.bytes()?;
        Ok(PathBuf::from(super::os(bytes.strip_suffix(b"\n").unwrap_or(&bytes))))
    }

    /// The text it printed; none if it answered with exit code 1.
    pub(crate) fn found(&self) -> Result<Option<String>, GitError> {
        let answer = self.clone().answers(&[1]).run()?;
        let text = String::from_utf8_lossy(&answer.printed).trim_end_matches('\n').to_owned();
        Ok((answer.code == 0).then_some(text))
    }

    /// The id it printed.
    pub(crate) fn id(&self) -> Result<ObjectId, GitError> {
        let line = self.line()?;
        ObjectId::new(&line)
            .map_err(|error| GitError::unreadable(&self.command(), error.to_string()))
    }

    /// The id it printed; none if it answered with exit code 1.
    pub(crate) fn found_id(&self) -> Result<Option<ObjectId>, GitError> {
        let Some(line) = self.found()? else { return Ok(None) };
        let unreadable = |error: super::object_id::NotAnObjectId| {
            GitError::unreadable(&self.command(), error.to_string())
        };
        ObjectId::new(&line).map(Some).map_err(unreadable)
    }
}

/// The lock file that git found taken, from its own words.
fn taken_lock(said: &str) -> Option<PathBuf> {
    let at = said.find(".lock': File exists")?;
    let begin = said[..at].rfind('\'')? + 1;
    Some(PathBuf::from(format!("{}.lock", &said[begin..at])))
}

fn read_back(mut file: File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::taken_lock;
    use std::path::Path;

    #[test]
    fn a_taken_lock_is_told_from_a_moved_ref() {
        let taken = "fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git";
        assert_eq!(taken_lock(taken).as_deref(), Some(Path::new("/r/.git/index.lock")));
        let moved = "fatal: cannot lock ref 'refs/heads/x': is at 1 but expected 2";
        assert_eq!(taken_lock(moved), None);
    }
}
