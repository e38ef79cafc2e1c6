//! What a worker does with batches: expands them, claims the successors, and publishes those that are
//! new.
//!
//! The steps for a batch B, in this order (`models/self/fleet.m` shows what goes wrong in another one):
//! expand; claim successors at their keepers, except those in the filter; judge the new ones; record how
//! they were found; ask B's home whether B is still open, after the last look into the filter; publish
//! the new states; say at home, then everywhere, that B is done. The caller then acknowledges B.
//!
//! Invariants:
//! * what is published for a batch depends on the batch and the keepers' answers only, not on the
//!   filter or on which other batches were at hand: two workers on one batch publish equal messages,
//!   which have equal identities;
//! * a batch that some keeper calls done has its children stored: nothing more is published for it.

use crate::candidates::{Candidates, Origin};
use crate::filter::{Filter, Spot};
use crate::job::Job;
use crate::keys::{Codec, Id, Mixer, NOBODY, Ref, Signature, packed, place, reference};
use crate::link::{Outgoing, Request, Trouble, Wire};
use crate::messages::{
    Answer, Ask, Found, Parent, Standing, Tally, WorkBatch, read_answers, request, work_message,
};
use ergodic_system::{Batch, Block, Cursor, PAD_WORDS, Picks, Step, System, Violation};
use std::collections::HashSet;
use std::hash::BuildHasherDefault;

/// Successors in one call of an executor.
const MOST_SUCCESSORS: usize = 2048;
/// Bytes of a request, about.
const REQUEST_BYTES: usize = 256 << 10;
/// Violations that one batch reports.
const MOST_FOUND: usize = 32;

/// Successors that are looked up in the filter together: so many lines of memory are fetched at once.
const LOOKS: usize = 64;

/// The states of so many full batches, from the first on, are cut
const EARLY_BATCHES: u64 = 2;
/// into batches that are so many times smaller.
const FINER: usize = 16;

/// What a worker decides for itself, and what is asked of the search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// States this deep are not expanded.
    pub max_depth: Option<u32>,
    /// Bytes of the filter.
    pub filter_bytes: usize,
    /// Successors that are claimed together, at most (and those of one call more).
    pub claim_at: usize,
    /// Batches are not cut into pieces of fewer states than that. The same for all workers of a job.
    pub least_piece: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { max_depth: None, filter_bytes: 16 << 20, claim_at: 16 << 10, least_piece: 64 }
    }
}

/// What one worker thread needs to expand batches.
pub struct Expander<S: System> {
    system: S,
    scratch: S::Scratch,
    codec: Codec,
    /// States per published batch, at most.
    batch_states: usize,
    settings: Settings,
    /// States that the system has passed inside of chains so far.
    passed: Box<dyn Fn() -> u64 + Send>,
    filter: Filter,
    out: Batch,
    candidates: Candidates,
    goals: Vec<u64>,
    /// Working memory.
    looks: Vec<(Signature, Spot)>,
    /// Counts for the live view.
    pub done: Done,
}

/// What an expander has done so far, repeated work included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Batches.
    pub batches: u64,
    /// States expanded.
    pub states: u64,
    /// Successors.
    pub successors: u64,
    /// Successors that keepers were asked about.
    pub claimed: u64,
    /// Successors that were new.
    pub new: u64,
}

impl<S: System> std::fmt::Debug for Expander<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expander").field("done", &self.done).finish_non_exhaustive()
    }
}

/// A batch that is being worked on.
struct Open {
    work: WorkBatch,
    tally: Tally,
    found: Vec<Found>,
    /// New states that are to be expanded, in the order in which they were found.
    states: Vec<u64>,
    refs: Vec<Ref>,
    /// Where all new states came from, keeper by keeper.
    parents: Vec<(u32, Parent)>,
    /// Records of new states: a state that is claimed again is told the same.
    mine: HashSet<Ref, BuildHasherDefault<Mixer>>,
    /// Somebody else has finished it.
    over: bool,
}

