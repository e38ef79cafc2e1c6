//! Depth-first search with sleep sets over a cache of states: all states with the memory of a few
//! (Godefroid, Holzmann and Pirottin, *State-Space Caching Revisited*).
//!
//! The stack and as many other states as the [`Ledger`] holds are known; a state that was forgotten is
//! explored again when it is reached again. Without sleep sets nearly every state is reached several
//! times, by different orders of the same transitions, and a small cache makes the time explode. With
//! them most states are reached once, and there is little to lose by forgetting them.
//!
//! A transition *sleeps* in a state if it is enabled there, but where it leads is found from elsewhere.
//! When `t` is fired in `s`, those sleep in the successor that slept in `s` or were fired there before,
//! as far as they are independent of `t`. What is done about a state that is reached again:
//!
//! * [`SleepRule::Stored`]: the sleep set of a state is kept beside it. Transitions that slept then and
//!   would not now are fired after all, and the set becomes the common part of both. A state that was
//!   forgotten is simply new. No transition is executed just to see where it leads, and it is sound for
//!   any order of search. With a small cache it can fire more than the other rule.
//! * [`SleepRule::Paper`]: Algorithm 2. Nothing is kept beside states; instead, transitions into the
//!   stack neither stay asleep (line 11) nor fall asleep when they are backtracked (lines 21 to 23).
//!   Both tests are needed: without one of them states are lost, rarely.
//! * [`SleepRule::Off`]: Algorithm 1. Nothing sleeps.
//!
//! With symmetry a successor may be replaced by another member of its orbit, in which transitions have
//! other names: what sleeps there is renamed by the permutation that leads to it.
//!
//! *Why nothing is lost*, by the rule of stored sets. Say that a transition *begins* a run if it is enabled at
//! once and commutes with all steps of the run before its own. Claim: if a state is reached at some time with
//! a sleep set that has none of those that begin a run from it, then the end of the run is visited. Take the
//! first time after which what is kept beside the state has none of these; then at least one of them is
//! fired, because it slept before or the state was new. Let `t` be the first of these. A transition that begins
//! the rest of the run and sleeps after `t` commutes with `t`, and slept in the state or was fired there just
//! before: so it begins the whole run, and there is none such. The rest of the run is shorter. Renaming maps runs
//! to runs, and the relation "commutes" may be taken as large as its images under all permutations, so the
//! claim is about orbits as well. The proof in the paper of its own rule compares paths to one state, and where
//! transitions lead; names do not enter into it.
//!
//! All three visit every reachable state, whatever is forgotten, because the stack is not, and because
//! the order of transitions in a state is always the same. Counts of states are of visits once something
//! was forgotten. The search is finite, because no state is on the stack twice as a new one.

use crate::{Ending, Findings, Limits, Observer, Outcome, Progress, Stats, Watch};
use ergodic_system::renaming::{pack, packed_words, unpack};
use ergodic_system::{
    Batch, Block, Cursor, Figure, Independence, Label, Ledger, PAD_WORDS, Picks, Pile, Reason,
    Step, System, Violation,
};

/// The clock is read once in so many states.
const WATCH_EVERY: u32 = 64;
/// Visits after which the share of matched states means something.
const LEAST_VISITS: u64 = 10_000;
/// With more matched states per visit than this, forgotten ones are explored over and over.
const TOO_MANY_MATCHED: f64 = 1.0;

/// What is done about transitions that were fired elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SleepRule {
    /// Nothing: all transitions of a state are fired.
    Off,
    /// They sleep, by the rule of the paper.
    Paper,
    /// They sleep, and what sleeps is kept beside a state.
    #[default]
    Stored,
}

/// How the search treats transitions.
#[derive(Clone, Copy, Debug)]
pub struct SleepPlan<'a> {
    /// What is done about those fired elsewhere.
    pub rule: SleepRule,
    /// Which of them commute.
    pub independence: &'a Independence,
    /// What sort of step each is; smaller kinds are worth more. May be shorter, or empty.
    pub kinds: &'a [u8],
    /// Leaves out a test that the rule of the paper needs: the search then loses states. For tests that
    /// must notice that.
    pub without: Option<StackTest>,
}

/// The tests of the paper's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackTest {
    /// Line 11: transitions into the stack do not stay asleep.
    Asleep,
    /// Line 21: transitions into the stack do not fall asleep.
    Backtracked,
}

