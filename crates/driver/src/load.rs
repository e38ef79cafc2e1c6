//! From a file to a verified program.
//!
//! Front ends recurse over syntax trees whose height they bound; they run on a thread with a stack
//! that fits the bound.

use crate::languages;
use crate::options::LoadOptions;
use ergodic_diag::{Diagnostic, Severity, Sources, Span, read_source};
use ergodic_ir::Program;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Stack of the threads on which front ends and executors run.
pub const STACK_BYTES: usize = 1 << 30;

/// A model that is ready to run.
#[derive(Clone, Debug)]
pub struct Model {
    /// The path as given.
    pub name: String,
    /// Its text.
    pub sources: Sources,
    /// What it means.
    pub program: Arc<Program>,
    /// What the front end warned about.
    pub warnings: Vec<Diagnostic>,
    /// How it was read.
    pub options: LoadOptions,
}

impl Model {
    /// Whether it has properties that need all states at hand.
    pub fn has_liveness(&self) -> bool {
        let live = |p: &ergodic_ir::Property| p.kind == ergodic_ir::PropertyKind::Liveness;
        self.program.properties.iter().any(live)
    }

    /// A position as in `peterson.m:12:3`.
    pub fn place(&self, span: Span) -> String {
        let (line, column) = self.sources.line_col(span);
        format!("{}:{line}:{column}", self.sources.name(span.source))
    }
}

/// Why a model cannot be run.
#[derive(Clone, Debug)]
pub struct BadModel {
    /// What its messages point into.
    pub sources: Sources,
    /// Errors, and warnings on the way.
    pub diagnostics: Vec<Diagnostic>,
}

impl From<Diagnostic> for BadModel {
    fn from(diagnostic: Diagnostic) -> BadModel {
        BadModel { sources: Sources::new(), diagnostics: vec![diagnostic] }
    }
}

/// Reads, translates and verifies a model.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Model, BadModel> {
    let text = read_source(path)?;
    load_text(&path.display().to_string(), text, options)
}

/// Translates and verifies a model whose text is at hand; the name decides the language.
pub fn load_text(name: &str, text: String, options: &LoadOptions) -> Result<Model, BadModel> {
    let Some(language) = languages::of(name) else {
        return Err(unknown_language(name).into());
    };
    let mut sources = Sources::new();
    let source = sources.add(name, text);
    let (program, diagnostics) =
        on_large_stack(|| language.compile(source, sources.text(source), &options.front()));
    let mut diagnostics = diagnostics.into_vec();
    let Some(program) = program else {
        return Err(BadModel { sources, diagnostics });
    };
    if let Err(broken) = on_large_stack(|| ergodic_ir::verify::verify(&program)) {
        for rule in broken {
            diagnostics.push(
                Diagnostic::error(format!(
                    "internal error: the translated program is ill-formed: {rule}"
                ))
                .help("this is a mistake of Ergodic, not of the model: please report it"),
            );
        }
        return Err(BadModel { sources, diagnostics });
    }
    diagnostics.retain(|d| d.severity != Severity::Error);
    let program = Arc::new(program);
    let (name, options) = (name.to_string(), options.clone());
    Ok(Model { name, sources, program, warnings: diagnostics, options })
}

/// Runs `work` on a thread of its own with a large stack; with a smaller one where the system refuses
/// that (a limit on address space), and at last on this thread.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    // A thread that does not start must not take the work with it.
    let work = Mutex::new(Some(work));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).take();
    let run = || take().map(|work| work());
    let result = std::thread::scope(|scope| {
        let started =
            [STACK_BYTES, STACK_BYTES / 4, STACK_BYTES / 16].into_iter().find_map(|bytes| {
                std::thread::Builder::new().stack_size(bytes).spawn_scoped(scope, run).ok()
            });
        match started.map(|thread| thread.join()) {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => run(),
        }
    });
    result.expect("the work is taken once, by the thread that started or by this one")
}

fn unknown_language(name: &str) -> Diagnostic {
    let known: Vec<String> = languages::ALL
        .iter()
        .map(|l| {
            format!(
                "{} ({})",
                l.name(),
                l.endings().iter().map(|e| format!(".{e}")).collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    Diagnostic::error(format!("cannot tell the language of `{name}` from its name"))
        .help(format!("the ending decides; known are {}", known.join(", ")))
}
