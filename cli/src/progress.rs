//! Progress bars: of work on parameters, and of anything that is counted.

use std::sync::{Mutex, PoisonError};

use forebay::srs::{Phase, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// One bar on standard error that follows an operation through its phases. Nothing is drawn where standard error
/// is no terminal.
pub struct Bar {
    title: String,
    state: Mutex<Option<(Phase, ProgressBar)>>,
}

impl Bar {
    pub fn new(title: impl Into<String>) -> Bar {
        Bar { title: title.into(), state: Mutex::new(None) }
    }

    /// Shows how far the operation is.
    pub fn show(&self, progress: Progress) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = match state.take() {
            Some((phase, bar)) if phase == progress.phase => bar,
            old => {
                if let Some((_, bar)) = old {
                    bar.finish_and_clear();
                }
                self.bar(progress.phase)
            }
        };
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        *state = Some((progress.phase, bar));
    }

    fn bar(&self, phase: Phase) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
        let bytes = matches!(phase, Phase::Check | Phase::Import | Phase::Verify);
        let template = match bytes {
            true => "{msg:32} {bar:32} {bytes}/{total_bytes} {elapsed}",
            false => "{msg:32} {bar:32} {human_pos}/{human_len} {elapsed}",
        };
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.set_message(format!("{} {}", self.title, phase.name()));
        bar
    }
}

/// A hidden bar of something counted.
pub fn counting(title: &str, total: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{msg:32} {bar:32} {human_pos}/{human_len} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.with_message(title.to_owned())
}

impl Drop for Bar {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bar)) = state.take() {
            bar.finish_and_clear();
        }
    }
}