/// Visits all states, deepest first.
pub fn sleep_dfs<S: System, L: Ledger, P: Pile>(
    system: &S,
    ledger: &mut L,
    pile: &mut P,
    plan: SleepPlan<'_>,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Outcome {
    let renaming = plan.independence.renaming();
    let widths = Widths {
        set: plan.independence.words(),
        state: system.shape().words,
        permutation: packed_words(renaming.points()),
    };
    let zeros = vec![0; system.rules()];
    let mut batch = Batch::new(system.shape(), limits.batch.max(1));
    batch.watch_renames(plan.rule != SleepRule::Off);
    let mut search = Search {
        system,
        scratch: system.scratch(),
        batch,
        widths,
        ledger,
        pile,
        plan,
        limits,
        watch: Watch::new(limits, observer, WATCH_EVERY),
        findings: Findings::new(limits.max_errors),
        stats: Stats { fired: zeros.clone(), fresh: zeros, ..Stats::default() },
        frame: Frame::default(),
        path: Vec::new(),
        source: vec![0; widths.state + PAD_WORDS],
        first: vec![0],
        asleep: Vec::new(),
        wanted: Vec::new(),
        renamed: Vec::new(),
        permutations: Vec::new(),
        to: Vec::new(),
        spare: Vec::new(),
        matched: 0,
        warned: false,
        cut: None,
    };
    let ending = search.explore().into();
    search.finish(ending)
}

/// A successor that waits: how it is reached. Its words stand in the frame.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    label: Label,
    rule: u32,
    /// It was replaced by another member of its orbit, where transitions have other names.
    renamed: bool,
}

impl Waiting {
    fn to_word(self) -> u64 {
        u64::from(self.label.0) << 32 | u64::from(self.rule) << 1 | u64::from(self.renamed)
    }

    fn of_word(word: u64) -> Waiting {
        let label = Label((word >> 32) as u32);
        Waiting { label, rule: word as u32 >> 1, renamed: word & 1 == 1 }
    }
}

/// The state on top of the stack.
#[derive(Debug, Default)]
struct Frame {
    /// Its sleep set.
    asleep: Vec<u64>,
    /// The successors, in the order in which they are fired, and how many of them were.
    waiting: Vec<Waiting>,
    states: Vec<u64>,
    /// The permutation by which each was renamed; zeros if it was not.
    permutations: Vec<u64>,
    at: usize,
}

/// Words that a frame takes.
#[derive(Clone, Copy, Debug)]
struct Widths {
    /// A sleep set, a state and a permutation.
    set: usize,
    state: usize,
    permutation: usize,
}

impl Frame {
    fn clear(&mut self) {
        self.asleep.clear();
        self.waiting.clear();
        self.states.clear();
        self.permutations.clear();
        self.at = 0;
    }

    /// As words: how many successors still wait, the sleep set, and the successors.
    fn save(&self, record: &mut Vec<u64>, widths: Widths) {
        record.clear();
        let waiting = &self.waiting[self.at..];
        record.push(waiting.len() as u64);
        record.extend_from_slice(&self.asleep);
        record.extend(waiting.iter().map(|waiting| waiting.to_word()));
        record.extend_from_slice(&self.permutations[self.at * widths.permutation..]);
        record.extend_from_slice(&self.states[self.at * widths.state..]);
    }

    fn load(&mut self, record: &[u64], widths: Widths) {
        self.clear();
        let count = record[0] as usize;
        let (asleep, rest) = record[1..].split_at(widths.set);
        let (waiting, rest) = rest.split_at(count);
        let (permutations, states) = rest.split_at(count * widths.permutation);
        self.asleep.extend_from_slice(asleep);
        self.waiting.extend(waiting.iter().map(|word| Waiting::of_word(*word)));
        self.permutations.extend_from_slice(permutations);
        self.states.extend_from_slice(states);
    }
}

/// One step of the path to the top of the stack.
#[derive(Debug)]
struct PathStep {
    label: Label,
    place: u32,
    /// States entered before it was.
    entered: u64,
}

struct Search<'a, 'w, S: System, L, P> {
    system: &'a S,
    scratch: S::Scratch,
    batch: Batch,
    widths: Widths,
    ledger: &'a mut L,
    pile: &'a mut P,
    plan: SleepPlan<'a>,
    limits: &'a Limits,
    watch: Watch<'w>,
    findings: Findings,
    stats: Stats,
    frame: Frame,
    /// The path to the top of the stack: how each state was reached, and its place in the ledger.
    path: Vec<PathStep>,
    source: Vec<u64>,
    /// The first state of a block.
    first: Picks,
    /// The sleep set of the successor being entered, and what the state being expanded fires.
    asleep: Vec<u64>,
    wanted: Vec<u64>,
    /// Of each successor in the batch, whether it was renamed, and by which permutation.
    renamed: Vec<bool>,
    permutations: Vec<u64>,
    /// The permutation of the successor being entered, and a set before it is renamed.
    to: Vec<u16>,
    spare: Vec<u64>,
    /// Successors that were known.
    matched: u64,
    warned: bool,
    cut: Option<u64>,
}

