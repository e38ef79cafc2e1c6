//! Chores of the repository that are not part of the program.
//!
//! * `cargo xtask tidy` compares the tree with the rules of `ARCHITECTURE.md`.
//! * `cargo xtask peers` compares the speed with that of peers found on the machine.
//! * `cargo xtask papers` reproduces the tables of the papers (the crate `papers` does the work).
//! * `cargo run -p xtask --features docs -- docs` builds the manual into `docs/book`.

mod papers;
mod peers;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let result = match command.as_str() {
        "tidy" => tidy::run(&root()),
        "docs" => docs(&root()),
        "peers" => peer_options().and_then(|options| peers::run(&root(), &options)),
        "papers" => papers::run(&root(), std::env::args().skip(2).collect()),
        other => {
            Err(vec![format!("unknown chore `{other}`; known are tidy, docs, peers and papers")])
        }
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

const PEERS: &str = "peers [--models DIR] [--rounds N] [--only TEXT] [--out FILE] [--alone]";

/// The options of [`PEERS`].
fn peer_options() -> Result<peers::Options, Vec<String>> {
    let mut options = peers::Options {
        models: root().join("../shared/models/murphi"),
        rounds: 3,
        only: None,
        out: None,
        alone: false,
    };
    let mut args = std::env::args().skip(2);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| vec![format!("{arg} needs a value")]);
        match arg.as_str() {
            "--models" => options.models = value()?.into(),
            "--rounds" => {
                let text = value()?;
                options.rounds = text
                    .parse()
                    .map_err(|_| vec![format!("`{text}` is not a number of rounds")])?;
            }
            "--only" => options.only = Some(value()?),
            "--out" => options.out = Some(value()?.into()),
            "--alone" => options.alone = true,
            _ => return Err(vec![format!("unknown option {arg}; usage: cargo xtask {PEERS}")]),
        }
    }
    Ok(options)
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
