//! What every exhaustive search does with successors: generate a batch, offer it to the store,
//! judge what is new, count, and hand over what is worth expanding.
//!
//! The order of events is that of a search that handles one successor at a time. Within a batch
//! the first of these ends it, and only the successors before count:
//! * a new state that violates a property and makes the findings enough: it counts, nothing behind
//!   it does;
//! * a new state beyond `max_states`: it does not count;
//! * the store refuses: the successors up to the last one it called new count.
//!
//! A fault or deadlock that the expansion reports stands behind all successors of its batch.
//!
//! Nothing here allocates, locks or makes an indirect call per successor.

use crate::{Ending, Findings, Limits, Outcome, ParentLog, Progress, Stats, Watch};
use ergodic_system::{
    Batch, Block, Cursor, Exhausted, Label, Picks, Reason, Step, System, Violation, Visited,
};

/// What a batch is generated from.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'b> {
    /// The initial states.
    Initial,
    /// The successors of these states.
    Successors(Block<'b>),
}

/// Where a search keeps the new states until it expands them, and how it got there.
pub trait Keeper {
    /// Takes over the picked states of a batch, in order.
    fn keep(&mut self, batch: &Batch, picks: &Picks) -> Result<(), Exhausted>;

    /// The path to source state number `source` of the block being expanded; the empty path while
    /// the initial states are generated, or if none are kept.
    fn path(&self, source: usize) -> Vec<Label>;

    /// Whether paths are kept.
    fn traces(&self) -> bool;

    /// The depth of the states being kept.
    fn depth(&self) -> u64;

    /// States that wait for expansion.
    fn waiting(&self) -> u64;

    /// Bytes of what waits.
    fn bytes(&self) -> u64;

    /// Bytes of what only paths need.
    fn trace_bytes(&self) -> u64;
}

/// Successors for which the first batch has room: for small models all of it is set up in vain.
const FIRST_ROOM: usize = 128;

/// The part of an exhaustive search that generates and takes in successors.
#[derive(Debug)]
pub struct Intake<'a, S: System> {
    system: &'a S,
    scratch: S::Scratch,
    batch: Batch,
    fresh: Picks,
    /// Positions of new states that violate a property.
    rejected: Picks,
    /// Successors for which a batch has room, once it is clear that there are many.
    room: usize,
    findings: Findings,
    max_states: u64,
    watch: Watch<'a>,
    /// Whether a limit or an observer stops the search between two blocks only.
    pub(crate) hold: bool,
    /// What will stop it then.
    pub(crate) held: Option<Ending>,
    /// Cover goals met before, in a run that this one goes on from.
    pub(crate) goals: Vec<u64>,
    /// Counts so far.
    pub stats: Stats,
}

