//! Hooks and tools of Althing's, handed to an agent for one run.
//!
//! Nothing of the person's own settings is changed and nothing is written into the worktree: what
//! an agent needs lies in the folder of its start and is named in its arguments or variables.

use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

use super::launch::{Launch, Request, Wiring, utf8};
use super::plugin;
use super::private_home::PrivateHome;
use super::table::{Adapter, HookWay, McpWay, SystemSettings};
use crate::error::WorkshopError;
use crate::process::MARKER;

/// How long a hook may take, in seconds. It answers within one.
const HOOK_SECONDS: u64 = 10;

/// A moment at which an agent asks Althing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Before a file is written or a command is run; it can be refused.
    Edit,
    /// When a session begins.
    Session,
    /// With the prompt.
    Prompt,
    /// After a tool was used.
    After,
    /// Before the agent ends.
    Stop,
}

impl Moment {
    /// Its name in `althing hook`.
    pub fn word(self) -> &'static str {
        match self {
            Moment::Edit => "edit",
            Moment::Session => "session",
            Moment::Prompt => "prompt",
            Moment::After => "after",
            Moment::Stop => "stop",
        }
    }

    /// The event of Claude Code, and of those that follow it.
    fn of_claude(self) -> &'static str {
        match self {
            Moment::Edit => "PreToolUse",
            Moment::Session => "SessionStart",
            Moment::Prompt => "UserPromptSubmit",
            Moment::After => "PostToolUse",
            Moment::Stop => "Stop",
        }
    }

    fn of_gemini(self) -> &'static str {
        match self {
            Moment::Edit => "BeforeTool",
            Moment::Session => "SessionStart",
            Moment::Prompt => "BeforeAgent",
            Moment::After => "AfterTool",
            Moment::Stop => "AfterAgent",
        }
    }

    fn of_copilot(self) -> &'static str {
        match self {
            Moment::Edit => "preToolUse",
            Moment::Session => "sessionStart",
            Moment::Prompt => "userPromptSubmitted",
            Moment::After => "postToolUse",
            Moment::Stop => "agentStop",
        }
    }

    fn is_about_tools(self) -> bool {
        matches!(self, Moment::Edit | Moment::After)
    }
}

/// Adds hooks and the MCP server to a start, as the agent wants them.
pub(super) fn add(
    adapter: &Adapter,
    request: &Request<'_>,
    wiring: &Wiring<'_>,
    launch: &mut Launch,
) -> Result<(), WorkshopError> {
    let hand = Hand { adapter, request, wiring };
    if !wiring.hooks.is_empty() {
        hand.hooks(launch)?;
    }
    if wiring.mcp {
        hand.mcp(launch)?;
    }
    Ok(())
}

struct Hand<'a> {
    adapter: &'a Adapter,
    request: &'a Request<'a>,
    wiring: &'a Wiring<'a>,
}

