//! What a depth-first search with bounded memory needs: a set of states that forgets, but never what
//! is on the stack, and a stack that can go to disk.

use crate::{Coverage, Exhausted, Losses};

/// A bounded set of states, with a few words beside each. When it is full, it forgets a state that is
/// not on the stack for each new one. A state is never called known that was not entered.
pub trait Ledger {
    /// Words beside each state.
    fn note_words(&self) -> usize;

    /// The place of a state, if it is held. Places are valid until a state is entered.
    fn find(&self, state: &[u64]) -> Option<u32>;

    /// Takes a state that it does not hold, and puts it on the stack: until it is popped, its place
    /// stays the same. `kind` says what sort of step led there; smaller kinds are worth more.
    fn enter(&mut self, state: &[u64], kind: u8) -> Result<u32, Exhausted>;

    /// The words beside a state; zero when it is entered.
    fn note(&mut self, place: u32) -> &mut [u64];

    /// A state that is held was reached once more.
    fn reached(&mut self, place: u32, kind: u8);

    /// Puts a state that is held on the stack, once more perhaps.
    fn push(&mut self, place: u32);

    /// Takes a state off the stack, once; `below` states were entered since it was put there.
    fn pop(&mut self, place: u32, below: u64);

    /// Whether a state is on the stack.
    fn is_stacked(&self, place: u32) -> bool;

    /// States that were forgotten so far.
    fn forgotten(&self) -> u64;

    /// States entered, bytes in use.
    fn coverage(&self) -> Coverage;

    /// What it may have lost, and what it measured.
    fn losses(&self) -> Losses;
}

/// Records of words, last in first out.
pub trait Pile {
    /// Puts a record on top.
    fn push(&mut self, record: &[u64]) -> Result<(), Exhausted>;

    /// Moves the record on top to `record`, which is cleared first; `false` if there is none.
    fn pop(&mut self, record: &mut Vec<u64>) -> Result<bool, Exhausted>;

    /// Bytes of memory in use.
    fn bytes(&self) -> u64;
}
