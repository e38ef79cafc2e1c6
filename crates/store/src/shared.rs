//! The shared exact store for small states: the state itself is in the slot.
//!
//! A slot must not be zero:
//! * states of less than 64 bits are stored plus one, in eight bytes;
//! * larger ones take eight bytes, too, as soon as the table has 2^(bits - 60) lines: the place of the
//!   slot tells the rest (see `quotient.rs`). States of 64 bits begin so; a table of states of 70 bits
//!   changes over when it grows to 64 KiB, one of 80 bits at 64 MiB;
//! * states of three words take sixteen bytes, as soon as the table has 2^(bits - 123) lines, which is
//!   why they may have [`MAX_BITS`] bits (for these, 64 MiB);
//! * until then two or three words are stored as so many, 63 bits in each, over a bit that is set.
//!
//! All ways back are simple, so growth needs nothing but the old table, and hashes are not stored.
//!
//! Many workers insert at the same time (the protocol stands in `slots.rs`), and one alone pays
//! for that with one uncontended compare-and-swap per *new* state. [`Shared::offer`] works in groups:
//! it computes the hashes of one group and starts to load their lines while it probes the group
//! before. A line is 64 bytes, aligned, so a look-up touches one line nearly always; states that need
//! another one are put off while it is loaded.
//!
//! Measured on mcslock2 (70 bits), one thread: about 20 ns per offered state beside the executor. What
//! paid: eight bytes instead of sixteen (a third of the memory: the system zeroes less and caches hold
//! more), a look at all slots of a line by vector instructions, putting off, a load of at most 13/16
//! (11/16 for two words). What made no difference beyond noise: to go on in the neighbouring line
//! first (kept: it makes growth more sequential).

use crate::growth::{Growth, Old, worth_sharing};
use crate::hash::{hash, hash_word};
use crate::memory::Lines;
use crate::quota::{Permits, Quota};
use crate::quotient::{self, Apart, Full, Split, slot_words};
use crate::slots::{Claim, LINE};
use crate::table::{
    FEW, GROUP, Sizing, Walk, Wanted, claim, claim_first, enter, in_groups, put_in,
};
use ergodic_system::{Block, Exhausted, Picks, Shape, Shared};
use std::cell::Cell;

/// The largest states that fit, in bits.
pub const MAX_BITS: usize = 143;

/// The largest states of two words that fit, in bits.
const MAX_BITS_OF_TWO: usize = 126;

/// How states stand in slots: states of `W` words.
trait Form<const W: usize>: Copy {
    /// What is computed of a state before it is looked for.
    type Key: Copy + Default;

    fn key(self, lines: &Lines, state: &[u64; W]) -> Self::Key;

    /// Lines of a walk that are looked at one at a time.
    const STEPS: u64;

    /// The line of a step, from zero on.
    fn line(self, lines: &Lines, key: Self::Key, step: u64) -> usize;

    /// Looks for a state in the line of a step (in the last one: and in all that follow) and puts it
    /// there if there is room.
    fn claim_at(self, lines: &Lines, key: Self::Key, step: u64) -> Claim;

    /// Looks for a state and puts it into the table if it `may` be. If it stands apart or nowhere,
    /// the answer is that all is crowded.
    fn claim(self, lines: &Lines, key: Self::Key, may: bool) -> Claim;
}

/// The state itself.
#[derive(Clone, Copy, Debug)]
struct Whole;

impl<const W: usize> Form<W> for Whole
where
    [u64; W]: Default,
{
    type Key = (u64, [u64; W]);

    #[inline]
    fn key(self, _: &Lines, state: &[u64; W]) -> Self::Key {
        (hash_of(state), encode(*state))
    }

    const STEPS: u64 = 2;

    #[inline]
    fn line(self, lines: &Lines, key: Self::Key, step: u64) -> usize {
        Walk::new(key.0).line(lines) ^ step as usize
    }

    #[inline]
    fn claim_at(self, lines: &Lines, (hash, slot): Self::Key, step: u64) -> Claim {
        match step {
            0 => claim_first(lines, hash, slot),
            _ => claim(lines, hash, slot, true),
        }
    }

    #[inline]
    fn claim(self, lines: &Lines, (hash, slot): Self::Key, may: bool) -> Claim {
        claim(lines, hash, slot, may)
    }
}

