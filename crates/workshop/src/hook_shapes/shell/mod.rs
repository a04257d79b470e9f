//! The files that a shell command obviously writes.
//!
//! Only what can be told from the text: redirections, `tee`, `sed -i`, `mv`, `cp`, `rm`, `git` commands
//! that write named files, and patches given on standard input. Whatever depends on a variable, a glob or
//! a program is left out: a guess would refuse work that harms nobody, and the merge catches the rest.

mod words;

use std::path::{Path, PathBuf};

use super::patch;
use words::{Piece, Word, pieces};

/// How deep commands are nested in `sh -c` at most.
const NESTED_MAX: usize = 4;

/// Words before a command that do not change which files it writes.
const PREFIXES: &[&str] = &[
    "!", "{", "command", "do", "else", "exec", "if", "nohup", "sudo", "then", "time", "until",
    "while",
];

/// The files that a command writes. Relative paths are joined to the folder it runs in.
pub(super) fn writes(command: &str, folder: &Path) -> Vec<PathBuf> {
    nested(command, folder, 0)
}

/// A word that a shell reads as it is.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn nested(command: &str, folder: &Path, depth: usize) -> Vec<PathBuf> {
    let Some(pieces) = pieces(command).filter(|_| depth < NESTED_MAX) else { return Vec::new() };
    let mut script =
        Script { here: Some(folder.to_owned()), outer: Vec::new(), found: Vec::new(), depth };
    let mut simple = Simple::default();
    let mut pieces = pieces.into_iter();
    while let Some(piece) = pieces.next() {
        match piece {
            Piece::Word(word) => simple.words.push(word),
            Piece::Output => {
                if let Some(Piece::Word(file)) = pieces.next() {
                    simple.outputs.push(file);
                }
            }
            Piece::Input => drop(pieces.next()),
            Piece::Text(text) => simple.texts.push(text),
            Piece::End => script.run(&std::mem::take(&mut simple)),
            Piece::Open => script.outer.push(script.here.clone()),
            Piece::Close => script.here = script.outer.pop().flatten(),
        }
    }
    script.run(&simple);
    script.found
}

/// One command with its redirections.
#[derive(Default)]
struct Simple {
    words: Vec<Word>,
    outputs: Vec<Word>,
    texts: Vec<String>,
}

/// A script while it is read: the folder it is in, if that is known, and the files found so far.
struct Script {
    here: Option<PathBuf>,
    outer: Vec<Option<PathBuf>>,
    found: Vec<PathBuf>,
    depth: usize,
}

impl Script {
    /// Adds a file, if it is known where it is.
    fn add(&mut self, path: &Path) {
        if path.is_absolute() {
            self.found.push(path.to_owned());
        } else if let Some(here) = &self.here {
            self.found.push(here.join(path));
        }
    }

