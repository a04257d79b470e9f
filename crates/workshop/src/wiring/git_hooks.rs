//! Git hooks that refuse commits of files somebody else holds, in front of the hooks that are there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::blocks::{self, Marks};
use super::draft::{self, Draft};
use super::record::{Record, Written, hash};
use super::{Done, GIT, Report, Wiring, left, place};
use crate::error::WorkshopError;

/// The hooks: before a commit, and before the commit of a merge.
const HOOKS: &[&str] = &["pre-commit", "pre-merge-commit"];

/// The ending of a hook that was moved aside.
const ASIDE: &str = ".before-althing";

/// Those without the program can commit all the same.
const BODY: &str = "\
if command -v althing >/dev/null 2>&1; then
  althing hook commit || exit $?
fi";

const FIRST_LINE: &str = "#!/bin/sh\n";

pub(super) fn wire(
    wiring: &Wiring,
    record: &mut Record,
    reports: &mut Vec<Report>,
) -> Result<(), WorkshopError> {
    let folder = match Folder::of(&wiring.root) {
        Ok(folder) => folder,
        Err(why) => {
            reports.push(left(PathBuf::from(".git/hooks"), None, why));
            return Ok(());
        }
    };
    for name in HOOKS {
        reports.push(put(wiring, record, &folder, name)?);
    }
    Ok(())
}

pub(super) fn unwire(
    wiring: &Wiring,
    record: &mut Record,
    reports: &mut Vec<Report>,
) -> Result<(), WorkshopError> {
    let recorded: Vec<Written> =
        record.files().iter().filter(|own| own.agents.contains(GIT)).cloned().collect();
    for written in recorded {
        let path = wiring.root.join(&written.path);
        let report = take(wiring, &path, &written)?;
        if !matches!(report.done, Done::Left(_)) && !wiring.is_dry {
            record.remove(&written.path);
            record.write(&wiring.record)?;
        }
        reports.push(report);
    }
    Ok(())
}

/// The folder of a repository's hooks.
struct Folder {
    path: PathBuf,
    /// Whether the scripts in it are run by `sh` and need no first line.
    is_husky: bool,
}

impl Folder {
    /// Finds the folder, in which git looks for hooks. The error says why there is none to write into.
    fn of(root: &Path) -> Result<Self, String> {
        let asked = |what: &[&str]| -> Result<PathBuf, String> {
            let output = Command::new("git")
                .args(["rev-parse"])
                .args(what)
                .current_dir(root)
                .stdin(Stdio::null())
                .output()
                .map_err(|error| format!("git: {error}"))?;
            let text = String::from_utf8(output.stdout).map_err(|_| "its name is not text")?;
            if output.status.success() {
                Ok(root.join(text.trim_end_matches(['\n', '\r'])))
            } else {
                Err("there is no git repository".to_owned())
            }
        };
        let (path, common) = (asked(&["--git-path", "hooks"])?, asked(&["--git-common-dir"])?);
        // Husky makes the scripts in `_` anew; its own are beside that folder.
        let is_husky = path.ends_with(".husky/_");
        let path = if is_husky { path.parent().map_or(path.clone(), Path::to_owned) } else { path };
        let real = |path: &Path| {
            let there =
                path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
            there.and_then(|(above, real)| Some(real.join(path.strip_prefix(above).ok()?)))
        };
        let inside = [real(root), real(&common)];
        let own =
            real(&path).filter(|own| inside.iter().flatten().any(|above| own.starts_with(above)));
        match own {
            Some(_) => Ok(Folder { path, is_husky }),
            None => Err(format!(
                "core.hooksPath leads out of the repository, to {}; call `althing hook commit` from the hooks \
                 there",
                path.display()
            )),
        }
    }
}

/// A path as it is shown and kept on record: from the project's root where it is below.
fn shown(wiring: &Wiring, path: &Path) -> PathBuf {
    path.strip_prefix(&wiring.root).unwrap_or(path).to_owned()
}