/// What the place does not tell, in slots of `S` words.
#[derive(Clone, Copy, Debug)]
struct Rest<const S: usize>(Split);

impl<const W: usize, const S: usize> Form<W> for Rest<S> {
    type Key = quotient::Key<S>;

    #[inline]
    fn key(self, lines: &Lines, state: &[u64; W]) -> Self::Key {
        self.0.key(lines.count(), state)
    }

    #[inline]
    fn line(self, lines: &Lines, key: Self::Key, step: u64) -> usize {
        self.0.line(lines.count(), key, step)
    }

    const STEPS: u64 = quotient::STEPS;

    #[inline(always)]
    fn claim_at(self, lines: &Lines, key: Self::Key, step: u64) -> Claim {
        self.0.claim_at(lines, key, step, true)
    }

    #[inline]
    fn claim(self, lines: &Lines, key: Self::Key, may: bool) -> Claim {
        self.0.claim(lines, key, may)
    }
}

/// What is done in the form that the table has.
trait Task {
    type Answer;

    fn run<const W: usize, F: Form<W>>(self, store: &FlatStore, form: F) -> Self::Answer;
}

/// [`Shared::offer`].
struct Offer<'a> {
    permits: &'a mut Permits,
    new: Block<'a>,
    from: usize,
    fresh: &'a mut Picks,
}

impl Task for Offer<'_> {
    type Answer = usize;

    #[inline]
    fn run<const W: usize, F: Form<W>>(self, store: &FlatStore, form: F) -> usize {
        let Offer { permits, new, from, fresh } = self;
        let states = new.words().as_chunks::<W>().0;
        if new.len() - from <= FEW {
            let (mut keys, states) = ([F::Key::default(); FEW], &states[from..new.len()]);
            for (key, state) in keys.iter_mut().zip(states) {
                *key = store.key(form, state);
            }
            let keys = &keys[..states.len()];
            return from + store.offer_few(form, permits, keys, new, from, fresh);
        }
        let probe = |at: usize, keys: &[F::Key]| {
            if permits.left() < GROUP as u64 {
                return store.offer_few(form, permits, keys, new, at, fresh);
            }
            let mut inserted = store.offer_group(form, permits, keys, new, at);
            while inserted != 0 {
                fresh.push((at + inserted.trailing_zeros() as usize) as u32);
                inserted &= inserted - 1;
            }
            keys.len()
        };
        in_groups(from..new.len(), |i| store.key(form, &states[i]), probe)
    }
}

/// [`Shared::contains`].
struct Contains<'a>(&'a [u64]);

impl Task for Contains<'_> {
    type Answer = bool;

    fn run<const W: usize, F: Form<W>>(self, store: &FlatStore, form: F) -> bool {
        let known =
            |state| store.claim(form, form.key(&store.lines, state), self.0, false) == Claim::Known;
        self.0.first_chunk().is_some_and(known)
    }
}

/// [`Shared::retain_unknown`].
struct RetainUnknown<'a> {
    states: Block<'a>,
    from: usize,
    picks: &'a mut Picks,
}

impl Task for RetainUnknown<'_> {
    type Answer = ();

    fn run<const W: usize, F: Form<W>>(self, store: &FlatStore, form: F) {
        let states = self.states.words().as_chunks::<W>().0;
        let (range, mut kept) = (self.from..self.picks.len(), self.from);
        // Picks that remain are written to places that were read before.
        let picks = Cell::from_mut(&mut **self.picks).as_slice_of_cells();
        let key = |i: usize| {
            let key = form.key(&store.lines, &states[picks[i].get() as usize]);
            store.lines.prefetch(form.line(&store.lines, key, 0));
            key
        };
        in_groups(range, key, |at, keys| {
            for (key, pick) in keys.iter().zip(&picks[at..]) {
                let state = &states[pick.get() as usize];
                if store.claim(form, *key, state, false) != Claim::Known {
                    picks[kept].set(pick.get());
                    kept += 1;
                }
            }
            keys.len()
        });
        self.picks.truncate(kept);
    }
}

/// All states in full, in the slots of one table.
#[derive(Debug)]
pub struct FlatStore {
    shape: Shape,
    lines: Lines,
    /// How states are split between place and slot, if they are.
    split: Option<Split>,
    quota: Quota,
    apart: Apart,
    sizing: Sizing,
    foreseen: Option<u64>,
    limit: Option<u64>,
    /// While the states move to a larger table.
    moving: Option<Moving>,
}