impl<'a, S: System> Intake<'a, S> {
    /// Nothing generated so far.
    pub fn new(system: &'a S, limits: &Limits, watch: Watch<'a>) -> Intake<'a, S> {
        let room = limits.batch.max(1);
        let zeros = vec![0; system.rules()];
        Intake {
            system,
            scratch: system.scratch(),
            batch: Batch::new(system.shape(), room.min(FIRST_ROOM)),
            fresh: Picks::new(),
            rejected: Picks::new(),
            room,
            findings: Findings::new(limits.max_errors),
            max_states: limits.max_states.unwrap_or(u64::MAX),
            watch,
            hold: false,
            held: None,
            goals: Vec::new(),
            stats: Stats { fired: zeros.clone(), fresh: zeros, ..Stats::default() },
        }
    }

    /// Generates everything from `origin`, batch by batch.
    pub fn run<V: Visited, K: Keeper>(
        &mut self,
        origin: Origin<'_>,
        visited: &mut V,
        keeper: &mut K,
    ) -> Result<(), Ending> {
        let mut cursor = Cursor::default();
        loop {
            self.batch.clear();
            let (scratch, batch) = (&mut self.scratch, &mut self.batch);
            let step = match origin {
                Origin::Initial => self.system.initial(scratch, &mut cursor, batch),
                Origin::Successors(block) => self.system.expand(scratch, block, &mut cursor, batch),
            };
            self.take_in(origin, visited, keeper)?;
            if let Step::Violation(violation) = &step {
                self.report(violation, keeper)?;
            }
            self.look(visited, keeper)?;
            match step {
                Step::Done => return Ok(()),
                Step::Full => self.make_room(),
                Step::Violation(_) => {}
            }
        }
    }

    /// Takes a batch of full size, if this one is smaller.
    fn make_room(&mut self) {
        if self.batch.capacity() < self.room {
            self.batch = Batch::new(self.system.shape(), self.room);
        }
    }

    /// Generates the successors of a block into another batch, and does nothing with them. `false`
    /// if they have no room, or something is wrong.
    pub(crate) fn generate(&mut self, block: Block<'_>, batch: &mut Batch) -> bool {
        generate(self.system, &mut self.scratch, block, batch)
    }

    /// Takes in all successors of a block, which [`generate`] has generated. What is in `batch` then
    /// has no meaning.
    pub(crate) fn take_over<V: Visited, K: Keeper>(
        &mut self,
        block: Block<'_>,
        batch: &mut Batch,
        visited: &mut V,
        keeper: &mut K,
    ) -> Result<(), Ending> {
        self.make_room(); // the other one gets it
        std::mem::swap(&mut self.batch, batch);
        self.take_in(Origin::Successors(block), visited, keeper)?;
        self.look(visited, keeper)
    }

    /// Takes in the batch, and hands over what is worth expanding.
    fn take_in<V: Visited, K: Keeper>(
        &mut self,
        origin: Origin<'_>,
        visited: &mut V,
        keeper: &mut K,
    ) -> Result<(), Ending> {
        let taken = self.take(origin, visited, keeper);
        keeper.keep(&self.batch, &self.fresh)?;
        taken
    }

    /// Offers, judges and counts the batch. Leaves in `fresh` what is worth expanding.
    fn take<V: Visited, K: Keeper>(
        &mut self,
        origin: Origin<'_>,
        visited: &mut V,
        keeper: &K,
    ) -> Result<(), Ending> {
        let mut end = Ok(());
        let mut counted = self.batch.len();
        if let Err(why) = visited.offer(self.batch.block(), &mut self.fresh) {
            end = Err(why.into());
            counted = self.fresh.last().map_or(0, |last| *last as usize + 1);
        }
        let room = self.max_states.saturating_sub(self.stats.states);
        if self.fresh.len() as u64 > room {
            end = Err(Ending::Stopped(Reason::StateLimit(self.max_states)));
            counted = self.fresh[room as usize] as usize;
            self.fresh.truncate(room as usize);
        }
        if let Some(last) = self.judge(origin, keeper) {
            end = Err(Ending::Enough);
            counted = last + 1;
            self.fresh.retain(|place| *place as usize <= last);
        }
        self.count(origin, counted, keeper.depth());
        if !self.rejected.is_empty() {
            let rejected = &self.rejected;
            self.fresh.retain(|place| rejected.binary_search(place).is_err());
        }
        end
    }

    /// Judges the new states of the batch. Returns the place of the one with which the findings are
    /// enough; leaves in `rejected` those that violate a property.
    fn judge<K: Keeper>(&mut self, origin: Origin<'_>, keeper: &K) -> Option<usize> {
        self.rejected.clear();
        let (block, depth) = (self.batch.block(), keeper.depth());
        let mut at = 0;
        while let Some(v) = self.system.judge(&mut self.scratch, block, &self.fresh, &mut at) {
            self.rejected.push(v.at as u32);
            let rule = match origin {
                Origin::Initial => None,
                Origin::Successors(_) => Some(self.batch.rules()[v.at]),
            };
            let (source, label) = (self.batch.sources()[v.at], self.batch.labels()[v.at]);
            let path = || extended(keeper, source as usize, Some(label));
            if self.findings.add(v.kind, rule, depth, path) {
                return Some(v.at);
            }
        }
        None
    }

    /// Counts the first `counted` successors of the batch and its new states.
    fn count(&mut self, origin: Origin<'_>, counted: usize, depth: u64) {
        let stats = &mut self.stats;
        stats.states += self.fresh.len() as u64;
        if !self.fresh.is_empty() {
            stats.depth = stats.depth.max(depth);
        }
        if let Origin::Initial = origin {
            return;
        }
        stats.transitions += counted as u64;
        let rules = self.batch.rules();
        for rule in &rules[..counted] {
            stats.fired[*rule as usize] += 1;
        }
        for (rule, count) in self.batch.dropped() {
            stats.transitions += u64::from(*count);
            stats.fired[*rule as usize] += u64::from(*count);
        }
        for place in &self.fresh {
            stats.fresh[rules[*place as usize] as usize] += 1;
        }
    }

    /// Reports what the expansion ran into.
    fn report<K: Keeper>(&mut self, v: &Violation, keeper: &K) -> Result<(), Ending> {
        let path = || extended(keeper, v.at, v.label);
        let depth = keeper.depth().saturating_sub(1);
        if self.findings.add(v.kind, None, depth, path) {
            return Err(Ending::Enough);
        }
        Ok(())
    }

    /// Looks at the limits, if it is time to.
    #[inline]
    fn look<V: Visited, K: Keeper>(&mut self, visited: &V, keeper: &K) -> Result<(), Ending> {
        if !self.watch.due() {
            return Ok(());
        }
        let frontier = keeper.bytes();
        self.stats.frontier_bytes = self.stats.frontier_bytes.max(frontier);
        let looked = self.watch.look(&Progress {
            states: self.stats.states,
            transitions: self.stats.transitions,
            depth: keeper.depth().saturating_sub(1),
            waiting: keeper.waiting(),
            bytes: visited.coverage().bytes + frontier + keeper.trace_bytes(),
        });
        match looked {
            Err(ending) if self.hold => {
                self.held.get_or_insert(ending);
                Ok(())
            }
            looked => looked,
        }
    }

    /// The system.
    pub(crate) fn system(&self) -> &'a S {
        self.system
    }

    /// Findings so far.
    pub(crate) fn findings(&mut self) -> &mut Findings {
        &mut self.findings
    }

    /// Cover goals met so far.
    pub(crate) fn goals_met(&self) -> Vec<u64> {
        let mut goals = self.goals.clone();
        add(&mut goals, self.system.goals(&self.scratch));
        goals
    }

    /// What a search of another kind goes on with: working memory, findings, watch, counts and goals.
    pub(crate) fn into_parts(self) -> (S::Scratch, Findings, Watch<'a>, Stats, Vec<u64>) {
        (self.scratch, self.findings, self.watch, self.stats, self.goals)
    }

    /// The outcome of the search.
    pub fn finish<V: Visited, K: Keeper>(
        mut self,
        ending: Ending,
        visited: &V,
        keeper: &K,
        parents: Option<ParentLog>,
    ) -> Outcome {
        self.stats.store_bytes = visited.coverage().bytes;
        self.stats.frontier_bytes = self.stats.frontier_bytes.max(keeper.bytes());
        self.stats.trace_bytes = parents.as_ref().map_or(0, ParentLog::bytes);
        let goals = self.goals_met();
        Outcome {
            ending,
            findings: self.findings.into_vec(),
            goals,
            losses: visited.losses(),
            stats: self.stats,
            parents,
        }
    }
}

