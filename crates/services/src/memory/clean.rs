//! Refuses to hand out work on uncommitted files: a new worktree would not have them.

use althing_dialects::memory::lane::RESULT_FILE;
use althing_dialects::memory::words::counted;
use althing_kernel::Rule;
use althing_kernel::lease::Surfaces;
use althing_kernel::surfaces::Surface;
use althing_workshop::git::Git;
use althing_workshop::git::lane::readable;
use serde_json::json;

use super::Verbs;
use super::coordinate::Coordinate;
use super::lanes::Lane;
use crate::error::Error;

/// Most uncommitted files that are named.
const SHOWN_MAX: usize = 20;
/// Folders of tools, which do not count as work; the last two are Althing's.
const TOOL_FOLDERS: [&str; 7] =
    [".brainclaw", ".git", ".claude", ".cursor", ".codex", ".althing", ".planning"];

impl Verbs<'_> {
    /// The commit to start from, if `ref` names one.
    fn start(&self, args: &Coordinate) -> Result<Option<String>, Error> {
        let Some(name) = &args.reference else { return Ok(None) };
        let git = self
            .context
            .setup()
            .is_git
            .then(|| Git::new(&self.context.setup().root, &self.shown()));
        let commit = git.and_then(|git| git.resolved(name));
        let unknown = || Error::usage(format!("'ref': {name:?} names no commit of this project"));
        commit.map(Some).ok_or_else(unknown)
    }

    /// The task, with the commit to start from.
    pub(super) fn task_from(&self, args: &Coordinate, task: &str) -> Result<String, Error> {
        Ok(match (self.start(args)?, &args.reference) {
            (Some(commit), Some(name)) => {
                format!("{task}\n\nStart from commit {commit} ({name}).")
            }
            _ => task.to_owned(),
        })
    }

    /// Refuses lanes whose scope has uncommitted changes. A lane without a scope covers all files.
    pub(super) fn check_clean(&self, args: &Coordinate, lanes: &[Lane]) -> Result<(), Error> {
        let start = self.start(args)?;
        if !self.context.setup().is_git || args.allow_dirty || start.is_some() {
            return Ok(());
        }
        let everything = lanes.iter().any(|lane| lane.surfaces.is_none());
        let wanted: Vec<&Surface> = lanes
            .iter()
            .filter_map(|lane| lane.surfaces.as_ref())
            .flat_map(Surfaces::as_slice)
            .collect();
        let is_tool = |path: &str| {
            let first = path.split('/').next();
            path == RESULT_FILE || first.is_some_and(|first| TOOL_FOLDERS.contains(&first))
        };
        let overlaps = |path: &String| {
            let meets = || {
                let own = Surface::new(&Surface::escape(path));
                own.is_ok_and(|own| wanted.iter().any(|wanted| wanted.meets(&own)))
            };
            !is_tool(path) && (everything || meets())
        };
        let git = Git::new(&self.context.setup().root, &self.shown());
        let dirty: Vec<String> =
            readable(&git.uncommitted()?).into_iter().filter(overlaps).collect();
        if dirty.is_empty() {
            return Ok(());
        }
        let shown: Vec<&String> = dirty.iter().take(SHOWN_MAX).collect();
        let (are, them) = if dirty.len() == 1 { ("is", "it") } else { ("are", "them") };
        let (whose, way) = if everything {
            ("", format!("name a scope without {them}, "))
        } else {
            (" of the scope", String::new())
        };
        let first: Vec<&str> = dirty.iter().take(3).map(String::as_str).collect();
        let more = if dirty.len() > first.len() { ", …" } else { "" };
        let message = format!(
            "{}{whose} {are} not committed ({}{more}), so a worktree would not have {them}: commit \
             {them}, {way}name a 'ref' to start from, or set 'allow_dirty'",
            counted(dirty.len(), "file"),
            first.join(", ")
        );
        let details = json!({ "files": shown, "total": dirty.len() });
        let error = Error::refused(Rule::LaneCommitted, message).with(details);
        let error = error.with_code("dirty_working_tree");
        Err(self.on_record("memory.offer", error))
    }
}
