//! The pulse: this process keeps showing that it is there, notices connections of others that have
//! ended, and says so when its own ends.

use althing_engine::BEAT;
use althing_services::Project;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// The pulse and its thread. Dropping it ends the connection.
pub(crate) struct Pulse {
    project: Arc<Project>,
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Pulse {
    pub(crate) fn begin(project: Arc<Project>) -> std::io::Result<Self> {
        let (sender, ended) = channel::<()>();
        let own = project.clone();
        let beat = move || {
            while ended.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                // A project that nobody asked about has no connection.
                let Some(engine) = own.if_opened() else { continue };
                if let Err(error) = engine.beat() {
                    tracing::debug!(%error, "ended connections are recorded later");
                }
            }
        };
        let thread = std::thread::Builder::new().name("mcp-pulse".to_owned()).spawn(beat)?;
        Ok(Pulse { project, running: Some((sender, thread)) })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.running.take() {
            drop(sender);
            if thread.join().is_err() {
                tracing::error!("the pulse panicked");
            }
        }
        // If it cannot be recorded now, the next process finds that this one is no longer there.
        if let Some(Err(error)) = self.project.if_opened().map(|engine| engine.disconnect()) {
            tracing::warn!(%error, "the end of this connection is recorded later");
        }
    }
}
