//! Which stubborn set is taken in a state: the closed set with the fewest enabled instances.
//!
//! A set is closed around each enabled instance, its *seed*, until it is clear that the set is of no use.
//! What was found out for one seed saves work for the others:
//! * a set that is no smaller than the best is given up as soon as it has so many enabled instances;
//! * whatever needs the seed of such a set, or of the best one, has at least as many: it is given up, too,
//!   and so is what needs that;
//! * a set that leads nowhere new contains the sets of all its members: none of these leads on.
//!
//! So the choice is that of trying all seeds to the end, in the order of their numbers. Instances with few
//! conditions come first ([`StubbornRelations::with_simple_ones_first`]): their sets are smaller more often.
//! (Without use: to find all closed sets at once, as strongly connected components; to work out without
//! branches what a set has with an instance, which makes each step wait for the one before.)

use super::{Condition, StubbornRelations};

/// The relations, in the form in which the choice wants them: rows of words one after the other.
#[derive(Debug)]
pub(super) struct Relations {
    /// Words of a set.
    words: usize,
    /// For each instance those that do not accord with it; and what a set has with it if it is enabled:
    /// these, and if properties can see it, all that they can see.
    clashes: Vec<u64>,
    with_enabled: Vec<u64>,
    /// Instances that need not lead to a new state.
    moving: Vec<u64>,
    /// Who can make conditions true.
    enabling: Vec<u64>,
    /// For each instance the test of its first condition, which mostly decides; one that is never false if
    /// that condition is not so simple, or if there is none.
    first: Vec<Small>,
    /// Who can make the first condition true: looked up at once, not by way of the test.
    enabling_first: Vec<u64>,
    /// For each instance where the tests of its other conditions begin; and one entry more.
    others_from: Vec<u32>,
    others: Vec<Test>,
    /// The conditions themselves, for tests that need them.
    conditions: Vec<Condition>,
}

/// A condition of a guard.
#[derive(Clone, Copy, Debug)]
enum Test {
    Small(Small),
    /// Look at the condition with this number.
    Other(u32),
}

/// The test of a condition that a few bits of one word of the state decide.
#[derive(Clone, Copy, Debug)]
struct Small {
    word: u32,
    shift: u8,
    /// Who can make it true.
    enabling: u32,
    mask: u64,
    /// A bit for each value of the bits.
    truth: u64,
}

impl Small {
    const NEVER_FALSE: Small = Small { word: 0, shift: 0, enabling: 0, mask: 0, truth: 1 };

    /// The test of this condition, if it is so simple.
    fn new(condition: &Condition) -> Option<Small> {
        let truth = condition.truth.as_ref()?;
        let (&[(bit, width)], &[truth]) = (&truth.cells[..], &truth.bits[..]) else { return None };
        let (word, shift) = (bit / 64, bit % 64);
        let fits = width <= MOST_SMALL_BITS && shift + width <= 64;
        let (shift, mask, enabling) = (shift as u8, (1 << width) - 1, condition.enabling);
        fits.then_some(Small { word, shift, enabling, mask, truth })
    }

    #[inline(always)]
    fn holds(self, state: &[u64]) -> bool {
        let value = state[self.word as usize] >> self.shift & self.mask;
        self.truth >> value & 1 == 1
    }
}

impl Relations {
    pub(super) fn new(relations: &StubbornRelations) -> Relations {
        let words = relations.clashes.len().div_ceil(64).max(1);
        let visible = flat(std::slice::from_ref(&relations.visible), words);
        let clashes = flat(&relations.clashes, words);
        let mut with_enabled = clashes.clone();
        for (number, row) in with_enabled.chunks_exact_mut(words).enumerate() {
            if has(&visible, number) {
                join(row, &visible);
            }
        }
        let (mut first, mut others_from) = (Vec::new(), vec![0]);
        let (mut others, mut conditions) = (Vec::new(), Vec::new());
        for own in &relations.conditions {
            let simple = own.first().and_then(Small::new);
            first.push(simple.unwrap_or(Small::NEVER_FALSE));
            others.extend(own[usize::from(simple.is_some())..].iter().map(|condition| {
                Small::new(condition).map_or_else(
                    || {
                        conditions.push(condition.clone());
                        Test::Other(conditions.len() as u32 - 1)
                    },
                    Test::Small,
                )
            }));
            others_from.push(others.len() as u32);
        }
        let enabling = flat(&relations.enabling, words);
        let row = |test: &Small| enabling.iter().skip(test.enabling as usize * words).take(words);
        Relations {
            words,
            clashes,
            with_enabled,
            moving: flat(std::slice::from_ref(&relations.moving), words),
            enabling_first: first.iter().flat_map(row).copied().collect(),
            enabling,
            first,
            others_from,
            others,
            conditions,
        }
    }

