//! The output side of an expansion: successors with where they came from.

use crate::{Block, Label, PAD_WORDS, Shape, Violation};

/// A reusable buffer of successors. Executors append, searches consume; it never grows.
#[derive(Clone, Debug)]
pub struct Batch {
    width: usize,
    len: usize,
    states: Vec<u64>,
    sources: Vec<u32>,
    rules: Vec<u32>,
    labels: Vec<Label>,
    dropped: Vec<(u32, u32)>,
    /// Whether successors that are their own sources are left out, and how many were.
    skips_loops: bool,
    loops: u64,
    /// Whether somebody wants to know which successors were renamed; which were, and their permutations,
    /// all of one length, one after the other.
    watched: bool,
    renamed: Vec<u32>,
    permutations: Vec<u16>,
}

/// The raw columns of a batch, for executors that fill it from generated code. All columns have
/// room for `capacity` entries, of which the first `len` are in use.
#[derive(Debug)]
pub struct BatchParts<'a> {
    /// Packed states, one after the other, padding at the end.
    pub states: &'a mut [u64],
    /// For each successor the position of its source state in the expanded block.
    pub sources: &'a mut [u32],
    /// For each successor the rule that made it.
    pub rules: &'a mut [u32],
    /// For each successor the instance of the rule.
    pub labels: &'a mut [Label],
    /// Entries in use; the executor stores the new value here before it returns.
    pub len: &'a mut usize,
}

impl Batch {
    /// An empty batch for `capacity` states of this shape.
    pub fn new(shape: Shape, capacity: usize) -> Batch {
        Batch {
            width: shape.words,
            len: 0,
            states: vec![0; capacity * shape.words + PAD_WORDS],
            sources: vec![0; capacity],
            rules: vec![0; capacity],
            labels: vec![Label(0); capacity],
            dropped: Vec::new(),
            skips_loops: false,
            loops: 0,
            watched: false,
            renamed: Vec::new(),
            permutations: Vec::new(),
        }
    }

    /// Successors in the batch.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no successor.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Room in all.
    pub fn capacity(&self) -> usize {
        self.labels.len()
    }

    /// Whether another successor has no room.
    pub fn is_full(&self) -> bool {
        self.len == self.capacity()
    }

    /// Forgets all successors.
    pub fn clear(&mut self) {
        self.len = 0;
        self.dropped.clear();
        self.loops = 0;
        self.forget_renames();
    }

    /// From now on, executors count successors that are their own sources, and leave them out. A search
    /// that knows its sources to be visited need not ask about them, and models in which rules fire
    /// without doing anything (a message that is not for this node) have many.
    pub fn skip_loops(&mut self) {
        self.skips_loops = true;
    }

    /// Whether successors that are their own sources are left out.
    pub fn skips_loops(&self) -> bool {
        self.skips_loops
    }

    /// Notes firings of `rule` that led back to their source and were left out.
    pub fn note_loops(&mut self, rule: u32, count: u32) {
        self.loops += u64::from(count);
        self.note_dropped(rule, count);
    }

    /// How many successors were left out because they are their own sources.
    pub fn loops(&self) -> u64 {
        self.loops
    }

    /// Says whether, from now on, whoever replaces a successor by another one of its orbit notes that.
    pub fn watch_renames(&mut self, watched: bool) {
        self.watched = watched;
    }

    /// Whether renames are to be noted.
    pub fn watches_renames(&self) -> bool {
        self.watched
    }

    /// Successor `i` was replaced by another member of its orbit, in which the instances of rules have
    /// other numbers: `to` leads from the one to the other (see [`crate::Renaming`]). Positions are noted
    /// in ascending order.
    pub fn note_renamed(&mut self, i: usize, to: &[u16]) {
        self.renamed.push(i as u32);
        self.permutations.extend_from_slice(to);
    }

