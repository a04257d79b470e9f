//! `init --agent` and `uninit`: what is written into the files of agents, and taken out again.

use crate::support::{Ran, Sandbox};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const AGENTS: &[&str] =
    &["claude", "codex", "gemini", "copilot", "qwen", "opencode", "kilo", "cline", "pi", "cursor"];

/// Every file of a project and its git hooks, byte for byte, with its permissions.
fn files(project: &Sandbox) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut found = BTreeMap::new();
    let mut folders = vec![project.path().to_owned(), project.path().join(".git/hooks")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with(".git") {
                continue;
            }
            let mode = path.metadata().unwrap().permissions().mode();
            if path.is_dir() {
                found.insert(path.clone(), (mode, Vec::new()));
                folders.push(path);
            } else {
                found.insert(path.clone(), (mode, std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}

fn read(project: &Sandbox, path: &str) -> String {
    std::fs::read_to_string(project.path().join(path)).unwrap()
}

fn init(project: &Sandbox, agents: &str) -> Ran {
    project.run(&["init", "--agent", agents])
}

/// Files as people have them: with comments, of several forms, with hooks and servers of others.
fn of_people(project: &Sandbox) {
    project.write(
        ".claude/settings.json",
        "{\n  // mine\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"matcher\": \"Bash\", \"hooks\": \
         [{ \"type\": \"command\", \"command\": \"./mine.sh\" }] }, // keep\n    ],\n  },\n}\n",
    );
    project.write(".mcp.json", "{\"mcpServers\":{\"other\":{\"command\":\"other\"}}}");
    project.write(
        ".codex/config.toml",
        "# mine\nmodel = \"x\"\n\n[mcp_servers.other]\ncommand = \"o\"",
    );
    project.write(".gemini/settings.json", "{\r\n\t\"theme\": \"dark\"\r\n}\r\n");
    project.write(".cursor/hooks.json", "{ \"version\": 1, \"hooks\": {} }\n");
    project.write("opencode.jsonc", "\u{feff}{ /* mine */ }\n");
    project.write("AGENTS.md", "# Rules\n\nBe kind, no line break at the end");
    project.write("CLAUDE.md", "");
}

#[test]
fn every_agent_is_wired_and_unwired_to_the_byte() {
    for with_files in [false, true] {
        for agent in AGENTS.iter().copied().chain(["git", "claude,codex,gemini,copilot,cursor"]) {
            let project = Sandbox::new();
            if with_files {
                of_people(&project);
            }
            let before = files(&project);
            let ran = init(&project, agent);
            assert_eq!(ran.code, Some(0), "{agent}: {ran:?}");
            let wired = files(&project);
            assert_ne!(before, wired, "{agent}");
            // Again: nothing is left to write.
            project.ok(&["init", "--agent", agent]);
            assert!(files(&project) == wired, "{agent} twice");
            project.ok(&["uninit"]);
            same(&before, &files(&project), agent);
            let again = project.ok(&["uninit"]);
            assert!(again.out.contains("nothing of Althing"), "{again:?}");
        }
    }
}

#[track_caller]
fn same<T: PartialEq>(before: &BTreeMap<PathBuf, T>, after: &BTreeMap<PathBuf, T>, about: &str) {
    let names = |one: &BTreeMap<PathBuf, T>| one.keys().cloned().collect::<Vec<PathBuf>>();
    assert_eq!(names(before), names(after), "{about}");
    for (path, bytes) in before {
        assert!(after.get(path) == Some(bytes), "{about}: {}", path.display());
    }
}

#[test]
fn all_agents_at_once_and_one_taken_out() {
    let project = Sandbox::new();
    of_people(&project);
    let before = files(&project);
    project.ok(&["init", "--agent", &AGENTS.join(",")]);
    let primer = read(&project, "AGENTS.md");
    assert_eq!(primer.matches("Several agents work here").count(), 1, "{primer}");
    let config = read(&project, ".codex/config.toml");
    let config: toml::Table = config.parse().unwrap();
    assert!(
        config["mcp_servers"].get("althing").is_some()
            && config["mcp_servers"].get("other").is_some()
    );
    project.ok(&["uninit", "--agent", "codex"]);
    assert!(!read(&project, ".codex/config.toml").contains("althing"));
    assert!(read(&project, "AGENTS.md").contains("Several agents"), "others still need it");
    assert!(read(&project, ".claude/settings.json").contains("althing hook edit"));
    project.ok(&["uninit"]);
    same(&before, &files(&project), "all");
}

#[test]
fn hooks_and_servers_of_others_stay_and_so_do_comments() {
    let project = Sandbox::new();
    of_people(&project);
    project.ok(&["init", "--agent", "claude,cursor"]);
    let settings = read(&project, ".claude/settings.json");
    for part in
        ["// mine", "// keep", "./mine.sh", "althing hook edit --agent claude", "SessionStart"]
    {
        assert!(settings.contains(part), "{part}: {settings}");
    }
    let servers: serde_json::Value = serde_json::from_str(&read(&project, ".mcp.json")).unwrap();
    assert_eq!(servers["mcpServers"]["other"]["command"], "other");
    assert_eq!(servers["mcpServers"]["althing"]["args"][0], "mcp");
}

#[test]
fn what_people_changed_since_stays() {
    let project = Sandbox::new();
    project.ok(&["init", "--agent", "claude", "--no-git-hooks"]);
    let path = ".claude/settings.json";
    let theirs = read(&project, path).replacen('{', "{\n  \"model\": \"opus\",", 1);
    project.write(path, &theirs);
    let primer = read(&project, "AGENTS.md") + "\nOur own rule.\n";
    project.write("AGENTS.md", &primer);
    project.ok(&["uninit"]);
    let settings: serde_json::Value = serde_json::from_str(&read(&project, path)).unwrap();
    assert_eq!(settings, serde_json::json!({ "model": "opus" }));
    assert_eq!(read(&project, "AGENTS.md").trim(), "Our own rule.");
    assert!(!project.path().join(".mcp.json").exists());
}

/// Files that cannot be wired, and a word of the reason.
const UNUSABLE: &[(&str, &str, &[u8], &str)] = &[
    ("claude", ".claude/settings.json", b"{ \"hooks\": ", "is not JSON"),
    ("claude", ".claude/settings.json", b"{\n  hooks: {}\n}\n", "line 2 is not JSON"),
    ("claude", ".claude/settings.json", b"{\"hooks\": []}", "hooks"),
    ("claude", ".claude/settings.json", b"\xff\xfe{}", "not UTF-8"),
    ("claude", ".mcp.json", b"garbage", "is not JSON"),
    ("codex", ".codex/hooks.json", b"[]", "is"),
    ("codex", ".codex/config.toml", b"model = \n", "line 1 is not TOML"),
    ("codex", ".codex/config.toml", b"[mcp_servers.althing]\ncommand = \"x\"\n", "not ours"),
    ("gemini", ".gemini/settings.json", b"{} {}", "is not JSON"),
    ("copilot", ".github/hooks/althing.json", b"{}", "not ours"),
    ("opencode", "opencode.json", b"{\"mcp\": 1}", "mcp"),
    ("cursor", ".cursor/hooks.json", b"}", "is not JSON"),
];

#[test]
fn garbage_is_refused_with_its_reason_and_nothing_is_changed() {
    for (agent, path, bytes, why) in UNUSABLE {
        let project = Sandbox::without_project();
        project.write(path, "");
        std::fs::write(project.path().join(path), bytes).unwrap();
        let before = files(&project);
        for more in [&[][..], &["--dry-run"]] {
            // Another agent beside it is not wired either.
            let ran = project.run(&[&["init", "--agent", agent, "--agent", "pi"], more].concat());
            assert_eq!(ran.code, Some(1), "{agent} {path}: {ran:?}");
            assert!(ran.err.contains(path) && ran.err.contains(why), "{agent} {path}: {ran:?}");
            assert!(ran.err.contains("nothing was changed"), "{ran:?}");
            same(&before, &files(&project), path);
            assert!(!project.state().exists(), "not even the project");
        }
    }
}

#[test]
fn links_out_of_the_project_and_read_only_files_are_left_alone() {
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("settings.json");
    std::fs::write(&target, "{}").unwrap();
    let project = Sandbox::new();
    std::fs::create_dir(project.path().join(".claude")).unwrap();
    std::os::unix::fs::symlink(&target, project.path().join(".claude/settings.json")).unwrap();
    let ran = init(&project, "claude");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.err.contains("leads out of the project"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "{}");
    let project = Sandbox::new();
    project.write("GEMINI.md", "x");
    let path = project.path().join("GEMINI.md");
    let mut mode = path.metadata().unwrap().permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&path, mode).unwrap();
    assert!(init(&project, "gemini").err.contains("read-only"));
}

#[test]
fn a_file_that_became_garbage_is_left_and_told_and_the_rest_is_taken_out() {
    let project = Sandbox::new();
    project.ok(&["init", "--agent", "claude,gemini"]);
    project.write(".gemini/settings.json", "garbage with althing hook edit");
    let ran = project.run(&["uninit"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains(".gemini/settings.json: line 1 is not JSON"), "{ran:?}");
    assert!(!project.path().join(".claude").exists());
    assert_eq!(read(&project, ".gemini/settings.json"), "garbage with althing hook edit");
}

#[test]
fn a_dry_run_shows_the_difference_and_changes_nothing() {
    let project = Sandbox::without_project();
    of_people(&project);
    let before = files(&project);
    let ran = project.ok(&["init", "--agent", "claude,codex", "--dry-run"]);
    for line in ["+++ ", "+## Several agents work here (Althing)", "+command = \"althing\""] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    assert!(!ran.out.contains("-  // mine"), "nothing of people's goes: {}", ran.out);
    same(&before, &files(&project), "dry");
    assert!(!project.state().exists());
    project.ok(&["init", "--agent", "claude,codex"]);
    let wired = files(&project);
    let ran = project.ok(&["uninit", "--dry-run"]);
    assert!(ran.out.contains("-## Several agents work here (Althing)"), "{}", ran.out);
    same(&wired, &files(&project), "dry");
}

#[test]
fn the_hooks_that_are_written_are_those_that_the_program_has() {
    let project = Sandbox::new();
    project.ok(&["init", "--agent", &AGENTS.join(",")]);
    let mut calls = Vec::new();
    for (path, (_, bytes)) in files(&project) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for rest in text.split("althing hook ").skip(1).filter(|_| is_settings(&path)) {
            let call = rest.split(['"', '\n', '|']).next().unwrap().trim().to_owned();
            calls.push(call);
        }
    }
    assert!(calls.len() > 20, "{calls:?}");
    for call in calls {
        let args: Vec<&str> = ["hook"].into_iter().chain(call.split_whitespace()).collect();
        let args: Vec<&str> = args.into_iter().chain(["--help"]).collect();
        assert_eq!(project.run(&args).code, Some(0), "{call}");
    }
}

fn is_settings(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".json") || name.contains(".clinerules")
}

/// The plugin really asks the program: a refusal is thrown, and anything else is let through.
#[test]
fn the_plugin_of_opencode_throws_what_the_program_says() {
    let project = Sandbox::new();
    project.ok(&["init", "--agent", "opencode"]);
    project.claim("bob", "held.txt");
    let script = "import { Althing } from './.opencode/plugins/althing.js';\n\
        const own = await Althing({ directory: process.cwd() });\n\
        const before = own['tool.execute.before'];\n\
        const ask = (file) => before({ tool: 'edit', sessionID: 's' }, { args: { filePath: file } });\n\
        await ask('free.txt');\n\
        try { await ask('held.txt'); } catch (error) { console.log(error.message); }\n";
    project.write("try.mjs", script);
    let program = Path::new(crate::support::BINARY).parent().unwrap().display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap());
    let node = std::process::Command::new("node")
        .arg("try.mjs")
        .current_dir(project.path())
        .env("PATH", path)
        .env("ALTHING_AGENT", "mia")
        .output();
    // Without Node.js there is no opencode either.
    let Ok(node) = node else { return };
    let ran = Ran::of(&node);
    assert!(ran.out.contains("held.txt is held by bob"), "{ran:?}");
    assert_eq!(super::claims(&project).len(), 2, "{ran:?}");
}
