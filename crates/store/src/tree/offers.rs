//! How a worker asks a [`TreeStore`]: in groups of states, as on an assembly line.
//!
//! A group goes through stages. In the first one its states are taken from the block, those that
//! were offered lately are left out (`recent.rs`), and the pieces or leaves of the others are asked for;
//! then there is a stage for each further step of the form, in which the references that were asked for
//! are fetched and the next ones are asked for; then the roots are probed, and in the last stage those that
//! found their line crowded are looked for in further lines. Equal roots are put off together, because a crowded line stays crowded, so the
//! first of them is still the first. To ask is to start to load
//! a line. Groups follow each other at a distance of one stage, so between the question and the
//! answer all other groups are worked on, and the misses of all of them overlap.
//!
//! Of a state only those parts are asked for in which it differs from the state before it. What the
//! parts of one place refer to stands in a column, an entry per state of the group, behind the entry of
//! the last state of the group before. That group is one stage ahead, so its columns are known. Work
//! goes place by place: what belongs to a place is at hand for a whole group.
//!
//! States are either marked or only looked for. Who looks for a part that nobody has interned takes
//! [`UNKNOWN`] in its place, or zero for a piece. No node is made of that, and no root: even if there is
//! a leaf of the same bits, the root that comes of it stands in no table.
//!
//! **Invariants:** a state stands in the filter only if it was marked, or is about to be by the call
//! that put it there; a call that ends before its last state takes out again those that it did not come to. The row `first` belongs
//! to the state `last`, all of whose parts are interned, or it is all zeros.

use super::TreeStore;
use super::form::{LEAF, Step, finish, leaf};
use crate::cells::MAX_REFERENCE;
use crate::hash::{hash, hash_word};
use crate::intern::Interner;
use crate::quota::Permits;
use crate::recent::Recent;
use crate::slots::Claim;
use crate::table::{Walk, claim, claim_firsts};
use ergodic_system::{Block, Picks};
use std::ops::Range;

/// States of a group. Fewer than elsewhere, because several groups are on their way.
const GROUP: usize = 16;

/// Entries of a column.
const COLUMN: usize = GROUP + 1;

/// Bytes of a worker's filter.
const RECENT: usize = 256 << 10;

/// Places that are few.
const FEW_PLACES: usize = 8;

/// In the place of a reference: there is none.
const UNKNOWN: u32 = MAX_REFERENCE + 1;

/// A part of a state whose reference is asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Question {
    key: [u64; LEAF],
    hash: u64,
}

/// A group of states on its way.
#[derive(Clone, Debug)]
struct Group {
    /// Where they stand in the block.
    positions: [u32; GROUP + 1],
    count: usize,
    /// What the step asks for, place by place; so many questions.
    questions: Box<[Question]>,
    asked: usize,
    /// For each place of the step, the set of states that ask.
    asking: Vec<u32>,
    /// For each place a column of references: of the state before the group, then of its states.
    columns: Box<[[u32; COLUMN]]>,
    roots: [[u64; 1]; GROUP],
    hashes: [u64; GROUP],
    /// The sets of roots that were inserted, and of those that found their line crowded.
    inserted: u32,
    crowded: u32,
}

/// What one worker needs to ask a [`TreeStore`].
#[derive(Debug)]
pub struct TreeScratch {
    /// The form that it was made for.
    generation: u64,
    pub(super) roots: Permits,
    pub(super) parts: Permits,
    pub(super) pieces: Vec<Permits>,
    pub(super) pairs: Vec<Permits>,
    /// As many as there are stages.
    groups: Box<[Group]>,
    /// What the places of the state before the first group refer to.
    pub(super) first: Box<[u32]>,
    /// That state, if there `was` one.
    pub(super) last: Box<[u64]>,
    pub(super) was: bool,
    /// Room for another such row, whose last place holds zero.
    pub(super) row: Box<[u32]>,
    recent: Recent,
}

