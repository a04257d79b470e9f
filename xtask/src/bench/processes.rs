//! One command per process: what a hook, a script or a person pays.

use althing_engine::{Engine, Home, Options};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use super::machine::{percentiles, sqlite_commits};
use super::stats::{Times, repeat};
use super::{Row, Setup, failed};
use crate::Error;

pub(super) fn run(setup: &Setup) -> Result<Vec<Row>, Error> {
    let folder = setup.folder.join("processes");
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let home = Home::new(&folder.join(".althing"));
    Engine::create(&home, "bench", &Options::default())?;
    let mut empty =
        spawn_times(&setup.program, &folder, setup.time / 2, |_| vec!["--version".to_owned()])?;
    let mut commit = sqlite_commits(&setup.folder, 600, 1, setup.time / 2)?;
    let least = empty.percentile_us(0.5) + commit.percentile_us(0.5);
    let claim = |n: u32| {
        ["claim", &format!("src/{n}.rs"), "--as", "bench", "--ttl", "1h"]
            .map(str::to_owned)
            .to_vec()
    };
    let mut claims = spawn_times(&setup.program, &folder, setup.time, claim)?;
    let check =
        |n: u32| ["check", &format!("src/{n}.rs"), "--as", "bench"].map(str::to_owned).to_vec();
    let mut checks = spawn_times(&setup.program, &folder, setup.time / 2, check)?;
    Ok(vec![
        Row::new("`althing --version`", empty.percentile_us(0.5) / 1e3, "ms")
            .detail(percentiles(&mut empty)),
        Row::new("`althing check`", checks.percentile_us(0.5) / 1e3, "ms")
            .detail(percentiles(&mut checks))
            .beside("ms for an empty process", empty.percentile_us(0.5) / 1e3),
        Row::new("`althing claim`, signed and durable", claims.percentile_us(0.5) / 1e3, "ms")
            .detail(percentiles(&mut claims))
            .beside("ms for an empty process and a SQLite commit", least / 1e3),
    ])
}

/// How long processes of a program take, from start to exit.
pub(super) fn spawn_times(
    program: &Path,
    folder: &Path,
    time: Duration,
    args: impl Fn(u32) -> Vec<String>,
) -> Result<Times, Error> {
    let mut number = 0;
    repeat(time, || {
        number += 1;
        let status = Process::new(program)
            .args(args(number))
            .current_dir(folder)
            .env("ALTHING_HOME", folder.join(".althing"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(failed)?;
        if status.success() { Ok(()) } else { Err(failed(status)) }
    })
}
