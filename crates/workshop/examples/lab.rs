//! Scratch.
use althing_workshop::agents::*;
use althing_workshop::process;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let var = |n: &str| std::env::var(n).ok();
    let name = &args[1];
    let folder = PathBuf::from(&args[2]).canonicalize().unwrap();
    let state = PathBuf::from(&args[3]);
    std::fs::create_dir_all(&state).unwrap();
    let state = state.canonicalize().unwrap();
    if std::env::var("STOPONLY").is_ok() {
        println!("{:?}", process::status(&state));
        println!("{:?}", process::stop(&state, std::time::Duration::from_secs(5)));
        return;
    }
    let brief = state.join("brief.md");
    std::fs::write(&brief, &args[4]).unwrap();
    let adapter = find(name).unwrap();
    let found = detect(adapter, &std::env::var_os("PATH").unwrap());
    println!("FOUND {:?}", found.as_ref().map(|f| (&f.program, &f.version)));
    let found = found.unwrap();
    let turn = process::status(&state).unwrap().turn() + 1;
    let ws = format!("ws-lab-{}", state.file_name().unwrap().to_str().unwrap());
    let id = session_id(&ws, turn);
    let resume = var("RESUME");
    let session = match &resume {
        Some(r) => Session::Resume(r),
        None => Session::New(Some(&id)),
    };
    let mut env = BTreeMap::new();
    env.insert("ALTHING_AGENT".into(), "alice".into());
    env.insert("ALTHING_TASK".into(), "lab".into());
    env.insert("ALTHING_WORKSPACE".into(), ws.clone());
    let fake = PathBuf::from(var("FAKE").unwrap_or("/work/lab/fake-althing".into()));
    let wiring = var("WIRE").map(|_| Wiring {
        althing: &fake,
        hooks: &[Moment::Edit, Moment::Session],
        mcp: true,
    });
    let extra: Vec<String> =
        var("EXTRA").map(|e| e.split_whitespace().map(str::to_owned).collect()).unwrap_or_default();
    let model = var("MODEL");
    let request = Request {
        task: "lab",
        workspace: &ws,
        folder: &folder,
        brief: &brief,
        files: &state.join("agent"),
        program: Some(&found.program),
        model: model.as_deref(),
        session,
        wiring,
        extra: &extra,
        env: &env,
        inherited: |n| std::env::var(n).ok(),
        is_offline: var("OFFLINE").is_some(),
    };
    let agent = Agent::Known(adapter);
    let launch = agent.launch(&request).unwrap();
    println!("ARGS {:?}\nENV {:?}", launch.args, launch.env);
    let mut spec = launch.spec(&ws, turn, &folder);
    spec.grace_ms = var("GRACE").map_or(5000, |g| g.parse().unwrap());
    spec.timeout_ms = var("TIMEOUT").map(|t| t.parse().unwrap());
    let shim = Path::new("/work/target-p/debug/althing");
    println!("{:?}", process::start(shim, &state, &spec).unwrap());
    if let Some(after) = var("STOP") {
        std::thread::sleep(std::time::Duration::from_millis(after.parse().unwrap()));
        let t = std::time::Instant::now();
        println!(
            "STOP {:?} in {:?}",
            process::stop(&state, std::time::Duration::from_millis(spec.grace_ms)).unwrap(),
            t.elapsed()
        );
    }
    let status = process::wait(&state).unwrap();
    let process::Status::Ended(ended) = status else { panic!("{status:?}") };
    let before = Usage {
        input: var("BIN").map_or(0, |v| v.parse().unwrap()),
        output: var("BOUT").map_or(0, |v| v.parse().unwrap()),
        cached: 0,
        cost_microdollars: var("BCOST").map(|v| v.parse().unwrap()),
    };
    let mut follower = Follower::new(&state, ended.log_start, agent.format(), before);
    let events = follower.finish().unwrap();
    if var("EVENTS").is_some() {
        for e in &events {
            println!("  {}", readable(&format!("{e:?}"), 180));
        }
    }
    println!("ENDED {ended:?}");
    println!("PROGRESS {:#?}", follower.progress());
    println!("VERDICT {:?}", verdict(agent.format(), follower.progress(), &ended));
    let home = PathBuf::from(var("HOME").unwrap());
    let place = Place {
        home: &home,
        variable: |n| std::env::var(n).ok(),
        folder: &folder,
        session: follower.progress().session.as_deref(),
        since_ms: ended.since_ms,
    };
    println!("RECORDED {:?}", recorded_usage(adapter, &place));
}