fn put(
    wiring: &Wiring,
    record: &mut Record,
    folder: &Folder,
    name: &str,
) -> Result<Report, WorkshopError> {
    let path = folder.path.join(name);
    let own = shown(wiring, &path);
    let known = record.get(&own).cloned();
    let block = Marks::Hash.block(BODY);
    let written = |text: &str, added, created, moved| Written {
        path: own.clone(),
        agents: [GIT.to_owned()].into(),
        hash: hash(text),
        added,
        created,
        folders: place::missing_folders(&path),
        members: Vec::new(),
        moved,
    };
    let Ok(data) = path.symlink_metadata() else {
        let text = if folder.is_husky { block } else { format!("{FIRST_LINE}{block}") };
        let entry = written(&text, Vec::new(), true, None);
        return finish(wiring, record, &path, None, &text, entry);
    };
    let text = std::fs::read(&path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if text.as_deref().is_some_and(|text| Marks::Hash.find(text).is_some()) {
        let entry = known.unwrap_or_else(|| written("", Vec::new(), false, None));
        wiring.remember(record, Some(entry))?;
        return Ok(Report { path: own, done: Done::Unchanged, before: text.clone(), after: text });
    }
    let is_plain = data.is_file() && !data.permissions().readonly();
    match text {
        Some(text) if is_plain && is_shell(&text, folder.is_husky) => {
            if !is_program(&data) && !folder.is_husky {
                let why = "it is not executable, so git does not run it".to_owned();
                return Ok(left(own, Some(text), why));
            }
            let mut draft = Draft::new(&text);
            if text.starts_with("#!") {
                blocks::after_first_line(&mut draft, &block);
            } else {
                draft.insert(0, &block);
            }
            let entry = written(&draft.text, draft.added.clone(), false, None);
            finish(wiring, record, &path, Some(text), &draft.text, entry)
        }
        text => {
            // Not ours to change, so it is called after ours.
            let aside = path.with_file_name(format!("{name}{ASIDE}"));
            if aside.symlink_metadata().is_ok() {
                let why = format!("{} is in the way", aside.display());
                return Ok(left(own, text, why));
            }
            let after =
                format!("{FIRST_LINE}{block}exec \"$(dirname \"$0\")/{name}{ASIDE}\" \"$@\"\n");
            let entry = written(&after, Vec::new(), true, Some(shown(wiring, &aside)));
            if !wiring.is_dry {
                wiring.remember(record, Some(entry.clone()))?;
                std::fs::rename(&path, &aside)
                    .map_err(|error| WorkshopError::new(format!("{}: {error}", path.display())))?;
            }
            finish(wiring, record, &path, text, &after, entry)
        }
    }
}

fn finish(
    wiring: &Wiring,
    record: &mut Record,
    path: &Path,
    before: Option<String>,
    after: &str,
    entry: Written,
) -> Result<Report, WorkshopError> {
    let done = if before.is_some() { Done::Changed } else { Done::Created };
    let own = entry.path.clone();
    // On record first: a hook that is there and not on record would stay for good.
    wiring.remember(record, Some(entry))?;
    if !wiring.is_dry {
        place::replace(path, after, true)?;
    }
    Ok(Report { path: own, done, before, after: Some(after.to_owned()) })
}

fn take(wiring: &Wiring, path: &Path, known: &Written) -> Result<Report, WorkshopError> {
    let report = |done, before: Option<String>, after| {
        Ok(Report { path: known.path.clone(), done, before, after })
    };
    let text = std::fs::read(path).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let aside = known.moved.as_ref().map(|aside| wiring.root.join(aside));
    let Some(text) = text else {
        // Ours is gone, or was never written; what was moved aside comes back if its place is free.
        if let Some(aside) = aside.filter(|_| path.symlink_metadata().is_err()) {
            bring_back(wiring, &aside, path)?;
            return report(Done::Restored, None, None);
        }
        return report(Done::Unchanged, None, None);
    };
    let is_unchanged = known.hash == hash(&text);
    if known.created && is_unchanged {
        let Some(aside) = aside else {
            if !wiring.is_dry {
                place::remove(path)?;
            }
            return report(Done::Removed, Some(text), None);
        };
        bring_back(wiring, &aside, path)?;
        return report(Done::Restored, Some(text), None);
    }
    let base = draft::without(&text, &known.added).filter(|_| is_unchanged && !known.created);
    let base = base.or_else(|| blocks::remove(&text, Marks::Hash)).unwrap_or_else(|| text.clone());
    if known.created && base.trim() == FIRST_LINE.trim() {
        if !wiring.is_dry {
            place::remove(path)?;
        }
        return report(Done::Removed, Some(text), None);
    }
    if base == text {
        return report(Done::Unchanged, Some(text), Some(base));
    }
    if !wiring.is_dry {
        place::replace(path, &base, true)?;
    }
    report(Done::Restored, Some(text), Some(base))
}

fn bring_back(wiring: &Wiring, aside: &Path, path: &Path) -> Result<(), WorkshopError> {
    if wiring.is_dry || aside.symlink_metadata().is_err() {
        return Ok(());
    }
    std::fs::rename(aside, path)
        .map_err(|error| WorkshopError::new(format!("{}: {error}", aside.display())))
}

/// Whether a script is run by a shell, so that lines can be put into it.
fn is_shell(text: &str, is_husky: bool) -> bool {
    let Some(program) = text.strip_prefix("#!") else { return is_husky };
    let first = program.lines().next().unwrap_or_default();
    let names = first.split_whitespace().filter_map(|word| word.rsplit('/').next());
    names.into_iter().any(|name| matches!(name, "sh" | "bash" | "dash" | "zsh" | "ksh"))
}

#[cfg(unix)]
fn is_program(data: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    data.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_program(_: &std::fs::Metadata) -> bool {
    true
}