/// Generates the successors of a block. `false` if the batch has no room for all of them, or something
/// is wrong: then it is of no use.
pub(crate) fn generate<S: System>(
    system: &S,
    scratch: &mut S::Scratch,
    block: Block<'_>,
    batch: &mut Batch,
) -> bool {
    batch.clear();
    system.expand(scratch, block, &mut Cursor::default(), batch) == Step::Done
}

/// Adds numbers place by place.
pub(crate) fn add(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(sums.len().max(more.len()), 0);
    sums.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
}

/// The path to a source state and a step from it.
fn extended<K: Keeper>(keeper: &K, source: usize, step: Option<Label>) -> Vec<Label> {
    if !keeper.traces() {
        return Vec::new();
    }
    let mut path = keeper.path(source);
    path.extend(step);
    path
}

/// Ends the search if the store had states to answer for: the origin of such a state is lost, and
/// to pass it over would be unsound. Searches for stores that answer late are another matter.
pub fn demand_settled<V: Visited>(visited: &mut V) -> Result<(), Ending> {
    let mut late = false;
    visited.settle(&mut |block| late |= !block.is_empty())?;
    if late {
        let why = "this search needs a store that answers at once";
        return Err(Ending::Stopped(Reason::Exhausted(why.into())));
    }
    Ok(())
}