    /// The permutation that led to successor `i`, if it was renamed.
    pub fn renamed(&self, i: usize) -> Option<&[u16]> {
        let at = self.renamed.binary_search(&(i as u32)).ok()?;
        let points = self.permutations.len() / self.renamed.len();
        Some(&self.permutations[at * points..(at + 1) * points])
    }

    fn forget_renames(&mut self) {
        self.renamed.clear();
        self.permutations.clear();
    }

    /// Appends a successor.
    ///
    /// # Panics
    /// If the batch is full or the state has another width: executors ask [`Batch::is_full`] first.
    pub fn push(&mut self, state: &[u64], source: u32, rule: u32, label: Label) {
        let at = self.len;
        self.states[at * self.width..(at + 1) * self.width].copy_from_slice(state);
        self.sources[at] = source;
        self.rules[at] = rule;
        self.labels[at] = label;
        self.len += 1;
    }

    /// Removes the successors from `from` on that `keep` does not want; the rest keep their order.
    /// What was noted about renamed ones is forgotten.
    pub fn retain(&mut self, from: usize, mut keep: impl FnMut(usize, Label) -> bool) {
        let mut to = from;
        for i in from..self.len {
            if !keep(i, self.labels[i]) {
                continue;
            }
            if i != to {
                self.states.copy_within(i * self.width..(i + 1) * self.width, to * self.width);
                self.sources[to] = self.sources[i];
                self.rules[to] = self.rules[i];
                self.labels[to] = self.labels[i];
            }
            to += 1;
        }
        self.len = to;
        self.forget_renames();
    }

    /// Notes firings of `rule` whose successors an assumption dropped.
    pub fn note_dropped(&mut self, rule: u32, count: u32) {
        if count > 0 {
            self.dropped.push((rule, count));
        }
    }

    /// Firings whose successors are not in the batch, by an assumption or as loops: rules with counts.
    /// They count as firings.
    pub fn dropped(&self) -> &[(u32, u32)] {
        &self.dropped
    }

    /// The successors as a block.
    pub fn block(&self) -> Block<'_> {
        Block::new(&self.states, self.width, self.len)
    }

    /// Successor `i`.
    pub fn state(&self, i: usize) -> &[u64] {
        &self.states[i * self.width..(i + 1) * self.width]
    }

    /// Successor `i`, to be changed in place (by a wrapper that canonises).
    pub fn state_mut(&mut self, i: usize) -> &mut [u64] {
        &mut self.states[i * self.width..(i + 1) * self.width]
    }

    /// For each successor the position of its source state in the expanded block.
    pub fn sources(&self) -> &[u32] {
        &self.sources[..self.len]
    }

    /// For each successor the rule that made it.
    pub fn rules(&self) -> &[u32] {
        &self.rules[..self.len]
    }

    /// For each successor the instance of the rule that made it.
    pub fn labels(&self) -> &[Label] {
        &self.labels[..self.len]
    }

    /// The columns, for generated code.
    pub fn parts(&mut self) -> BatchParts<'_> {
        BatchParts {
            states: &mut self.states,
            sources: &mut self.sources,
            rules: &mut self.rules,
            labels: &mut self.labels,
            len: &mut self.len,
        }
    }
}

/// Where an interrupted expansion goes on. Fresh for every block; searches only keep it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// Position of the source state in the block.
    pub source: usize,
    /// Priority class being tried for that state.
    pub class: usize,
    /// Position of the rule in its class.
    pub rule: usize,
    /// Instance of the rule to go on with.
    pub instance: u64,
    /// Whether a rule was enabled in the source state so far.
    pub enabled: bool,
    /// Whether a firing led to another state so far.
    pub moved: bool,
}

/// Why an expansion returned.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Everything was expanded.
    Done,
    /// The batch is full: consume it and call again with the same cursor.
    Full,
    /// Something went wrong *after* all successors in the batch; calling again goes on behind it.
    Violation(Violation),
}