/// States on their way to a larger table.
#[derive(Debug)]
struct Moving {
    growth: Growth<Full>,
    way: Way,
    /// Room in the larger table, and what stands apart from it.
    room: u64,
    apart: Apart,
}

/// How states stand in a table and in a larger one, and the lines of both.
#[derive(Clone, Copy, Debug)]
struct Way {
    from: (Option<Split>, usize),
    to: (Option<Split>, usize),
}

impl Way {
    /// Enters the states that stood in a line, of `W` words, in slots of `S` words if they are split.
    fn spread<const W: usize, const S: usize>(
        self,
        apart: &Apart,
    ) -> impl Fn(&Lines, Old<'_>, &mut Vec<Full>) + Sync {
        let Way { from: (before, lines), to: (split, count) } = self;
        move |table, old, put_off| {
            let Some(split) = split else {
                for state in whole_states::<W>(old.words) {
                    if !enter(table, old.own, hash_of(&state), |line, walk| {
                        put_in(line, walk.start(), encode(state))
                    }) {
                        put_off.push(full(&state));
                    }
                }
                return;
            };
            let mut enter = |key| match split.enter::<S>(table, old.own, key) {
                None => put_off.push(split.state(count, key)),
                Some(Claim::Crowded) => drop(apart.claim(split.state(count, key), true)),
                Some(_) => {}
            };
            match before {
                Some(before) => {
                    before.each((lines, old.number), old.words, (split, count), enter);
                }
                None => {
                    whole_states::<W>(old.words).for_each(|state| enter(split.key(count, &state)));
                }
            }
        }
    }
}

/// What one worker needs to ask a [`FlatStore`].
#[derive(Debug, Default)]
pub struct FlatScratch {
    permits: Permits,
}

impl FlatStore {
    /// Whether states of this shape fit.
    pub fn fits(shape: Shape) -> bool {
        match shape.words {
            1 => true,
            2 => shape.bits <= MAX_BITS_OF_TWO,
            _ => shape.bits <= MAX_BITS,
        }
    }

    /// An empty store that uses at most `memory_limit` bytes.
    ///
    /// # Panics
    /// If states of this shape do not fit.
    pub fn new(shape: Shape, memory_limit: Option<u64>) -> FlatStore {
        FlatStore::sized(shape, memory_limit, Sizing::default())
    }

    pub(crate) fn sized(shape: Shape, limit: Option<u64>, mut sizing: Sizing) -> FlatStore {
        assert!(FlatStore::fits(shape), "states of {} bits do not fit", shape.bits);
        if shape.bits == 64 {
            // A whole word has no slot value to spare for "free": such states are always split.
            sizing.first = sizing.first.max(16);
        }
        if shape.words > 1 {
            // Until they are split slots are large, and empty ones cost as much.
            sizing.eighths = 3;
        }
        let lines = Lines::new(sizing.first);
        let (split, room) = room_of(shape, sizing, sizing.first);
        let (quota, apart) = (Quota::new(0, room), Apart::default());
        FlatStore { shape, lines, split, quota, apart, sizing, foreseen: None, limit, moving: None }
    }

    /// Does something in the form that the table has.
    #[inline]
    fn run<T: Task>(&self, task: T) -> T::Answer {
        match (self.split, self.shape.words) {
            (None, 1) => task.run::<1, _>(self, Whole),
            (None, 2) => task.run::<2, _>(self, Whole),
            (None, _) => task.run::<3, _>(self, Whole),
            (Some(split), 1) => task.run::<1, _>(self, Rest::<1>(split)),
            (Some(split), 2) => task.run::<2, _>(self, Rest::<1>(split)),
            (Some(split), _) => task.run::<3, _>(self, Rest::<2>(split)),
        }
    }

    /// Hashes a state that is offered and starts to load its line.
    #[inline]
    fn key<const W: usize, F: Form<W>>(&self, form: F, state: &[u64; W]) -> F::Key {
        let key = form.key(&self.lines, state);
        self.lines.prefetch_to_write(form.line(&self.lines, key, 0));
        key
    }