impl Hand<'_> {
    fn hooks(&self, launch: &mut Launch) -> Result<(), WorkshopError> {
        match self.adapter.hooks {
            HookWay::ClaudeSettings => {
                let settings = json!({ "hooks": self.events(Moment::of_claude, Tools::Claude)? });
                let file = self.write("settings.json", &settings)?;
                launch.args.extend(["--settings".to_owned(), file]);
            }
            HookWay::CodexOptions => self.codex_hooks(launch)?,
            HookWay::SystemSettings(system) => self.system_settings(system, launch)?,
            HookWay::GeminiHome { variable } => self.gemini_home(variable, launch)?,
            HookWay::CopilotPlugin => {
                let file = self.write("plugin/hooks.json", &self.copilot_hooks()?)?;
                let about = json!({
                    "name": "althing",
                    "version": "1.0.0",
                    "description": "Keeps agents out of each other's files",
                    "hooks": "hooks.json",
                });
                self.write("plugin/plugin.json", &about)?;
                let folder = Path::new(&file).parent().unwrap_or(Path::new("."));
                launch.args.extend(["--plugin-dir".to_owned(), utf8(folder)?]);
            }
            HookWay::OpencodePlugin { variable } => {
                let text = plugin::for_opencode(&self.words()?, self.wiring.hooks);
                let file = self.write_text("althing-plugin.js", &text)?;
                let url = format!("file://{}", plugin::escaped(&file));
                self.add_to_config(variable, launch, "plugin", json!([url]))?;
                self.offline(launch);
            }
            HookWay::PiExtension => {
                let text = plugin::for_pi(&self.words()?, self.wiring.hooks);
                let file = self.write_text("althing-extension.js", &text)?;
                launch.args.extend(["--extension".to_owned(), file]);
            }
            HookWay::ProjectFilesOnly | HookWay::None => {}
        }
        Ok(())
    }

    fn mcp(&self, launch: &mut Launch) -> Result<(), WorkshopError> {
        let command = utf8(self.wiring.althing)?;
        match self.adapter.mcp {
            McpWay::File { option, prefix } => {
                let file = self.write("mcp.json", &json!({ "mcpServers": self.servers()? }))?;
                launch.args.extend([option.to_owned(), format!("{prefix}{file}")]);
            }
            McpWay::CodexOptions => {
                // It starts servers without its own environment, except for what is named.
                let names: Vec<String> = self.variables().map(toml_text).collect();
                let server = format!(
                    "mcp_servers.althing={{command={},args=[\"mcp\"],env_vars=[{}],\
                     default_tools_approval_mode=\"approve\"}}",
                    toml_text(&command),
                    names.join(","),
                );
                launch.args.extend(["-c".to_owned(), server]);
            }
            // Written together with the hooks, or alone.
            McpWay::GeminiHome => {
                if let HookWay::GeminiHome { variable } = self.adapter.hooks {
                    self.gemini_home(variable, launch)?;
                }
            }
            McpWay::OpencodeConfig => {
                if let HookWay::OpencodePlugin { variable } = self.adapter.hooks {
                    let server = json!({ "type": "local", "command": [command, "mcp"] });
                    let servers = json!({ "althing": server });
                    self.add_to_config(variable, launch, "mcp", servers)?;
                }
            }
            McpWay::OwnFilesOnly => {}
        }
        Ok(())
    }

    /// The words of the hook's command, up to the moment.
    fn words(&self) -> Result<plugin::HookCommand, WorkshopError> {
        let program = utf8(self.wiring.althing)?;
        Ok(plugin::HookCommand { program, agent: self.adapter.name })
    }

    /// A hook as a line for the shell.
    fn line(&self, moment: Moment) -> Result<String, WorkshopError> {
        let program = shell_word(&utf8(self.wiring.althing)?);
        Ok(format!("{program} hook {} --agent {}", moment.word(), self.adapter.name))
    }

    /// Hooks in the form of Claude Code, which most others follow.
    fn events(
        &self,
        name: fn(Moment) -> &'static str,
        tools: Tools,
    ) -> Result<Value, WorkshopError> {
        let mut events = Map::new();
        for moment in self.wiring.hooks {
            let mut hook = json!({ "type": "command", "command": self.line(*moment)? });
            hook["timeout"] = json!(tools.timeout());
            if tools == Tools::Claude && *moment == Moment::Edit {
                // Otherwise a hook that fails or is missing lets the call through.
                hook["onFailure"] = json!("block");
            }
            let mut entry = json!({ "hooks": [hook] });
            if moment.is_about_tools() {
                entry["matcher"] = json!(tools.matcher());
            }
            events.insert(name(*moment).to_owned(), json!([entry]));
        }
        Ok(Value::Object(events))
    }

    fn codex_hooks(&self, launch: &mut Launch) -> Result<(), WorkshopError> {
        for moment in self.wiring.hooks {
            let command = toml_text(&self.line(*moment)?);
            let matcher = if moment.is_about_tools() {
                format!("matcher={},", toml_text(Tools::Codex.matcher()))
            } else {
                String::new()
            };
            let event = moment.of_claude();
            launch.args.extend([
                "-c".to_owned(),
                format!(
                    "hooks.{event}=[{{{matcher}hooks=[{{type=\"command\",command={command},\
                     timeout={HOOK_SECONDS}}}]}}]"
                ),
            ]);
        }
        // It runs only hooks that somebody trusted; these are for this run.
        launch.args.push("--dangerously-bypass-hook-trust".to_owned());
        Ok(())
    }

    fn copilot_hooks(&self) -> Result<Value, WorkshopError> {
        let mut events = Map::new();
        for moment in self.wiring.hooks {
            // Hooks of a plugin would run in the plugin's folder.
            let hook = json!({
                "type": "command",
                "bash": self.line(*moment)?,
                "cwd": utf8(self.request.folder)?,
                "timeoutSec": HOOK_SECONDS,
            });
            events.insert(moment.of_copilot().to_owned(), json!([hook]));
        }
        Ok(json!({ "version": 1, "hooks": events }))
    }

    /// Hooks in a file of system settings, together with what the system has there.
    fn system_settings(
        &self,
        system: SystemSettings,
        launch: &mut Launch,
    ) -> Result<(), WorkshopError> {
        let mut settings = self.settings_of_system(system)?;
        add_hooks(&mut settings, self.events(Moment::of_claude, Tools::Qwen)?);
        let file = self.write("system-settings.json", &Value::Object(settings))?;
        launch.env.insert(system.variable.to_owned(), file);
        Ok(())
    }

    /// Hooks and servers in a private home folder, together with what the person has in theirs.
    fn gemini_home(&self, variable: &str, launch: &mut Launch) -> Result<(), WorkshopError> {
        let home = PrivateHome { folder: ".gemini", settings: "settings.json" };
        let named = |name| (self.request.inherited)(name).filter(|value| !value.is_empty());
        let theirs = named(variable).or_else(|| named("HOME")).map(PathBuf::from);
        let mut settings = home.settings_of(theirs.as_deref())?;
        add_hooks(&mut settings, self.events(Moment::of_gemini, Tools::Gemini)?);
        if self.wiring.mcp {
            let servers = object_in(&mut settings, "mcpServers");
            if let (Some(servers), Value::Object(own)) = (servers, self.servers()?) {
                servers.extend(own);
            }
        }
        let own = self.request.files.join("home");
        home.make(&own, theirs.as_deref(), &Value::Object(settings))?;
        launch.env.insert(variable.to_owned(), utf8(&own)?);
        Ok(())
    }

    /// What the system itself has set. A file that cannot be read is an error: settings of the
    /// system must not be lost because an agent is started by Althing.
    fn settings_of_system(
        &self,
        system: SystemSettings,
    ) -> Result<Map<String, Value>, WorkshopError> {
        let default = if cfg!(target_os = "macos") { system.macos } else { system.linux };
        let named = (self.request.inherited)(system.variable).filter(|name| !name.is_empty());
        let path = PathBuf::from(named.unwrap_or_else(|| default.to_owned()));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(cannot("read", &path, &error)),
        };
        serde_json::from_str(&text).map_err(|error| cannot("read", &path, &error))
    }

    /// Adds a value to the configuration in a variable, together with what the caller has there.
    fn add_to_config(
        &self,
        variable: &str,
        launch: &mut Launch,
        key: &str,
        value: Value,
    ) -> Result<(), WorkshopError> {
        let before = launch.env.get(variable).cloned();
        let before = before.or_else(|| (self.request.inherited)(variable));
        let before = before.filter(|text| !text.trim().is_empty());
        let mut config: Map<String, Value> = match before {
            None => Map::new(),
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                WorkshopError::new(format!("the variable {variable} is no JSON: {error}"))
            })?,
        };
        match (config.get_mut(key), value) {
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(Value::Object(map)), Value::Object(more)) => map.extend(more),
            (_, value) => {
                config.insert(key.to_owned(), value);
            }
        }
        launch.env.insert(variable.to_owned(), Value::Object(config).to_string());
        Ok(())
    }

    fn offline(&self, launch: &mut Launch) {
        if self.request.is_offline {
            launch.env.insert("npm_config_offline".to_owned(), "true".to_owned());
        }
    }

    /// The names of the attempt's variables.
    fn variables(&self) -> impl Iterator<Item = &str> {
        let own = self.request.env.keys().map(String::as_str);
        let own = own.filter(|name| name.starts_with("ALTHING_"));
        own.filter(|name| *name != MARKER && *name != "ALTHING_WORKSPACE")
            .chain(["ALTHING_WORKSPACE", MARKER])
    }

    /// The MCP server in the form of `mcpServers`.
    fn servers(&self) -> Result<Value, WorkshopError> {
        let command = utf8(self.wiring.althing)?;
        let mut variables = Map::new();
        for name in self.variables() {
            let own = self.request.env.get(name).map(String::as_str);
            let value = own.unwrap_or(self.request.workspace);
            variables.insert(name.to_owned(), json!(value));
        }
        let mut server = json!({ "command": command, "args": ["mcp"], "env": variables });
        if self.adapter.hooks == HookWay::ClaudeSettings {
            // Otherwise its tools are hidden until the model searches for them.
            server["alwaysLoad"] = json!(true);
        }
        if self.adapter.hooks == HookWay::CopilotPlugin {
            server["type"] = json!("local");
            server["tools"] = json!(["*"]);
        }
        Ok(json!({ "althing": server }))
    }

    /// Writes a file of this start and returns its name.
    fn write(&self, name: &str, value: &Value) -> Result<String, WorkshopError> {
        self.write_text(name, &format!("{value:#}\n"))
    }

    fn write_text(&self, name: &str, text: &str) -> Result<String, WorkshopError> {
        let path = self.request.files.join(name);
        let folder = path.parent().unwrap_or(self.request.files);
        std::fs::create_dir_all(folder).map_err(|error| cannot("make", folder, &error))?;
        std::fs::write(&path, text).map_err(|error| cannot("write", &path, &error))?;
        utf8(&path)
    }
}

