//! What every exact store must do, as a function to call from its tests.
//!
//! The inputs are random and adversarial: repeats within a block, blocks of no and of one state,
//! states that differ in one bit only, counters in low and in high bits, and enough states to make
//! every structure grow several times. The oracle is a hash set.
//!
//! Miri, which checks what is done with memory, takes some thousand times as long: for it all is smaller.

use ergodic_system::{Block, Exhausted, Numbered, PAD_WORDS, Picks, Shape, Shared, Sole, Visited};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, RwLock};

/// How many times fewer states there are under Miri.
const SMALLER: u64 = if cfg!(miri) { 100 } else { 1 };

/// Checks a store that compares states in full and numbers them.
///
/// # Panics
/// If the store does not conform.
pub fn exact<V: Numbered>(make: impl Fn(Shape) -> V) {
    for words in [1, 2, 3, 4, 7, 9, 33] {
        let shape = Shape::of_bits(words * 64);
        for input in INPUTS {
            for block in [1, 2, 3, 63, 64, 65, 1000] {
                let count = if block < 4 { 3_000 } else { 20_000 };
                against_a_hash_map(make(shape), shape, input, block, count);
            }
        }
    }
    empty_blocks(make(Shape::of_bits(1)), Shape::of_bits(1));
}

/// Offers `count` different states.
///
/// # Panics
/// If the store calls one of them known or is exhausted.
pub fn fill<V: Visited>(store: &mut V, shape: Shape, count: u64) {
    let (mut words, mut fresh) = (Vec::new(), Picks::new());
    for from in (0..count).step_by(500) {
        let len = (count - from).min(500) as usize;
        write_counter(&mut words, shape, from, len);
        store.offer(Block::new(&words, shape.words, len), &mut fresh).expect("room");
        assert_eq!(fresh.len(), len);
    }
    assert_eq!(store.coverage().states, count);
}

/// Offers different states until the store refuses; returns how it refused, and how many states it
/// called fresh.
///
/// # Panics
/// If the store calls one of them known, or takes more than 2^24.
pub fn fill_until_exhausted<V: Visited>(store: &mut V, shape: Shape) -> (Exhausted, u64) {
    let (mut words, mut fresh, mut seen) = (Vec::new(), Picks::new(), 0);
    for from in (0..1 << 24).step_by(500) {
        write_counter(&mut words, shape, from, 500);
        let answer = store.offer(Block::new(&words, shape.words, 500), &mut fresh);
        seen += fresh.len() as u64;
        assert!(fresh.iter().enumerate().all(|(i, place)| i == *place as usize));
        assert_eq!(store.coverage().states, seen);
        if let Err(why) = answer {
            return (why, seen);
        }
        assert_eq!(fresh.len(), 500);
    }
    panic!("the store took 2^24 states");
}

/// Checks a shared store that compares states in full, in the hands of one worker.
///
/// # Panics
/// If the store does not conform.
pub fn shared<V: Shared>(shapes: &[Shape], make: impl Fn(Shape) -> V) {
    let (every, blocks) = if cfg!(miri) { (4, &[33][..]) } else { (1, &[1, 3, 32, 33, 1000][..]) };
    for shape in shapes.iter().step_by(every) {
        for input in INPUTS.into_iter().step_by(every) {
            for block in blocks.iter().copied() {
                let count = if block < 4 { 2_000 } else { 10_000 / SMALLER };
                let mut store = make(*shape);
                against_a_hash_set(&mut store, *shape, input, block, count);
            }
        }
        empty_blocks(Sole::new(&mut make(*shape)), *shape);
    }
}

