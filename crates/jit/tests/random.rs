//! Random programs: both executors must agree on everything.

mod common;

use common::{compare_with, on_worker, random};
use ergodic_ir::verify;
use ergodic_system::DeadlockMode;
use std::sync::Arc;

#[test]
fn random_programs_mean_the_same() {
    let from: u64 = std::env::var("JIT_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let count: u64 = std::env::var("JIT_COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(150);
    let (mut states, mut faults, mut loops, mut successors, mut violations) = (0, 0, 0, 0, 0);
    for seed in from..from + count {
        let program = random::program(seed);
        if let Err(errors) = verify::verify(&program) {
            panic!("seed {seed}: {errors:#?}");
        }
        if std::env::var("JIT_PRINT").is_ok() {
            println!("{}", ergodic_ir::text::print(&program));
        }
        let program = Arc::new(program);
        let modes = [DeadlockMode::Stutter, DeadlockMode::Stuck, DeadlockMode::Off];
        let mode = modes[(seed % 3) as usize];
        let run = std::panic::catch_unwind(|| on_worker(move || compare_with(&program, 40, mode)));
        match run {
            Ok(seen) => {
                states += seen.states;
                faults += seen.faults;
                loops += seen.loops;
                successors += seen.successors;
                violations += seen.violations;
            }
            Err(_) => panic!("seed {seed}: the executors differ"),
        }
    }
    println!(
        "{states} states, {successors} successors, {faults} faults, {violations} violations, {loops} loops"
    );
    assert!(states as u64 > count / 2 && faults > 0 && loops > 0, "the generator is too tame");
}
