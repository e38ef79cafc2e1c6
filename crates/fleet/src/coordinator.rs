//! The coordinator: starts the search, knows when it has ended, and finds the way to a violation.
//!
//! *Termination.* A batch is acknowledged after its children are stored, and the broker forgets it
//! only then. So if the broker has nothing undelivered and nothing unacknowledged at one point in
//! time, there is nothing left to do, and there never will be. As a second check, the identities
//! of done batches must be those of the published ones, each once: a broker that loses what it called
//! stored (because its computer lost power, say) is found out, and the verdict says so.
//!
//! *A broker that forgets acknowledgements* (after a restart, some do) holds batches that are done for ever. The
//! balance of identities is a proof of its own: a keeper says in one answer which batches are done and which
//! children they have, so done batches that are the root and all children of done batches are all there are.
//! With such a proof and no progress for a while, what the broker still holds is not waited for.

use crate::bytes::Reader;
use crate::expander::{Expander, single};
use crate::keys::{Codec, NOBODY, Ref, place};
use crate::link::{Desk, Request, Trouble, Waiting, Wire};
use crate::messages::{Answer, Ask, Found, Totals, add_id, add_sums, read_found, request};
use ergodic_system::{Label, System, ViolationKind};
use std::time::{Duration, Instant};

/// How far a job is.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// All keepers together.
    pub totals: Totals,
    /// Each keeper.
    pub keepers: Vec<Totals>,
    /// States per level. Without strict levels, those of the first levels of a very deep search may be of an
    /// earlier look.
    pub levels: Vec<u64>,
    /// What the broker counts.
    pub waiting: Waiting,
    /// The level that is open, if levels are strict.
    pub level: Option<u32>,
}

/// What the caller wants after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Go on.
    GoOn,
    /// Stop, with what there is.
    Stop,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// Everything reachable was visited.
    Complete,
    /// Something is wrong with the model.
    Violated,
    /// The caller wanted it.
    Stopped,
    /// The broker lost so many batches that it had stored.
    Lost(u64),
    /// A keeper cannot go on.
    Trouble(String),
}

/// A violation and the way there.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// Labels, from the initial state on.
    pub path: Vec<Label>,
    /// What is wrong at its end.
    pub kind: ViolationKind,
    /// Depth of the state in which it was seen.
    pub depth: u64,
}

/// What a job came to.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How.
    pub end: End,
    /// Violations, those with the shortest ways first.
    pub ways: Vec<Way>,
    /// The last look.
    pub view: View,
}

/// What the coordinator is told.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Level after level.
    pub strict: bool,
    /// Violations to report, at most.
    pub most_ways: usize,
    /// How often keepers are asked how far they are.
    pub look_every: Duration,
    /// With all batches done, how long the broker may take to say so.
    pub patience: Duration,
}

/// Runs a job to its end. `watch` is called after every look.
pub fn coordinate<S: System, D: Desk>(
    expander: &mut Expander<S>,
    desk: &mut D,
    rules: Rules,
    watch: &mut dyn FnMut(&View) -> Wish,
) -> Result<Ended, Trouble> {
    let codec = expander.codec().clone();
    expander.root(desk)?;
    let mut job = Coordinator { codec, rules, view: View::default() };
    job.view.level = rules.strict.then_some(0);
    desk.open(job.view.level)?;
    let end = job.watch(desk, watch)?;
    let ways = job.ways(desk)?;
    Ok(Ended { end, ways, view: job.view })
}

struct Coordinator {
    codec: Codec,
    rules: Rules,
    view: View,
}

impl Coordinator {
    fn watch(
        &mut self,
        desk: &mut impl Desk,
        watch: &mut dyn FnMut(&View) -> Wish,
    ) -> Result<End, Trouble> {
        let mut looked: Option<Instant> = None;
        let mut balanced: Option<Instant> = None;
        let mut pause = LEAST_PAUSE;
        loop {
            self.view.waiting = desk.waiting()?;
            let empty = self.is_empty();
            let due = looked.is_none_or(|at| at.elapsed() >= self.rules.look_every);
            if empty || due {
                self.look(desk)?;
                looked = Some(Instant::now());
                if let Some(text) = &self.view.totals.trouble {
                    return Ok(End::Trouble(text.clone()));
                }
                if watch(&self.view) == Wish::Stop {
                    return Ok(End::Stopped);
                }
                // With strict levels the level is to end, for there may be a shorter way.
                let violated = !self.view.totals.found.is_empty();
                if violated && (empty || !self.rules.strict) {
                    return Ok(End::Violated);
                }
                balanced = match self.balance() {
                    End::Complete => balanced.or_else(|| Some(Instant::now())),
                    _ => None,
                };
                if !violated && balanced.is_some_and(|at| at.elapsed() >= self.rules.patience) {
                    return Ok(End::Complete);
                }
            }
            if empty {
                match self.next_level() {
                    Some(level) => {
                        self.view.level = Some(level);
                        desk.open(Some(level))?;
                        pause = LEAST_PAUSE;
                        continue;
                    }
                    None => return Ok(self.balance()),
                }
            }
            desk.rest(pause);
            pause = (pause * 2).min(MOST_PAUSE);
        }
    }

    /// Whether nothing is left to do in what is open.
    fn is_empty(&self) -> bool {
        let waiting = self.view.waiting;
        match self.rules.strict {
            true => waiting.undelivered == 0 && waiting.unacknowledged == 0,
            false => waiting.stored == 0,
        }
    }