    /// Offers a group that starts at position `at`, for all of which there are permits. Returns the
    /// set of those that were inserted.
    ///
    /// States that find a line crowded are put off while the next one is loaded. Equal states are put
    /// off together, because a crowded line stays crowded; so the first of them is still the first.
    #[inline]
    fn offer_group<const W: usize, F: Form<W>>(
        &self,
        form: F,
        permits: &mut Permits,
        keys: &[F::Key],
        new: Block<'_>,
        at: usize,
    ) -> u32 {
        let (mut inserted, mut waiting, mut step) = (0u32, 0u32, 0);
        for (i, key) in keys.iter().enumerate() {
            let claim = self.step(form, *key, 0);
            inserted |= u32::from(claim == Claim::Inserted) << i;
            waiting |= u32::from(claim == Claim::Crowded) << i;
        }
        while waiting != 0 {
            step += 1;
            let mut now = std::mem::take(&mut waiting);
            while now != 0 {
                let i = now.trailing_zeros() as usize;
                now &= now - 1;
                let claim = if step < F::STEPS {
                    self.step(form, keys[i], step)
                } else {
                    self.apart.claim(full(new.state(at + i)), true)
                };
                inserted |= u32::from(claim == Claim::Inserted) << i;
                waiting |= u32::from(claim == Claim::Crowded) << i;
            }
        }
        permits.spend(u64::from(inserted.count_ones()));
        inserted
    }

    /// One step of a walk. If the line is crowded, the next one is loaded.
    #[inline(always)]
    fn step<const W: usize, F: Form<W>>(&self, form: F, key: F::Key, step: u64) -> Claim {
        let claim = form.claim_at(&self.lines, key, step);
        if claim == Claim::Crowded && step + 1 < F::STEPS {
            self.lines.prefetch_to_write(form.line(&self.lines, key, step + 1));
        }
        claim
    }

    /// As [`FlatStore::offer_group`], where permits may run out; returns how many states were
    /// handled.
    #[inline(never)]
    fn offer_few<const W: usize, F: Form<W>>(
        &self,
        form: F,
        permits: &mut Permits,
        keys: &[F::Key],
        new: Block<'_>,
        at: usize,
        fresh: &mut Picks,
    ) -> usize {
        for (i, key) in keys.iter().enumerate() {
            let may = self.quota.ensure(permits);
            match self.claim(form, *key, new.state(at + i), may) {
                Claim::Known | Claim::Crowded => {}
                Claim::Inserted => {
                    permits.spend(1);
                    fresh.push((at + i) as u32);
                }
                Claim::Refused => return i,
            }
        }
        keys.len()
    }

    /// Looks for a state everywhere and marks it if that `may` be.
    #[inline]
    fn claim<const W: usize, F: Form<W>>(
        &self,
        form: F,
        key: F::Key,
        state: &[u64],
        may: bool,
    ) -> Claim {
        match form.claim(&self.lines, key, may) {
            Claim::Crowded => self.apart.claim(full(state), may),
            claim => claim,
        }
    }

    /// Marks a state that moves from a smaller table.
    #[inline]
    fn enter<const W: usize, const S: usize>(&self, state: &[u64; W]) {
        match self.split {
            Some(split) => {
                let key = split.key::<W, S>(self.lines.count(), state);
                self.claim::<W, _>(Rest(split), key, state, true);
            }
            None => {
                claim(&self.lines, hash_of(state), encode(*state), true);
            }
        }
    }

    /// Begins to move everything to a table of `count` lines, in which so many threads will take part; `false` if there is no memory
    /// for it.
    fn begin_to_move(&mut self, count: usize, threads: usize) -> bool {
        let (split, room) = room_of(self.shape, self.sizing, count);
        // A table once split stays so: it does not become smaller.
        let from = (self.split, self.lines.count());
        let (way, apart) = (Way { from, to: (split, count) }, Apart::default());
        let lines = &mut self.lines;
        let growth = match self.shape.words {
            1 => Growth::begin(lines, count, threads, way.spread::<1, 1>(&apart)),
            2 => Growth::begin(lines, count, threads, way.spread::<2, 1>(&apart)),
            _ => Growth::begin(lines, count, threads, way.spread::<3, 2>(&apart)),
        };
        self.moving = growth.map(|growth| Moving { growth, way, room, apart });
        self.moving.is_some()
    }

    /// Ends what was begun.
    fn end_moving(&mut self) {
        match self.shape.words {
            1 => self.settle::<1, 1>(),
            2 => self.settle::<2, 1>(),
            _ => self.settle::<3, 2>(),
        }
    }

