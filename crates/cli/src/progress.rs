//! The progress line of long runs, and stopping on Ctrl-C.
//!
//! The line goes to standard error and only to a terminal. It shows states, rate, level, frontier
//! and memory. An estimate of what is left is shown only while it can be made honestly: towards
//! `--max-states`, or when the frontier has been shrinking for several levels, and then as a guess.

use crate::text::{bytes, thousands};
use ergodic_driver::{Control, Observer, Progress, Reason};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Set by the signal handler.
pub type Interrupt = Arc<AtomicBool>;

/// Makes Ctrl-C and termination requests set a flag instead of ending the process. A second one
/// ends it.
pub fn interrupt() -> Interrupt {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    // Without a handler Ctrl-C ends the process as ever: nothing to report.
    let _ = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    });
    flag
}

/// Something on standard error that is drawn again and again. The template is a constant of ours.
pub fn bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// How often the line is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(200);

/// Levels that must shrink in a row before an estimate is ventured.
const SHRINKING: usize = 4;

/// Draws the line and listens for Ctrl-C.
pub struct Line {
    bar: Option<ProgressBar>,
    began: Instant,
    drawn: Instant,
    drawn_states: u64,
    rate: f64,
    interrupt: Interrupt,
    max_states: Option<u64>,
    level: u64,
    level_first: u64,
    levels: Vec<u64>,
}

impl Line {
    /// A line, visible or not.
    pub fn new(visible: bool, interrupt: Interrupt, max_states: Option<u64>) -> Line {
        let bar = visible.then(|| bar("{spinner} {msg}"));
        let now = Instant::now();
        Line {
            bar,
            began: now,
            drawn: now,
            drawn_states: 0,
            rate: 0.0,
            interrupt,
            max_states,
            level: 0,
            level_first: 0,
            levels: Vec::new(),
        }
    }

    /// Removes the line.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn draw(&mut self, progress: &Progress) {
        let now = Instant::now();
        let passed = now - self.drawn;
        if passed < DRAW_EVERY {
            return;
        }
        let Some(bar) = &self.bar else { return };
        self.rate =
            (progress.states.saturating_sub(self.drawn_states)) as f64 / passed.as_secs_f64();
        (self.drawn, self.drawn_states) = (now, progress.states);
        let estimate = self.estimate(progress).map(|e| format!(" · {e}")).unwrap_or_default();
        bar.set_message(format!(
            "{:.0} s · {} states · {}/s · level {} · frontier {} · {}{estimate}",
            self.began.elapsed().as_secs_f64(),
            thousands(progress.states),
            thousands(self.rate as u64),
            progress.depth,
            thousands(progress.waiting),
            bytes(progress.bytes),
        ));
        bar.tick();
    }

    fn note_level(&mut self, progress: &Progress) {
        if progress.depth != self.level {
            self.levels.push(progress.states.saturating_sub(self.level_first));
            (self.level, self.level_first) = (progress.depth, progress.states);
        }
    }

    fn estimate(&self, progress: &Progress) -> Option<String> {
        if let Some(most) = self.max_states {
            let left = most.saturating_sub(progress.states) as f64 / self.rate.max(1.0);
            return Some(format!("at most {left:.0} s to the state limit"));
        }
        let recent = self.levels.get(self.levels.len().checked_sub(SHRINKING + 1)?..)?;
        if !recent.windows(2).all(|pair| pair[1] < pair[0]) || *recent.first()? < 1000 {
            return None;
        }
        let shrink = (*recent.last()? as f64 / recent[0] as f64).powf(1.0 / SHRINKING as f64);
        let left = progress.waiting as f64 / (1.0 - shrink);
        Some(format!(
            "shrinking, perhaps {} states and {:.0} s left",
            thousands(left as u64),
            left / self.rate.max(1.0)
        ))
    }
}

impl Observer for Line {
    fn warn(&mut self, text: &str) {
        let text = format!("warning: {text}");
        match &self.bar {
            Some(bar) => bar.suspend(|| crate::complain(&text)),
            None => crate::complain(&text),
        }
    }

    fn progress(&mut self, progress: &Progress) -> Control {
        if self.interrupt.load(Ordering::Relaxed) {
            return Control::Stop(Reason::Interrupted);
        }
        if self.bar.is_some() {
            self.note_level(progress);
            self.draw(progress);
        }
        Control::Continue
    }
}