/// Lets one, two and four workers offer overlapping random states to a store that grows at
/// barriers, and checks that of equal states exactly one was called fresh.
///
/// # Panics
/// If the store does not conform.
pub fn workers<V: Shared>(shape: Shape, make: impl Fn() -> V) {
    let (teams, spreads) = if cfg!(miri) {
        (&[2][..], &[60][..])
    } else {
        (&[1, 2, 4][..], &[50, 3_000, 1 << 40][..])
    };
    for threads in teams.iter().copied() {
        for spread in spreads.iter().copied() {
            for foreseen in [None, Some(1)] {
                let mut store = make();
                store.foresee(foreseen);
                race(store, shape, threads, spread);
            }
        }
    }
}

/// Offers different states to a shared store until it cannot grow; returns why, and how many it
/// called fresh.
///
/// # Panics
/// As [`fill_until_exhausted`].
pub fn fill_shared_until_exhausted<V: Shared>(store: &mut V, shape: Shape) -> (Exhausted, u64) {
    fill_until_exhausted(&mut Sole::new(store), shape)
}

/// Offers all states whose words are multiples of one number by 0 to below `base`; returns how many
/// there are. Neighbours differ in few words, as successors do.
///
/// # Panics
/// If the store calls one of them known.
pub fn fill_with_counters<V: Shared>(store: &mut V, shape: Shape, base: u64) -> u64 {
    let mut sole = Sole::new(store);
    let count = base.pow(shape.words as u32);
    let (mut words, mut fresh) = (vec![0; 500 * shape.words + PAD_WORDS], Picks::new());
    for from in (0..count).step_by(500) {
        let len = (count - from).min(500) as usize;
        for (i, state) in words.chunks_exact_mut(shape.words).take(len).enumerate() {
            let mut number = from + i as u64;
            for word in state {
                (*word, number) = (number % base * 77, number / base);
            }
        }
        sole.offer(Block::new(&words, shape.words, len), &mut fresh).expect("room");
        assert_eq!(fresh.len(), len);
    }
    count
}

/// Bits that states of this shape do not use are zero.
fn trim(state: &mut [u64], shape: Shape) {
    let unused = shape.words * 64 - shape.bits;
    if let Some(last) = state.last_mut() {
        *last &= u64::MAX >> unused;
    }
}

fn against_a_hash_set<V: Shared>(
    store: &mut V,
    shape: Shape,
    input: Input,
    block: usize,
    count: u64,
) {
    let (mut oracle, mut mix) = (HashSet::new(), Mix(block as u64 + count));
    let (mut fresh, mut made) = (vec![77], 0);
    // Whatever is foreseen, nothing but sizes depends on it.
    store.foresee(mix.next().is_multiple_of(2).then(|| mix.next() % (2 * count)));
    let mut sole = Sole::new(store);
    while made < count {
        // Stores may treat a few states in another way: those of both ways meet.
        let few = 1 + mix.next() as usize % 4;
        let len = if mix.next().is_multiple_of(2) { block } else { few.min(block) };
        let mut words = vec![0; len * shape.words + PAD_WORDS];
        let mut expected = Picks::new();
        for (i, state) in words.chunks_exact_mut(shape.words).take(len).enumerate() {
            input(&mut mix, made, state);
            trim(state, shape);
            made += 1;
            if oracle.insert(state.to_vec()) {
                expected.push(i as u32);
            }
        }
        sole.offer(Block::new(&words, shape.words, len), &mut fresh).expect("room");
        assert_eq!(fresh, expected);
    }
    assert_eq!(sole.coverage().states, oracle.len() as u64);
    assert!(oracle.iter().all(|state| sole.contains(state)));
    for _ in 0..1000 / SMALLER {
        let mut state: Vec<u64> = (0..shape.words).map(|_| mix.next()).collect();
        trim(&mut state, shape);
        assert_eq!(sole.contains(&state), oracle.contains(&state));
    }
    retains_unknown(store, shape, &oracle, &mut mix);
    let mut back = HashSet::new();
    if store.each(&mut |state| assert!(back.insert(state.to_vec()), "a state comes back once")) {
        assert!(back == oracle, "{} states come back of {}", back.len(), oracle.len());
    }
}