    fn settle<const W: usize, const S: usize>(&mut self) {
        let Some(Moving { growth, way, room, apart }) = self.moving.take() else { return };
        let put_off = growth.end(&self.lines, way.spread::<W, S>(&apart));
        let strays = std::mem::replace(&mut self.apart, apart).take();
        self.split = way.to.0;
        self.quota = Quota::new(self.quota.taken(), room);
        for state in put_off.into_iter().chain(strays) {
            if let Some(state) = state.first_chunk() {
                self.enter::<W, S>(state);
            }
        }
    }

    /// Hands the states of line `i` to `each`.
    fn states_of<const W: usize, const S: usize>(&self, i: usize, each: &mut dyn FnMut(&[u64])) {
        let line = self.lines.words(i);
        match self.split {
            Some(split) => {
                split.states::<S>((self.lines.count(), i), line, |state| each(&state[..W]));
            }
            None => whole_states::<W>(line).for_each(|state| each(&state)),
        }
    }
}

impl Shared for FlatStore {
    type Scratch = FlatScratch;

    fn scratch(&self) -> FlatScratch {
        FlatScratch::default()
    }

    fn offer(
        &self,
        scratch: &mut FlatScratch,
        new: Block<'_>,
        from: usize,
        fresh: &mut Picks,
    ) -> usize {
        self.run(Offer { permits: &mut scratch.permits, new, from, fresh })
    }

    fn retain_unknown(
        &self,
        _: &mut FlatScratch,
        states: Block<'_>,
        from: usize,
        picks: &mut Picks,
    ) {
        self.run(RetainUnknown { states, from, picks });
    }

    fn contains(&self, state: &[u64]) -> bool {
        self.run(Contains(state))
    }

    fn grow_if_needed(&mut self, expected: u64) -> Result<(), Exhausted> {
        self.begin_to_grow(expected, 1).map(drop)
    }

    fn foresee(&mut self, states: Option<u64>) {
        self.foreseen = states;
    }

    fn begin_to_grow(&mut self, expected: u64, threads: usize) -> Result<bool, Exhausted> {
        self.end_moving();
        let wanted = self.quota.taken().saturating_add(expected.max(1));
        if wanted <= self.quota.limit() {
            return Ok(false);
        }
        // A little is left for states that stand apart.
        let spare = |limit: u64| if self.split.is_some() { limit / 64 } else { 0 };
        let most = self.limit.map_or(usize::MAX, |limit| ((limit - spare(limit)) / 64) as usize);
        let room = |lines| room_of(self.shape, self.sizing, lines).1;
        let wanted = Wanted { least: wanted, foreseen: self.foreseen };
        let next = self.sizing.larger(self.lines.count(), most, wanted, room);
        let threads = worth_sharing(self.lines.count(), threads);
        if next.is_some_and(|next| self.begin_to_move(next, threads)) {
            if threads < 2 {
                self.help_to_grow();
                self.end_moving();
            }
            return Ok(threads > 1);
        }
        let most = match self.split {
            // Beyond that too many states would stand apart.
            Some(_) => self.lines.count() as u64 * 7 / slot_words(self.shape.words) as u64,
            None => self.sizing.crowded(self.lines.count(), LINE / self.shape.words),
        };
        if self.quota.raise(most) {
            return Ok(false);
        }
        Err(Exhausted::Memory { limit: self.limit.unwrap_or(u64::MAX) })
    }

    fn help_to_grow(&self) {
        let Some(Moving { growth, way, apart, .. }) = &self.moving else { return };
        match self.shape.words {
            1 => growth.take_part(&self.lines, way.spread::<1, 1>(apart)),
            2 => growth.take_part(&self.lines, way.spread::<2, 1>(apart)),
            _ => growth.take_part(&self.lines, way.spread::<3, 2>(apart)),
        }
    }

    fn each(&self, each: &mut dyn FnMut(&[u64])) -> bool {
        let words = self.shape.words;
        for i in 0..self.lines.count() {
            match words {
                1 => self.states_of::<1, 1>(i, each),
                2 => self.states_of::<2, 1>(i, each),
                _ => self.states_of::<3, 2>(i, each),
            }
        }
        self.apart.each(|state| each(&state[..words]));
        true
    }

    fn bytes(&self) -> u64 {
        self.lines.bytes() + self.apart.bytes()
    }
}

