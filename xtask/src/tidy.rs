//! The rules of `ARCHITECTURE.md` that a machine can check.
//!
//! * Crates use only what the table of crates allows them to; only `jit` uses Cranelift,
//!   only `fleet` NATS.
//! * Every dependency from outside has its reason in `ARCHITECTURE.md`.
//! * `unsafe` stands only in the crates that may use it.
//! * Only the command line prints and ends the process.
//! * Every source file opens with its purpose, and none is longer than 800 lines.
//! * No unfinished marks, no paths of one machine.

use cargo_metadata::{DependencyKind, MetadataCommand, Package};
use std::path::{Path, PathBuf};

/// Which crates of ours a crate may use. Crates for tests alone are not limited in dev-dependencies.
const MAY_USE: &[(&str, &[&str])] = &[
    ("system", &[]),
    ("diag", &[]),
    ("disk", &[]),
    ("ir", &["system", "diag"]),
    ("murphi", &["ir", "diag"]),
    ("interp", &["ir", "system"]),
    ("jit", &["ir", "system"]),
    ("store", &["system", "disk"]),
    ("queue", &["system", "disk"]),
    ("search", &["system", "disk"]),
    ("symmetry", &["ir", "system"]),
    ("independence", &["ir", "system", "interp"]),
    ("fleet", &["system", "disk", "store"]),
    (
        "driver",
        &[
            "system",
            "diag",
            "ir",
            "murphi",
            "interp",
            "jit",
            "store",
            "queue",
            "search",
            "symmetry",
            "disk",
            "independence",
            "fleet",
        ],
    ),
    ("testkit", &["driver"]),
    ("cli", &["driver", "diag", "testkit"]),
    ("papers", &["store", "driver"]),
];

/// Crates that may contain `unsafe`.
const UNSAFE_CRATES: &[&str] = &["jit", "store"];

/// Crates that may print and end the process.
const PRINTING_CRATES: &[&str] = &["cli", "papers"];

/// Longest source file, in lines.
const MAX_LINES: usize = 800;

/// Checks all rules.
pub fn run(root: &Path) -> Result<String, Vec<String>> {
    let mut problems = Vec::new();
    let crates = check_dependencies(root, &mut problems);
    let files = check_sources(root, &mut problems);
    if problems.is_empty() {
        Ok(format!("tidy: {crates} crates and {files} source files are in order"))
    } else {
        Err(problems)
    }
}

fn check_dependencies(root: &Path, problems: &mut Vec<String>) -> usize {
    let metadata = MetadataCommand::new().manifest_path(root.join("Cargo.toml")).no_deps().exec();
    let metadata = match metadata {
        Ok(metadata) => metadata,
        Err(error) => {
            problems.push(format!("cargo metadata: {error}"));
            return 0;
        }
    };
    let reasons = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    for package in &metadata.packages {
        check_package(package, &reasons, problems);
    }
    metadata.packages.len()
}

fn check_package(package: &Package, reasons: &str, problems: &mut Vec<String>) {
    let name = package.name.as_str();
    let own = name.strip_prefix("ergodic-");
    let allowed = own.and_then(|own| MAY_USE.iter().find(|(name, _)| *name == own));
    if own.is_some() && allowed.is_none() {
        problems.push(format!("crate {name} is not in the table of crates"));
    }
    for dependency in &package.dependencies {
        let used = dependency.name.as_str();
        let for_tests = dependency.kind == DependencyKind::Development;
        if let Some(used) = used.strip_prefix("ergodic-") {
            let fine = allowed.is_some_and(|(_, may)| may.contains(&used));
            if own.is_some() && !fine && !for_tests {
                problems.push(format!("crate {name} must not use ergodic-{used}"));
            }
        } else if !reasons.contains(&format!("| `{used}` |")) {
            problems.push(format!("ARCHITECTURE.md gives no reason for the dependency `{used}`"));
        }
        if used.starts_with("cranelift") && own != Some("jit") {
            problems.push(format!("crate {name} must not use {used}: only jit names Cranelift"));
        }
        if ["async-nats", "tokio"].contains(&used) && own != Some("fleet") {
            problems.push(format!("crate {name} must not use {used}: only fleet names NATS"));
        }
    }
}

fn check_sources(root: &Path, problems: &mut Vec<String>) -> usize {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    for file in &files {
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) => {
                problems.push(format!("{}: {error}", file.display()));
                continue;
            }
        };
        let shown = file.strip_prefix(root).unwrap_or(file);
        check_file(shown, &text, problems);
    }
    files.len()
}

fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                collect(&path, out);
            }
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            out.push(path);
        }
    }
}

fn check_file(path: &Path, text: &str, problems: &mut Vec<String>) {
    let mut problem = |line: usize, what: &str| {
        problems.push(format!("{}:{line}: {what}", path.display()));
    };
    if !text.trim_start().starts_with("//!") {
        problem(1, "a source file opens with its purpose (`//!`)");
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        problem(lines, &format!("longer than {MAX_LINES} lines: split it"));
    }
    let owner = path.iter().nth(1).and_then(|part| part.to_str()).unwrap_or_default();
    let is_crate = path.starts_with("crates");
    let is_test =
        path.iter().any(|part| part == "tests" || part == "benches" || part == "examples");
    let may_print = !is_crate || is_test || PRINTING_CRATES.contains(&owner);
    let unsafe_word = concat!("un", "safe ");
    let mut in_tests = is_test;
    for (i, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        in_tests |= code.contains("#[cfg(test)]");
        if is_crate && code.contains(unsafe_word) && !UNSAFE_CRATES.contains(&owner) {
            problem(i + 1, "this crate may not use unsafe code");
        }
        if !may_print && !in_tests {
            for call in ["println!(", "eprintln!(", "print!(", "process::exit"] {
                if code.contains(call) {
                    problem(i + 1, "only the command line prints and ends the process");
                    break;
                }
            }
        }
        for mark in [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")] {
            if line.contains(mark) {
                problem(i + 1, "an unfinished mark: finish it or write down what is missing");
            }
        }
    }
}
