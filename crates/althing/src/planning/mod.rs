//! The files under `.planning/`, kept in step with the trail.
//!
//! The trail is the truth; these files are a picture of it. After every command the engine lets
//! this follow: it reads the entries since the last time, makes those files anew that they change,
//! and appends to those that only grow. Nothing is written unless `.planning/protocol` is there,
//! which `heimdall-protocol init` and `althing rebuild` see to.
//!
//! A process may die at any point. Files that are made anew are renamed into place, and what they
//! say follows from the trail alone, so the next one does it again. A log that grew and a record
//! that does not know it are told right by comparing the log with the trail. Files are written
//! under a lock; whoever does not get it in time leaves it to the next.
//!
//! Somebody may have written into a file. It then says neither what was written last nor what is
//! to be written, and is left as it is: `althing doctor` tells, and `althing rebuild` sets it aside
//! or, asked to, takes it over.

mod adopt;
mod grow;
mod record;

pub(crate) use adopt::{adopt, mean_the_same};

use althing_dialects::frugal::message;
use althing_dialects::frugal::planning::{self, FOLDERS, File, Log, MARK};
use althing_dialects::moment::utc;
use althing_engine::engine::Projection;
use althing_engine::{Engine, Home};
use althing_kernel::{Stamped, State};
use althing_trail::{Entry, LogReader};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::place::{self, Place};
use grow::{Grown, Pieces};
use record::{Digest, Mark, Records};

/// The variable that says where the files are.
pub(crate) const VARIABLE: &str = "HEIMDALL_PLANNING_DIR";
/// The file of the layout that is a document and not a picture of anything.
const SCHEMA: &str = "protocol/message-schema.json";
/// How much of the trail is read at a time, in bytes.
const READ_BYTES: usize = 4 << 20;

/// Where the files are, and what is remembered of them.
#[derive(Clone)]
pub(crate) struct Planning {
    root: PathBuf,
    records: Records,
    /// Whether the first change that is recorded begins them.
    begins: bool,
}

/// The condition of the files.
#[derive(Default)]
pub(crate) struct Report {
    /// The number of files there should be.
    pub(crate) files: usize,
    /// Files that somebody edited.
    pub(crate) edited: Vec<String>,
    /// Outdated files; the next command writes them again.
    pub(crate) behind: Vec<String>,
    /// Files that follow from nothing in the trail.
    pub(crate) unknown: Vec<String>,
    /// Paths that cannot be used because something else is in the place of the file, and why.
    pub(crate) blocked: Vec<String>,
}

/// The result of rebuilding.
#[derive(Default)]
pub(crate) struct Rebuilt {
    /// How many files there are.
    pub(crate) files: usize,
    /// How many of them were written.
    pub(crate) written: usize,
    /// Files that were set aside, and where they are now.
    pub(crate) aside: Vec<(String, String)>,
    /// Paths that cannot be used because something else is in the place of the file, and why.
    pub(crate) blocked: Vec<String>,
}

/// The result of writing a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    /// The file has this content already.
    Same,
    Written,
    /// Somebody wrote into it; it was left alone.
    Edited,
}