impl TreeScratch {
    pub(super) fn new(store: &TreeStore) -> TreeScratch {
        let group = Group {
            positions: [0; GROUP + 1],
            count: 0,
            questions: vec![Question::default(); GROUP * store.form.row()].into_boxed_slice(),
            asked: 0,
            asking: Vec::new(),
            columns: vec![[0; COLUMN]; store.form.row()].into_boxed_slice(),
            roots: [[0]; GROUP],
            hashes: [0; GROUP],
            inserted: 0,
            crowded: 0,
        };
        TreeScratch {
            generation: store.generation,
            roots: Permits::default(),
            parts: Permits::default(),
            pieces: vec![Permits::default(); store.pieces.len()],
            pairs: vec![Permits::default(); store.pairs.len()],
            groups: vec![group; store.form.steps.len() + 3].into_boxed_slice(),
            first: vec![0; store.form.row()].into_boxed_slice(),
            last: vec![0; store.shape.words].into_boxed_slice(),
            was: false,
            row: vec![0; store.form.row()].into_boxed_slice(),
            recent: Recent::new(store.shape.words, RECENT),
        }
    }

    /// Begins anew if the form of the store has changed.
    pub(super) fn renew(&mut self, store: &TreeStore) {
        if self.generation != store.generation {
            *self = TreeScratch::new(store);
        }
    }
}

impl Question {
    /// Asks for a part: its line is on the way then.
    #[inline(always)]
    fn of<const K: usize>(interner: &Interner<K>, key: [u64; K]) -> Question {
        let hash = hash(&key);
        interner.prefetch(hash);
        Question { key: std::array::from_fn(|k| if k < K { key[k] } else { 0 }), hash }
    }
}

impl Group {
    /// Asks for the parts of one place in which states differ from those before them. `key` gives those
    /// of the states of the group.
    #[inline]
    fn ask<const K: usize>(
        &mut self,
        interner: &Interner<K>,
        before: Option<[u64; K]>,
        key: impl Fn(&Group, usize) -> [u64; K],
    ) {
        let (mut before, mut asking) = (before, 0);
        for state in 0..self.count {
            let key = key(self, state);
            if before != Some(key) {
                self.questions[self.asked] = Question::of(interner, key);
                self.asked += 1;
                asking |= 1 << state;
            }
            before = Some(key);
        }
        self.asking.push(asking);
    }

    /// The same where states have few places: which states differ cannot be predicted then, so that is found out first, without a
    /// branch. (cache3, with four places, takes 5 % less; ldash, with eighteen, would take 14 % more.)
    #[inline]
    fn ask_of_few<const K: usize>(
        &mut self,
        interner: &Interner<K>,
        before: Option<[u64; K]>,
        key: impl Fn(usize) -> [u64; K],
    ) {
        let mut keys = [[0; K]; COLUMN];
        keys[0] = before.unwrap_or([0; K]);
        let mut asking = u32::from(before.is_none() && self.count > 0);
        for state in 0..self.count {
            keys[state + 1] = key(state);
            asking |= u32::from(keys[state + 1] != keys[state]) << state;
        }
        self.asking.push(asking);
        let count = asking.count_ones() as usize;
        for question in &mut self.questions[self.asked..][..count] {
            *question = Question::of(interner, keys[asking.trailing_zeros() as usize + 1]);
            asking &= asking - 1;
        }
        self.asked += count;
    }

    /// Answers the questions of one place, from question `from` on; what was not asked for is as for
    /// the state before. Returns the question behind. There are fewer states now if there was no room.
    #[inline]
    fn answer<const MARK: bool, const K: usize>(
        &mut self,
        interner: &Interner<K>,
        permits: &mut Permits,
        (place, asking, from): (usize, u32, usize),
        (before, unknown): (u32, u32),
    ) -> usize {
        let column = &mut self.columns[place];
        // In a large state hardly anything changes.
        if asking == 0 {
            match self.count {
                GROUP => column.fill(before),
                few => column[..=few].fill(before),
            }
            return from;
        }
        let behind = from + asking.count_ones() as usize;
        // There may be fewer states than asked.
        let asking = asking & ((1 << self.count) - 1);
        let questions = &self.questions[from..][..asking.count_ones() as usize];
        // All answers first, then who has which: neither depends on a branch that cannot be predicted.
        let mut found = [before; COLUMN];
        for (place, Question { key, hash }) in questions.iter().enumerate() {
            let key = std::array::from_fn(|k| key[k]);
            let answer = match MARK {
                true => interner.reference(*hash, key, permits),
                false => Some(interner.known(*hash, key).unwrap_or(unknown)),
            };
            let Some(answer) = answer else {
                self.count = nth(asking, place);
                break;
            };
            found[place + 1] = answer;
        }
        column[0] = before;
        let mut asked = 0;
        for state in 0..self.count {
            asked += (asking >> state & 1) as usize;
            column[state + 1] = found[asked];
        }
        behind
    }

