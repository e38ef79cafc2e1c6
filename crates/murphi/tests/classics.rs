//! Every classic model is translated without errors.

use std::path::{Path, PathBuf};

use ergodic_diag::{Sources, read_source, render};
use ergodic_ir::Program;
use ergodic_murphi::{Options, compile};

fn models(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            models(&path, out);
        } else if path.extension().is_some_and(|e| e == "m") {
            out.push(path);
        }
    }
}

fn translate(path: &Path, options: &Options) -> Result<Program, String> {
    let text = read_source(path).map_err(|d| d.message)?;
    let mut sources = Sources::new();
    let id = sources.add(path.display().to_string(), text.clone());
    let (program, diagnostics) = compile(id, &text, options);
    let shown: Vec<String> = diagnostics.iter().map(|d| render(d, &sources, false)).collect();
    if std::env::var_os("SHOW_WARNINGS").is_some() {
        eprintln!("{}", shown.join("\n"));
    }
    program.ok_or_else(|| shown.join("\n"))
}

fn on_large_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(work).unwrap();
    thread.join().unwrap();
}

#[test]
fn classic_models_translate() {
    on_large_stack(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models/murphi");
        let mut paths = Vec::new();
        models(&root, &mut paths);
        if paths.is_empty() {
            eprintln!("skipped: there are no models in {}", root.display());
        }
        paths.sort();
        for path in paths {
            for strict in [false, true] {
                let options = Options { strict, ..Options::default() };
                if let Err(messages) = translate(&path, &options) {
                    panic!("{}:\n{messages}", path.display());
                }
            }
        }
    });
}
