//! Expanding states of a store again, after a search: for what needs edges that no search keeps.

use ergodic_system::{Batch, Block, Cursor, Label, Numbered, PAD_WORDS, Step, System};

/// Fetches states by number and generates their edges.
pub(crate) struct Revisit<'a, S: System, V> {
    system: &'a S,
    store: &'a V,
    pub(crate) scratch: S::Scratch,
    /// Firings so far whose successors an assumption dropped.
    pub(crate) dropped: u64,
    batch: Batch,
    width: usize,
    words: Vec<u64>,
    numbers: Vec<u64>,
}

impl<'a, S: System, V: Numbered> Revisit<'a, S, V> {
    pub(crate) fn new(system: &'a S, store: &'a V, batch: usize) -> Revisit<'a, S, V> {
        Revisit {
            system,
            store,
            scratch: system.scratch(),
            dropped: 0,
            batch: Batch::new(system.shape(), batch.max(1)),
            width: system.shape().words,
            words: vec![0; PAD_WORDS],
            numbers: Vec::new(),
        }
    }

    /// Forgets the states that were fetched.
    pub(crate) fn clear(&mut self) {
        self.numbers.clear();
        self.words.truncate(PAD_WORDS);
    }

    /// How many states are fetched.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Fetches one more state.
    pub(crate) fn fetch(&mut self, number: u64) {
        let at = self.numbers.len() * self.width;
        self.words.resize(at + self.width + PAD_WORDS, 0);
        self.store.fetch(number, &mut self.words[at..at + self.width]);
        self.words[at + self.width..].fill(0);
        self.numbers.push(number);
    }

    /// The states that were fetched, and working memory to evaluate them with.
    pub(crate) fn block(&mut self) -> (Block<'_>, &mut S::Scratch) {
        (Block::new(&self.words, self.width, self.numbers.len()), &mut self.scratch)
    }

    /// Generates all edges of the fetched states, in the order of fetching. Faults and deadlocks
    /// are passed over (the search has reported them), edges to states that the store does not
    /// have as well. Returns how many successors there were; `edge` may end it early.
    pub(crate) fn edges<E>(
        &mut self,
        mut edge: impl FnMut(u64, u64, Label) -> Result<(), E>,
    ) -> Result<u64, E> {
        self.all_edges(|from, to, label| to.map_or(Ok(()), |to| edge(from, to, label)))
    }

    /// The same with edges to states that the store does not have.
    pub(crate) fn all_edges<E>(
        &mut self,
        mut edge: impl FnMut(u64, Option<u64>, Label) -> Result<(), E>,
    ) -> Result<u64, E> {
        let block = Block::new(&self.words, self.width, self.numbers.len());
        let (mut cursor, mut count) = (Cursor::default(), 0);
        loop {
            self.batch.clear();
            let step = self.system.expand(&mut self.scratch, block, &mut cursor, &mut self.batch);
            count += self.batch.len() as u64;
            let dropped = self.batch.dropped().iter();
            self.dropped += dropped.map(|(_, count)| u64::from(*count)).sum::<u64>();
            for i in 0..self.batch.len() {
                let to = self.store.number(self.batch.state(i));
                let from = self.numbers[self.batch.sources()[i] as usize];
                edge(from, to, self.batch.labels()[i])?;
            }
            if step == Step::Done {
                return Ok(count);
            }
        }
    }

    /// How many initial states the system has, equal ones counted apart.
    pub(crate) fn starts(&mut self) -> u64 {
        let (mut cursor, mut count) = (Cursor::default(), 0);
        loop {
            self.batch.clear();
            let step = self.system.initial(&mut self.scratch, &mut cursor, &mut self.batch);
            count += self.batch.len() as u64;
            if step == Step::Done {
                return count;
            }
        }
    }

    /// The numbers of the initial states, as far as the store has them.
    pub(crate) fn initial(&mut self, mut each: impl FnMut(u64)) {
        let mut cursor = Cursor::default();
        loop {
            self.batch.clear();
            let step = self.system.initial(&mut self.scratch, &mut cursor, &mut self.batch);
            for i in 0..self.batch.len() {
                self.store.number(self.batch.state(i)).into_iter().for_each(&mut each);
            }
            if step == Step::Done {
                return;
            }
        }
    }
}
