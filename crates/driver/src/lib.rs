//! From a file to an answer: the one place that knows all parts.
//!
//! A file goes through its front end ([`languages`]) to a verified program, the program through an
//! executor to a system, and the system through a row of the table of combinations to an outcome.
//! Counterexamples are executed again by the interpreter before they are reported.
//!
//! Nothing here prints or ends the process, and there is no state beside the arguments: two checks
//! can run side by side.

mod audit;
mod build;
mod check;
mod checkpoint;
mod combine;
mod concrete;
mod explain;
pub mod fleet;
mod graph;
pub mod independence;
pub mod languages;
mod load;
pub mod memory;
mod options;
mod place;
mod profile;
mod reduce;
mod report;
mod simulate;
mod variables;

pub use audit::{Audit, ReductionAudit, audit_reduction, audit_symmetry};
pub use check::{CheckError, check, resume};
pub use checkpoint::Saved;
pub use combine::{Counts, LEAST_MEMORY, ROWS, Row};
pub use ergodic_diag::{Diagnostic, Severity, Sources, Span, render};
pub use ergodic_ir::show::{Leaf, UNDEFINED};
pub use ergodic_search::{Control, Delta, LevelSteps, Locality, Observer, Progress, Unobserved};
pub use ergodic_system::{Assurance, DeadlockMode, Reason, Verdict};
pub use load::{BadModel, Model, load, load_text};
pub use options::{
    CacheLimit, CheckOptions, Engine, Forget, GraphFile, GraphFormat, LoadOptions, Reduction,
    Replace, SearchKind, ShortOptions, SimulateOptions, Sleep, SleepOptions, StoreKind, Strategy,
    Symmetry,
};
pub use profile::{Profile, ProfileOptions, Scope, profile};
pub use report::{CoverStats, Finding, FindingKind, Report, RuleStats, RunStats, TraceStep};
pub use simulate::{SimulationReport, WalkObserver, simulate};
pub use variables::VariableStats;

/// All that a packed state depends on: the program, and where its parts lie. What is stored or sent in
/// packed form is for those only who have the same.
pub(crate) fn identity_text(model: &Model) -> String {
    format!("{}{:?}", program_text(model), ergodic_ir::Layout::new(&model.program))
}

/// The text form of the program that a model is translated to.
pub fn program_text(model: &Model) -> String {
    ergodic_ir::text::print(&model.program)
}
