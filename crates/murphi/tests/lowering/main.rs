//! Semantic analysis and translation: messages, properties of programs, and robustness.

mod errors;
mod programs;
mod robust;
mod warnings;

use ergodic_diag::{Diagnostics, SourceId, Sources};
use ergodic_ir::Program;
use ergodic_murphi::{Options, compile};

/// Translates on a stack as large as the driver's.
fn translate(text: &str, options: &Options) -> (Option<Program>, Diagnostics) {
    let (text, options) = (text.to_owned(), options.clone());
    let run = move || compile(SourceId(0), &text, &options);
    std::thread::Builder::new().stack_size(256 << 20).spawn(run).unwrap().join().unwrap()
}

/// The program of a model that must be right.
fn program(text: &str) -> Program {
    program_with(text, &Options::default())
}

fn program_with(text: &str, options: &Options) -> Program {
    let (program, diagnostics) = translate(text, options);
    program.unwrap_or_else(|| panic!("{}", show(text, &diagnostics)))
}

/// Diagnostics, one line for each part.
fn show(text: &str, diagnostics: &Diagnostics) -> String {
    let mut sources = Sources::new();
    sources.add("m", text.to_owned());
    let mut out = String::new();
    for d in diagnostics {
        let level = if d.is_error() { "error" } else { "warning" };
        out.push_str(&format!("{level}: {}\n", d.message));
        for (span, label) in d.primary.iter().chain(&d.secondary) {
            out.push_str(&format!("    `{}`: {label}\n", sources.slice(*span)));
        }
        for note in &d.notes {
            out.push_str(&format!("    note: {note}\n"));
        }
        for help in &d.help {
            out.push_str(&format!("    help: {help}\n"));
        }
    }
    out
}

/// A model around some text: the parts that every model needs.
fn complete(text: &str) -> String {
    format!("{text}\nrule true ==> begin end;\nstartstate begin end;\n")
}