/// How tools are called that write files or run commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tools {
    Claude,
    Codex,
    Gemini,
    Qwen,
}

impl Tools {
    fn matcher(self) -> &'static str {
        match self {
            Tools::Claude => "Write|Edit|MultiEdit|NotebookEdit|Bash",
            // These names also stand for patches.
            Tools::Codex => "Edit|Write|Bash",
            Tools::Gemini => "write_file|replace|run_shell_command",
            Tools::Qwen => "write_file|edit|notebook_edit|run_shell_command",
        }
    }

    /// Gemini counts in milliseconds.
    fn timeout(self) -> u64 {
        if self == Tools::Gemini { HOOK_SECONDS * 1000 } else { HOOK_SECONDS }
    }
}

/// Adds hooks to settings, behind those that are there.
fn add_hooks(settings: &mut Map<String, Value>, events: Value) {
    if let (Some(hooks), Value::Object(events)) = (object_in(settings, "hooks"), events) {
        for (event, entries) in events {
            let list = hooks.entry(event).or_insert_with(|| json!([]));
            if let (Some(list), Value::Array(entries)) = (list.as_array_mut(), entries) {
                list.extend(entries);
            }
        }
    }
}

/// An object among settings, made if there is none.
fn object_in<'m>(
    settings: &'m mut Map<String, Value>,
    key: &str,
) -> Option<&'m mut Map<String, Value>> {
    let value = settings.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut()
}

