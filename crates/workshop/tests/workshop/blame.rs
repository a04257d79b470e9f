//! Which commit, which merge and which task wrote a line.

use crate::support::{Project, git, message, path, write};
use althing_workshop::blame::{BlameError, path_in};
use althing_workshop::git::message::{Message, Trailers};
use althing_workshop::git::object_id::ObjectId;
use althing_workshop::history::Range;
use althing_workshop::merge::Merged;

/// A branch with two merged attempts: lexer changed line 2 of README, parser line 3.
fn merged(project: &Project) -> ObjectId {
    let repository = project.repository();
    let mut tip = project.head();
    let texts = [("lexer", "one\nlexer's\nthree\n"), ("parser", "one\ntwo\nthree\nparser's\n")];
    for (name, text) in texts {
        let tree = project.tree(name);
        write(&tree.path().join("README"), text);
        write(&tree.path().join(format!("{name}.txt")), name);
        git(tree.path(), &["add", "."]);
        git(tree.path(), &["commit", "--quiet", "-m", &format!("Work of {name}")]);
        let head = project.tip(&format!("althing/run/{name}"));
        let Merged::Clean(merge) = repository.merge(&tip, &head, None).unwrap() else { panic!() };
        let text = message(&format!("Merge {name}"))
            .trailer("Althing-Task", name)
            .trailer("Althing-Workspace", &format!("ws-{name}"));
        tip = repository.merge_commit(&merge, &text).unwrap();
    }
    tip
}

#[test]
fn a_line_leads_to_its_commit_and_to_the_merge_with_the_task() {
    let project = Project::new();
    let base = project.head();
    let tip = merged(&project);
    let repository = project.repository();
    let line = |line| repository.blame_line(&tip, &path("README"), line).unwrap();
    let lexer = line(2);
    assert_eq!(lexer.commit.subject, "Work of lexer");
    assert_eq!(lexer.trailer("Althing-Task"), Some("lexer"));
    assert_eq!(lexer.attempt(), Some(&project.tip("althing/run/lexer")));
    assert_eq!(lexer.merge.as_ref().unwrap().subject, "Merge lexer");
    let parser = line(4);
    assert_eq!(parser.trailer("althing-workspace"), Some("ws-parser"));
    assert_eq!((parser.line, parser.path), (Some(4), path("README")));
    let first = line(1);
    assert_eq!(first.commit.id, base);
    assert_eq!((first.merge, first.commit.trailers.is_empty()), (None, true));
}

#[test]
fn a_file_leads_to_its_last_commit() {
    let project = Project::new();
    let tip = merged(&project);
    let repository = project.repository();
    let found = repository.blame_file(&tip, &path("parser.txt")).unwrap();
    assert_eq!(found.commit.subject, "Work of parser");
    assert_eq!(found.trailer("Althing-Task"), Some("parser"));
    let own = repository.blame_file(&tip, &path("src/lexer.rs")).unwrap();
    assert_eq!((own.commit.subject.as_str(), own.merge), ("Begin", None));
}

#[test]
fn what_is_not_there_is_named() {
    let project = Project::new();
    let repository = project.repository();
    let head = project.head();
    let none = repository.blame_line(&head, &path("nothing"), 1).unwrap_err();
    assert!(matches!(none, BlameError::NoFile { .. }), "{none}");
    for line in [0, 4, 1_000_000] {
        let none = repository.blame_line(&head, &path("README"), line).unwrap_err();
        assert!(matches!(none, BlameError::NoLine { .. }), "{line}: {none}");
    }
    let none = repository.blame_file(&head, &path("no\nfile")).unwrap_err();
    assert!(matches!(none, BlameError::NoFile { .. }), "{none}");
}

#[test]
fn a_renamed_file_and_an_odd_name_are_followed() {
    let project = Project::new();
    project.git(&["mv", "README", "LIES MICH\nbitte"]);
    let tip = project.commit("Rename");
    let found = project.repository().blame_line(&tip, &path("LIES MICH\nbitte"), 2).unwrap();
    assert_eq!((found.commit.subject.as_str(), found.path), ("Begin", path("README")));
}

#[test]
fn a_path_on_disk_is_one_of_the_repository() {
    let project = Project::new();
    let repository = project.repository();
    let file = project.repo().join("src/../src/lexer.rs");
    assert_eq!(path_in(&repository, &file), Some(path("src/lexer.rs")));
    assert_eq!(path_in(&repository, std::path::Path::new("/etc/passwd")), None);
}

#[test]
fn a_history_has_the_merges_with_their_trailers() {
    let project = Project::new();
    let base = project.head();
    let tip = merged(&project);
    let repository = project.repository();
    let range = Range { since: Some(&base), first_parent: true, limit: None };
    let merges = repository.history(&tip, &range).unwrap();
    let tasks: Vec<_> = merges.iter().filter_map(|own| own.trailers.get("Althing-Task")).collect();
    assert_eq!(tasks, ["parser", "lexer"]);
    assert!(merges.iter().all(|own| own.is_merge() && own.author == "tester"));
    let all = repository.history(&tip, &Range { since: Some(&base), ..Range::default() }).unwrap();
    assert_eq!(all.len(), 4);
    let range = Range { limit: Some(1), ..Range::default() };
    assert_eq!(repository.history(&tip, &range).unwrap().len(), 1);
    assert_eq!(repository.history(&tip, &Range { since: Some(&tip), ..range }).unwrap(), []);
}

#[test]
fn trailers_are_read_as_git_reads_them() {
    let project = Project::new();
    let texts = [
        "Subject\n",
        "Subject: not a trailer\n",
        "Subject\n\nText.\n\nAlthing-Task: lexer\nAlthing-Agent: ada\n",
        "Subject\n\nText with Althing-Task: inside\n",
        "Subject\n\nAlthing-Task: one\n  goes on\nOther: two\n\n",
        "Subject\n\nA: 1\n\nB: 2\n",
    ];
    for text in texts {
        let tree = project.git(&["write-tree"]);
        let commit = project.git(&["commit-tree", &tree, "-m", text]);
        let format = "--format=%(trailers:unfold,only)";
        let theirs = project.git(&["log", "-1", format, &commit]);
        let ours: Vec<String> =
            Trailers::of(text).iter().map(|(key, value)| format!("{key}: {value}")).collect();
        assert_eq!(ours.join("\n"), theirs.trim(), "{text:?}");
    }
    let made = Message::new("Two\nlines").body("Text.").trailer("K y", "a\nb").trailer("", "x");
    assert_eq!(made.text(), "Two lines\n\nText.\n\nKy: a b\n");
    assert_eq!(Trailers::of(&made.text()).get("ky"), Some("a b"));
}
