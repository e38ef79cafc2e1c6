//! Explores a Murphi model under symmetry with the interpreter and a plain hash set, and tells what
//! canonising costs: `cargo run --release -p ergodic-symmetry --example reduce -- MODEL [NAME=VALUE…]`.

use ergodic_diag::SourceId;
use ergodic_interp::{Interpreter, STACK_BYTES};
use ergodic_ir::FrontOptions;
use ergodic_symmetry::{Symmetries, check_program};
use ergodic_system::{Batch, Block, Cursor, DeadlockMode, Step, System};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

/// Successors in one batch.
const BATCH: usize = 2048;

fn main() {
    let run = || explore(&std::env::args().skip(1).collect::<Vec<_>>());
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run);
    thread.expect("a thread").join().expect("no panic");
}

fn explore(args: &[String]) {
    let Some((path, constants)) = args.split_first() else {
        eprintln!("which model?");
        return;
    };
    let text = std::fs::read_to_string(path).expect("a readable model");
    let pair = |arg: &String| arg.split_once('=').map(|(a, b)| (a.to_string(), b.to_string()));
    let constants = constants.iter().filter_map(pair).collect();
    let options = FrontOptions { constants, compat_cmurphi: true, ..FrontOptions::default() };
    let (program, found) = ergodic_murphi::compile(SourceId(0), &text, &options);
    let program = Arc::new(program.unwrap_or_else(|| panic!("{found:?}")));
    let breaks = check_program(&program);
    for found in &breaks {
        println!("not symmetric: {found:?}");
    }
    let system = Interpreter::new(program.clone(), DeadlockMode::Off);
    let leave_out: Vec<_> = breaks.iter().map(|found| found.ty).collect();
    let mut symmetries = Symmetries::new(&program, system.layout(), &leave_out);
    let mut first = Batch::new(System::shape(&system), 1);
    system.initial(&mut System::scratch(&system), &mut Cursor::default(), &mut first);
    symmetries.tune(first.state(0));
    let sizes: Vec<u32> = symmetries.groups().iter().map(|group| group.count).collect();
    println!("{} bits, groups {sizes:?}", system.layout().shape().bits);
    search(&system, &symmetries);
}

/// What is seen, what waits, and what canonising took.
struct Run<'a> {
    symmetries: &'a Symmetries,
    scratch: ergodic_symmetry::CanonScratch,
    seen: HashSet<Box<[u64]>>,
    next: Vec<u64>,
    fired: u64,
    /// Some successors as they were before.
    sample: Vec<u64>,
}

impl Run<'_> {
    fn take(&mut self, batch: &mut Batch) {
        for i in 0..batch.len() {
            if (self.fired + i as u64).is_multiple_of(97) {
                self.sample.extend_from_slice(batch.state(i));
            }
            self.symmetries.canonise(&mut self.scratch, batch.state_mut(i));
        }
        self.fired += batch.len() as u64;
        for i in 0..batch.len() {
            let state = batch.state(i);
            if !self.seen.contains(state) {
                self.seen.insert(state.into());
                self.next.extend_from_slice(state);
            }
        }
        batch.clear();
    }

    /// Nanoseconds per state of the sample: of each block the best of several times, so that other
    /// work of the machine does not count.
    fn cost(&mut self, words: usize) -> f64 {
        const BLOCK: usize = 64;
        let mut total = 0.0;
        for block in self.sample.chunks(BLOCK * words) {
            let mut best = f64::MAX;
            for _ in 0..9 {
                let mut states = block.to_vec();
                let start = Instant::now();
                for state in states.chunks_mut(words) {
                    self.symmetries.canonise(&mut self.scratch, state);
                }
                best = best.min(start.elapsed().as_nanos() as f64);
            }
            total += best;
        }
        total * words as f64 / self.sample.len() as f64
    }
}

fn search(system: &Interpreter, symmetries: &Symmetries) {
    let shape = System::shape(system);
    let mut machine = System::scratch(system);
    let mut batch = Batch::new(shape, BATCH);
    let mut run = Run {
        symmetries,
        scratch: symmetries.scratch(),
        seen: HashSet::new(),
        next: Vec::new(),
        fired: 0,
        sample: Vec::new(),
    };
    let begin = Instant::now();
    let mut at = Cursor::default();
    while system.initial(&mut machine, &mut at, &mut batch) != Step::Done {}
    run.take(&mut batch);
    let mut depth = 0;
    run.fired = 0;
    while !run.next.is_empty() {
        let mut level = std::mem::take(&mut run.next);
        let count = level.len() / shape.words;
        level.push(0);
        let block = Block::new(&level, shape.words, count);
        let mut at = Cursor::default();
        loop {
            let step = system.expand(&mut machine, block, &mut at, &mut batch);
            run.take(&mut batch);
            match step {
                Step::Done => break,
                Step::Full => {}
                Step::Violation(violation) => println!("violation {violation:?}"),
            }
        }
        depth += 1;
    }
    let (seconds, cost) = (begin.elapsed().as_secs_f64(), run.cost(shape.words));
    println!(
        "{} states, {} fired, depth {}, {:.2} s in all, {:.0} ns per canonise",
        run.seen.len(),
        run.fired,
        depth - 1,
        seconds,
        cost,
    );
}
