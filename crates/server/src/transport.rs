//! The stream to one host, as the protocol library takes it.
//!
//! One request is at work at a time, and the next is read after its answer was written: a host
//! that sends several at once gets them done in that order. At the end of the stream everything
//! asked before is answered first.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc};

use crate::frame::{Frame, Frames, Framing};
use crate::message::{Read, read};

/// How many messages are read ahead.
const AHEAD: usize = 16;

/// How answers are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replies {
    /// As the request was.
    #[default]
    InKind,
    /// Always one line each.
    Lines,
}

/// The writing end.
struct Output {
    stream: Box<dyn Write + Send>,
    replies: Replies,
    /// How the request came that is at work, if one is.
    at_work: Option<Framing>,
    /// The error that ended writing, if one did.
    gone: Option<io::Error>,
}

impl Output {
    fn write(&mut self, framing: Framing, message: &impl serde::Serialize) -> io::Result<()> {
        let framing = if self.replies == Replies::Lines { Framing::Line } else { framing };
        let written = serde_json::to_vec(message)
            .map_err(io::Error::from)
            .and_then(|bytes| framing.write(&mut *self.stream, &bytes));
        written.map_err(|error| {
            let copy = io::Error::new(error.kind(), error.to_string());
            self.gone.get_or_insert(error);
            copy
        })
    }
}

/// A handle to ask, after the connection ended, whether writing failed.
pub(crate) struct Delivery(Arc<Mutex<Output>>);

impl Delivery {
    /// Refuses if answers could not be written. A host that went away wants none.
    pub(crate) fn check(&self) -> io::Result<()> {
        let gone = self.0.lock().unwrap_or_else(PoisonError::into_inner).gone.take();
        match gone {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }
}

/// The stream to one host.
pub(crate) struct Stream {
    frames: mpsc::Receiver<Frame>,
    output: Arc<Mutex<Output>>,
    idle: Arc<Notify>,
}

impl Stream {
    /// Begins to read in a thread of its own, which ends with the stream or the process.
    pub(crate) fn new(
        input: impl BufRead + Send + 'static,
        output: Box<dyn Write + Send>,
        replies: Replies,
    ) -> io::Result<Self> {
        let (send, frames) = mpsc::channel(AHEAD);
        std::thread::Builder::new().name("mcp-input".to_owned()).spawn(move || {
            let mut input = Frames::new(input);
            while let Ok(Some(frame)) = input.next() {
                if send.blocking_send(frame).is_err() {
                    return;
                }
            }
        })?;
        let output = Output { stream: output, replies, at_work: None, gone: None };
        Ok(Stream { frames, output: Arc::new(Mutex::new(output)), idle: Arc::default() })
    }

    /// A handle to ask later whether all answers were written.
    pub(crate) fn delivery(&self) -> Delivery {
        Delivery(self.output.clone())
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no request is at work.
    async fn settled(&self) {
        while self.output().at_work.is_some() {
            self.idle.notified().await;
        }
    }
}

impl Transport<RoleServer> for Stream {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (output, idle) = (self.output.clone(), self.idle.clone());
        async move {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            // Nothing is sent here but answers.
            let framing = output.at_work.take().unwrap_or(Framing::Line);
            let written = output.write(framing, &item);
            drop(output);
            idle.notify_one();
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.settled().await;
            if self.output().gone.is_some() {
                return None;
            }
            // From here to the return nothing waits, so no frame is lost if this is dropped.
            let frame = self.frames.recv().await?;
            match read(&frame.found) {
                Read::Deliver(message) => {
                    self.output().at_work = Some(frame.framing);
                    return Some(*message);
                }
                Read::Answer(answer) => {
                    // Whether anybody reads it is asked above.
                    if let Err(error) = self.output().write(frame.framing, &answer) {
                        tracing::debug!(%error, "nobody reads the answer");
                    }
                }
                Read::Ignore => {}
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.output().stream.flush()
    }
}
