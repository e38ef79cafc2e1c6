//! Chores of the repository that are not part of the program.
//!
//! * `cargo xtask tidy` compares the tree with the rules of `ARCHITECTURE.md`.
//! * `cargo run -p xtask --features docs -- docs` builds the manual into `docs/book`.

mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let result = match command.as_str() {
        "tidy" => tidy::run(&root()),
        "docs" => docs(&root()),
        other => Err(vec![format!("unknown chore `{other}`; known are tidy and docs")]),
    };
    match result {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(problems) => {
            for problem in &problems {
                eprintln!("{command}: {problem}");
            }
            eprintln!("{command}: {} problem(s)", problems.len());
            ExitCode::FAILURE
        }
    }
}

/// The workspace, wherever the command is run from.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

#[cfg(feature = "docs")]
fn docs(root: &Path) -> Result<String, Vec<String>> {
    let fail = |error: &dyn std::fmt::Display| vec![error.to_string()];
    let book = mdbook_driver::MDBook::load(root.join("docs")).map_err(|e| fail(&e))?;
    book.build().map_err(|e| fail(&e))?;
    Ok("docs: the manual is in docs/book".to_string())
}

#[cfg(not(feature = "docs"))]
fn docs(_root: &Path) -> Result<String, Vec<String>> {
    Err(vec!["run it as: cargo run -p xtask --features docs -- docs".to_string()])
}