impl Planning {
    /// The files of a project.
    pub(crate) fn of(place: &Place, home: &Home) -> Self {
        let set = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty());
        // The folder that is set may be a link: whoever set it means what it leads to.
        let own = || {
            let own = place.root.join(".planning");
            std::path::absolute(&own).unwrap_or(own)
        };
        let root = set.map_or_else(own, |folder| place::real(Path::new(&folder)));
        let records = Records::of(home.root(), &root);
        Planning { root, records, begins: false }
    }

    /// The same for tools that always wrote files: the first recorded change creates them.
    pub(crate) fn beginning(self) -> Self {
        Planning { begins: true, ..self }
    }

    /// Where they are.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the project wants them.
    pub(crate) fn is_used(&self) -> bool {
        self.root.join(MARK).is_dir()
    }

    /// Where one of them is, if it is there and no link leads to it.
    pub(crate) fn written(&self, path: &str) -> Option<PathBuf> {
        let path = self.root.join(path);
        (self.own_folders().is_ok() && path.is_file() && !is_link(&path)).then_some(path)
    }

    /// Links are not followed: a repository could have the files written anywhere by having one.
    /// Where the files are kept elsewhere on purpose, the variable says so.
    pub(crate) fn own_folders(&self) -> Result<(), Error> {
        // The root that the variable says is no link: it was followed.
        let parts = FOLDERS.iter().flat_map(|folder| Path::new(folder).ancestors());
        // Without a slash at its end, which would follow it.
        let path = |part: &Path| {
            if part.as_os_str().is_empty() { self.root.clone() } else { self.root.join(part) }
        };
        match parts.map(path).filter(|path| is_link(path)).min() {
            None => Ok(()),
            Some(path) => {
                let message = format!("{} is a link, and is not written through", path.display());
                let hint = "Remove it, or say where the files are: HEIMDALL_PLANNING_DIR.";
                Err(Error::unavailable(message).hint(hint))
            }
        }
    }

    /// Says that the project wants them, and makes them.
    pub(crate) fn begin(&self, engine: &Engine) -> Result<(), Error> {
        {
            let Some(_lock) = self.records.lock()? else { return Err(busy()) };
            self.make_folders()?;
            self.write_schema()?;
        }
        self.keep_up(engine)
    }

    /// Makes every folder of the layout that is not there.
    fn make_folders(&self) -> Result<(), Error> {
        self.own_folders()?;
        for folder in FOLDERS {
            let path = self.root.join(folder);
            std::fs::create_dir_all(&path).map_err(|error| unusable(&path, &error))?;
        }
        Ok(())
    }

    /// Writes the published schema, unless somebody wrote into it.
    fn write_schema(&self) -> Result<(), Error> {
        let schema = schema()?;
        match self.schema_stands(&schema)? {
            Put::Written => {
                let there = self.read(SCHEMA)?;
                let (is, shall) = (Digest::of(there.as_deref()), Digest::of(Some(&schema)));
                self.records.set(SCHEMA, &is, &shall)?;
                self.write(SCHEMA, &schema)
            }
            Put::Same | Put::Edited => Ok(()),
        }
    }

    /// How the published schema is: as it should be, to be written, or changed by somebody.
    fn schema_stands(&self, schema: &str) -> Result<Put, Error> {
        let there = self.read(SCHEMA)?;
        Ok(match &there {
            Some(there) if there == schema => Put::Same,
            Some(_) if !self.records.knows(SCHEMA, &Digest::of(there.as_deref())) => Put::Edited,
            _ => Put::Written,
        })
    }

    /// Brings the files up to what is true now.
    pub(crate) fn keep_up(&self, engine: &Engine) -> Result<(), Error> {
        let here = Mark {
            seq: engine.world()?.seq(),
            generation: engine.reader()?.generation().map_err(engine_failure)?,
        };
        if self.records.mark() == Some(here) {
            return Ok(());
        }
        self.own_folders()?;
        let Some(_lock) = self.records.lock()? else { return Ok(()) };
        // Read under the lock: whoever had it before may have written what is newer.
        let world = engine.world()?;
        let mut log = engine.reader()?;
        let generation = log.generation().map_err(engine_failure)?;
        let mark = self.records.mark().unwrap_or_default();
        // A deleted folder is written again as a whole.
        let there = FOLDERS.iter().all(|folder| self.root.join(folder).is_dir());
        let goes_on = there && mark.generation == generation && mark.seq <= world.seq();
        let from = if goes_on { mark.seq } else { 0 };
        let mut files = if from == 0 { planning::all(&world.state) } else { BTreeSet::new() };
        let mut pieces = Pieces::new(mark.seq > 0 && mark.generation != generation);
        each_entry(&mut *log, from, world.seq(), &mut |seq, entry| {
            files.extend(planning::touched(&world.state, &entry.draft.event));
            pieces.add(seq, entry);
        })?;
        if from == 0 {
            self.make_folders()?;
        }
        // One that is in the way keeps nobody from the others.
        let mut done: Vec<Result<(), Error>> =
            files.iter().map(|file| self.put(&world.state, file).map(|_| ())).collect();
        if from == 0 {
            done.extend([self.write_schema(), self.clear(&world.state)]);
        }
        for own in Log::ALL {
            let full = || full(engine, own, world.seq());
            done.push(self.extend(own, &pieces, world.seq(), &full));
        }
        done.into_iter().collect::<Result<(), Error>>()?;
        self.records.set_mark(Mark { seq: world.seq(), generation })
    }

    /// Makes a file say what is true, unless somebody wrote into it.
    fn put(&self, state: &State, file: &File) -> Result<Put, Error> {
        let Some((path, text)) = planning::file(state, file) else { return Ok(Put::Same) };
        let there = self.read(&path)?;
        let (is, shall) = (Digest::of(there.as_deref()), Digest::of(text.as_deref()));
        if is == shall {
            return Ok(Put::Same);
        }
        if there.is_some() && !self.records.knows(&path, &is) {
            return Ok(Put::Edited);
        }
        // Record the new digest before writing, so that a crash leaves nothing that looks like an edit.
        self.records.set(&path, &is, &shall)?;
        // Somebody may have written into it meanwhile.
        if Digest::of(self.read(&path)?.as_deref()) != is {
            return Ok(Put::Edited);
        }
        match text {
            Some(text) => self.write(&path, &text)?,
            None => self.remove(&path)?,
        }
        Ok(Put::Written)
    }

    /// Removes files that were written here and of which the trail knows nothing any more: it was
    /// replaced by an older one. Whatever somebody else put there stays.
    fn clear(&self, state: &State) -> Result<(), Error> {
        let files = planning::all(state);
        let paths = files.iter().filter_map(|file| planning::file(state, file));
        let known: BTreeSet<String> = paths.map(|(path, _)| path).collect();
        for path in self.unknown_files(&known)? {
            // Anything but a file was not written by us.
            let Ok(there) = self.read(&path) else { continue };
            let is = Digest::of(there.as_deref());
            if self.records.knows(&path, &is) {
                self.records.set(&path, &is, &Digest::of(None))?;
                self.remove(&path)?;
            }
        }
        Ok(())
    }

    /// The condition of the files. This changes nothing.
    pub(crate) fn look(&self, engine: &Engine) -> Result<Report, Error> {
        let world = engine.world()?;
        let mut report = Report::default();
        let mut known = BTreeSet::new();
        for file in planning::all(&world.state) {
            let Some((path, text)) = planning::file(&world.state, &file) else { continue };
            known.insert(path.clone());
            report.files += usize::from(text.is_some());
            let there = match self.read(&path) {
                Ok(there) => there,
                Err(failure) => {
                    report.blocked.push(failure.message().to_owned());
                    continue;
                }
            };
            let is = Digest::of(there.as_deref());
            if is == Digest::of(text.as_deref()) {
                continue;
            }
            let own = there.is_none() || self.records.knows(&path, &is);
            if own && file == File::Agents {
                // Every act of an agent counts as a heartbeat; the file lists only those sent as heartbeats.
                continue;
            }
            if own { &mut report.behind } else { &mut report.edited }.push(path);
        }
        report.files += 1;
        match self.schema_stands(&schema()?) {
            Ok(Put::Same) => {}
            Ok(Put::Written) => report.behind.push(SCHEMA.to_owned()),
            Ok(Put::Edited) => report.edited.push(SCHEMA.to_owned()),
            Err(failure) => report.blocked.push(failure.message().to_owned()),
        }
        for own in Log::ALL {
            report.files += 1;
            let there = match self.read(own.path()) {
                Ok(there) => there,
                Err(failure) => {
                    report.blocked.push(failure.message().to_owned());
                    continue;
                }
            };
            let full = full(engine, own, world.seq())?;
            let path = own.path().to_owned();
            match grow::compare(own, there.as_deref().unwrap_or_default(), &full) {
                Grown::Whole => {}
                Grown::Part => report.behind.push(path),
                Grown::Edited => report.edited.push(path),
            }
        }
        report.unknown = self.unknown_files(&known)?;
        // A claim that is over and a file that was never one look the same but for the record.
        let own = |path: &String| {
            let is = self.read(path).ok().flatten();
            self.records.knows(path, &Digest::of(is.as_deref()))
        };
        let (own, strange) = report.unknown.into_iter().partition(own);
        (report.behind, report.unknown) = ([report.behind, own].concat(), strange);
        Ok(report)
    }

    /// Whether the trail still says of an edited file what was in it before the edit. Otherwise
    /// nobody can tell what was meant and what is merely old.
    fn is_as_edited(&self, engine: &Engine, path: &str) -> Result<bool, Error> {
        let state = &engine.world()?.state;
        let mut files = planning::all(state).into_iter();
        let text =
            files.find_map(|file| planning::file(state, &file).filter(|(own, _)| own == path));
        Ok(match text {
            Some((_, text)) => self.records.was_last(path, &Digest::of(text.as_deref())),
            None => true,
        })
    }

    /// Files in our folders that were not written by us.
    fn unknown_files(&self, known: &BTreeSet<String>) -> Result<Vec<String>, Error> {
        let mut found = Vec::new();
        for folder in [planning::CAPSULES, planning::CLAIMS, planning::CONFLICTS] {
            let path = self.root.join(folder);
            let entries = match std::fs::read_dir(&path) {
                Ok(entries) => entries,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unusable(&path, &error)),
            };
            for entry in entries.filter_map(Result::ok) {
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = format!("{folder}/{name}");
                let ours = name.starts_with('.') || name == "README.md" || is_aside(&name);
                if !ours && !known.contains(&path) {
                    found.push(path);
                }
            }
        }
        found.sort();
        Ok(found)
    }

    /// Makes every file anew from the trail. What somebody wrote into is set aside first, but for
    /// what `keep` says is in the trail by now.
    pub(crate) fn rebuild(
        &self,
        engine: &Engine,
        keep: &dyn Fn(&str, &str, &str) -> bool,
    ) -> Result<Rebuilt, Error> {
        let Some(_lock) = self.records.lock()? else {
            return Err(busy());
        };
        let mut done = Rebuilt::default();
        let now = utc(engine.now()).replace(['-', ':'], "");
        self.make_folders()?;
        let world = engine.world()?;
        let generation = engine.reader()?.generation().map_err(engine_failure)?;
        let mut failed = vec![self.rebuild_schema(&now, &mut done).err()];
        for file in planning::all(&world.state) {
            failed.push(self.rebuild_file(&world.state, &file, keep, &now, &mut done).err());
        }
        failed.push(self.clear(&world.state).err());
        for own in Log::ALL {
            let full = full(engine, own, world.seq())?;
            failed.push(self.rebuild_log(own, &full, world.seq(), &now, &mut done).err());
        }
        let files = planning::all(&world.state).into_iter();
        let there =
            |file: &File| planning::file(&world.state, file).is_some_and(|own| own.1.is_some());
        done.files = files.filter(there).count() + Log::ALL.len() + 1;
        done.blocked =
            failed.into_iter().flatten().map(|failure| failure.message().to_owned()).collect();
        if done.blocked.is_empty() {
            self.records.set_mark(Mark { seq: world.seq(), generation })?;
        }
        Ok(done)
    }

    fn rebuild_schema(&self, now: &str, done: &mut Rebuilt) -> Result<(), Error> {
        if self.schema_stands(&schema()?)? == Put::Edited {
            done.aside.push((SCHEMA.to_owned(), self.set_aside(SCHEMA, now)?));
            done.written += 1;
        }
        self.write_schema()
    }

    fn rebuild_file(
        &self,
        state: &State,
        file: &File,
        keep: &dyn Fn(&str, &str, &str) -> bool,
        now: &str,
        done: &mut Rebuilt,
    ) -> Result<(), Error> {
        if self.put(state, file)? != Put::Edited {
            return Ok(());
        }
        let Some((path, text)) = planning::file(state, file) else { return Ok(()) };
        let there = self.read(&path)?.unwrap_or_default();
        let text = text.unwrap_or_default();
        if !keep(&path, &there, &text) {
            done.aside.push((path.clone(), self.set_aside(&path, now)?));
        }
        self.records.set(&path, &Digest::of(Some(&there)), &Digest::of(Some(&text)))?;
        self.write(&path, &text)?;
        done.written += 1;
        Ok(())
    }

    fn rebuild_log(
        &self,
        own: Log,
        full: &str,
        until: u64,
        now: &str,
        done: &mut Rebuilt,
    ) -> Result<(), Error> {
        let there = self.read(own.path())?.unwrap_or_default();
        let grown = grow::compare(own, &there, full);
        if grown == Grown::Edited {
            done.aside.push((own.path().to_owned(), self.set_aside(own.path(), now)?));
        }
        if grown != Grown::Whole {
            done.written += 1;
        }
        self.replace_log(own, &there, full, until)
    }

    /// Gives a file another name that nobody writes to.
    fn set_aside(&self, path: &str, now: &str) -> Result<String, Error> {
        let names = std::iter::once(String::new()).chain((2..).map(|n| format!("-{n}")));
        for name in names.map(|more| format!("{path}.edited-{now}{more}")) {
            if !self.root.join(&name).exists() {
                let (from, to) = (self.root.join(path), self.root.join(&name));
                std::fs::rename(&from, &to).map_err(|error| unusable(&from, &error))?;
                return Ok(name);
            }
        }
        Err(Error::unavailable(format!("{path} cannot be set aside")))
    }

    fn read(&self, path: &str) -> Result<Option<String>, Error> {
        let path = self.root.join(path);
        plain(&path)?;
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(&path, &error)),
        }
    }

    /// Writes a file as a whole: readers see the old one or the new one.
    fn write(&self, path: &str, text: &str) -> Result<(), Error> {
        // One name for all that are on their way: there is a lock, and what a killed process
        // leaves there is overwritten by the next.
        let path = self.root.join(path);
        plain(&path)?;
        record::replace(&self.root.join(MARK).join(".new"), &path, text)
    }

    fn remove(&self, path: &str) -> Result<(), Error> {
        let path = self.root.join(path);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(unusable(&path, &error))
            }
            _ => Ok(()),
        }
    }
}

