//! From a program to a system that can be searched: the executor, and its reduction by symmetry.

use crate::load::{Model, on_large_stack};
use crate::options::{CheckOptions, Engine, Symmetry};
use ergodic_diag::Diagnostic;
use ergodic_interp::Interpreter;
use ergodic_ir::{Layout, Type};
use ergodic_jit::{Jit, JitError};
use ergodic_symmetry::{Part, Reduced, Symmetries, SymmetryBreak, check_program};
use ergodic_system::{Erased, Live};

/// A system, and what was found out while it was made.
pub(crate) struct Built<'a> {
    pub system: Erased<'a>,
    /// What its states are reduced by.
    pub symmetries: Option<Symmetries>,
    /// The executor.
    pub engine: &'static str,
    pub notes: Vec<String>,
    pub warnings: Vec<Diagnostic>,
}

/// Makes the system that options ask for and hands it on, on a thread with a large stack.
pub(crate) fn with_system<T: Send>(
    model: &Model,
    options: &CheckOptions,
    then: impl FnOnce(Built<'_>) -> T + Send,
) -> T {
    on_large_stack(|| {
        let interpreter = || Interpreter::new(model.program.clone(), options.deadlock);
        let mut notes = Vec::new();
        match options.engine {
            Engine::Interp => reduced(model, options, interpreter(), "interp", notes, then),
            Engine::Jit => match jit(model, options) {
                Ok(jit) => reduced(model, options, jit, "jit", notes, then),
                Err(error) => {
                    let note =
                        format!("the compiler refused the model ({error}); interpreted instead");
                    notes.push(note);
                    reduced(model, options, interpreter(), "interp", notes, then)
                }
            },
        }
    })
}

fn jit(model: &Model, options: &CheckOptions) -> Result<Jit, JitError> {
    Jit::with_threads(model.program.clone(), options.deadlock, options.threads)
}

/// Hands on a system as it is, or reduced by its symmetries.
fn reduced<S: Live + 'static, T>(
    model: &Model,
    options: &CheckOptions,
    system: S,
    engine: &'static str,
    notes: Vec<String>,
    then: impl FnOnce(Built<'_>) -> T,
) -> T
where
    S::Scratch: 'static,
{
    let mut warnings = Vec::new();
    let symmetries = symmetries(model, options.symmetry, &mut warnings);
    match symmetries {
        Some(symmetries) => {
            let reduced = Reduced::new(system, symmetries);
            let symmetries = Some(reduced.symmetries().clone());
            let system = Erased::new(&reduced);
            then(Built { system, symmetries, engine, notes, warnings })
        }
        None => {
            let system = Erased::new(&system);
            then(Built { system, symmetries: None, engine, notes, warnings })
        }
    }
}

/// The symmetries of a model, if they are to be reduced, without the scalarsets that it tells apart; those
/// are warned about.
pub(crate) fn symmetries(
    model: &Model,
    how: Symmetry,
    warnings: &mut Vec<Diagnostic>,
) -> Option<Symmetries> {
    let make = match how {
        Symmetry::Off => return None,
        Symmetry::Exact => Symmetries::new,
        Symmetry::Cmurphi => Symmetries::with_normal_form,
    };
    let program = &model.program;
    let breaks = check_program(program);
    for broken in &breaks {
        warnings.push(broken_symmetry(model, broken));
    }
    let leave_out: Vec<_> = breaks.iter().map(|broken| broken.ty).collect();
    let symmetries = make(program, &Layout::new(program), &leave_out);
    (!symmetries.is_trivial()).then_some(symmetries)
}

fn broken_symmetry(model: &Model, broken: &SymmetryBreak) -> Diagnostic {
    let program = &model.program;
    let name = match &program.types[broken.ty.0 as usize] {
        Type::Scalar(scalar) => {
            scalar.name.clone().unwrap_or_else(|| "an unnamed type".to_string())
        }
        _ => "a type".to_string(),
    };
    let span = match (broken.site, broken.part) {
        (Some(site), _) => program.sites[site.0 as usize].span,
        (None, Part::Start(i)) => program.starts[i].span,
        (None, Part::Action(i)) => program.actions[i].span,
        (None, Part::Proc(i)) => program.procs[i].span,
        (None, Part::Property(i)) => program.properties[i].span,
    };
    Diagnostic::warning(format!(
        "the values of scalarset {name} are not interchangeable: {}",
        broken.reason
    ))
    .at(span, "here")
    .note("the scalarset is not reduced; the verdict is right all the same")
    .help("if the values are meant to differ, make it a subrange")
}