impl Open {
    fn new(work: WorkBatch, rules: usize) -> Open {
        let tally = Tally { fired: vec![0; rules], fresh: vec![0; rules], ..Tally::default() };
        Open {
            work,
            tally,
            found: Vec::new(),
            states: Vec::new(),
            refs: Vec::new(),
            parents: Vec::new(),
            mine: HashSet::default(),
            over: false,
        }
    }

    /// The level of its children. Those of the root are on level 0.
    fn next_level(&self) -> u32 {
        self.work.level.wrapping_add(1)
    }

    fn report(&mut self, found: Found) {
        if self.found.len() < MOST_FOUND {
            self.found.push(found);
        }
    }
}

impl<S: System> Expander<S> {
    /// For the states of a job. `passed` says how many states the system has passed inside of chains.
    pub fn new(
        system: S,
        job: &Job,
        settings: Settings,
        passed: Box<dyn Fn() -> u64 + Send>,
    ) -> Expander<S> {
        let codec = Codec::new(job);
        let scratch = system.scratch();
        let mut out = Batch::new(system.shape(), settings.claim_at.clamp(1, MOST_SUCCESSORS));
        out.skip_loops();
        let filter = Filter::new(codec.key.words, settings.filter_bytes);
        Expander {
            scratch,
            filter,
            out,
            candidates: Candidates::new(&codec),
            goals: Vec::new(),
            looks: Vec::new(),
            done: Done::default(),
            batch_states: job.batch_states.max(1) as usize,
            system,
            codec,
            settings,
            passed,
        }
    }

    /// States per batch of the job, at most.
    pub(crate) fn batch_states(&self) -> usize {
        self.batch_states
    }

    /// How messages of the job are read.
    pub fn codec(&self) -> &Codec {
        &self.codec
    }

    /// Finds the initial states, which belong to a batch of their own, and publishes them.
    pub fn root(&mut self, wire: &mut impl Wire) -> Result<(), Trouble> {
        let (id, level) = (self.codec.root(), u32::MAX);
        let work = WorkBatch { id, level, refs: Vec::new(), states: vec![0; PAD_WORDS] };
        let mut unit = vec![Open::new(work, self.system.rules())];
        let mut cursor = Cursor::default();
        loop {
            self.out.clear();
            let step = self.system.initial(&mut self.scratch, &mut cursor, &mut self.out);
            self.take_in(&mut unit[0], 0);
            // Initial states are no transitions.
            unit[0].tally.transitions = 0;
            unit[0].tally.fired.fill(0);
            if self.advance(step, &mut unit, 0, wire)? {
                break;
            }
        }
        self.finish(unit, wire)
    }

    /// Does all that is to be done for batches, but for the acknowledgement.
    pub(crate) fn work(
        &mut self,
        batches: Vec<WorkBatch>,
        wire: &mut impl Wire,
    ) -> Result<(), Trouble> {
        let rules = self.system.rules();
        let mut unit: Vec<Open> = batches.into_iter().map(|work| Open::new(work, rules)).collect();
        for i in 0..unit.len() {
            self.expand(&mut unit, i, wire)?;
        }
        self.finish(unit, wire)
    }

    fn expand(&mut self, unit: &mut [Open], i: usize, wire: &mut impl Wire) -> Result<(), Trouble> {
        let count = unit[i].work.len();
        if self.settings.max_depth.is_some_and(|most| unit[i].work.level >= most) {
            unit[i].tally.cut += count as u64;
            return Ok(());
        }
        let passed = (self.passed)();
        let mut cursor = Cursor::default();
        loop {
            self.out.clear();
            let block = Block::new(&unit[i].work.states, self.codec.shape.words, count);
            let step = self.system.expand(&mut self.scratch, block, &mut cursor, &mut self.out);
            self.take_in(&mut unit[i], i as u32);
            if self.advance(step, unit, i, wire)? {
                break;
            }
        }
        unit[i].tally.passed += (self.passed)() - passed;
        self.done.states += count as u64;
        self.done.batches += 1;
        Ok(())
    }