    fn add_all<'w>(&mut self, words: impl IntoIterator<Item = &'w Word>) {
        for path in words.into_iter().filter_map(Word::plain) {
            self.add(Path::new(path));
        }
    }

    fn run(&mut self, simple: &Simple) {
        self.add_all(&simple.outputs);
        let is_before = |word: &&Word| {
            let is_set = word.text.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            });
            is_set || PREFIXES.contains(&word.text.as_str())
        };
        let skipped = simple.words.iter().take_while(is_before).count();
        let Some((program, args)) = simple.words[skipped..].split_first() else { return };
        let Some(program) = program.plain() else { return };
        match program.rsplit('/').next().unwrap_or(program) {
            "cd" | "pushd" => self.change_folder(args),
            "popd" => self.here = None,
            "rm" | "tee" => self.add_all(operands(args)),
            "sed" => self.sed(args),
            "mv" => self.moved(args, true),
            "cp" => self.moved(args, false),
            "git" => self.git(args, &simple.texts),
            "patch" => self.patch(args, &simple.texts),
            "apply_patch" | "applypatch" => {
                let given = args
                    .iter()
                    .filter_map(Word::plain)
                    .chain(simple.texts.iter().map(String::as_str));
                for path in given.flat_map(patch::paths).collect::<Vec<_>>() {
                    self.add(&path);
                }
            }
            "sh" | "bash" | "dash" | "zsh" | "ksh" => self.shell(args),
            _ => {}
        }
    }

    fn change_folder(&mut self, args: &[Word]) {
        let to = operands(args).next().and_then(Word::plain).filter(|to| *to != "-");
        self.here = match (to, &self.here) {
            (Some(to), _) if Path::new(to).is_absolute() => Some(PathBuf::from(to)),
            (Some(to), Some(here)) => Some(here.join(to)),
            _ => None,
        };
    }

    fn shell(&mut self, args: &[Word]) {
        let is_script = |word: &Word| {
            word.text.starts_with('-') && !word.text.starts_with("--") && word.text.ends_with('c')
        };
        let Some(at) = args.iter().position(is_script) else { return };
        let script = args.get(at + 1).and_then(Word::plain);
        if let (Some(script), Some(here)) = (script, self.here.clone()) {
            self.found.extend(nested(script, &here, self.depth + 1));
        }
    }

    fn sed(&mut self, args: &[Word]) {
        let is_short = |word: &Word| word.text.starts_with('-') && !word.text.starts_with("--");
        let in_place = |word: &Word| {
            word.text.starts_with("--in-place")
                || (is_short(word) && word.text.split('.').next().unwrap_or_default().contains('i'))
        };
        if !args.iter().any(in_place) {
            return;
        }
        let has_script = args.iter().any(|word| {
            (is_short(word) && word.text.contains(['e', 'f']))
                || word.text.starts_with("--expression")
        });
        // The word after `-e` and `-f` is the script, whatever it looks like.
        let mut files = Vec::new();
        let mut rest = args.iter();
        while let Some(word) = rest.next() {
            if is_short(word) && word.text.ends_with(['e', 'f']) && !word.text.contains("-i") {
                rest.next();
            } else if !word.text.starts_with('-') {
                files.push(word);
            }
        }
        self.add_all(files.into_iter().skip(usize::from(!has_script)));
    }

    /// `mv` and `cp`: the target changes, and the sources of a move.
    fn moved(&mut self, args: &[Word], is_move: bool) {
        if args.iter().any(|word| word.text.starts_with("-t") || word.text.starts_with("--target"))
        {
            return;
        }
        let all: Vec<&Word> = operands(args).collect();
        let Some((to, from)) = all.split_last().filter(|(_, from)| !from.is_empty()) else {
            return;
        };
        if is_move {
            self.add_all(from.iter().copied());
        }
        let Some(to) = to.plain() else { return };
        let folder = match &self.here {
            Some(here) => here.join(to).is_dir(),
            None => Path::new(to).is_dir(),
        };
        if !folder && !to.ends_with('/') {
            return self.add(Path::new(to));
        }
        for name in from.iter().filter_map(|word| Path::new(word.plain()?).file_name()) {
            self.add(&Path::new(to).join(name));
        }
    }

    fn git(&mut self, args: &[Word], texts: &[String]) {
        let before = self.here.clone();
        let mut rest = args;
        while let [option, more @ ..] = rest {
            match (option.text.as_str(), more) {
                ("-C", [folder, more @ ..]) => {
                    self.change_folder(std::slice::from_ref(folder));
                    rest = more;
                }
                ("-c", [_, more @ ..]) => rest = more,
                (flag, _) if flag.starts_with('-') => rest = more,
                _ => break,
            }
        }
        if let Some((verb, args)) = rest.split_first() {
            self.git_verb(&verb.text, args, texts);
        }
        self.here = before;
    }

    fn git_verb(&mut self, verb: &str, args: &[Word], texts: &[String]) {
        let has = |flags: &[&str]| args.iter().any(|word| flags.contains(&word.text.as_str()));
        let after = args.iter().position(|word| word.text == "--").map(|at| &args[at + 1..]);
        match (verb, after) {
            ("restore", _) if has(&["--staged", "-S"]) && !has(&["--worktree", "-W"]) => {}
            ("checkout" | "restore", Some(paths)) => self.add_all(paths),
            ("restore", None) => {
                // The word after `-s` is a commit.
                let is_source =
                    |at: usize| at > 0 && matches!(args[at - 1].text.as_str(), "-s" | "--source");
                let paths = args.iter().enumerate().filter(|(at, _)| !is_source(*at));
                let paths: Vec<&Word> = paths
                    .map(|(_, word)| word)
                    .filter(|word| !word.text.starts_with('-'))
                    .collect();
                self.add_all(paths);
            }
            ("rm", _) if has(&["--cached"]) => {}
            ("rm", _) => self.add_all(operands(args)),
            ("mv", _) => self.moved(args, true),
            ("apply", _) if !has(&["--check", "--stat", "--cached"]) => {
                self.diffs(texts, stripped(args).unwrap_or(1));
            }
            _ => {}
        }
    }

    fn patch(&mut self, args: &[Word], texts: &[String]) {
        self.add_all(operands(args).take(1));
        if let Some(strip) = stripped(args) {
            self.diffs(texts, strip);
        }
    }

    fn diffs(&mut self, texts: &[String], strip: usize) {
        for path in texts.iter().flat_map(|text| patch::diff_paths(text, strip)).collect::<Vec<_>>()
        {
            self.add(&path);
        }
    }
}

