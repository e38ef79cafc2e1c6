//! The classic models, which are not part of this repository, parse without any diagnostic.

use std::path::{Path, PathBuf};

use ergodic_diag::{Sources, read_source, render};
use ergodic_murphi::parse;

fn models(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            models(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "m") {
            found.push(path);
        }
    }
}

#[test]
fn classic_models_parse() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models/murphi");
    let mut found = Vec::new();
    models(&dir, &mut found);
    if found.is_empty() {
        println!("skipped: there are no models in ../shared/models/murphi");
        return;
    }
    found.sort();
    for path in found {
        let text = read_source(&path).unwrap_or_else(|d| panic!("{}", d.message));
        let mut sources = Sources::new();
        let id = sources.add(path.display().to_string(), text);
        let (model, diagnostics) = parse(id, sources.text(id));
        let shown: Vec<_> = diagnostics.iter().map(|d| render(d, &sources, false)).collect();
        assert!(diagnostics.is_empty(), "{}", shown.join("\n"));
        assert!(!model.items.is_empty(), "{}", path.display());
    }
}