    /// The level behind the one that is open, if it has states.
    fn next_level(&self) -> Option<u32> {
        let next = self.view.level? + 1;
        let states = self.view.levels.get(next as usize).copied().unwrap_or(0);
        (states > 0).then_some(next)
    }

    /// Whether all batches that were published are done.
    fn balance(&self) -> End {
        let mut published = self.view.totals.promised;
        add_id(&mut published, self.codec.root());
        let done = self.view.totals.done;
        match published == done {
            true => End::Complete,
            false => End::Lost(published.0.saturating_sub(done.0).max(1)),
        }
    }

    /// Asks all keepers how far they are.
    fn look(&mut self, desk: &mut impl Desk) -> Result<(), Trouble> {
        let ask = |keeper| Request { keeper, body: request(&self.codec, &[Ask::Totals]) };
        let replies = desk.ask((0..self.codec.keepers()).map(ask).collect())?;
        let mut keepers = Vec::new();
        for reply in &replies {
            match single(&self.codec, reply)? {
                Answer::Totals(totals) => keepers.push(*totals),
                _ => return Err(Trouble::Broken("a keeper does not say how far it is".into())),
            }
        }
        self.view.totals = sum(&keepers);
        self.count_levels(&keepers);
        self.view.keepers = keepers;
        Ok(())
    }

    /// Keepers tell about their deepest levels. Of those above, the numbers are known from earlier looks: with
    /// strict levels there was one when each of them ended.
    fn count_levels(&mut self, keepers: &[Totals]) {
        let levels = &mut self.view.levels;
        let first = keepers.iter().map(|keeper| keeper.first_level).max().unwrap_or(0);
        levels.resize(first, 0);
        for keeper in keepers {
            let known = first.saturating_sub(keeper.first_level).min(keeper.levels.len());
            for (i, states) in keeper.levels[known..].iter().enumerate() {
                if levels.len() <= first + i {
                    levels.push(0);
                }
                levels[first + i] += states;
            }
        }
    }

    /// The ways to what was found.
    fn ways(&self, desk: &mut impl Wire) -> Result<Vec<Way>, Trouble> {
        let found = self.view.totals.found.iter();
        let mut found: Vec<Found> =
            found.filter_map(|bytes| read_found(&mut Reader::new(bytes))).collect();
        found.sort_by_key(|found| found.depth);
        // Of several on the shortest, the same one in every run that finds the same ways.
        let shortest = found.first().map_or(0, |found| found.depth);
        let many = found.iter().take_while(|found| found.depth == shortest).count();
        found.truncate(self.rules.most_ways.max(many.min(MOST_COMPARED)));
        let mut ways = Vec::new();
        for found in found {
            let path = self.path(desk, found)?;
            ways.push(Way { path, kind: found.kind, depth: u64::from(found.depth) });
        }
        ways.sort_by(|a, b| (a.depth, &a.path).cmp(&(b.depth, &b.path)));
        ways.truncate(self.rules.most_ways);
        Ok(ways)
    }

    fn path(&self, desk: &mut impl Wire, found: Found) -> Result<Vec<Label>, Trouble> {
        let mut path: Vec<Label> = found.label.into_iter().collect();
        let mut at = found.at;
        while at != NOBODY {
            let (from, label) = self.parent(desk, at)?;
            path.push(label);
            if path.len() > MOST_STEPS {
                return Err(Trouble::Broken("the way to a violation does not end".into()));
            }
            at = from;
        }
        path.reverse();
        Ok(path)
    }

    fn parent(&self, desk: &mut impl Wire, at: Ref) -> Result<(Ref, Label), Trouble> {
        let (keeper, record) = place(at);
        let broken =
            || Trouble::Broken("a keeper does not know the way to a violation".to_string());
        if keeper >= self.codec.keepers() {
            return Err(broken());
        }
        let body = request(&self.codec, &[Ask::Parents { records: vec![record] }]);
        let replies = desk.ask(vec![Request { keeper, body }])?;
        match replies.first().map(|reply| single(&self.codec, reply)) {
            Some(Ok(Answer::Parents(parents))) => parents.first().copied().ok_or_else(broken),
            _ => Err(broken()),
        }
    }
}

/// How long the coordinator waits before it asks the broker again.
const LEAST_PAUSE: Duration = Duration::from_millis(1);
const MOST_PAUSE: Duration = Duration::from_millis(50);
/// Ways that are compared to choose one.
const MOST_COMPARED: usize = 16;
/// No way has more steps.
const MOST_STEPS: usize = 1 << 26;

/// All keepers together.
fn sum(keepers: &[Totals]) -> Totals {
    let mut sum = Totals::default();
    for keeper in keepers {
        sum.states += keeper.states;
        sum.bytes += keeper.bytes;
        sum.log_bytes += keeper.log_bytes;
        sum.pending += keeper.pending;
        sum.claimed += keeper.claimed;
        sum.rejected += keeper.rejected;
        sum.omission += keeper.omission;
        sum.path_omission = sum.path_omission.max(keeper.path_omission);
        add_sums(&mut sum.done, keeper.done);
        add_sums(&mut sum.promised, keeper.promised);
        sum.tally.add(&keeper.tally);
        sum.found.extend(keeper.found.iter().cloned());
        sum.trouble = sum.trouble.or_else(|| keeper.trouble.clone());
    }
    sum
}