/// Of picks behind the first ones those remain whose states are unknown.
fn retains_unknown<V: Shared>(store: &V, shape: Shape, oracle: &HashSet<Vec<u64>>, mix: &mut Mix) {
    const COUNT: usize = if cfg!(miri) { 60 } else { 300 };
    let mut known = oracle.iter();
    let mut words = vec![0; COUNT * shape.words + PAD_WORDS];
    for state in words.chunks_exact_mut(shape.words).take(COUNT) {
        match known.next().filter(|_| !mix.next().is_multiple_of(3)) {
            Some(old) => state.copy_from_slice(old),
            None => state.iter_mut().for_each(|word| *word = mix.next()),
        }
        trim(state, shape);
    }
    let block = Block::new(&words, shape.words, COUNT);
    let is_new = |pick: &u32| !oracle.contains(block.state(*pick as usize));
    let mut scratch = store.scratch();
    for (every, from) in [(1, 0), (1, 7), (3, COUNT / 6), (400, 1)] {
        let mut picks: Picks = (0..COUNT as u32).step_by(every).collect();
        let behind = picks[from..].iter().copied().filter(is_new);
        let expected: Picks = picks[..from].iter().copied().chain(behind).collect();
        store.retain_unknown(&mut scratch, block, from, &mut picks);
        assert_eq!(picks, expected);
    }
}

/// Growths in which a tiny table takes what four workers offer at a time, even if it hardly becomes larger.
const ROUNDS: usize = 40;

fn race<V: Shared>(mut store: V, shape: Shape, threads: usize, spread: u64) {
    store.set_threads(threads);
    let (store, barrier) = (RwLock::new(store), Barrier::new(threads));
    let growing = AtomicBool::new(false);
    let seen = Mutex::new(HashMap::<Vec<u64>, u32>::new());
    let offered = Mutex::new(HashSet::new());
    std::thread::scope(|scope| {
        for worker in 0..threads {
            let (store, barrier, growing) = (&store, &barrier, &growing);
            let (seen, offered) = (&seen, &offered);
            scope.spawn(move || {
                let mut mix = Mix(worker as u64 % 2 + spread);
                let mut scratch = store.read().expect("a lock").scratch();
                for _ in 0..(40 / SMALLER).max(2) {
                    let words = random_block(&mut mix, shape, spread);
                    let block = Block::new(&words, shape.words, 100);
                    let mut fresh = Picks::new();
                    let mut from = 0;
                    // Everybody comes to the barriers of growth, whether stalled or not. One round
                    // of growth may not be enough where tables are tiny.
                    for _ in 0..ROUNDS {
                        let guard = store.read().expect("a lock");
                        from = guard.offer(&mut scratch, block, from, &mut fresh);
                        drop(guard);
                        grow_together(store, barrier, growing, threads);
                    }
                    assert_eq!(from, 100);
                    let (mut seen, mut offered) =
                        (seen.lock().expect("a lock"), offered.lock().expect("a lock"));
                    offered.extend((0..100).map(|i| block.state(i).to_vec()));
                    for place in fresh {
                        *seen.entry(block.state(place as usize).to_vec()).or_default() += 1;
                    }
                }
            });
        }
    });
    let (store, seen) = (store.into_inner().expect("a lock"), seen.into_inner().expect("a lock"));
    assert!(seen.values().all(|times| *times == 1), "a state was called fresh twice");
    let offered = offered.into_inner().expect("a lock");
    assert_eq!(seen.len(), offered.len());
    assert!(offered.iter().all(|state| seen.contains_key(state) && store.contains(state)));
}

/// One growth, in which all threads take part, each of which calls this.
fn grow_together<V: Shared>(
    store: &RwLock<V>,
    barrier: &Barrier,
    growing: &AtomicBool,
    threads: usize,
) {
    loop {
        if barrier.wait().is_leader() {
            let begun = store.write().expect("a lock").begin_to_grow(1, threads).expect("room");
            growing.store(begun, Ordering::Relaxed);
        }
        barrier.wait();
        if !growing.load(Ordering::Relaxed) {
            return;
        }
        store.read().expect("a lock").help_to_grow();
    }
}

