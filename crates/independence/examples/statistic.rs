//! How much independence models have: `cargo run --release -p ergodic-independence --example statistic
//! -- [--plain] [--matrix] MODEL|FOLDER…`.

use ergodic_diag::SourceId;
use ergodic_independence::{Independence, Options};
use ergodic_ir::FrontOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flag = |name: &str| args.iter().any(|arg| arg == name);
    let options = Options { refine: !flag("--plain"), ..Options::default() };
    let mut models = Vec::new();
    for arg in args.iter().filter(|arg| !arg.starts_with("--")) {
        collect(Path::new(arg), &mut models);
    }
    models.sort();
    let matrix = flag("--matrix");
    let run = move || {
        println!(
            "{:32} {:>9} {:>6} {:>6} {:>9} {:>11} {:>8} {:>8}",
            "model",
            "instances",
            "merged",
            "coarse",
            "disjoint",
            "independent",
            "accord",
            "seconds"
        );
        models.iter().for_each(|model| report(model, &options, matrix));
    };
    // The front end recurses over syntax trees.
    let thread = std::thread::Builder::new().stack_size(1 << 30).spawn(run);
    thread.expect("a thread").join().expect("no panic");
}

fn collect(path: &Path, out: &mut Vec<PathBuf>) {
    if let Ok(entries) = std::fs::read_dir(path) {
        entries.flatten().for_each(|entry| collect(&entry.path(), out));
    } else if path.extension().is_some_and(|ending| ending == "m") {
        out.push(path.to_path_buf());
    }
}

fn report(path: &Path, options: &Options, matrix: bool) {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let front = FrontOptions { compat_cmurphi: true, ..FrontOptions::default() };
    let (program, _) = ergodic_murphi::compile(SourceId(0), &text, &front);
    let Some(program) = program else {
        println!("{name:32} is not accepted");
        return;
    };
    let start = Instant::now();
    let relations = Independence::new(&Arc::new(program), options);
    let seconds = start.elapsed().as_secs_f64();
    let s = relations.statistics();
    let share = |pairs: u64| 100.0 * pairs as f64 / s.pairs.max(1) as f64;
    println!(
        "{name:32} {:9} {:6} {:6} {:8.1}% {:10.1}% {:7.1}% {seconds:8.3}",
        s.instances,
        s.merged,
        s.coarse,
        share(s.disjoint),
        share(s.independent),
        share(s.accord)
    );
    if matrix {
        show(&relations);
    }
}

/// The matrix as text: `.` independent, `~` accord, `#` neither.
fn show(relations: &Independence) {
    for a in relations.numbering().all() {
        let cell = |b: ergodic_independence::InstanceId| {
            let pair = (a.index(), b.index());
            if relations.independent().get(pair.0, pair.1) {
                '.'
            } else if relations.accords().get(pair.0, pair.1) {
                '~'
            } else {
                '#'
            }
        };
        let row: String = relations.numbering().all().map(cell).collect();
        println!("{row} {}", relations.name(a));
    }
}
