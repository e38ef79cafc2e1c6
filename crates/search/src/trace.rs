//! The parent log: how each state was found first, in eight bytes.
//!
//! A breadth-first search numbers its states in the order in which it keeps them, which is the
//! order in which it expands them; so the log needs no help from a store. For each state it holds
//! the distance to the number of its parent and the label of the step. A distance is small against
//! the number of states (at most two levels), so 32 bits do; the few distances that do not fit
//! stand in a list of their own.

use ergodic_system::Label;

/// Entries per chunk: 512 KiB.
const CHUNK: usize = 1 << 16;
/// The distance of an initial state, which has no parent.
const ROOT: u32 = 0;
/// The parent stands in the list of far ones.
const FAR: u32 = u32::MAX;

/// Parent and label of each state of a breadth-first search.
#[derive(Debug)]
pub struct ParentLog {
    /// All but the last are full.
    chunks: Vec<Vec<(u32, Label)>>,
    len: u64,
    /// Number and parent of states whose distance does not fit, ascending.
    far: Vec<(u64, u64)>,
    /// Distances from here on are far.
    reach: u64,
}

impl Default for ParentLog {
    fn default() -> ParentLog {
        ParentLog { chunks: Vec::new(), len: 0, far: Vec::new(), reach: u64::from(FAR) }
    }
}

impl ParentLog {
    /// Number of states.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is no state.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the next state, with the number of its parent unless it is initial.
    ///
    /// # Panics
    /// If the parent is not an earlier state.
    pub fn push(&mut self, parent: Option<u64>, label: Label) {
        let distance = match parent {
            None => ROOT,
            Some(parent) => {
                assert!(parent < self.len, "a parent comes before its children");
                let distance = self.len - parent;
                if distance < self.reach {
                    distance as u32
                } else {
                    self.far.push((self.len, parent));
                    FAR
                }
            }
        };
        if self.len.is_multiple_of(CHUNK as u64) {
            // The first chunk grows as needed: small models are many.
            let room = if self.chunks.is_empty() { 0 } else { CHUNK };
            self.chunks.push(Vec::with_capacity(room));
        }
        if let Some(chunk) = self.chunks.last_mut() {
            chunk.push((distance, label));
        }
        self.len += 1;
    }

    /// The labels from an initial state to state `number`, both included.
    ///
    /// # Panics
    /// If there is no such state.
    pub fn path(&self, number: u64) -> Vec<Label> {
        let mut path = Vec::new();
        let mut at = Some(number);
        while let Some(number) = at {
            let (parent, label) = self.step(number);
            path.push(label);
            at = parent;
        }
        path.reverse();
        path
    }

    fn step(&self, number: u64) -> (Option<u64>, Label) {
        let at = number as usize;
        let (distance, label) = self.chunks[at / CHUNK][at % CHUNK];
        let parent = match distance {
            ROOT => None,
            FAR => {
                let found = self.far.binary_search_by_key(&number, |far| far.0);
                Some(self.far[found.expect("a far parent is listed")].1)
            }
            near => Some(number - u64::from(near)),
        };
        (parent, label)
    }

    /// Parent and label of each state, in order.
    pub(crate) fn each(&self) -> impl Iterator<Item = (Option<u64>, Label)> {
        (0..self.len).map(|number| self.step(number))
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        let entries: usize = match self.chunks.as_slice() {
            [] => 0,
            [first, rest @ ..] => first.capacity() + rest.len() * CHUNK,
        };
        (entries * size_of::<(u32, Label)>() + self.far.capacity() * 16) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_go_back_to_the_root() {
        for reach in [u64::from(FAR), 1, 2, 3] {
            let mut log = ParentLog { reach, ..ParentLog::default() };
            log.push(None, Label(7));
            log.push(None, Label(8));
            log.push(Some(0), Label(1));
            log.push(Some(0), Label(2));
            log.push(Some(3), Label(3));
            assert_eq!(log.path(1), [Label(8)]);
            assert_eq!(log.path(4), [Label(7), Label(2), Label(3)]);
        }
    }

    #[test]
    fn eight_bytes_per_state() {
        let mut log = ParentLog::default();
        log.push(None, Label(0));
        for i in 0..1_000_000 {
            log.push(Some(i), Label(1));
        }
        assert!(log.bytes() < 8 * (1_000_001 + CHUNK as u64));
        assert_eq!(log.path(1_000_000).len(), 1_000_001);
    }
}
