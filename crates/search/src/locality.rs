//! Transition locality: how far the steps of a system lead across the levels of breadth first.
//!
//! After E. Tronci, G. Della Penna, B. Intrigila, M. Venturini Zilli, "Exploiting Transition Locality in
//! Automatic Verification" (CHARME 2001), definitions 3 and 4: a step from s to t is a *k-transition* with
//! k = level(t) − level(s) ≤ 1; δ(s, k) is the part of the steps of s that are k-transitions, and Δ(k) is
//! δ(s, k) for a state s picked at random. The definitions leave open what Fig. 1 of the paper settles; its
//! rows come out to the last printed digit with these conventions, which hold here:
//! * every firing is a step of its own, also when two firings lead to the same state;
//! * a firing that leads back to its own state is no step (CMurphi drops it before it looks anything up);
//! * a state without steps has δ(s, k) = 0 for every k and is averaged over like any other, so that the
//!   sum over all k may stay below 1;
//! * σ is the root of the mean square deviation over all n states: division by n, not n − 1;
//! * of a search that was cut short (the paper's models with an error), only states that were expanded to
//!   the end are averaged over.
//!
//! One thing of Fig. 1 is a mistake: successors were looked up *before* CMurphi had normalised them.
//! Under symmetry reduction the table holds normal forms; a successor in any other form was not found and
//! counted as new, so that k = 1 is overrated in all rows of models with scalarsets. (n_peterson in CMurphi's
//! normal form, with that mistake, gives the paper's 0.958174 and 0.0877715; the true values are 0.919780 and
//! 0.135434.) Here a state of a reduced system is the orbit, whatever member a rule happens to lead to, and a
//! step within an orbit leads back to its own state, unless the mistake is asked for ([`LookUp::AsFired`]).

use crate::revisit::Revisit;
use crate::{Ending, Limits, Observer, Outcome, Progress, Watch};
use ergodic_system::{Numbered, System, ViolationKind};
use std::collections::BTreeMap;

/// The distribution of Δ(k) for one k.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delta {
    /// Steps that are k-transitions.
    pub steps: u64,
    /// Sum of δ(s, k) over the states.
    sum: f64,
    /// Sum of its squares.
    squares: f64,
}

impl Delta {
    /// E{Δ(k)} over `states` states.
    pub fn mean(&self, states: u64) -> f64 {
        self.sum / states.max(1) as f64
    }

    /// σ(k) over `states` states.
    pub fn deviation(&self, states: u64) -> f64 {
        let mean = self.mean(states);
        (self.squares / states.max(1) as f64 - mean * mean).max(0.0).sqrt()
    }
}

/// What the states of one level do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelSteps {
    /// States of the level that were looked at.
    pub states: u64,
    /// Firings that lead back to their own state.
    pub loops: u64,
    /// Steps per k, largest k first; those that do not occur are left out.
    pub steps: Vec<(i64, u64)>,
}

/// What is known about the steps of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct Locality {
    /// How the look at all states ended.
    pub ending: Ending,
    /// States looked at: those that the search expanded to the end.
    pub states: u64,
    /// Firings, those that lead back to their own state included.
    pub firings: u64,
    /// Firings that lead back to their own state.
    pub loops: u64,
    /// States in which nothing fires.
    pub stuck: u64,
    /// States in which something fires, but leads nowhere else.
    pub idle: u64,
    /// Entry i is for k = 1 − i; at least for k = 1, 0, −1.
    pub deltas: Vec<Delta>,
    /// One entry per level.
    pub levels: Vec<LevelSteps>,
    /// How many states have how many firings.
    pub branching: BTreeMap<u64, u64>,
}

impl Locality {
    /// The distribution of Δ(k), if there can be such steps.
    pub fn delta(&self, k: i64) -> Option<&Delta> {
        self.deltas.get(usize::try_from(1 - k).ok()?)
    }

    /// Counts states whose steps all lead to new ones.
    fn count_starts(&mut self, states: u64) {
        self.states += states;
        if let Some(forward) = self.deltas.first_mut() {
            forward.sum += states as f64;
            forward.squares += states as f64;
        }
    }

    /// Steps: firings that lead to another state.
    pub fn steps(&self) -> u64 {
        self.firings - self.loops
    }

    /// The paper's SumAvg: the expected part of steps to the same or a neighbouring level.
    pub fn local(&self) -> f64 {
        self.deltas.iter().take(3).map(|delta| delta.mean(self.states)).sum()
    }
}

