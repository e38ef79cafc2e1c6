//! `cargo xtask papers`: builds the program and the crate `papers`, and runs the one on the other.
//!
//! Options are those of `papers` (`--models`, `--out`, `--only`, `--skip`, `--quick`, `--cache`, `--workers`, `--rounds`); without
//! `--ergodic BIN` the program is built for release first.

use crate::peers::build_ergodic;
use std::path::Path;
use std::process::Command;

/// Builds and runs it; the report says the rest.
pub fn run(root: &Path, mut args: Vec<String>) -> Result<String, Vec<String>> {
    let fail = |text: String| vec![text];
    if !args.iter().any(|arg| arg == "--ergodic") {
        let program = build_ergodic(root).map_err(fail)?;
        args.extend(["--ergodic".to_string(), program.display().to_string()]);
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_string());
    let status = Command::new(cargo)
        .args(["run", "--release", "--quiet", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .args(["-p", "ergodic-papers", "--"])
        .args(&args)
        .status()
        .map_err(|error| fail(error.to_string()))?;
    if status.success() {
        Ok("papers: done".to_string())
    } else {
        Err(fail(format!("it failed ({status})")))
    }
}