    /// Goes on after a step of the executor; says whether that was the last one.
    fn advance(
        &mut self,
        step: Step,
        unit: &mut [Open],
        i: usize,
        wire: &mut impl Wire,
    ) -> Result<bool, Trouble> {
        self.count_goals(&mut unit[i].tally);
        if let Step::Violation(violation) = step {
            let found = self.seen(&unit[i].work, violation);
            unit[i].report(found);
        }
        if self.candidates.len() >= self.settings.claim_at {
            self.claim(unit, wire)?;
        }
        Ok(step == Step::Done)
    }

    /// A violation that was seen while a batch was expanded.
    fn seen(&self, work: &WorkBatch, violation: Violation) -> Found {
        let at = work.refs.get(violation.at).copied().unwrap_or(NOBODY);
        let depth = if at == NOBODY { 0 } else { work.level };
        Found { at, label: violation.label, kind: violation.kind, depth }
    }

    /// Counts the successors in `out`, and makes candidates of those that are not known to be known.
    fn take_in(&mut self, open: &mut Open, batch: u32) {
        let tally = &mut open.tally;
        for (rule, count) in self.out.dropped() {
            tally.transitions += u64::from(*count);
            tally.fired[*rule as usize] += u64::from(*count);
        }
        tally.transitions += self.out.len() as u64;
        self.done.successors += self.out.len() as u64;
        for first in (0..self.out.len()).step_by(LOOKS) {
            let group = first..(first + LOOKS).min(self.out.len());
            self.looks.clear();
            for i in group.clone() {
                let state = self.out.state(i);
                let signature = self.codec.sign(state);
                let mut room = [0; 2];
                let key = self.codec.key(state, signature, &mut room);
                self.looks.push((signature, self.filter.spot(key, signature)));
            }
            for (i, (signature, spot)) in group.zip(&self.looks) {
                let rule = self.out.rules()[i];
                tally.fired[rule as usize] += 1;
                let (state, signature) = (self.out.state(i), *signature);
                if self.filter.knows(self.codec.key(state, signature, &mut [0; 2]), *spot) {
                    continue;
                }
                let source = self.out.sources()[i] as usize;
                let parent = open.work.refs.get(source).copied().unwrap_or(NOBODY);
                let label = self.out.labels()[i];
                self.candidates.add(state, Origin { batch, parent, rule, label, signature });
            }
        }
    }

    fn count_goals(&mut self, tally: &mut Tally) {
        let goals = self.system.goals(&self.scratch);
        self.goals.resize(goals.len(), 0);
        tally.goals.resize(goals.len(), 0);
        for ((now, before), sum) in goals.iter().zip(&mut self.goals).zip(&mut tally.goals) {
            *sum += *now - *before;
            *before = *now;
        }
    }

    /// Asks keepers about all candidates, and takes over the new ones.
    fn claim(&mut self, unit: &mut [Open], wire: &mut impl Wire) -> Result<(), Trouble> {
        self.done.claimed += self.candidates.len() as u64;
        let claims = self.claims(unit);
        let requests = claims.iter().map(|claim| Request {
            keeper: claim.keeper,
            body: request(&self.codec, std::slice::from_ref(&claim.ask)),
        });
        let answers = wire.ask(requests.collect())?;
        let mut mine: Vec<Option<u64>> = vec![None; self.candidates.len()];
        for (claim, answer) in claims.iter().zip(&answers) {
            match single(&self.codec, answer)? {
                Answer::Standings(standings) if standings.len() == claim.places.len() => {
                    for (place, standing) in claim.places.iter().zip(standings) {
                        match standing {
                            Standing::Mine(record) => {
                                mine[*place as usize] = Some(reference(claim.keeper, record));
                            }
                            Standing::Settled => self.remember(*place as usize),
                            Standing::Pending => {}
                        }
                    }
                }
                Answer::AlreadyDone => unit[claim.batch].over = true,
                other => return Err(nonsense(claim.keeper, &other)),
            }
        }
        self.take_over(unit, &mine);
        self.candidates.clear();
        Ok(())
    }

