//! How a worker asks a [`TreeStore`]: in groups of states, as on an assembly line.
//!
//! A group goes through stages. In the first one its states are taken from the block, those that
//! were offered lately are left out (`recent.rs`), and the leaves of the others are asked for; then
//! there is a stage for each level of the tree, in which the references that were asked for are
//! fetched and the next level is asked for; the last one probes the roots. To ask is to start to load
//! a line. Groups follow each other at a distance of one stage, so between the question and the
//! answer all other groups are worked on, and the misses of all of them overlap.
//!
//! Of a state only those parts are asked for in which it differs from the state before it. What a
//! part refers to stands in a row per state. The rows of a group stand behind a copy of the last row
//! of the group before, which is one stage ahead: level by level it is copied when it is known.
//!
//! States are either marked or only looked for. Who looks for a part that nobody has interned takes
//! [`UNKNOWN`] in its place. No node is made of that, and no root: even if there is a leaf of the
//! same bits, the root that comes of it stands in no table.
//!
//! **Invariants:** a state stands in the filter only if it was marked, or is about to be by the call
//! that put it there; a call that ends before its last state empties the filter. Row zero belongs to
//! the state `last`, all of whose parts are interned, or it is all zeros.

use super::TreeStore;
use super::form::{LEAF, leaf, pair, quad};
use crate::cells::MAX_REFERENCE;
use crate::hash::{hash, hash_word};
use crate::quota::Permits;
use crate::recent::Recent;
use crate::slots::Claim;
use crate::table::{Walk, claim, claim_group};
use ergodic_system::{Block, Picks};
use std::ops::Range;

/// States of a group. Fewer than elsewhere, because several groups are on their way.
const GROUP: usize = 16;

/// Bytes of a worker's filter.
const RECENT: usize = 128 << 10;

/// In the place of a reference: there is none.
const UNKNOWN: u32 = MAX_REFERENCE + 1;

/// A leaf or node whose reference is asked for.
#[derive(Clone, Copy, Debug)]
struct Question {
    /// Which state of the group asks.
    state: u32,
    /// Where in the tree.
    place: u32,
    key: [u64; LEAF],
    hash: u64,
}

/// A group of states on its way.
#[derive(Clone, Debug)]
struct Group {
    /// Where they stand in the block.
    positions: [u32; GROUP + 1],
    count: usize,
    /// The row of the state before the group.
    before: usize,
    /// Where the copy of that is, behind which the rows of the group stand.
    copy: usize,
    questions: Vec<Question>,
    roots: [[u64; 1]; GROUP],
    hashes: [u64; GROUP],
}

/// What one worker needs to ask a [`TreeStore`].
#[derive(Debug)]
pub struct TreeScratch {
    roots: Permits,
    parts: Permits,
    /// As many as there are stages.
    groups: Box<[Group]>,
    /// A row per state of a group, behind one for a state before: what each place of its tree refers
    /// to.
    references: Box<[u32]>,
    /// The state of row zero, if there `was` one.
    last: Box<[u64]>,
    was: bool,
    recent: Recent,
}