pub(super) fn cannot(act: &str, path: &Path, error: &dyn std::fmt::Display) -> WorkshopError {
    WorkshopError::new(format!("cannot {act} {}: {error}", path.display()))
}

/// A word as every shell reads it.
pub(super) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A text as TOML reads it.
fn toml_text(text: &str) -> String {
    // JSON's escapes are a part of TOML's.
    Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{Agent, Session, find};
    use std::collections::BTreeMap;

    const MOMENTS: &[Moment] =
        &[Moment::Edit, Moment::Session, Moment::Prompt, Moment::After, Moment::Stop];

    /// What an agent is started with, and the folder with its files.
    fn wired(
        name: &str,
        inherited: fn(&str) -> Option<String>,
    ) -> Result<(Launch, tempfile::TempDir), WorkshopError> {
        let folder = tempfile::tempdir().unwrap();
        let brief = folder.path().join("brief.md");
        std::fs::write(&brief, "Do it.").unwrap();
        let env = BTreeMap::from([
            ("ALTHING_AGENT".to_owned(), "alice".to_owned()),
            ("OTHER".to_owned(), "x".to_owned()),
        ]);
        let wiring =
            Wiring { althing: Path::new("/opt/my tools/althing"), hooks: MOMENTS, mcp: true };
        let launch = Agent::Known(find(name).unwrap()).launch(&Request {
            task: "lexer",
            workspace: "ws-1",
            folder: Path::new("/w"),
            brief: &brief,
            files: &folder.path().join("files"),
            program: None,
            model: None,
            session: Session::New(None),
            wiring: Some(wiring),
            extra: &[],
            env: &env,
            inherited,
            is_offline: true,
        })?;
        Ok((launch, folder))
    }

    fn of(name: &str) -> (Launch, tempfile::TempDir) {
        wired(name, |_| None).unwrap()
    }

    fn file_after(launch: &Launch, option: &str) -> Value {
        let at = launch.args.iter().position(|arg| arg == option).unwrap();
        read(launch.args[at + 1].trim_start_matches('@'))
    }

    fn read(path: &str) -> Value {
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    #[test]
    fn claude_gets_settings_and_a_server() {
        let (launch, _folder) = of("claude");
        let settings = file_after(&launch, "--settings");
        let edit = &settings["hooks"]["PreToolUse"][0];
        let command = "'/opt/my tools/althing' hook edit --agent claude";
        assert_eq!(edit["hooks"][0]["command"], command);
        assert_eq!(edit["hooks"][0]["onFailure"], "block");
        assert!(edit["matcher"].as_str().unwrap().contains("NotebookEdit"));
        for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"] {
            assert!(settings["hooks"][event][0]["hooks"][0]["command"].is_string(), "{event}");
        }
        let server = &file_after(&launch, "--mcp-config")["mcpServers"]["althing"];
        assert_eq!(server["args"], json!(["mcp"]));
        assert_eq!(server["alwaysLoad"], true);
        let env = json!({
            "ALTHING_AGENT": "alice", "ALTHING_WORKSPACE": "ws-1", "ALTHING_SUPERVISED": "ws-1",
        });
        assert_eq!(server["env"], env);
    }

    #[test]
    fn codex_gets_options_that_are_toml() {
        let (launch, _folder) = of("codex");
        let options: Vec<&String> =
            launch.args.iter().skip_while(|arg| *arg != "-c").filter(|arg| *arg != "-c").collect();
        assert_eq!(
            options[0],
            "hooks.PreToolUse=[{matcher=\"Edit|Write|Bash\",hooks=[{type=\"command\",\
             command=\"'/opt/my tools/althing' hook edit --agent codex\",timeout=10}]}]"
        );
        assert!(launch.args.contains(&"--dangerously-bypass-hook-trust".to_owned()));
        let server = options.iter().find(|arg| arg.starts_with("mcp_servers")).unwrap();
        let names = "env_vars=[\"ALTHING_AGENT\",\"ALTHING_WORKSPACE\",\"ALTHING_SUPERVISED\"]";
        assert!(server.contains(names), "{server}");
        assert_eq!(launch.args.last().unwrap(), "-");
    }

    #[test]
    fn qwen_gets_system_settings_beside_those_there_are() {
        let (launch, _folder) = of("qwen");
        let settings = read(&launch.env["QWEN_CODE_SYSTEM_SETTINGS_PATH"]);
        assert!(settings["hooks"]["PreToolUse"].is_array());
        assert!(settings["mcpServers"].is_null());
        assert!(file_after(&launch, "--mcp-config")["mcpServers"]["althing"].is_object());
        // What the system has is kept; what cannot be read stops the start.
        let own = |name: &str| {
            let path = std::env::temp_dir().join(format!("althing-system-{}", std::process::id()));
            std::fs::write(&path, r#"{"a":1,"hooks":{"PreToolUse":[{"own":1}]}}"#).unwrap();
            name.ends_with("PATH").then(|| path.to_str().unwrap().to_owned())
        };
        let (launch, _folder) = wired("qwen", own).unwrap();
        let settings = read(&launch.env["QWEN_CODE_SYSTEM_SETTINGS_PATH"]);
        assert_eq!(
            (&settings["a"], &settings["hooks"]["PreToolUse"][0]["own"]),
            (&json!(1), &json!(1))
        );
        assert_eq!(settings["hooks"]["PreToolUse"].as_array().unwrap().len(), 2);
        std::fs::remove_file(own("PATH").unwrap()).unwrap();
        assert!(wired("qwen", |_| Some("/dev".to_owned())).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn gemini_gets_a_home_with_what_the_person_has() {
        let (launch, _folder) = of("gemini");
        let settings = read(&format!("{}/.gemini/settings.json", launch.env["GEMINI_CLI_HOME"]));
        assert_eq!(settings["hooks"]["BeforeTool"][0]["hooks"][0]["timeout"], 10_000);
        assert!(settings["hooks"]["AfterAgent"].is_array());
        assert!(settings["mcpServers"]["althing"].is_object());
        let own = |name: &str| {
            let home = std::env::temp_dir().join(format!("althing-home-{}", std::process::id()));
            std::fs::create_dir_all(home.join(".gemini/tmp")).unwrap();
            std::fs::write(home.join(".gemini/login.json"), "theirs").unwrap();
            let text = "{\"a\":[1,true,\"x\"], // why\n\"mcpServers\":{\"b\":{}},}";
            std::fs::write(home.join(".gemini/settings.json"), text).unwrap();
            (name == "HOME").then(|| home.to_str().unwrap().to_owned())
        };
        let (launch, _folder) = wired("gemini", own).unwrap();
        let theirs = PathBuf::from(own("HOME").unwrap()).join(".gemini");
        let home = PathBuf::from(&launch.env["GEMINI_CLI_HOME"]).join(".gemini");
        let settings = read(home.join("settings.json").to_str().unwrap());
        assert_eq!(settings["a"], json!([1, true, "x"]));
        assert!(settings["mcpServers"]["b"].is_object());
        assert!(settings["mcpServers"]["althing"].is_object());
        assert_eq!(std::fs::read_link(home.join("login.json")).unwrap(), theirs.join("login.json"));
        // What the agent makes among the person's files is there after it, and settings are not.
        std::fs::write(home.join("tmp/session"), "").unwrap();
        assert!(theirs.join("tmp/session").exists());
        let text = std::fs::read_to_string(theirs.join("settings.json")).unwrap();
        assert!(text.contains("// why") && !text.contains("althing"), "{text}");
        std::fs::remove_dir_all(theirs.parent().unwrap()).unwrap();
    }

    #[test]
    fn copilot_gets_a_plugin_whose_hooks_run_in_the_worktree() {
        let (launch, _folder) = of("copilot");
        let at = launch.args.iter().position(|arg| arg == "--plugin-dir").unwrap();
        let folder = &launch.args[at + 1];
        assert_eq!(read(&format!("{folder}/plugin.json"))["hooks"], "hooks.json");
        let hook = &read(&format!("{folder}/hooks.json"))["hooks"]["preToolUse"][0];
        assert_eq!((&hook["cwd"], &hook["timeoutSec"]), (&json!("/w"), &json!(10)));
        let servers = file_after(&launch, "--additional-mcp-config");
        assert!(servers["mcpServers"]["althing"].is_object());
    }

    #[test]
    fn opencode_gets_a_plugin_beside_the_callers_configuration() {
        let caller = |name: &str| {
            (name == "OPENCODE_CONFIG_CONTENT")
                .then(|| r#"{"model":"a/b","plugin":["own"],"mcp":{"own":{}}}"#.to_owned())
        };
        let (launch, _folder) = wired("opencode", caller).unwrap();
        let config: Value = serde_json::from_str(&launch.env["OPENCODE_CONFIG_CONTENT"]).unwrap();
        assert_eq!((&config["model"], &config["plugin"][0]), (&json!("a/b"), &json!("own")));
        assert!(config["mcp"]["own"].is_object());
        assert_eq!(config["mcp"]["althing"]["command"], json!(["/opt/my tools/althing", "mcp"]));
        let plugin = config["plugin"][1].as_str().unwrap().strip_prefix("file://").unwrap();
        let text = std::fs::read_to_string(plugin).unwrap();
        assert!(
            text.contains(
                r#"spawnSync("/opt/my tools/althing", ["hook", moment, "--agent", "opencode"]"#
            ),
            "{text}"
        );
        assert_eq!(launch.env["npm_config_offline"], "true");
        assert!(wired("kilo", |_| Some("no JSON".to_owned())).is_err());
    }

    #[test]
    fn agents_without_a_private_way_are_left_alone() {
        for name in ["cline", "cn", "cursor", "aider"] {
            let (launch, folder) = of(name);
            assert!(!folder.path().join("files").exists(), "{name}");
            assert!(!launch.args.iter().any(|arg| arg.contains("althing")), "{name}");
        }
        let (launch, _folder) = of("pi");
        assert!(launch.args.iter().any(|arg| arg.ends_with("althing-extension.js")));
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        assert_eq!(shell_word("/usr/bin/althing"), "/usr/bin/althing");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