fn random_block(mix: &mut Mix, shape: Shape, spread: u64) -> Vec<u64> {
    let mut words = vec![0; 100 * shape.words + PAD_WORDS];
    for state in words.chunks_exact_mut(shape.words).take(100) {
        let value = mix.next() % spread;
        state.fill(value & 3);
        state[(value % shape.words as u64) as usize] = value;
        trim(state, shape);
    }
    words
}

/// Fills word `i % words` of state `i`, so that different states differ in different places.
type Input = fn(&mut Mix, u64, &mut [u64]);

const INPUTS: [Input; 5] = [
    // random, each state several times
    |mix, _, s| {
        let v = mix.next() % 5_000;
        s.iter_mut().enumerate().for_each(|(i, w)| *w = v.wrapping_mul(i as u64 * 2 + 0x9e37_79b9));
    },
    // a counter in the low bits of the last word
    |_, i, s| *s.last_mut().expect("a word") = i,
    // a counter in the high bits of the first word, with repeats
    |_, i, s| s[0] = (i / 3) << 48,
    // one bit set, or two, or none
    |mix, _, s| {
        for _ in 0..mix.next() % 3 {
            let bit = mix.next() as usize % (s.len() * 64);
            s[bit / 64] |= 1 << (bit % 64);
        }
    },
    // runs of equal states
    |_, i, s| s.fill((i / 100) % 37),
];

fn against_a_hash_map<V: Numbered>(
    mut store: V,
    shape: Shape,
    input: Input,
    block: usize,
    count: u64,
) {
    let mut oracle: HashMap<Vec<u64>, u64> = HashMap::new();
    let mut mix = Mix(block as u64 + count);
    let mut fresh = vec![77]; // must be cleared
    let mut made = 0;
    while made < count {
        let mut words = vec![0; block * shape.words + PAD_WORDS];
        let mut expected = Picks::new();
        for (i, state) in words.chunks_exact_mut(shape.words).take(block).enumerate() {
            input(&mut mix, made, state);
            made += 1;
            let number = oracle.len() as u64;
            oracle.entry(state.to_vec()).or_insert_with(|| {
                expected.push(i as u32);
                number
            });
        }
        *words.last_mut().expect("padding") = mix.next(); // padding is no part of a state
        store.offer(Block::new(&words, shape.words, block), &mut fresh).expect("room");
        assert_eq!(fresh, expected);
    }
    assert_eq!(store.coverage().states, oracle.len() as u64);
    assert_eq!(store.coverage().omission, 0.0);
    assert!(store.coverage().bytes > 0);
    let mut back = vec![0; shape.words];
    for (state, number) in &oracle {
        assert_eq!(store.number(state), Some(*number));
        store.fetch(*number, &mut back);
        assert_eq!(back, *state);
    }
    back.fill(0x1234_5678_9abc_def1);
    assert_eq!(store.number(&back), oracle.get(&back).copied());
}

fn empty_blocks<V: Visited>(mut store: V, shape: Shape) {
    let mut fresh = vec![1, 2];
    let words = vec![0; PAD_WORDS];
    store.offer(Block::new(&words, shape.words, 0), &mut fresh).expect("nothing to do");
    assert!(fresh.is_empty());
    assert_eq!(store.coverage().states, 0);
}

fn write_counter(words: &mut Vec<u64>, shape: Shape, from: u64, len: usize) {
    words.clear();
    words.resize(len * shape.words + PAD_WORDS, 0);
    for (i, state) in words.chunks_exact_mut(shape.words).take(len).enumerate() {
        let number = from + i as u64;
        state[number as usize % shape.words] = number + 1;
    }
}

/// The splitmix generator.
struct Mix(u64);

impl Mix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