    /// What a set has with a disabled instance: who can make its first false condition true.
    #[inline(always)]
    fn find_members(&self, state: &[u64], number: usize, members: &mut [u64]) {
        let (first, words) = (self.first[number], members.len());
        if first.holds(state) {
            members.fill(0);
            self.add_others(state, number, members);
        } else {
            members.copy_from_slice(&self.enabling_first[number * words..][..words]);
        }
    }

    /// The same where the first condition does not decide. Conditions of which nothing is known may be the
    /// first false one; and if none is false for certain, the instance may be enabled, with a successor that
    /// an assumption drops: then those that do not accord with it belong to the set, too.
    #[cold]
    #[inline(never)]
    fn add_others(&self, state: &[u64], number: usize, members: &mut [u64]) {
        let words = members.len();
        let (from, to) = (self.others_from[number], self.others_from[number + 1]);
        for test in &self.others[from as usize..to as usize] {
            let (enabling, holds) = match test {
                Test::Small(test) => (test.enabling, Some(test.holds(state))),
                Test::Other(condition) => {
                    let condition = &self.conditions[*condition as usize];
                    (condition.enabling, condition.holds(state))
                }
            };
            if holds != Some(true) {
                join(members, &self.enabling[enabling as usize * words..][..words]);
            }
            if holds == Some(false) {
                return;
            }
        }
        join(members, &self.clashes[number * words..][..words]);
    }
}

/// Bits of which all values have a bit in one word.
const MOST_SMALL_BITS: u32 = 6;

/// Rows as long as `words`, one after the other.
fn flat(rows: &[Vec<u64>], words: usize) -> Vec<u64> {
    let word = |row: &Vec<u64>, i: usize| row.get(i).copied().unwrap_or(0);
    rows.iter().flat_map(|row| (0..words).map(move |i| word(row, i))).collect()
}

/// Sets of instances, for the choice of one state.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    enabled: Vec<u64>,
    /// The numbers of the instances that lead to the successors, one by one.
    numbers: Vec<u32>,
    best: Vec<u64>,
    /// What sets have with instances, one after the other, where that is known.
    members: Vec<u64>,
    /// Room for sets of more than a word.
    sets: [Vec<u64>; SETS],
}

/// Sets that the search for the best one works with.
const SETS: usize = 5;

impl Choice {
    pub(super) fn new(relations: &Relations) -> Choice {
        let none = vec![0; relations.words];
        Choice {
            enabled: none.clone(),
            numbers: Vec::new(),
            best: none.clone(),
            members: vec![0; relations.clashes.len()],
            sets: std::array::from_fn(|_| none.clone()),
        }
    }

    /// Goes on to another state, which has successors by instances with these numbers.
    pub(super) fn begin(&mut self, numbers: impl Iterator<Item = u32>) {
        self.enabled.fill(0);
        self.numbers.clear();
        for number in numbers {
            self.enabled[number as usize / 64] |= 1 << (number % 64);
            self.numbers.push(number);
        }
    }

    /// Finds a set that has not all enabled instances and the fewest of them, such that one of its
    /// successors is new, or need not be. `false` if there is none.
    pub(super) fn find(
        &mut self,
        relations: &Relations,
        state: &[u64],
        is_new: impl Fn(usize) -> bool,
    ) -> bool {
        let Choice { enabled, numbers, best, members, sets } = self;
        // Most sets have one word: then everything is in registers.
        if let ([enabled], [best]) = (&enabled[..], &mut best[..]) {
            let (mut sets, mut of_one) = ([[0]; SETS], [0]);
            let [set, waiting, dear, barren, known] = &mut sets;
            let work = Search {
                relations,
                state,
                enabled: &[*enabled],
                numbers,
                members,
                best: &mut of_one,
                set,
                waiting,
                dear,
                barren,
                known,
            };
            let found = work.find(is_new);
            *best = of_one[0];
            return found;
        }
        let [set, waiting, dear, barren, known] = sets;
        Search {
            relations,
            state,
            enabled,
            numbers,
            members,
            best,
            set,
            waiting,
            dear,
            barren,
            known,
        }
        .find(is_new)
    }

    /// Which successors are in the set that was found.
    pub(super) fn chosen(&self) -> impl Iterator<Item = usize> + '_ {
        let chosen = |(i, number): (usize, &u32)| has(&self.best, *number as usize).then_some(i);
        self.numbers.iter().enumerate().filter_map(chosen)
    }
}