/// What a state is to fire.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awake {
    /// All that does not sleep.
    All,
    /// What slept when it was reached before and does not now: `note & !asleep` of the frame.
    Woken,
}

impl<S: System, L: Ledger, P: Pile> Search<'_, '_, S, L, P> {
    fn explore(&mut self) -> Result<(), Ending> {
        self.begin()?;
        let mut record = Vec::new();
        loop {
            if self.frame.at < self.frame.waiting.len() {
                self.descend(&mut record)?;
            } else if !self.backtrack(&mut record)? {
                break;
            }
        }
        self.cut.map_or(Ok(()), |depth| Err(Ending::Stopped(Reason::DepthLimit(depth))))
    }

    /// The frame that stands for no state: its successors are the initial states.
    fn begin(&mut self) -> Result<(), Ending> {
        self.frame.asleep = vec![0; self.widths.set];
        let mut cursor = Cursor::default();
        loop {
            self.batch.clear();
            let step = self.system.initial(&mut self.scratch, &mut cursor, &mut self.batch);
            self.collect();
            match step {
                Step::Done => return Ok(()),
                Step::Full => {}
                Step::Violation(violation) => self.report(&violation)?,
            }
        }
    }

    /// Appends the successors of the batch to the frame.
    fn collect(&mut self) {
        let batch = &self.batch;
        for (i, (label, rule)) in batch.labels().iter().zip(batch.rules()).enumerate() {
            let renamed = self.renamed.get(i).copied().unwrap_or_default();
            self.frame.waiting.push(Waiting { label: *label, rule: *rule, renamed });
        }
        self.permutations.resize(batch.len() * self.widths.permutation, 0);
        self.frame.permutations.extend_from_slice(&self.permutations);
        self.frame.states.extend_from_slice(batch.block().words());
    }

    /// Fires the next transition of the frame: enters its successor, or matches it.
    fn descend(&mut self, record: &mut Vec<u64>) -> Result<(), Ending> {
        let (index, initial) = (self.frame.at, self.path.is_empty());
        self.frame.at += 1;
        let Waiting { label, rule, .. } = self.frame.waiting[index];
        self.inherit(index, initial);
        if !initial {
            self.stats.transitions += 1;
            self.stats.fired[rule as usize] += 1;
        }
        let kind = match initial {
            true => 0,
            false => {
                let number = self.plan.independence.number(label);
                self.plan.kinds.get(number).copied().unwrap_or_default()
            }
        };
        let words = self.widths.state;
        self.source[..words]
            .copy_from_slice(&self.frame.states[index * words..(index + 1) * words]);
        let (place, awake) = match self.ledger.find(&self.source[..words]) {
            Some(place) => {
                self.ledger.reached(place, kind);
                self.matched += u64::from(!initial);
                if !self.wakes(place) {
                    self.fall_asleep(label, self.ledger.is_stacked(place), initial);
                    return Ok(());
                }
                self.ledger.push(place);
                (place, Awake::Woken)
            }
            None => match self.enter(kind, label, rule, initial)? {
                Some(place) => (place, Awake::All),
                None => {
                    self.fall_asleep(label, false, initial);
                    return Ok(());
                }
            },
        };
        self.frame.save(record, self.widths);
        self.pile.push(record)?;
        self.path.push(PathStep { label, place, entered: self.stats.states });
        self.expand(place, awake)
    }

    /// The sleep set of a successor of the frame, by the names that transitions have there.
    fn inherit(&mut self, index: usize, initial: bool) {
        self.asleep.clear();
        if initial || self.plan.rule == SleepRule::Off {
            self.asleep.resize(self.widths.set, 0);
            return;
        }
        let Waiting { label, renamed, .. } = self.frame.waiting[index];
        let (independence, words) = (self.plan.independence, self.widths.permutation);
        let row = independence.row(independence.number(label));
        self.asleep.extend(self.frame.asleep.iter().zip(row).map(|(set, row)| set & row));
        if renamed {
            let permutation = &self.frame.permutations[index * words..(index + 1) * words];
            let renaming = independence.renaming();
            unpack(permutation, renaming.points(), &mut self.to);
            renaming.rename(&mut self.asleep, &self.to, &mut self.spare);
        }
    }