    /// The candidates as claims: one per keeper and batch, or more if they are large.
    fn claims(&self, unit: &[Open]) -> Vec<Claim> {
        let most = (REQUEST_BYTES / packed(self.codec.key)).max(1);
        let block = self.candidates.block();
        let mut claims: Vec<Claim> = Vec::new();
        // For each keeper the claim that is being filled.
        let mut last: Vec<Option<usize>> = vec![None; self.codec.keepers() as usize];
        for i in 0..self.candidates.len() {
            let origin = self.candidates.origin(i);
            let open = &unit[origin.batch as usize];
            if open.over {
                continue;
            }
            let keeper = self.codec.keeper(origin.signature);
            let at = match last[keeper as usize] {
                Some(at)
                    if claims[at].batch == origin.batch as usize
                        && claims[at].places.len() < most =>
                {
                    at
                }
                _ => {
                    let (batch, level) = (open.work.id, open.next_level());
                    claims.push(Claim {
                        keeper,
                        batch: origin.batch as usize,
                        places: Vec::new(),
                        ask: Ask::Claim { batch, level, keys: Vec::new() },
                    });
                    claims.len() - 1
                }
            };
            last[keeper as usize] = Some(at);
            let claim = &mut claims[at];
            claim.places.push(i as u32);
            if let Ask::Claim { keys, .. } = &mut claim.ask {
                let mut room = [0; 2];
                keys.extend_from_slice(self.codec.key(block.state(i), origin.signature, &mut room));
            }
        }
        claims
    }

    /// Puts a candidate of a batch that is done into the filter.
    fn remember(&mut self, place: usize) {
        let signature = self.candidates.origin(place).signature;
        let (block, mut room) = (self.candidates.block(), [0; 2]);
        self.filter.take(self.codec.key(block.state(place), signature, &mut room), signature);
    }

    /// Judges the candidates that belong to their batches, and takes them over.
    fn take_over(&mut self, unit: &mut [Open], mine: &[Option<Ref>]) {
        let mut picks: Vec<Picks> = vec![Picks::new(); unit.len()];
        for (i, reference) in mine.iter().enumerate() {
            let Some(reference) = *reference else { continue };
            let origin = self.candidates.origin(i);
            let open = &mut unit[origin.batch as usize];
            if !open.mine.insert(reference) {
                continue;
            }
            picks[origin.batch as usize].push(i as u32);
            let (keeper, record) = place(reference);
            let (from, label) = (origin.parent, origin.label);
            open.parents.push((keeper, Parent { record, from, label }));
            open.tally.fresh[origin.rule as usize] += 1;
        }
        for (open, picks) in unit.iter_mut().zip(&picks) {
            if picks.is_empty() {
                continue;
            }
            self.done.new += picks.len() as u64;
            let bad = self.judge(open, picks, mine);
            let block = self.candidates.block();
            for i in picks.iter().filter(|i| !bad.contains(i)) {
                open.states.extend_from_slice(block.state(*i as usize));
                open.refs.push(mine[*i as usize].unwrap_or(NOBODY));
            }
        }
    }

    /// Reports what is wrong with new states; returns which they are. They are not expanded.
    fn judge(&mut self, open: &mut Open, picks: &Picks, mine: &[Option<Ref>]) -> HashSet<u32> {
        let mut bad = HashSet::new();
        let (block, depth, mut at) = (self.candidates.block(), open.next_level(), 0);
        while let Some(violation) = self.system.judge(&mut self.scratch, block, picks, &mut at) {
            bad.insert(violation.at as u32);
            let reference = mine[violation.at].unwrap_or(NOBODY);
            let (label, kind) = (violation.label, violation.kind);
            open.report(Found { at: reference, label, kind, depth });
        }
        self.count_goals(&mut open.tally);
        bad
    }