/// The search for the best set of a state.
struct Search<'a> {
    relations: &'a Relations,
    state: &'a [u64],
    enabled: &'a [u64],
    numbers: &'a [u32],
    /// What sets have with the instances of which that is `known`.
    known: &'a mut [u64],
    members: &'a mut [u64],
    /// The set being closed, what of it is still to be looked at, and the best set so far.
    set: &'a mut [u64],
    waiting: &'a mut [u64],
    best: &'a mut [u64],
    /// Instances whose sets are no smaller than the best, and those whose sets lead nowhere new.
    dear: &'a mut [u64],
    barren: &'a mut [u64],
}

impl Search<'_> {
    /// See [`Choice::find`].
    #[inline(always)]
    fn find(mut self, is_new: impl Fn(usize) -> bool) -> bool {
        let all: u32 = self.enabled.iter().map(|word| word.count_ones()).sum();
        if all < 2 {
            return false;
        }
        let words = self.enabled.len();
        self.dear.fill(0);
        self.barren.fill(0);
        self.known.copy_from_slice(self.enabled);
        for number in self.numbers {
            let row = *number as usize * words;
            self.members[row..][..words]
                .copy_from_slice(&self.relations.with_enabled[row..][..words]);
        }
        let mut fewest = all;
        for word in 0..words {
            let mut seeds = self.enabled[word];
            while seeds != 0 {
                let seed = seeds & seeds.wrapping_neg();
                let closed = self.close(word, seed, fewest);
                if closed.is_some() && !self.leads_on(&is_new) {
                    join(self.barren, self.set);
                } else {
                    if let Some(size) = closed {
                        fewest = size;
                        self.best.copy_from_slice(self.set);
                        if fewest == 1 {
                            return true;
                        }
                    }
                    self.dear[word] |= seed;
                }
                seeds &= !(seed | self.dear[word] | self.barren[word]);
            }
        }
        fewest < all
    }

    /// Whether a successor in the set is new, or need not be.
    #[inline(always)]
    fn leads_on(&self, is_new: impl Fn(usize) -> bool) -> bool {
        let moving = self.relations.moving.iter().zip(&*self.set).zip(self.enabled);
        if moving.into_iter().any(|((moving, set), enabled)| moving & set & enabled != 0) {
            return true;
        }
        // Not `any`, which would be a function of its own.
        for (i, number) in self.numbers.iter().enumerate() {
            if has(self.set, *number as usize) && is_new(i) {
                return true;
            }
        }
        false
    }

    /// Closes the set of one instance. How many enabled ones it has; `None` if these are not fewer than
    /// those of the best set.
    #[inline(always)]
    fn close(&mut self, word: usize, seed: u64, fewest: u32) -> Option<u32> {
        let words = self.enabled.len();
        self.set.fill(0);
        self.waiting.fill(0);
        self.set[word] = seed;
        self.waiting[word] = seed;
        let (mut size, mut word) = (1, word);
        while word < words {
            // Enabled ones first: with these it is sooner clear that a set is of no use.
            let (waiting, fireable) = (self.waiting[word], self.waiting[word] & self.enabled[word]);
            let next = if fireable != 0 { fireable } else { waiting };
            if next == 0 {
                word += 1;
                continue;
            }
            let (bit, number) =
                (next & next.wrapping_neg(), word * 64 + next.trailing_zeros() as usize);
            self.waiting[word] ^= bit;
            let members = &mut self.members[number * words..][..words];
            if self.known[word] & bit == 0 {
                self.known[word] |= bit;
                self.relations.find_members(self.state, number, members);
            }
            for (i, member) in members.iter().enumerate() {
                let new = member & !self.set[i];
                if new & self.dear[i] != 0 {
                    put(self.dear, number);
                    return None;
                }
                // Few at a time: they are counted one by one.
                let mut fireable = new & self.enabled[i];
                while fireable != 0 {
                    fireable &= fireable - 1;
                    size += 1;
                    if size >= fewest {
                        return None;
                    }
                }
                self.set[i] |= new;
                self.waiting[i] |= new;
                if new != 0 {
                    word = word.min(i);
                }
            }
        }
        Some(size)
    }
}