impl Projection for Planning {
    fn catch_up(&self, engine: &Engine) {
        if !(self.begins || self.is_used()) {
            return;
        }
        if let Err(failure) = self.own_folders() {
            let message = format!("no files were written: {}", failure.message());
            return crate::output::Out::new(false).note(message);
        }
        // The command is done and recorded; files that lag behind do not make it fail.
        if let Err(failure) = self.keep_up(engine) {
            let message = format!("the files under {} are behind", self.root.display());
            crate::output::Out::new(false).note(format!("{message}: {}", failure.message()));
        }
    }
}

/// The published schema of messages, as its file has it.
fn schema() -> Result<String, Error> {
    let schema = serde_json::to_string_pretty(&message::schema());
    schema
        .map(|schema| format!("{schema}\n"))
        .map_err(|error| Error::unavailable(error.to_string()))
}

/// Whether a file was set aside.
fn is_aside(name: &str) -> bool {
    name.contains(".edited-")
}

fn is_link(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink())
}

/// Refuses what is there and is no file of its own: a link leads elsewhere, and nobody knows when
/// a pipe or a device would end.
fn plain(path: &Path) -> Result<(), Error> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_file() => {
            let message = format!("{} is no plain file, and was left alone", path.display());
            Err(Error::unavailable(message).hint("Move it away and run `althing rebuild`."))
        }
        _ => Ok(()),
    }
}