    /// Everything after the last successor was found.
    fn finish(&mut self, mut unit: Vec<Open>, wire: &mut impl Wire) -> Result<(), Trouble> {
        self.claim(&mut unit, wire)?;
        self.record(&mut unit, wire)?;
        let children = self.publish(&unit, wire)?;
        self.call_done(&unit, &children, wire)?;
        for open in unit.iter().filter(|open| !open.over) {
            for state in open.states.chunks_exact(self.codec.shape.words) {
                let signature = self.codec.sign(state);
                self.filter.take(self.codec.key(state, signature, &mut [0; 2]), signature);
            }
        }
        Ok(())
    }

    /// Tells keepers how new states were found; at last asks the home of each batch whether it is open.
    fn record(&self, unit: &mut [Open], wire: &mut impl Wire) -> Result<(), Trouble> {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        let open: Vec<usize> = (0..unit.len()).filter(|i| !unit[*i].over).collect();
        for i in &open {
            last.push(self.records(&unit[*i], &mut first));
        }
        // What follows must not be asked before this is answered.
        self.ask_all(first, wire)?;
        let answers = self.ask_all(last, wire)?;
        for (i, answer) in open.into_iter().zip(answers) {
            unit[i].over = answer == Answer::AlreadyDone;
        }
        Ok(())
    }

    /// How the new states of a batch were found, for their keepers; returns what its home is told last.
    fn records(&self, open: &Open, first: &mut Vec<(u32, Ask)>) -> (u32, Ask) {
        let most = REQUEST_BYTES / 24;
        let (batch, found) = (open.work.id, open.found.clone());
        let home = self.codec.home(batch);
        let mut of_keeper: Vec<Vec<Parent>> = vec![Vec::new(); self.codec.keepers() as usize];
        open.parents.iter().for_each(|(keeper, p)| of_keeper[*keeper as usize].push(*p));
        let at_home = std::mem::take(&mut of_keeper[home as usize]);
        let (early, late) = at_home.split_at(at_home.len().saturating_sub(most));
        of_keeper[home as usize] = early.to_vec();
        for (keeper, parents) in of_keeper.iter().enumerate() {
            for parents in parents.chunks(most) {
                let parents = parents.to_vec();
                first.push((keeper as u32, Ask::Record { batch, parents, found: Vec::new() }));
            }
        }
        (home, Ask::Record { batch, parents: late.to_vec(), found })
    }

    /// Publishes the new states of batches that are open; returns what they are known by.
    fn publish(&self, unit: &[Open], wire: &mut impl Wire) -> Result<Vec<Vec<Id>>, Trouble> {
        let width = self.codec.shape.words;
        let (mut outgoing, mut children) = (Vec::new(), Vec::new());
        for open in unit {
            let mut ids = Vec::new();
            let pieces = open.refs.len().div_ceil(self.piece(&open.refs));
            if !open.over && pieces > 0 {
                let size = open.refs.len().div_ceil(pieces);
                for (refs, states) in open.refs.chunks(size).zip(open.states.chunks(size * width)) {
                    let level = open.next_level();
                    let (id, body) = work_message(&self.codec, level, refs, states);
                    ids.push(id);
                    outgoing.push(Outgoing { level, id, body });
                }
            }
            children.push(ids);
        }
        if !outgoing.is_empty() {
            wire.publish(outgoing)?;
        }
        Ok(children)
    }

    /// States of one batch of these new ones, at most. The first states of a job are cut finer, so that all
    /// workers have something to do soon. Whoever repeats a batch must cut it in the same way, or what it
    /// publishes is taken for other batches: so this depends on the states alone.
    fn piece(&self, refs: &[Ref]) -> usize {
        let earlier = refs.first().map_or(0, |first| place(*first).1);
        let found = earlier.saturating_mul(u64::from(self.codec.keepers()));
        let early = found < EARLY_BATCHES * self.batch_states as u64;
        let finer =
            (self.batch_states / FINER).max(self.settings.least_piece).min(self.batch_states);
        if early { finer } else { self.batch_states }
    }

