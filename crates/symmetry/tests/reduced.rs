//! Whole explorations: reduced systems against plain ones, and runs from canonical paths.

use ergodic_diag::SourceId;
use ergodic_interp::{FireOne, Interpreter};
use ergodic_ir::FrontOptions;
use ergodic_symmetry::{Reduced, Symmetries, check_program, concretise};
use ergodic_system::{Batch, Block, Cursor, DeadlockMode, Label, Step, System};
use std::collections::HashMap;
use std::sync::Arc;

/// A lock that is passed on through a queue, with a value that travels along.
const MODEL: &str = "
    const n: 4;
    type pid: scalarset(n); val: scalarset(2);
         msg: record from: pid; body: val; end;
    var state: array[pid] of enum {idle, waiting, working}; next: array[pid] of pid;
        owner: pid; tail: pid; data: val; net: multiset[n] of msg; done: 0..3;
    ruleset p: pid do
      rule \"ask\" state[p] = idle ==> begin
        state[p] := waiting;
        if isundefined(tail) then owner := p; else next[tail] := p; end;
        tail := p; end;
      rule \"work\" state[p] = waiting & !isundefined(owner) & owner = p ==>
        begin state[p] := working; end;
      ruleset v: val do
        rule \"leave\" state[p] = working & multisetcount(i: net, true) < 2 ==>
        var m: msg; begin
          m.from := p; m.body := v; multisetadd(m, net); state[p] := idle;
          if tail = p then undefine tail; undefine owner; else owner := next[p]; end;
          undefine next[p]; end;
      end;
    end;
    choose i: net do rule \"get\" true ==> begin
      data := net[i].body; multisetremove(i, net); if done < 3 then done := done + 1; end; end; end;
    ruleset v: val do startstate begin
      for p: pid do state[p] := idle; end; data := v; done := 0; end; end;
    invariant \"one works\" forall p: pid do forall q: pid do
      state[p] = working & state[q] = working -> p = q end end;";

/// States in breadth-first order with the parent of each.
fn explore<S: System>(system: &S) -> Vec<(Vec<u64>, usize)> {
    let mut scratch = system.scratch();
    let mut batch = Batch::new(system.shape(), 64);
    let mut found: Vec<(Vec<u64>, usize)> = Vec::new();
    let mut number = HashMap::new();
    let mut take = |batch: &mut Batch, parent: usize, found: &mut Vec<(Vec<u64>, usize)>| {
        for i in 0..batch.len() {
            let state = batch.state(i).to_vec();
            number.entry(state.clone()).or_insert_with(|| found.push((state, parent)));
        }
        batch.clear();
    };
    let mut at = Cursor::default();
    while system.initial(&mut scratch, &mut at, &mut batch) != Step::Done {}
    take(&mut batch, usize::MAX, &mut found);
    let mut next = 0;
    while next < found.len() {
        let mut words = found[next].0.clone();
        words.push(0);
        let block = Block::new(&words, words.len() - 1, 1);
        let mut at = Cursor::default();
        loop {
            let step = system.expand(&mut scratch, block, &mut at, &mut batch);
            take(&mut batch, next, &mut found);
            match step {
                Step::Done => break,
                Step::Full => {}
                Step::Violation(violation) => panic!("{violation:?}"),
            }
        }
        next += 1;
    }
    found
}

#[test]
fn one_state_for_each_orbit() {
    let options = FrontOptions::default();
    let (program, found) = ergodic_murphi::compile(SourceId(0), MODEL, &options);
    let program = Arc::new(program.unwrap_or_else(|| panic!("{found:?}")));
    assert_eq!(check_program(&program), []);
    let plain = Interpreter::new(program.clone(), DeadlockMode::Off);
    let layout = plain.layout().clone();
    let symmetries = Symmetries::new(&program, &layout, &[]);
    assert_eq!(symmetries.order(), 48.0);
    let reduced = Reduced::new(Interpreter::new(program, DeadlockMode::Off), symmetries);
    let (all, few) = (explore(&plain), explore(&reduced));
    let symmetries = reduced.symmetries();
    let mut scratch = symmetries.scratch();
    let mut orbits: Vec<Vec<u64>> = all.iter().map(|(state, _)| state.clone()).collect();
    orbits.iter_mut().for_each(|state| symmetries.canonise(&mut scratch, state));
    orbits.sort();
    orbits.dedup();
    let mut canonical: Vec<Vec<u64>> = few.iter().map(|(state, _)| state.clone()).collect();
    canonical.sort();
    assert_eq!(orbits, canonical);
    assert!(all.len() > 30 * few.len(), "{} and {}", all.len(), few.len());

    // A run to the last state found, from each initial state of the plain system in its orbit.
    let mut chain = Vec::new();
    let mut at = few.len() - 1;
    while at != usize::MAX {
        chain.push(few[at].0.clone());
        at = few[at].1;
    }
    chain.reverse();
    let mut machine = System::scratch(&plain);
    let instances = plain.instances().clone();
    let first = instances.base(false, 0);
    let mut successors = |state: &[u64]| {
        let labels = (first..instances.total() as u32).map(Label);
        let fire = |label| match plain.fire_label(&mut machine, state, label) {
            Ok(FireOne::State(next)) => Some((label, next)),
            _ => None,
        };
        labels.filter_map(fire).collect::<Vec<_>>()
    };
    for (start, _) in all.iter().filter(|(_, parent)| *parent == usize::MAX) {
        let run = concretise(symmetries, start, &chain, &mut successors).expect("a run");
        assert_eq!(run.len() + 1, chain.len());
        let mut here = start.clone();
        for (label, state) in run {
            assert!(successors(&here).contains(&(label, state.clone())));
            here = state;
        }
    }
    let broken = [chain[0].clone(), chain[chain.len() - 1].clone()];
    assert_eq!(concretise(symmetries, &all[0].0, &broken, &mut successors).unwrap_err().at, 1);
}