fn busy() -> Error {
    Error::unavailable("another process has been writing these files")
}

fn unusable(path: &Path, error: &std::io::Error) -> Error {
    Error::unavailable(format!("{}: {error}", path.display()))
}

fn engine_failure(error: althing_trail::LogError) -> Error {
    althing_engine::EngineError::from(error).into()
}

/// Shows every entry after one position and up to another.
fn each_entry(
    log: &mut dyn LogReader,
    after: u64,
    until: u64,
    visit: &mut dyn FnMut(u64, &Stamped),
) -> Result<(), Error> {
    let mut at = after;
    while at < until {
        // Nothing that is archived is shown in these files.
        let commits = log.raw_tail(at, READ_BYTES).map_err(engine_failure)?;
        let Some(last) = commits.last() else { break };
        at = last.last;
        for line in commits.iter().flat_map(althing_trail::Commit::entries) {
            let entry = Entry::read(line).map_err(|error| {
                Error::from(althing_engine::EngineError::Damaged {
                    seq: at,
                    what: error.to_string(),
                })
            })?;
            if entry.seq > after && entry.seq <= until {
                visit(entry.seq, &entry.stamped);
            }
        }
    }
    Ok(())
}

/// A log as the trail has it.
fn full(engine: &Engine, log: Log, until: u64) -> Result<String, Error> {
    let mut text = String::new();
    each_entry(&mut *engine.reader()?, 0, until, &mut |_, entry| {
        text.extend(planning::line(log, entry));
    })?;
    Ok(text)
}