/// The number of a state that is taken for new; like all numbers from there on it belongs to the next level.
const NEW: u64 = u64::MAX;

/// When successors are looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookUp {
    /// As the search did.
    #[default]
    AsStored,
    /// The mistake of Fig. 1: the system is the one that the search reduced, so that its successors are found
    /// only if they happen to be in the form that is stored. Others are new, and so are those that
    /// the search found later. Each start state but the first counts as one more state, whose steps all lead
    /// to new states: so the rows of models with several of them come out.
    AsFired,
}

/// Expands all states of `store` again, which were put there by [`crate::bfs`] with this outcome, and
/// measures their steps. No state may have been judged bad on the way: then levels would not be
/// ranges of numbers.
pub fn locality<S: System, V: Numbered>(
    system: &S,
    store: &V,
    outcome: &Outcome,
    look_up: LookUp,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Locality {
    let complete = outcome.ending == Ending::Complete;
    let mut tally = Tally::new(&outcome.stats.levels);
    let mut revisit = Revisit::new(system, store, limits.batch);
    let mut watch = Watch::new(limits, observer, 1);
    let mut progress = Progress {
        states: outcome.stats.states,
        bytes: store.coverage().bytes,
        ..Progress::default()
    };
    if look_up == LookUp::AsFired {
        tally.found.count_starts(revisit.starts().saturating_sub(1));
    }
    // Where the search was cut shows in the number of firings, state by state.
    let block = if complete { limits.block.max(1) as u64 } else { 1 };
    let cut = Cut::of(outcome);
    let mut from = 0;
    let ending = loop {
        let to = outcome.stats.states.min(from + block);
        if from == to {
            break Ending::Complete;
        }
        revisit.clear();
        (from..to).for_each(|number| revisit.fetch(number));
        let mut edges = Vec::new();
        let keep = |source, target: Option<u64>, _| {
            match (target, look_up) {
                (Some(target), _) => edges.push((source, target)),
                (None, LookUp::AsFired) => edges.push((source, NEW)),
                (None, LookUp::AsStored) => {}
            }
            Ok::<(), Ending>(())
        };
        match revisit.all_edges(keep) {
            Ok(fired) => progress.transitions += fired,
            Err(ending) => break ending,
        }
        if cut.before(progress.transitions + revisit.dropped) {
            break Ending::Complete;
        }
        tally.take(from..to, &edges);
        from = to;
        (progress.waiting, progress.depth) = (outcome.stats.states - from, tally.level as u64);
        if let Err(ending) = watch.look(&progress) {
            break ending;
        }
    };
    tally.finish(ending)
}

/// Where a search was cut.
enum Cut {
    Nowhere,
    /// In a state with firings beyond this number.
    Beyond(u64),
    /// In the state whose firings reach this number: the last of them violated a property.
    At(u64),
}

impl Cut {
    fn of(outcome: &Outcome) -> Cut {
        let counted = outcome.stats.transitions;
        let last = outcome.findings.last().map(|finding| finding.kind);
        match (&outcome.ending, last) {
            (Ending::Complete, _) => Cut::Nowhere,
            (Ending::Enough, Some(ViolationKind::Property(_))) => Cut::At(counted),
            // A firing that faulted was not counted.
            (Ending::Enough | Ending::Stopped(_), _) => Cut::Beyond(counted),
        }
    }

    /// Whether a state with whose firings there are `fired` in all was not expanded to the end.
    fn before(&self, fired: u64) -> bool {
        match *self {
            Cut::Nowhere => false,
            Cut::Beyond(counted) => fired > counted,
            Cut::At(counted) => fired >= counted,
        }
    }
}

/// Counts steps, state by state.
struct Tally {
    /// First number of each level, and the number behind the last.
    starts: Vec<u64>,
    /// Level of the state being counted.
    level: usize,
    /// Steps of that state by 1 − k.
    here: Vec<u64>,
    /// Steps of its level by 1 − k.
    in_level: Vec<u64>,
    found: Locality,
}

impl Tally {
    fn new(sizes: &[u64]) -> Tally {
        let mut starts = vec![0];
        for size in sizes {
            starts.push(starts[starts.len() - 1] + size);
        }
        let found = Locality {
            ending: Ending::Complete,
            states: 0,
            firings: 0,
            loops: 0,
            stuck: 0,
            idle: 0,
            deltas: vec![Delta::default(); 3],
            levels: vec![LevelSteps::default(); sizes.len()],
            branching: BTreeMap::new(),
        };
        Tally { starts, level: 0, here: Vec::new(), in_level: Vec::new(), found }
    }

    /// Counts a range of states with their edges, which stand in the order of their sources.
    fn take(&mut self, numbers: std::ops::Range<u64>, mut edges: &[(u64, u64)]) {
        for number in numbers {
            let own = edges.iter().take_while(|(source, _)| *source == number).count();
            self.state(number, &edges[..own]);
            edges = &edges[own..];
        }
    }

    fn state(&mut self, number: u64, edges: &[(u64, u64)]) {
        while number >= self.starts[self.level + 1] {
            self.close_level();
        }
        self.here.clear();
        let mut loops = 0;
        for (_, target) in edges {
            if *target == number {
                loops += 1;
                continue;
            }
            let back = self.level + 1 - self.level_of(*target);
            if back >= self.here.len() {
                self.here.resize(back + 1, 0);
            }
            self.here[back] += 1;
        }
        self.count(edges.len() as u64, loops);
    }

    /// Level of a target; most are near, and none is further than the next level.
    fn level_of(&self, number: u64) -> usize {
        let next = self.level + 1;
        match self.starts.get(next) {
            Some(start) if number >= *start => next,
            _ if number >= self.starts[self.level] => self.level,
            _ => self.starts[..next].partition_point(|start| *start <= number) - 1,
        }
    }

    fn count(&mut self, firings: u64, loops: u64) {
        let found = &mut self.found;
        let steps = firings - loops;
        found.states += 1;
        found.firings += firings;
        found.loops += loops;
        found.stuck += u64::from(firings == 0);
        found.idle += u64::from(firings > 0 && steps == 0);
        *found.branching.entry(firings).or_default() += 1;
        if self.here.len() > found.deltas.len() {
            found.deltas.resize(self.here.len(), Delta::default());
        }
        if self.here.len() > self.in_level.len() {
            self.in_level.resize(self.here.len(), 0);
        }
        for (i, count) in self.here.iter().enumerate().filter(|(_, count)| **count > 0) {
            let part = *count as f64 / steps as f64;
            let delta = &mut found.deltas[i];
            delta.steps += count;
            delta.sum += part;
            delta.squares += part * part;
            self.in_level[i] += count;
        }
        let level = &mut found.levels[self.level];
        level.states += 1;
        level.loops += loops;
    }

    fn close_level(&mut self) {
        let steps = self.in_level.iter().enumerate().filter(|(_, count)| **count > 0);
        self.found.levels[self.level].steps =
            steps.map(|(i, count)| (1 - i as i64, *count)).collect();
        self.in_level.clear();
        self.level += 1;
    }

    fn finish(mut self, ending: Ending) -> Locality {
        if self.level < self.found.levels.len() {
            self.close_level();
        }
        self.found.ending = ending;
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Unobserved, bfs};
    use ergodic_queue::memory::MemoryQueue;
    use ergodic_store::exact::ExactStore;
    use ergodic_system::toy::Graph;

    fn measure(graph: &Graph, limits: &Limits) -> Locality {
        let mut store = ExactStore::new(graph.shape(), None);
        let mut frontier = MemoryQueue::new(graph.shape());
        let outcome = bfs(graph, &mut store, &mut frontier, limits, &mut Unobserved);
        locality(graph, &store, &outcome, LookUp::AsStored, limits, &mut Unobserved)
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
    }

    #[test]
    fn successors_that_are_looked_up_as_fired_may_be_new() {
        let graph = sample();
        let mut store = ExactStore::new(graph.shape(), None);
        let mut frontier = MemoryQueue::new(graph.shape());
        let limits = Limits::default();
        let outcome = bfs(&graph, &mut store, &mut frontier, &limits, &mut Unobserved);
        // As fired, node 3 leads to nodes that are not stored, or are stored, and node 0 two levels on.
        let edges = vec![vec![1, 3], vec![3, 2, 1], vec![2], vec![2, 7]];
        let fired = Graph { edges, ..Graph::default() };
        let found = locality(&fired, &store, &outcome, LookUp::AsFired, &limits, &mut Unobserved);
        // δ(s, 1) = 1, 1/2, 0, 1/2; δ(s, 0) = 0, 1/2, 0, 0; δ(s, −1) = 0, 0, 0, 1/2.
        assert_eq!((found.states, found.firings, found.loops), (4, 8, 2));
        close(found.deltas[0].mean(4), 1.0 / 2.0);
        close(found.deltas[1].mean(4), 1.0 / 8.0);
        close(found.deltas[2].mean(4), 1.0 / 8.0);
        let passed_over =
            locality(&fired, &store, &outcome, LookUp::AsStored, &limits, &mut Unobserved);
        assert_eq!((passed_over.states, passed_over.firings), (4, 7));
    }

    /// Levels {0}, {1, 2}, {3}. Node 0 has three firings onwards (two to node 1); node 1 one onwards,
    /// one to its level and a loop; node 2 nothing but a loop; node 3 one to level 1 and two to level 0.
    fn sample() -> Graph {
        let edges = vec![vec![1, 2, 1], vec![3, 2, 1], vec![2], vec![2, 0, 0]];
        Graph { edges, ..Graph::default() }
    }

    #[test]
    fn a_graph_counted_by_hand() {
        let found = measure(&sample(), &Limits::default());
        assert_eq!((found.states, found.firings, found.loops), (4, 10, 2));
        assert_eq!((found.stuck, found.idle, found.steps()), (0, 1, 8));
        let steps: Vec<u64> = found.deltas.iter().map(|delta| delta.steps).collect();
        assert_eq!(steps, [4, 1, 1, 2]);
        // δ(s, 1) = 1, 1/2, 0, 0; δ(s, 0) = 0, 1/2, 0, 0; δ(s, −1) = 0, 0, 0, 1/3.
        close(found.deltas[0].mean(4), 3.0 / 8.0);
        close(found.deltas[0].deviation(4), (5.0f64 / 16.0 - 9.0 / 64.0).sqrt());
        close(found.deltas[1].mean(4), 1.0 / 8.0);
        close(found.deltas[1].deviation(4), (1.0f64 / 16.0 - 1.0 / 64.0).sqrt());
        close(found.deltas[2].mean(4), 1.0 / 12.0);
        close(found.local(), 3.0 / 8.0 + 1.0 / 8.0 + 1.0 / 12.0);
        close(found.delta(-2).map_or(0.0, |delta| delta.mean(4)), 1.0 / 6.0);
        assert!(found.delta(-3).is_none() && found.delta(2).is_none());
        assert_eq!(found.branching, BTreeMap::from([(1, 1), (3, 3)]));
        let levels: Vec<_> = found.levels.iter().map(|l| (l.states, l.loops)).collect();
        assert_eq!(levels, [(1, 0), (2, 2), (1, 0)]);
        assert_eq!(found.levels[1].steps, [(1, 1), (0, 1)]);
        assert_eq!(found.levels[2].steps, [(-1, 1), (-2, 2)]);
    }

    #[test]
    fn blocks_and_batches_do_not_matter() {
        let grid = Graph::grid(3, 4);
        let whole = measure(&grid, &Limits::default());
        assert_eq!((whole.states, whole.stuck, whole.deltas[0].steps), (64, 1, 144));
        for (block, batch) in [(1, 1), (7, 3), (64, 5)] {
            let limits = Limits { block, batch, ..Limits::default() };
            assert_eq!(measure(&grid, &limits), whole);
        }
    }

    #[test]
    fn only_states_expanded_to_the_end_count() {
        let limits = Limits { max_states: Some(3), ..Limits::default() };
        let found = measure(&sample(), &limits);
        // Node 3 is one too many: it is met while node 1 is expanded.
        assert_eq!((found.states, found.firings), (1, 3));
        let bad = Graph { bad: vec![3], ..sample() };
        let found = measure(&bad, &Limits::default());
        assert_eq!((found.states, found.firings), (1, 3));
        let bad_last = Graph { bad: vec![2], edges: vec![vec![1, 1, 2]; 3], ..Graph::default() };
        assert_eq!(measure(&bad_last, &Limits::default()).states, 0);
    }

    #[test]
    fn a_state_without_successors_counts_as_nothing() {
        let found = measure(&Graph { edges: vec![vec![]], ..Graph::default() }, &Limits::default());
        assert_eq!((found.states, found.stuck, found.local()), (1, 1, 0.0));
        assert_eq!(found.ending, Ending::Complete);
    }
}