    /// Whether a state that is known has transitions to be fired now that slept before.
    fn wakes(&mut self, place: u32) -> bool {
        if self.plan.rule != SleepRule::Stored {
            return false;
        }
        let note = self.ledger.note(place);
        note.iter().zip(&self.asleep).any(|(note, set)| note & !set != 0)
    }

    /// A transition whose successor is done, or was known. The rule of the paper lets it sleep only
    /// if it did not lead into the stack.
    fn fall_asleep(&mut self, label: Label, stacked: bool, initial: bool) {
        let sleeps = match self.plan.rule {
            SleepRule::Off => false,
            SleepRule::Paper => !stacked || self.plan.without == Some(StackTest::Backtracked),
            SleepRule::Stored => true,
        };
        if sleeps && !initial {
            let number = self.plan.independence.number(label);
            self.frame.asleep[number / 64] |= 1 << (number % 64);
        }
    }

    /// Takes a new state in; `None` if it violates a property and is not to be expanded.
    fn enter(
        &mut self,
        kind: u8,
        label: Label,
        rule: u32,
        initial: bool,
    ) -> Result<Option<u32>, Ending> {
        if let Some(limit) = self.limits.max_states.filter(|limit| self.stats.states >= *limit) {
            return Err(Ending::Stopped(Reason::StateLimit(limit)));
        }
        let depth = self.path.len() as u64;
        let place = self.ledger.enter(&self.source[..self.widths.state], kind)?;
        self.stats.states += 1;
        self.stats.depth = self.stats.depth.max(depth);
        if !initial {
            self.stats.fresh[rule as usize] += 1;
        }
        if self.plan.rule == SleepRule::Stored {
            self.ledger.note(place).copy_from_slice(&self.asleep);
        }
        let block = Block::new(&self.source, self.widths.state, 1);
        let Some(v) = self.system.judge(&mut self.scratch, block, &self.first, &mut 0) else {
            return Ok(Some(place));
        };
        self.ledger.pop(place, 0);
        let (rule, path) = ((!initial).then_some(rule), || self.path_and(Some(label)));
        let path = if self.limits.traces { path() } else { Vec::new() };
        if self.findings.add(v.kind, rule, depth, || path) {
            return Err(Ending::Enough);
        }
        Ok(None)
    }

    /// Makes the state whose words are in `source` the frame, with what it is to fire.
    fn expand(&mut self, place: u32, awake: Awake) -> Result<(), Ending> {
        let depth = self.path.len() as u64 - 1;
        self.frame.clear();
        self.frame.asleep.extend_from_slice(&self.asleep);
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        wanted.resize(self.widths.set, 0);
        if awake == Awake::Woken {
            // What sleeps in it now is what slept in all of its visits.
            let note = self.ledger.note(place);
            for ((wanted, note), set) in
                wanted.iter_mut().zip(note.iter_mut()).zip(&mut self.frame.asleep)
            {
                (*wanted, *note) = (*note & !*set, *note & *set);
                *set = *note;
            }
        } else {
            wanted.iter_mut().zip(&self.frame.asleep).for_each(|(wanted, set)| *wanted = !set);
        }
        if self.limits.max_depth == Some(depth) {
            self.cut = Some(depth);
            return Ok(());
        }
        let fired = self.fire_all(&wanted);
        self.wanted = wanted;
        fired?;
        self.look()
    }

    /// Generates the successors of the frame's state and keeps the wanted ones.
    fn fire_all(&mut self, wanted: &[u64]) -> Result<(), Ending> {
        let mut cursor = Cursor::default();
        loop {
            self.batch.clear();
            let block = Block::new(&self.source, self.widths.state, 1);
            let step = self.system.expand(&mut self.scratch, block, &mut cursor, &mut self.batch);
            self.keep_out_of_the_stack();
            self.keep_wanted(wanted);
            for (rule, count) in self.batch.dropped() {
                self.stats.transitions += u64::from(*count);
                self.stats.fired[*rule as usize] += u64::from(*count);
            }
            self.collect();
            match step {
                Step::Done => return Ok(()),
                Step::Full => {}
                Step::Violation(violation) => self.report(&violation)?,
            }
        }
    }

