//! "From every reachable state a state can be reached that …" (AG EF), after a complete search.
//!
//! The store holds all reachable states. Those that satisfy the body are marked; then sweeps over
//! all states mark every unmarked state with a marked successor, until a sweep marks nothing. What
//! stays unmarked cannot reach a satisfying state. No edge is stored: an unmarked state is expanded
//! again in each sweep, and the memory is one bit per state and property.
//!
//! Sweeps go down and up the numbers in turn. Breadth-first numbers grow along most edges, so the
//! first sweep down marks most of what can be marked; ways back to low numbers, as from an error
//! state to a reset, are found by the sweeps up.

use crate::bits::Bits;
use crate::revisit::Revisit;
use crate::{Ending, Limits, Observer, Progress, Watch};
use ergodic_system::{Fault, Live, Numbered};

/// The answer for one property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveAnswer {
    /// From every state a satisfying state can be reached.
    Holds,
    /// From this state none can be; it has the lowest number of all such.
    Fails {
        /// Its number in the store (and in the parent log of a breadth-first search).
        state: u64,
    },
    /// The body of the property faulted.
    Faulted {
        /// In this state.
        state: u64,
        /// How.
        fault: Fault,
    },
    /// The check was stopped before there was an answer.
    Unknown,
}

/// What a liveness check found out.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveOutcome {
    /// How it ended.
    pub ending: Ending,
    /// The answer for each property.
    pub answers: Vec<LiveAnswer>,
    /// Sweeps over the states.
    pub sweeps: u64,
    /// Successors generated again.
    pub transitions: u64,
    /// Bytes of the marks.
    pub bytes: u64,
}

/// Decides the properties of a system all of whose states are in `store`, which must come from a
/// search that ended [`Ending::Complete`] without findings.
pub fn liveness<S: Live, V: Numbered>(
    system: &S,
    store: &V,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> LiveOutcome {
    let states = store.coverage().states;
    let properties = system.live_properties();
    let mut check = Check {
        system,
        revisit: Revisit::new(system, store, limits.batch),
        watch: Watch::new(limits, observer, 1),
        block: limits.block.max(1),
        states,
        marks: vec![Bits::new(states); properties],
        answers: vec![None; properties],
        sweeps: 0,
        transitions: 0,
        store_bytes: store.coverage().bytes,
    };
    let ending: Ending = check.decide().into();
    LiveOutcome {
        bytes: check.bytes(),
        answers: check.answers(ending == Ending::Complete),
        sweeps: check.sweeps,
        transitions: check.transitions,
        ending,
    }
}

struct Check<'a, S: Live, V> {
    system: &'a S,
    revisit: Revisit<'a, S, V>,
    watch: Watch<'a>,
    block: usize,
    states: u64,
    /// Per property the states from which a satisfying one can be reached.
    marks: Vec<Bits>,
    /// Answers that are known before the sweeps end.
    answers: Vec<Option<LiveAnswer>>,
    sweeps: u64,
    transitions: u64,
    store_bytes: u64,
}

impl<S: Live, V: Numbered> Check<'_, S, V> {
    fn decide(&mut self) -> Result<(), Ending> {
        self.mark_satisfying()?;
        loop {
            let open = self.open();
            // A sweep that marks nothing has looked at all edges: there is nothing left to mark.
            if open.is_empty() || !self.sweep(&open)? {
                return Ok(());
            }
        }
    }

    /// Properties that are not decided yet.
    fn open(&self) -> Vec<usize> {
        let undecided = |p: &usize| self.answers[*p].is_none();
        let unmarked = |p: &usize| self.marks[*p].first_absent().is_some();
        (0..self.marks.len()).filter(undecided).filter(unmarked).collect()
    }

    fn mark_satisfying(&mut self) -> Result<(), Ending> {
        let mut from = 0;
        while from < self.states {
            let to = (from + self.block as u64).min(self.states);
            self.revisit.clear();
            (from..to).for_each(|number| self.revisit.fetch(number));
            let (block, scratch) = self.revisit.block();
            for (i, number) in (from..to).enumerate() {
                for property in 0..self.marks.len() {
                    match self.system.satisfies(scratch, block.slice(i, 1), property) {
                        Ok(true) => self.marks[property].insert(number),
                        Ok(false) => {}
                        Err(fault) => {
                            let answer = LiveAnswer::Faulted { state: number, fault };
                            self.answers[property].get_or_insert(answer);
                        }
                    }
                }
            }
            from = to;
            self.look(self.states - from)?;
        }
        Ok(())
    }

    /// Goes over all states once; whether something was marked.
    fn sweep(&mut self, open: &[usize]) -> Result<bool, Ending> {
        let down = self.sweeps.is_multiple_of(2);
        self.sweeps += 1;
        let mut changed = false;
        let mut passed = 0;
        while passed < self.states {
            self.revisit.clear();
            while passed < self.states && self.revisit.len() < self.block {
                let number = if down { self.states - 1 - passed } else { passed };
                if open.iter().any(|p| !self.marks[*p].contains(number)) {
                    self.revisit.fetch(number);
                }
                passed += 1;
            }
            let marks = &mut self.marks;
            let edges = self.revisit.edges(|from, to, _| {
                for p in open {
                    if marks[*p].contains(to) && !marks[*p].contains(from) {
                        marks[*p].insert(from);
                        changed = true;
                    }
                }
                Ok::<(), Ending>(())
            });
            self.transitions += edges?;
            self.look(self.states - passed)?;
        }
        Ok(changed)
    }

    fn look(&mut self, waiting: u64) -> Result<(), Ending> {
        let progress = Progress {
            states: self.states,
            transitions: self.transitions,
            depth: self.sweeps,
            waiting,
            bytes: self.store_bytes + self.bytes(),
        };
        self.watch.look(&progress)
    }

    fn bytes(&self) -> u64 {
        self.marks.iter().map(Bits::bytes).sum()
    }

    fn answers(&self, complete: bool) -> Vec<LiveAnswer> {
        let answer = |(p, marks): (usize, &Bits)| match (self.answers[p], marks.first_absent()) {
            (Some(answer), _) => answer,
            (None, None) => LiveAnswer::Holds,
            (None, Some(state)) if complete => LiveAnswer::Fails { state },
            (None, Some(_)) => LiveAnswer::Unknown,
        };
        self.marks.iter().enumerate().map(answer).collect()
    }
}