/// How states stand in a table of so many lines, and the room for them.
fn room_of(shape: Shape, sizing: Sizing, lines: usize) -> (Option<Split>, u64) {
    let split = Split::of(shape.bits, lines);
    let words = if split.is_some() { slot_words(shape.words) } else { shape.words };
    let per_line = LINE / words;
    (split, sizing.room(lines, per_line))
}

/// The states of a line whose slots hold them whole.
fn whole_states<const W: usize>(line: [u64; LINE]) -> impl Iterator<Item = [u64; W]> {
    (0..LINE / W).filter_map(move |i| {
        let slot = *line[i * W..].first_chunk::<W>()?;
        (slot[0] != 0).then(|| decode(slot))
    })
}

fn full(state: &[u64]) -> Full {
    std::array::from_fn(|k| state.get(k).copied().unwrap_or(0))
}

#[inline]
fn hash_of<const W: usize>(state: &[u64; W]) -> u64 {
    if W == 1 { hash_word(state[0]) } else { hash(state) }
}

/// A state as its slot holds it.
#[inline]
fn encode<const W: usize>(state: [u64; W]) -> [u64; W] {
    let mut slot = state;
    if W == 1 {
        slot[0] = state[0].wrapping_add(1);
    } else {
        for k in 0..W {
            let before = if k > 0 { state[k - 1] >> (64 - k) } else { 0 };
            slot[k] = state[k] << (k + 1) | before << 1 | 1;
        }
    }
    slot
}

/// The state that a slot holds.
#[inline]
fn decode<const W: usize>(slot: [u64; W]) -> [u64; W] {
    let mut state = slot;
    if W == 1 {
        state[0] = slot[0].wrapping_sub(1);
    } else {
        for k in 0..W {
            let behind = if k + 1 < W { slot[k + 1] >> 1 << (63 - k) } else { 0 };
            state[k] = slot[k] >> (k + 1) | behind;
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance;

    fn tiny() -> Sizing {
        Sizing { first: 2, load: 14, ..Sizing::default() }
    }

    #[test]
    fn conforms() {
        let shapes = [1, 20, 63, 64, 65, 70, 100, 126, 129, 132, MAX_BITS].map(Shape::of_bits);
        conformance::shared(&shapes, |shape| FlatStore::new(shape, None));
        conformance::shared(&shapes, |shape| FlatStore::sized(shape, None, tiny()));
        let full = Sizing { first: 2, load: 16, ..Sizing::default() };
        conformance::shared(&shapes, |shape| FlatStore::sized(shape, None, full));
    }

    #[test]
    fn workers_agree() {
        for bits in [66, 10, 64, 90, 130, 140].into_iter().take(if cfg!(miri) { 1 } else { 6 }) {
            let shape = Shape::of_bits(bits);
            conformance::workers(shape, || FlatStore::sized(shape, None, tiny()));
        }
    }

    #[test]
    fn every_state_comes_back_from_its_slot() {
        for word in [0, 1, 1 << 63, u64::MAX, u64::MAX - 1, 0x1234_5678_9abc_def0] {
            assert_eq!(decode(encode([word >> 1])), [word >> 1]);
            for high in [0, 1, (1 << 62) - 1, 1 << 61] {
                let slot = encode([word, high]);
                assert!(slot[0] != 0 && slot[1] != 0);
                assert_eq!(decode(slot), [word, high]);
                for last in [0, 1, (1 << 61) - 1, 1 << 60] {
                    let slot = encode([word, !word, last]);
                    assert!(slot.iter().all(|word| *word != 0));
                    assert_eq!(decode(slot), [word, !word, last]);
                }
            }
        }
    }

    #[test]
    fn the_memory_limit_is_kept_and_used() {
        for (bits, limit) in [(40, 100_000), (100, 100_000), (64, 3 << 20), (143, 500_000)] {
            let shape = Shape::of_bits(bits);
            let mut store = FlatStore::new(shape, Some(limit));
            let (why, seen) = conformance::fill_shared_until_exhausted(&mut store, shape);
            assert_eq!(why, Exhausted::Memory { limit });
            let (bytes, apart) = (store.bytes(), store.apart.bytes());
            assert!(bytes <= limit, "{bytes} bytes of {limit}, {apart} of them apart");
            let least = limit * 3 / 4 / (64 / (8 / shape.words as u64));
            assert!(seen >= least, "{seen} states in {limit} bytes");
        }
    }
}