    /// What a place refers to in one entry of its column.
    #[inline]
    fn entry(&self, place: usize, i: usize) -> u32 {
        self.columns[place][i]
    }
}

/// Takes up to a group of states that were not offered lately, from a position on: how many, and the position behind
/// them. `WIDTH` is that of the states, or zero: loops over words of a known number have no end to look out for.
#[inline]
fn unseen<const WIDTH: usize>(
    (block, mut at): (Block<'_>, usize),
    recent: &mut Recent,
    positions: &mut [u32; GROUP + 1],
) -> (usize, usize) {
    let mut count = 0;
    while at < block.len() && count < GROUP {
        let state = match block.state(at) {
            state if WIDTH == 0 => state,
            state => &state[..WIDTH],
        };
        positions[count] = at as u32;
        count += usize::from(!recent.seen(hash(state), state));
        at += 1;
    }
    (count, at)
}

/// The place of a one in a word, of which there are more than `n`.
fn nth(word: u32, n: usize) -> usize {
    (0..n).fold(word, |rest, _| rest & rest.wrapping_sub(1)).trailing_zeros() as usize
}

/// One call: states are marked (`MARK`) and the new ones picked, or the known ones are removed from
/// the picks.
pub(super) struct Pass<'a, const MARK: bool> {
    store: &'a TreeStore,
    scratch: &'a mut TreeScratch,
    block: Block<'a>,
    picks: &'a mut Picks,
    /// The next state to take: its position, or its place among the picks.
    at: usize,
    /// Picks that remain.
    kept: usize,
    /// The state that was taken last.
    last: Option<usize>,
    /// Groups there are, as far as known.
    groups: usize,
    /// The position of the first state that finds no room.
    end: usize,
}

impl<'a, const MARK: bool> Pass<'a, MARK> {
    /// Marks the states from position `from` on; or removes picks from place `from` on.
    pub(super) fn new(
        store: &'a TreeStore,
        scratch: &'a mut TreeScratch,
        block: Block<'a>,
        from: usize,
        picks: &'a mut Picks,
    ) -> Self {
        scratch.renew(store);
        if MARK {
            scratch.recent.prepare(block.len() - from);
        }
        let end = block.len();
        let groups = usize::MAX;
        Pass { store, scratch, block, picks, at: from, kept: from, last: None, groups, end }
    }

    /// Returns the position of the first state for which there was no room.
    pub(super) fn run(mut self) -> usize {
        let stages = self.scratch.groups.len();
        let mut tick = 0;
        while tick < self.groups.saturating_add(stages - 1) {
            for stage in (0..stages.min(tick + 1)).rev() {
                let group = tick - stage;
                if group < self.groups {
                    self.stage(stage, group);
                }
            }
            tick += 1;
        }
        self.finish();
        self.end
    }

    /// Moves a group one stage further.
    #[inline]
    fn stage(&mut self, stage: usize, number: usize) {
        let stages = self.scratch.groups.len();
        let group = number % stages;
        let steps = &self.store.form.steps;
        if stage == 0 {
            self.collect(group);
            if self.scratch.groups[group].count == 0 {
                self.groups = number;
            }
            return;
        }
        let count = self.scratch.groups[group].count;
        if stage == stages - 1 {
            self.settle(group);
        } else if stage == stages - 2 {
            self.probe(group);
        } else {
            self.answer(number, &steps[stage - 1]);
            match steps.get(stage) {
                Some(Step::Nodes(level)) => self.ask_nodes(group, level.clone()),
                _ => self.ask_root(group),
            }
        }
        let group = &self.scratch.groups[group];
        if group.count < count {
            (self.end, self.groups) = (group.positions[group.count] as usize, number + 1);
        }
    }

