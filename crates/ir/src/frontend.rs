//! What a front end is.

use crate::Program;
use ergodic_diag::{Diagnostics, SourceId};

/// How a model is to be read.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontOptions {
    /// Constants to override: name and value, in the syntax of the language.
    pub constants: Vec<(String, String)>,
    /// Copying an undefined value is a fault.
    pub strict: bool,
    /// Accept what only old Murphi models need.
    pub compat_cmurphi: bool,
    /// Iterations one while loop may take.
    pub loop_limit: u64,
    /// Calls that may be nested.
    pub call_limit: u32,
}

impl Default for FrontOptions {
    fn default() -> FrontOptions {
        FrontOptions {
            constants: Vec::new(),
            strict: false,
            compat_cmurphi: false,
            loop_limit: 1000,
            call_limit: 1000,
        }
    }
}

/// A language that is translated to programs.
pub trait FrontEnd: Sync {
    /// The language's name.
    fn name(&self) -> &'static str;

    /// Endings of file names, in small letters, without the dot.
    fn endings(&self) -> &'static [&'static str];

    /// Translates a text. The program is missing if there are errors among the diagnostics.
    fn compile(
        &self,
        source: SourceId,
        text: &str,
        options: &FrontOptions,
    ) -> (Option<Program>, Diagnostics);
}