fn join(set: &mut [u64], other: &[u64]) {
    set.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

#[inline]
pub(super) fn has(set: &[u64], number: usize) -> bool {
    set[number / 64] >> (number % 64) & 1 == 1
}

pub(super) fn put(set: &mut [u64], number: usize) {
    set[number / 64] |= 1 << (number % 64);
}

#[cfg(test)]
mod tests {
    use super::super::Truth;
    use super::*;

    /// Numbers that differ with the seed.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % bound
        }

        /// A set of some of so many instances.
        fn set(&mut self, count: usize, of: u64) -> Vec<u64> {
            let mut set = vec![0; count.div_ceil(64)];
            (0..count).filter(|_| self.below(of) == 0).for_each(|i| put(&mut set, i));
            set
        }
    }

    /// Relations between so many instances; conditions of all kinds, over a state of two words.
    fn random(random: &mut Random, count: usize) -> StubbornRelations {
        let sparse = count as u64 / (1 + random.below(3)) + 1;
        let mut clashes: Vec<Vec<u64>> = vec![vec![0; count.div_ceil(64)]; count];
        for a in 0..count {
            for b in (0..a).filter(|_| random.below(sparse) == 0).collect::<Vec<_>>() {
                put(&mut clashes[a], b);
                put(&mut clashes[b], a);
            }
        }
        let rows = 1 + random.below(count as u64) as usize;
        let enabling = (0..rows).map(|_| random.set(count, sparse)).collect();
        let mut condition = || {
            let cells: Vec<(u32, u32)> = (0..1 + random.below(2))
                .map(|_| (random.below(120) as u32, 1 + random.below(8) as u32))
                .collect();
            let width: u32 = cells.iter().map(|(_, width)| width).sum();
            let words = (1usize << width).div_ceil(64);
            let bits = (0..words).map(|_| random.below(u64::MAX) << 17).collect();
            let truth = (random.below(6) > 0).then_some(Truth { cells, bits });
            Condition { enabling: random.below(rows as u64) as u32, truth }
        };
        let conditions = (0..count).map(|i| (0..i % 4).map(|_| condition()).collect()).collect();
        let visible = random.set(count, sparse);
        let numbers = (0..count as u32).collect();
        StubbornRelations {
            first: 0,
            numbers,
            clashes,
            conditions,
            enabling,
            visible,
            goes_on: true,
            moving: Vec::new(),
        }
    }

    /// The closed set around a seed, by the rules and nothing else.
    fn closed(
        relations: &StubbornRelations,
        enabled: &[u64],
        state: &[u64],
        seed: usize,
    ) -> Vec<u64> {
        let mut set = vec![0; enabled.len()];
        put(&mut set, seed);
        loop {
            let before = set.clone();
            for i in (0..relations.clashes.len()).filter(|i| has(&before, *i)) {
                if has(enabled, i) {
                    join(&mut set, &relations.clashes[i]);
                    if has(&relations.visible, i) {
                        join(&mut set, &relations.visible);
                    }
                    continue;
                }
                let holds = |c: &&Condition| c.holds(state) != Some(true);
                let mut certain = false;
                for condition in relations.conditions[i].iter().filter(holds) {
                    join(&mut set, &relations.enabling[condition.enabling as usize]);
                    certain = condition.holds(state).is_some();
                    if certain {
                        break;
                    }
                }
                if !certain {
                    join(&mut set, &relations.clashes[i]);
                }
            }
            if set == before {
                return set;
            }
        }
    }

    #[test]
    fn the_choice_is_that_of_trying_all_seeds_to_the_end() {
        let (mut none, mut single, mut several) = (0, 0, 0);
        for seed in 0..4000 {
            let mut dice = Random(seed);
            let count = 1 + dice.below(if seed % 4 == 0 { 150 } else { 30 }) as usize;
            let given = random(&mut dice, count);
            let relations = Relations::new(&given);
            let mut choice = Choice::new(&relations);
            for _ in 0..4 {
                let state = [dice.below(u64::MAX), dice.below(u64::MAX), 0];
                let enabled = dice.set(count, 3);
                let numbers: Vec<u32> =
                    (0..count as u32).filter(|i| has(&enabled, *i as usize)).collect();
                let new: Vec<bool> = numbers.iter().map(|_| dice.below(3) > 0).collect();
                let size = |set: &[u64]| numbers.iter().filter(|i| has(set, **i as usize)).count();
                let mut best: Option<Vec<u64>> = None;
                for seed in &numbers {
                    let set = closed(&given, &enabled, &state, *seed as usize);
                    let leads =
                        numbers.iter().zip(&new).any(|(i, new)| *new && has(&set, *i as usize));
                    let fewest = best.as_ref().map_or(numbers.len(), |best| size(best));
                    if leads && size(&set) < fewest {
                        best = Some(set);
                    }
                }
                choice.begin(numbers.iter().copied());
                let found = choice.find(&relations, &state, |i| new[i]);
                assert_eq!(found.then(|| choice.best.clone()), best, "seed {seed}");
                match best.map(|best| size(&best)) {
                    None => none += 1,
                    Some(1) => single += 1,
                    Some(_) => several += 1,
                }
            }
        }
        println!("{none} without, {single} of one, {several} of several");
        assert!(none > 500 && single > 500 && several > 500);
    }
}