    /// Takes a group of states and asks for their pieces or leaves.
    #[inline]
    fn collect(&mut self, group: usize) {
        let TreeScratch { groups, recent, last, was, .. } = &mut *self.scratch;
        let group = &mut groups[group];
        (group.count, self.at) = if MARK {
            let block = (self.block, self.at);
            match self.block.width() {
                2 => unseen::<2>(block, recent, &mut group.positions),
                3 => unseen::<3>(block, recent, &mut group.positions),
                4 => unseen::<4>(block, recent, &mut group.positions),
                5 => unseen::<5>(block, recent, &mut group.positions),
                6 => unseen::<6>(block, recent, &mut group.positions),
                _ => unseen::<0>(block, recent, &mut group.positions),
            }
        } else {
            let picks = &self.picks[self.at..self.picks.len().min(self.at + GROUP)];
            group.positions[..picks.len()].copy_from_slice(picks);
            (picks.len(), self.at + picks.len())
        };
        let before = match self.last {
            Some(at) => Some(self.block.state(at)),
            None => was.then_some(&**last),
        };
        group.asked = 0;
        group.asking.clear();
        let (store, block) = (self.store, self.block);
        let mut states: [&[u64]; GROUP] = [&[]; GROUP];
        for (state, at) in states.iter_mut().zip(&group.positions[..group.count]) {
            *state = block.state(*at as usize);
        }
        for (interner, piece) in store.pieces.iter().zip(&store.form.pieces) {
            let before = before.map(|state| [piece.of(state)]);
            let key = |i: usize| [piece.of(states[i])];
            match store.pieces.len() {
                ..=FEW_PLACES => group.ask_of_few(interner, before, key),
                _ => group.ask(interner, before, |_, i| key(i)),
            }
        }
        for (place, interner) in store.pairs.iter().enumerate() {
            let part = |state| leaf(state, place, 64);
            group.ask(interner, before.map(part), |_, i| part(states[i]));
        }
        for place in 0..store.form.tree.leaves {
            let part = |state| leaf(state, place, store.form.cut);
            group.ask(&store.parts, before.map(part), |_, i| part(states[i]));
        }
        if let Some(last) = group.count.checked_sub(1) {
            self.last = Some(group.positions[last] as usize);
        }
    }

    /// Asks for the nodes of a level in which states differ from those before them.
    #[inline]
    fn ask_nodes(&mut self, group: usize, level: Range<usize>) {
        let (store, group) = (self.store, &mut self.scratch.groups[group]);
        group.asked = 0;
        group.asking.clear();
        for children in &store.form.tree.nodes[level] {
            let key = |group: &Group, i: usize| {
                let entry = |k| u64::from(group.entry(children[k] as usize, i));
                [entry(0) << 32 | entry(1), entry(2) << 32 | entry(3)]
            };
            // Before the first state stands a row of zeros, which no key is made of.
            let before = key(group, 0);
            group.ask(&store.parts, Some(before), |group, i| key(group, i + 1));
        }
    }

    /// Asks for the roots.
    #[inline]
    fn ask_root(&mut self, group: usize) {
        let (form, table) = (&self.store.form, &self.store.roots);
        let group = &mut self.scratch.groups[group];
        let (mut roots, mut hashes) = ([0; COLUMN], [0; COLUMN]);
        for (piece, column) in form.pieces.iter().zip(&group.columns) {
            match group.count {
                GROUP => piece.add_to(&mut roots, &mut hashes, column),
                few => piece.add_to(&mut roots[..=few], &mut hashes[..=few], &column[..=few]),
            }
        }
        let packed = form.is_packed();
        let [left, right] = form.tree.root;
        for i in 0..group.count {
            let (root, hash) = if packed {
                (roots[i + 1], finish(hashes[i + 1]))
            } else {
                let entry = |place: u32| u64::from(group.entry(place as usize, i + 1));
                let root = entry(left) << 32 | entry(right);
                (root, hash_word(root))
            };
            table.prefetch_to_write(Walk::new(hash).line(table));
            group.roots[i] = [root];
            group.hashes[i] = hash;
        }
    }

