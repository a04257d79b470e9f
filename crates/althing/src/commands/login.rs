//! `althing login`

use althing_engine::{Credential, Engine, EngineError, Keyring, Signing};
use althing_kernel::{Command, Principal, UserId, user};
use serde_json::json;

use crate::app::{App, Project};
use crate::cli::Login;
use crate::cli::bare;
use crate::error::Error;

pub(crate) fn run(app: &App, args: &Login) -> Result<(), Error> {
    let id =
        UserId::new(bare(&args.name, "user:")).map_err(|error| Error::usage(error.to_string()))?;
    let project = app.project()?;
    let engine = project.engine()?;
    let keys = Keyring::of(&project.home);
    let credential = if keys.has_user(&id) {
        let opened = keys.user(&id, &app.passphrase(&format!("Passphrase of {id}: "))?);
        opened.map_err(|error| project.not_who_they_said(&engine, &id, error))?
    } else if engine.world()?.state.user(&id).is_some() {
        let message = format!("user {id} is known, but the key is not on this machine");
        let error = EngineError::Credential(message);
        return Err(project
            .not_who_they_said(&engine, &id, error)
            .hint("Bring keys/user-….key from where you signed up, or choose another id."));
    } else {
        engine.check_new_name(&Principal::User(id.clone()))?;
        let made = keys.new_user(&id, &new_passphrase(app, &id)?);
        made.map_err(|error| match Error::from(error) {
            failure if failure.message().starts_with("a passphrase has") => {
                failure.hint("Choose a longer passphrase.")
            }
            failure => failure,
        })?
    };
    let state = admit(&project, &engine, &id, &credential)?;
    if state == "in" {
        engine.note_authentic(&credential)?;
    }
    let key = credential.key().public();
    if app.out.json {
        return app.out.value(&json!({ "user": id, "key": key, "state": state }));
    }
    match state {
        "in" => {
            let world = engine.world()?;
            let status = world.state.user(&id).map(|known| known.status);
            if let Some(status) = status.filter(|status| *status != user::Status::Active) {
                app.out.note(format!("{id} is {status}: nothing is done in that name until then"));
            }
            app.out.line(format!("{id}: key and passphrase work; use --user {id}"))
        }
        "signed_up" => {
            app.out.line(format!("{id} signed up as the first user; use --user {id}"))?;
            if engine.world()?.state.root().is_some() {
                app.out.note(
                    "the plans of the run that is going on wait for you from now on: `althing gate list`",
                );
            }
            Ok(())
        }
        _ => {
            app.out
                .line(format!("{id} has a key now, but is not a user yet. Ask a user to run:"))?;
            app.out.line(format!("  althing users add {id} {key} --user THEIR_NAME"))
        }
    }
}

fn new_passphrase(app: &App, id: &UserId) -> Result<String, Error> {
    let first = app.passphrase(&format!("New passphrase for {id}: "))?;
    // A piped passphrase was not typed blind, so it is not asked for twice.
    if !app.globals.passphrase_stdin && app.passphrase("Once more: ")? != first {
        return Err(Error::usage("the two passphrases differ").hint("Try again."));
    }
    Ok(first)
}

/// Signs the first user up; tells what the state of any other is.
fn admit(
    project: &Project,
    engine: &Engine,
    id: &UserId,
    credential: &Credential,
) -> Result<&'static str, Error> {
    let world = engine.world()?;
    let key = credential.key().public();
    match world.state.user(id) {
        Some(known) if known.key == key => return Ok("in"),
        Some(_) => {
            let message =
                format!("user {id} is known with another key than the one on this machine");
            let error = EngineError::Credential(message);
            return Err(project.not_who_they_said(engine, id, error).without_hint());
        }
        None if world.state.user_count() > 0 => return Ok("waiting"),
        None => {}
    }
    let client = engine.client(credential.clone(), Signing::Each);
    client.execute(Command::UserCreate(user::Create {
        capabilities: None,
        key,
        user: id.clone(),
    }))?;
    Ok("signed_up")
}
