//! Althing over the Model Context Protocol.
//!
//! A host (an editor, a coding agent) starts this as a process and talks to it over standard input
//! and output. [`frame`] cuts the stream into messages, [`message`] answers what is none,
//! [`transport`] hands the rest to the protocol library one by one, [`service`] answers with the
//! tools of a [`Dialect`]. What a tool changes goes through the engine like anything else; this
//! crate decides nothing and keeps nothing.

pub mod dialect;
mod frame;
pub mod frugal;
mod mail_notice;
pub mod memory;
mod message;
pub mod native;
mod pulse;
mod service;
mod tally;
mod transport;
pub mod wacp;

pub use dialect::{Dialect, Tool};
pub use tally::Unlogged;
pub use transport::Replies;

use althing_services::Project;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use mail_notice::Notices;
use pulse::Pulse;
use service::Service;
use tally::Tally;
use transport::Stream;

/// Serves one host until it closes the stream. Everything it asked for before is answered. Returns
/// what it was handed that is not in the token ledger. Answers that cannot be written are an error.
pub fn serve(
    dialect: Dialect,
    project: Project,
    input: impl BufRead + Send + 'static,
    output: Box<dyn Write + Send>,
    replies: Replies,
) -> io::Result<Unlogged> {
    let project = Arc::new(project);
    let pulse = Pulse::begin(project.clone())?;
    let tally = Arc::new(Tally::begin(project.clone())?);
    let notices = Notices::default();
    let service = Service { dialect, project, tally: tally.clone(), notices };
    let stream = Stream::new(input, output, replies)?;
    let delivery = stream.delivery();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    runtime.block_on(async move {
        // Tools may be used without `initialize`, so nothing waits for it.
        let running =
            rmcp::service::serve_directly::<rmcp::RoleServer, _, _, _, _>(service, stream, None);
        running.waiting().await.map_err(io::Error::other)
    })?;
    let unlogged = tally.end();
    drop(pulse);
    delivery.check()?;
    Ok(unlogged)
}