    /// Answers the questions of a step.
    #[inline]
    fn answer(&mut self, number: usize, step: &Step) {
        let store = self.store;
        let TreeScratch { groups, first, parts, pieces, pairs, .. } = &mut *self.scratch;
        let stages = groups.len();
        let mut from = 0;
        for (i, place) in store.form.places(step).enumerate() {
            let before = match number {
                0 => first[place],
                _ => {
                    let group = &groups[(number - 1) % stages];
                    group.entry(place, group.count)
                }
            };
            let group = &mut groups[number % stages];
            let here = (place, group.asking[i], from);
            from = match step {
                Step::Pieces => {
                    let permits = &mut pieces[i];
                    group.answer::<MARK, 1>(&store.pieces[i], permits, here, (before, 0))
                }
                Step::Pairs => {
                    let permits = &mut pairs[i];
                    group.answer::<MARK, LEAF>(&store.pairs[i], permits, here, (before, 0))
                }
                _ => group.answer::<MARK, LEAF>(&store.parts, parts, here, (before, UNKNOWN)),
            };
        }
    }

    /// Probes the roots of a group. There are fewer states now if there was no room.
    #[inline]
    fn probe(&mut self, group: usize) {
        let TreeScratch { groups, roots: permits, .. } = &mut *self.scratch;
        let (group, table) = (&mut groups[group], &self.store.roots);
        let (hashes, roots) = (&group.hashes[..group.count], &group.roots[..group.count]);
        (group.inserted, group.crowded) = (0, 0);
        if MARK && permits.left() >= GROUP as u64 {
            (group.inserted, group.crowded) = claim_firsts(table, hashes, roots);
            return;
        }
        for (i, (hash, root)) in hashes.iter().zip(roots).enumerate() {
            let may = MARK && self.store.quota.ensure(permits);
            let claimed = match root {
                // Nothing of the state was ever seen. The table takes zero for a free slot.
                [0] => Claim::Refused,
                _ => claim(table, *hash, *root, may),
            };
            match claimed {
                Claim::Known | Claim::Crowded => {}
                Claim::Inserted => {
                    permits.spend(1);
                    self.picks.push(group.positions[i]);
                }
                Claim::Refused if MARK => {
                    group.count = i;
                    return;
                }
                Claim::Refused => {
                    self.picks[self.kept] = group.positions[i];
                    self.kept += 1;
                }
            }
        }
    }

    /// Looks further for roots of a group that found their line crowded, and picks the new ones of the group. There
    /// are permits for all.
    #[inline]
    fn settle(&mut self, group: usize) {
        let TreeScratch { groups, roots: permits, .. } = &mut *self.scratch;
        let Group { positions, roots, hashes, inserted, crowded, .. } = &mut groups[group];
        while *crowded != 0 {
            let i = crowded.trailing_zeros() as usize;
            *crowded &= *crowded - 1;
            if claim(&self.store.roots, hashes[i], roots[i], true) == Claim::Inserted {
                *inserted |= 1 << i;
            }
        }
        permits.spend(u64::from(inserted.count_ones()));
        while *inserted != 0 {
            self.picks.push(positions[inserted.trailing_zeros() as usize]);
            *inserted &= *inserted - 1;
        }
    }

    /// Leaves the working memory as the next call wants it.
    fn finish(&mut self) {
        if !MARK {
            return self.picks.truncate(self.kept);
        }
        let scratch = &mut *self.scratch;
        if self.end < self.block.len() {
            // To forget all would cost small tables, which grow often, more than their growth.
            for at in self.end..self.at {
                scratch.recent.forget(hash(self.block.state(at)));
            }
            scratch.was = false;
            scratch.first.fill(0);
        } else if let (Some(at), true) = (self.last, self.groups > 0) {
            let group = &scratch.groups[(self.groups - 1) % scratch.groups.len()];
            for (first, column) in scratch.first.iter_mut().zip(&group.columns) {
                *first = column[group.count];
            }
            scratch.last.copy_from_slice(self.block.state(at));
            scratch.was = true;
        }
    }
}
