//! Colours, where they are wanted.

use crate::flags::ColorArg;
use std::io::IsTerminal;
use std::path::Path;

/// Whether and how to colour.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    /// Whether to colour at all.
    pub on: bool,
}

impl Paint {
    /// As asked for, for text that goes to standard output.
    pub fn for_stdout(arg: ColorArg) -> Paint {
        Paint { on: wanted(arg, std::io::stdout().is_terminal()) }
    }

    /// As asked for, for text that goes to standard error.
    pub fn for_stderr(arg: ColorArg) -> Paint {
        Paint { on: wanted(arg, std::io::stderr().is_terminal()) }
    }

    /// As asked for, for text that goes to a file, or to standard output if there is none. Files have no
    /// colours.
    pub fn for_file(file: Option<&Path>, arg: ColorArg) -> Paint {
        if file.is_some() { Paint { on: false } } else { Paint::for_stdout(arg) }
    }

    /// Good news.
    pub fn good(self, text: &str) -> String {
        self.style("1;32", text)
    }

    /// Bad news.
    pub fn bad(self, text: &str) -> String {
        self.style("1;31", text)
    }

    /// Doubtful news.
    pub fn warn(self, text: &str) -> String {
        self.style("1;33", text)
    }

    /// Important.
    pub fn strong(self, text: &str) -> String {
        self.style("1", text)
    }

    /// Unimportant.
    pub fn faint(self, text: &str) -> String {
        self.style("2", text)
    }

    fn style(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

fn wanted(arg: ColorArg, terminal: bool) -> bool {
    match arg {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
    }
}