impl TreeScratch {
    pub(super) fn new(store: &TreeStore) -> TreeScratch {
        let stages = store.tree.levels.len() + 3;
        let group = |i: usize| Group {
            positions: [0; GROUP + 1],
            count: 0,
            before: 0,
            copy: 1 + i * (GROUP + 1),
            questions: Vec::new(),
            roots: [[0]; GROUP],
            hashes: [0; GROUP],
        };
        let rows = 1 + stages * (GROUP + 1);
        TreeScratch {
            roots: Permits::default(),
            parts: Permits::default(),
            groups: (0..stages).map(group).collect(),
            references: vec![0; (store.tree.places + 1) * rows].into_boxed_slice(),
            last: vec![0; store.width].into_boxed_slice(),
            was: false,
            recent: Recent::new(store.width, RECENT),
        }
    }
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
        let levels = &self.store.tree.levels;
        if stage == 0 {
            self.scratch.groups[group].before = match number {
                0 => 0,
                _ => {
                    let before = &self.scratch.groups[(number - 1) % stages];
                    before.copy + before.count
                }
            };
            self.collect(group);
            if self.scratch.groups[group].count == 0 {
                self.groups = number;
            }
            return;
        }
        let refused = if stage == stages - 1 {
            self.probe(group)
        } else {
            let leaves = self.store.tree.leaves;
            let refused = match stage {
                1 => self.answer(group, 0..leaves),
                _ => {
                    let level = levels[stage - 2].clone();
                    self.answer(group, leaves + level.start..leaves + level.end)
                }
            };
            match levels.get(stage - 1) {
                Some(level) => self.ask_nodes(group, level.clone()),
                None => self.ask_root(group),
            }
            refused
        };
        if let Some(position) = refused {
            (self.end, self.groups) = (position, number + 1);
        }
    }

    /// Takes a group of states and asks for their leaves.
    #[inline]
    fn collect(&mut self, group: usize) {
        let TreeScratch { groups, recent, last, was, .. } = &mut *self.scratch;
        let group = &mut groups[group];
        (group.count, self.at) = if MARK {
            let (mut count, mut at) = (0, self.at);
            while at < self.block.len() && count < GROUP {
                let state = self.block.state(at);
                group.positions[count] = at as u32;
                count += usize::from(!recent.seen(hash(state), state));
                at += 1;
            }
            (count, at)
        } else {
            let picks = &self.picks[self.at..self.picks.len().min(self.at + GROUP)];
            group.positions[..picks.len()].copy_from_slice(picks);
            (picks.len(), self.at + picks.len())
        };
        let (tree, cut) = (&self.store.tree, self.store.cut);
        let (mut before, mut was): (&[u64], bool) = match self.last {
            Some(at) => (self.block.state(at), true),
            None => (last, *was),
        };
        group.questions.clear();
        for (state, at) in group.positions[..group.count].iter().enumerate() {
            let words = self.block.state(*at as usize);
            for place in 0..tree.leaves {
                let key = leaf(words, place, cut);
                if key != leaf(before, place, cut) || !was {
                    ask(self.store, &mut group.questions, state, place, key);
                }
            }
            (before, was) = (words, true);
            self.last = Some(*at as usize);
        }
    }

    /// Asks for the nodes of one level in which states differ from those before them.
    #[inline]
    fn ask_nodes(&mut self, group: usize, level: Range<usize>) {
        let (tree, group) = (&self.store.tree, &mut self.scratch.groups[group]);
        let width = tree.places + 1;
        let rows = self.scratch.references[group.copy * width..].chunks_exact(width);
        group.questions.clear();
        for (state, (last, row)) in rows.clone().zip(rows.skip(1)).take(group.count).enumerate() {
            for node in level.clone() {
                let children = tree.nodes[node];
                let key = quad(row, children);
                // Before the first state stands a row of zeros, which no key is made of.
                if key != quad(last, children) {
                    ask(self.store, &mut group.questions, state, tree.leaves + node, key);
                }
            }
        }
    }

    /// Asks for the roots.
    #[inline]
    fn ask_root(&mut self, group: usize) {
        let (tree, roots) = (&self.store.tree, &self.store.roots);
        let group = &mut self.scratch.groups[group];
        let width = tree.places + 1;
        let rows = self.scratch.references[(group.copy + 1) * width..].chunks_exact(width);
        for (i, row) in rows.take(group.count).enumerate() {
            let root = pair(row, tree.root);
            let hash = hash_word(root);
            roots.prefetch(Walk::new(hash).line(roots));
            group.roots[i] = [root];
            group.hashes[i] = hash;
        }
    }

    /// Answers the questions of one level, which takes `places` of the rows; what was not asked for
    /// is as in the row before. Returns the position of the first state for which there is no room.
    #[inline]
    fn answer(&mut self, group: usize, places: Range<usize>) -> Option<usize> {
        let TreeScratch { groups, references, parts, .. } = &mut *self.scratch;
        let (group, width) = (&mut groups[group], self.store.tree.places + 1);
        let from = group.before * width;
        references
            .copy_within(from + places.start..from + places.end, group.copy * width + places.start);
        let mut questions = group.questions.iter().peekable();
        for state in 0..group.count {
            let rows = &mut references[(group.copy + state) * width..][..2 * width];
            let (last, row) = rows.split_at_mut(width);
            for (new, old) in row[places.clone()].iter_mut().zip(&last[places.clone()]) {
                *new = *old;
            }
            while let Some(question) = questions.next_if(|q| q.state as usize == state) {
                let (hash, key) = (question.hash, question.key);
                let found = if MARK {
                    self.store.parts.reference(hash, key, parts)
                } else {
                    Some(self.store.parts.known(hash, key).unwrap_or(UNKNOWN))
                };
                match found {
                    Some(reference) => row[question.place as usize] = reference,
                    None => {
                        group.count = state;
                        return Some(group.positions[state] as usize);
                    }
                }
            }
        }
        None
    }

    /// Probes the roots of a group; returns the position of the first for which there is no room.
    #[inline]
    fn probe(&mut self, group: usize) -> Option<usize> {
        let TreeScratch { groups, roots: permits, .. } = &mut *self.scratch;
        let (group, table) = (&groups[group], &self.store.roots);
        let (hashes, roots) = (&group.hashes[..group.count], &group.roots[..group.count]);
        if MARK && permits.left() >= GROUP as u64 {
            let mut inserted = claim_group(table, permits, hashes, roots);
            while inserted != 0 {
                self.picks.push(group.positions[inserted.trailing_zeros() as usize]);
                inserted &= inserted - 1;
            }
            return None;
        }
        for (i, (hash, root)) in hashes.iter().zip(roots).enumerate() {
            let may = MARK && self.store.quota.ensure(permits);
            match claim(table, *hash, *root, may) {
                Claim::Known | Claim::Crowded => {}
                Claim::Inserted => {
                    permits.spend(1);
                    self.picks.push(group.positions[i]);
                }
                Claim::Refused if MARK => return Some(group.positions[i] as usize),
                Claim::Refused => {
                    self.picks[self.kept] = group.positions[i];
                    self.kept += 1;
                }
            }
        }
        None
    }

    /// Leaves the working memory as the next call wants it.
    fn finish(&mut self) {
        if !MARK {
            return self.picks.truncate(self.kept);
        }
        let scratch = &mut *self.scratch;
        let width = self.store.tree.places + 1;
        if self.end < self.block.len() {
            scratch.recent.forget();
            scratch.was = false;
            scratch.references[..width].fill(0);
        } else if let (Some(at), true) = (self.last, self.groups > 0) {
            let group = &scratch.groups[(self.groups - 1) % scratch.groups.len()];
            let row = group.copy + group.count;
            scratch.references.copy_within(row * width..(row + 1) * width, 0);
            scratch.last.copy_from_slice(self.block.state(at));
            scratch.was = true;
        }
    }
}

/// Asks for a leaf or node.
#[inline]
fn ask(
    store: &TreeStore,
    questions: &mut Vec<Question>,
    state: usize,
    place: usize,
    key: [u64; LEAF],
) {
    let hash = hash(&key);
    store.parts.prefetch(hash);
    questions.push(Question { state: state as u32, place: place as u32, key, hash });
}
