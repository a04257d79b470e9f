//! Background work of an open project, such as automatic compaction.

use std::sync::Mutex;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::commit::shared::lock;

/// At most one background thread at a time. Dropping this waits for it to end, so the work must
/// be short.
#[derive(Default)]
pub(crate) struct Background(Mutex<Latest>);

#[derive(Default)]
struct Latest {
    thread: Option<JoinHandle<()>>,
    begun: Option<Instant>,
}

impl Background {
    /// Starts a thread with this name, unless one began less than `pause` ago.
    pub(crate) fn begin(&self, name: &str, pause: Duration, work: impl FnOnce() + Send + 'static) {
        let mut latest = lock(&self.0);
        if latest.begun.is_some_and(|begun| begun.elapsed() < pause) {
            return;
        }
        latest.begun = Some(Instant::now());
        let thread = std::thread::Builder::new().name(name.to_owned());
        latest.thread = match thread.spawn(work) {
            Ok(thread) => Some(thread),
            Err(error) => {
                tracing::warn!(%error, name, "no thread for background work");
                None
            }
        };
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let thread = lock(&self.0).thread.take();
        if let Some(thread) = thread {
            // A thread that panicked has left everything as a killed process would.
            let _ = thread.join();
        }
    }
}