    /// Removes the successors of the batch that are not wanted; notes how the others were renamed.
    fn keep_wanted(&mut self, wanted: &[u64]) {
        let independence = self.plan.independence;
        let is_wanted = |label: Label| {
            let number = independence.number(label);
            wanted[number / 64] >> (number % 64) & 1 == 1
        };
        let (batch, words) = (&mut self.batch, self.widths.permutation);
        self.renamed.clear();
        self.permutations.clear();
        for (i, label) in batch.labels().iter().enumerate() {
            if !is_wanted(*label) {
                continue;
            }
            let (to, at) = (batch.renamed(i), self.permutations.len());
            self.permutations.resize(at + words, 0);
            pack(to.unwrap_or_default(), &mut self.permutations[at..]);
            self.renamed.push(to.is_some());
        }
        batch.retain(0, |_, label| is_wanted(label));
    }

    /// Line 11 of the paper's algorithm: what leads into the stack does not sleep in successors.
    fn keep_out_of_the_stack(&mut self) {
        if self.plan.rule != SleepRule::Paper || self.plan.without == Some(StackTest::Asleep) {
            return;
        }
        for i in 0..self.batch.len() {
            let number = self.plan.independence.number(self.batch.labels()[i]);
            let (word, bit) = (number / 64, 1 << (number % 64));
            if self.frame.asleep[word] & bit != 0
                && let Some(place) = self.ledger.find(self.batch.state(i))
                && self.ledger.is_stacked(place)
            {
                self.frame.asleep[word] &= !bit;
            }
        }
    }

    /// Takes the state on top off the stack and goes on with the one below; `false` if there is none.
    fn backtrack(&mut self, record: &mut Vec<u64>) -> Result<bool, Ending> {
        let Some(step) = self.path.pop() else { return Ok(false) };
        self.ledger.pop(step.place, self.stats.states - step.entered);
        if !self.pile.pop(record)? {
            return Ok(false);
        }
        self.frame.load(record, self.widths);
        let stacked = self.ledger.is_stacked(step.place);
        self.fall_asleep(step.label, stacked, self.path.is_empty());
        Ok(true)
    }

    fn path_and(&self, last: Option<Label>) -> Vec<Label> {
        self.path.iter().map(|step| step.label).chain(last).collect()
    }

    /// Reports what the expansion ran into.
    fn report(&mut self, v: &Violation) -> Result<(), Ending> {
        let path = if self.limits.traces { self.path_and(v.label) } else { Vec::new() };
        let depth = (self.path.len() as u64).saturating_sub(1);
        if self.findings.add(v.kind, None, depth, || path) {
            return Err(Ending::Enough);
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        let path = self.path.capacity() * size_of::<PathStep>();
        let Frame { states, waiting, permutations, .. } = &self.frame;
        let frame = (states.capacity() + waiting.capacity() + permutations.capacity()) * 8;
        self.pile.bytes() + (path + frame) as u64
    }

    /// Looks at the limits, if it is time to.
    fn look(&mut self) -> Result<(), Ending> {
        if !self.watch.due() {
            return Ok(());
        }
        let waiting = self.path.len() as u64;
        self.stats.max_frontier = self.stats.max_frontier.max(waiting);
        self.stats.frontier_bytes = self.stats.frontier_bytes.max(self.bytes());
        self.warn_of_explosion();
        let bytes = self.ledger.coverage().bytes + self.bytes();
        self.watch.look(&Progress {
            states: self.stats.states,
            transitions: self.stats.transitions,
            depth: waiting,
            waiting,
            bytes,
        })
    }

    /// As the paper says: if few states are matched, forgetting them costs little; if many are, the
    /// time explodes.
    fn warn_of_explosion(&mut self) {
        let matched = self.matched as f64 / self.stats.states.max(1) as f64;
        if self.warned
            || self.ledger.forgotten() < LEAST_VISITS
            || self.stats.states < LEAST_VISITS
            || matched < TOO_MANY_MATCHED
        {
            return;
        }
        self.warned = true;
        self.watch.warn(&format!(
            "{matched:.1} known states are reached per new one, and the cache forgets: parts of the \
             state space will be explored over and over; give --cache more, or use another search"
        ));
    }

    fn finish(self, ending: Ending) -> Outcome {
        let mut stats = self.stats;
        stats.store_bytes = self.ledger.coverage().bytes;
        let mut losses = self.ledger.losses();
        let title = "known states reached";
        losses.figures.push(Figure { key: "matched_states", title, value: self.matched as f64 });
        Outcome {
            ending,
            findings: self.findings.into_vec(),
            goals: self.system.goals(&self.scratch).to_vec(),
            losses,
            stats,
            parents: None,
        }
    }
}