    /// Calls batches done: at their homes first, because whoever hears it elsewhere relies on that.
    fn call_done(
        &self,
        unit: &[Open],
        children: &[Vec<Id>],
        wire: &mut impl Wire,
    ) -> Result<(), Trouble> {
        let (mut first, mut then) = (Vec::new(), Vec::new());
        for (open, children) in unit.iter().zip(children) {
            let batch = open.work.id;
            let home = self.codec.home(batch);
            // Of a batch that somebody else has finished, home knows all.
            if !open.over {
                let tally = Some(Box::new(open.tally.clone()));
                first.push((home, Ask::Done { batch, tally, children: children.clone() }));
            }
            for keeper in (0..self.codec.keepers()).filter(|keeper| *keeper != home) {
                then.push((keeper, Ask::Done { batch, tally: None, children: Vec::new() }));
            }
        }
        self.ask_all(first, wire)?;
        self.ask_all(then, wire)?;
        Ok(())
    }

    /// Asks keepers; returns their answers in the order of the questions.
    fn ask_all(&self, asks: Vec<(u32, Ask)>, wire: &mut impl Wire) -> Result<Vec<Answer>, Trouble> {
        // One request per keeper, as far as sizes allow.
        let mut requests: Vec<(u32, Vec<u8>, Vec<usize>)> = Vec::new();
        for (i, (keeper, ask)) in asks.iter().enumerate() {
            let fits = |(to, body, _): &&mut (u32, Vec<u8>, Vec<usize>)| {
                to == keeper && body.len() < REQUEST_BYTES
            };
            match requests.iter_mut().rev().find(fits) {
                Some((_, body, places)) => {
                    crate::messages::put_ask(&self.codec, ask, body);
                    places.push(i);
                }
                None => {
                    let body = request(&self.codec, std::slice::from_ref(ask));
                    requests.push((*keeper, body, vec![i]));
                }
            }
        }
        if requests.is_empty() {
            return Ok(Vec::new());
        }
        let sent = requests
            .iter_mut()
            .map(|(keeper, body, _)| Request { keeper: *keeper, body: std::mem::take(body) });
        let replies = wire.ask(sent.collect())?;
        let mut answers = vec![Answer::Noted; asks.len()];
        for ((keeper, _, places), reply) in requests.iter().zip(&replies) {
            let sections = read_answers(&self.codec, reply).unwrap_or_default();
            if sections.len() != places.len() {
                return Err(nonsense(*keeper, &Answer::Trouble("an unreadable answer".into())));
            }
            for (place, section) in places.iter().zip(sections) {
                match section {
                    Answer::Noted | Answer::AlreadyDone => answers[*place] = section,
                    other => return Err(nonsense(*keeper, &other)),
                }
            }
        }
        Ok(answers)
    }
}

/// A claim and what it is about.
struct Claim {
    keeper: u32,
    batch: usize,
    /// Which candidates.
    places: Vec<u32>,
    ask: Ask,
}

/// The only section of an answer.
pub(crate) fn single(codec: &Codec, message: &[u8]) -> Result<Answer, Trouble> {
    match read_answers(codec, message) {
        Some(mut answers) if answers.len() == 1 => Ok(answers.remove(0)),
        _ => Err(Trouble::Broken("a keeper gave an answer that makes no sense".to_string())),
    }
}

/// A keeper does not answer what it was asked.
fn nonsense(keeper: u32, answer: &Answer) -> Trouble {
    Trouble::Broken(match answer {
        Answer::Trouble(text) => format!("keeper {keeper} cannot go on: {text}"),
        _ => format!("keeper {keeper} gave an answer that makes no sense"),
    })
}