/// The number of folders that `-pN` takes away.
fn stripped(args: &[Word]) -> Option<usize> {
    args.iter().find_map(|word| word.text.strip_prefix("-p")?.parse().ok())
}

/// The arguments that are no options.
fn operands(args: &[Word]) -> impl Iterator<Item = &Word> {
    let mut options_end = false;
    args.iter().filter(move |word| {
        if word.text == "--" && !options_end {
            options_end = true;
            return false;
        }
        options_end || !word.text.starts_with('-') || word.text == "-"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(command: &str) -> Vec<String> {
        let mut found: Vec<String> = writes(command, Path::new("/r"))
            .into_iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        found.sort();
        found
    }

    #[test]
    fn obvious_writes_are_found() {
        for (command, files) in [
            ("echo x > a.txt", vec!["/r/a.txt"]),
            ("echo x>>a.txt 2>&1", vec!["/r/a.txt"]),
            ("make &> log/all.txt", vec!["/r/log/all.txt"]),
            ("cmd 2> err.txt >| out.txt", vec!["/r/err.txt", "/r/out.txt"]),
            ("cat <<'E' > 'a b.txt'\n> not.txt\nE\nls", vec!["/r/a b.txt"]),
            ("ls | tee -a one two", vec!["/r/one", "/r/two"]),
            ("sed -i 's/a/b/' x.rs y.rs", vec!["/r/x.rs", "/r/y.rs"]),
            ("sed -i.bak -e 's/a/b/' x.rs", vec!["/r/x.rs"]),
            ("sed -Ei 's/(a)/b/' x.rs", vec!["/r/x.rs"]),
            ("rm -rf src/old -- -odd", vec!["/r/-odd", "/r/src/old"]),
            ("mv a b", vec!["/r/a", "/r/b"]),
            ("mv a b dir/", vec!["/r/a", "/r/b", "/r/dir/a", "/r/dir/b"]),
            ("cp -r a b", vec!["/r/b"]),
            ("cd sub && echo x > f; echo y > g", vec!["/r/sub/f", "/r/sub/g"]),
            ("(cd sub; echo x > f); echo y > g", vec!["/r/g", "/r/sub/f"]),
            ("cd /other && rm f", vec!["/other/f"]),
            ("FOO=1 sudo rm f", vec!["/r/f"]),
            ("git checkout HEAD~1 -- a.txt b.txt", vec!["/r/a.txt", "/r/b.txt"]),
            ("git restore --source HEAD a.txt", vec!["/r/a.txt"]),
            ("git -C sub rm f", vec!["/r/sub/f"]),
            ("bash -lc 'echo x > f'", vec!["/r/f"]),
            ("if true; then rm f; fi", vec!["/r/f"]),
            ("echo \"a > b\" > c", vec!["/r/c"]),
        ] {
            assert_eq!(found(command), files, "{command}");
        }
    }

    #[test]
    fn patches_given_to_a_shell_are_read() {
        let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-x\n+y\n*** End Patch";
        for command in [
            format!("apply_patch <<'EOF'\n{patch}\nEOF"),
            format!("cd /r && apply_patch << EOF\n{patch}\nEOF\n"),
            format!("apply_patch '{patch}'"),
            format!("bash -lc \"apply_patch <<'E'\n{patch}\nE\""),
            "git apply <<E\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-x\n+y\nE".to_owned(),
            "patch -p0 <<E\n--- a.txt\n+++ a.txt\nE".to_owned(),
        ] {
            let mut found = found(&command);
            found.dedup();
            assert_eq!(found, ["/r/a.txt"], "{command}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_left_out() {
        for command in [
            "F=a; echo x >> $F.txt",
            "echo x > \"$HOME/a\"",
            "rm *.o",
            "rm {a,b}",
            "cp a `pwd`/b",
            "cd $DIR && rm f",
            "python -c 'open(\"a\",\"w\")'",
            "echo 'unfinished > a",
            "git checkout main",
            "git restore --staged a",
            "git rm --cached a",
            "make test",
            "sed 's/a/b/' x.rs",
            "cat < in.txt",
            "diff <(ls a) <(ls b)",
            "echo a \\> b",
            "# rm f",
            "",
        ] {
            assert!(found(command).is_empty(), "{command}: {:?}", found(command));
        }
    }

    #[test]
    fn a_word_is_quoted_for_a_shell() {
        for word in ["plain.txt", "a b", "it's", "$x", ""] {
            assert_eq!(pieces(&quoted(word)).unwrap().len(), 1, "{word}");
            let Piece::Word(read) = pieces(&quoted(word)).unwrap().remove(0) else { panic!() };
            assert_eq!(read.plain(), Some(word));
        }
    }
}
