//! Finds what the tests say they show.
//!
//! A doc comment `/// Shows W-ENV-10, W-PORT-02.` directly above a test names requirements of the
//! protocol. The test is named as libtest prints it, with its binary in front. The code is written
//! as rustfmt leaves it, so a module ends where its brace stands under its beginning.

use std::path::Path;

/// A test and the requirements it shows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) test: String,
    pub(crate) shows: Vec<String>,
}

/// All tests of the project.
pub(crate) fn project(root: &Path) -> Result<Vec<Found>, String> {
    let mut found = folder(&root.join("tests"), "system")?;
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let manifest = std::fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap().replace('-', "_");
        found.extend(folder(&path.join("src"), &name)?);
        if !path.join("tests").exists() {
            continue;
        }
        for entry in std::fs::read_dir(path.join("tests")).unwrap() {
            let binary = entry.unwrap().path();
            let name = binary.file_stem().unwrap().to_str().unwrap();
            found.extend(if binary.is_dir() {
                folder(&binary, name)?
            } else {
                file(&binary, name)?
            });
        }
    }
    Ok(found)
}

/// The tests in a folder of modules below a module.
fn folder(path: &Path, module: &str) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let inner = match name {
            "main" | "lib" | "mod" => module.to_owned(),
            name => format!("{module}::{name}"),
        };
        found.extend(if path.is_dir() { folder(&path, &inner)? } else { file(&path, &inner)? });
    }
    Ok(found)
}

fn file(path: &Path, module: &str) -> Result<Vec<Found>, String> {
    if path.extension().is_none_or(|ending| ending != "rs") {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path).unwrap();
    source(&text, module).map_err(|why| format!("{}:{why}", path.display()))
}

/// The tests in the text of a module. An error begins with the number of its line.
pub(crate) fn source(text: &str, module: &str) -> Result<Vec<Found>, String> {
    let mut reader = Reader { modules: vec![(0, module)], ..Reader::default() };
    // A comment at the end of a file belongs to no test.
    for (at, line) in text.lines().chain([""]).enumerate() {
        reader.take(line).map_err(|why| format!("{}: {why}", at + 1))?;
    }
    Ok(reader.found)
}

/// The state of reading a module.
#[derive(Default)]
struct Reader<'a> {
    found: Vec<Found>,
    /// The modules around the line, each with the column it begins at.
    modules: Vec<(usize, &'a str)>,
    /// The requirements named directly above the line.
    shows: Vec<String>,
    is_test: bool,
}

impl<'a> Reader<'a> {
    fn take(&mut self, line: &'a str) -> Result<(), &'static str> {
        let code = line.trim_start();
        if let Some(list) = code.strip_prefix("/// Shows W-") {
            self.shows.extend(ids(list).ok_or("not `Shows W-ID-01, W-ID-02.`")?);
        } else if code.starts_with("#[") {
            self.is_test |= code == "#[test]";
        } else if !code.starts_with("///") {
            self.item(code)?;
            self.nesting(line.len() - code.len(), code);
        }
        Ok(())
    }

    /// Something begins that comments and attributes may stand above.
    fn item(&mut self, code: &str) -> Result<(), &'static str> {
        let is_test = std::mem::take(&mut self.is_test);
        let shows = std::mem::take(&mut self.shows);
        match function(code) {
            Some(name) if is_test => {
                let modules = self.modules.iter().map(|(_, name)| *name);
                let path: Vec<&str> = modules.chain([name]).collect();
                self.found.push(Found { test: path.join("::"), shows });
            }
            _ if shows.is_empty() => {}
            _ => return Err("`Shows` stands above what is no test"),
        }
        Ok(())
    }

    fn nesting(&mut self, column: usize, code: &'a str) {
        if let Some(name) = inline_module(code) {
            self.modules.push((column, name));
        } else if code == "}" && self.modules.len() > 1 {
            self.modules.pop_if(|(begin, _)| *begin == column);
        }
    }
}

/// The ids in a list whose first `W-` was taken off already.
fn ids(list: &str) -> Option<Vec<String>> {
    let list = format!("W-{}", list.strip_suffix('.')?);
    let ids: Vec<String> = list.split(", ").map(str::to_owned).collect();
    ids.iter().all(|id| crate::conformance::tables::is_id(id)).then_some(ids)
}

fn function(code: &str) -> Option<&str> {
    let code = code.strip_prefix("async ").unwrap_or(code);
    let rest = code.strip_prefix("fn ")?;
    rest.split(['(', '<']).next()
}

/// The name of a module whose body follows.
fn inline_module(code: &str) -> Option<&str> {
    let (before, name) = code.strip_suffix(" {")?.rsplit_once("mod ")?;
    let alone = before.is_empty() || before.starts_with("pub");
    (alone && !name.contains(' ')).then_some(name)
}
