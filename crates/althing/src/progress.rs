//! Progress on anything that may take longer than a second, for people who watch.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::Out;

/// A bar that shows itself only on a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Begins to show how many of something are done.
    pub(crate) fn new(out: Out, doing: &'static str) -> Self {
        let bar = ProgressBar::no_length().with_message(doing);
        if !out.is_watched() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let form = "{msg} {human_pos} of {human_len} [{bar:30}] {elapsed}";
        bar.set_style(
            ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Progress(bar)
    }

    /// Goes on telling the time while nothing else happens.
    pub(crate) fn keep_moving(&self) {
        self.0.enable_steady_tick(std::time::Duration::from_millis(200));
    }

    /// Tells how far it is.
    pub(crate) fn at(&self, done: u64, total: u64) {
        if total > 0 {
            self.0.set_length(total);
        }
        self.0.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
