//! How a worker asks a [`TreeStore`] about a few states: one after the other.
//!
//! The assembly line of `offers.rs` is for groups: to set it up for one state takes several times as
//! long as the state. Searches of long, thin graphs offer hardly ever more than one.
//!
//! As there, only parts in which a state differs from the one before are asked for. The filter is not
//! asked, and not told.

use super::TreeStore;
use super::form::{Form, LEAF, Piece, Step, finish, leaf, quad};
use super::offers::TreeScratch;
use crate::hash::hash;
use crate::intern::Interner;
use crate::quota::Permits;
use crate::slots::Claim;
use crate::table::claim;
use ergodic_system::{Block, Picks};

/// Marks the states from position `from` on, and picks the new ones. Returns the position of the first
/// state for which there was no room.
pub(super) fn offer_few(
    store: &TreeStore,
    scratch: &mut TreeScratch,
    new: Block<'_>,
    from: usize,
    fresh: &mut Picks,
) -> usize {
    scratch.renew(store);
    for at in from..new.len() {
        let state = new.state(at);
        let Some((root, hash)) = root(store, scratch, state) else { return at };
        let may = store.quota.ensure(&mut scratch.roots);
        match claim(&store.roots, hash, [root], may) {
            Claim::Known | Claim::Crowded => {}
            Claim::Inserted => {
                scratch.roots.spend(1);
                fresh.push(at as u32);
            }
            Claim::Refused => return at,
        }
        std::mem::swap(&mut scratch.first, &mut scratch.row);
        scratch.last.copy_from_slice(state);
        scratch.was = true;
    }
    new.len()
}

/// The root of a state with its hash, and its references in the row; `None` if there is no room for a part
/// of it. What is known of the state before stays as it is.
fn root(store: &TreeStore, scratch: &mut TreeScratch, state: &[u64]) -> Option<(u64, u64)> {
    let form = &store.form;
    let TreeScratch { first, row, last, was, parts, pieces, pairs, .. } = scratch;
    let packing = Packing { form, before: was.then_some(&**last), state, first };
    for step in &form.steps {
        match step {
            Step::Pieces => {
                let part = |piece: &Piece, _, state: &[u64]| [piece.of(state)];
                return packing.root(&store.pieces, pieces, row, part);
            }
            Step::Pairs => {
                let part = |_: &Piece, i, state: &[u64]| leaf(state, i, 64);
                return packing.root(&store.pairs, pairs, row, part);
            }
            Step::Leaves => {
                for i in form.places(step) {
                    let part = |state| leaf(state, i, form.cut);
                    let before = packing.before.map(part);
                    row[i] = refer(&store.parts, parts, part(state), before, first[i])?;
                }
            }
            Step::Nodes(level) => {
                for (place, children) in form.places(step).zip(&form.tree.nodes[level.clone()]) {
                    let (key, old) = (quad(row, *children), quad(first, *children));
                    // Where there was no state before, this is zero, which no key is.
                    row[place] = refer::<LEAF>(&store.parts, parts, key, Some(old), first[place])?;
                }
            }
        }
    }
    let root = form.root(row);
    Some((root, form.hash(root)))
}

/// A state of a packed form, and the one before it.
struct Packing<'a> {
    form: &'a Form,
    before: Option<&'a [u64]>,
    state: &'a [u64],
    /// References of the state before.
    first: &'a [u32],
}

impl Packing<'_> {
    /// Root and hash from the pieces, of which `part` gives the keys, in one pass.
    #[inline(always)] // two kinds of pieces, each of which is asked for in a loop of its own
    fn root<const K: usize>(
        &self,
        interners: &[Interner<K>],
        permits: &mut [Permits],
        row: &mut [u32],
        part: impl Fn(&Piece, usize, &[u64]) -> [u64; K],
    ) -> Option<(u64, u64)> {
        let (mut root, mut sum) = (0, 0);
        let kept = self.first.iter().zip(row);
        let asked = interners.iter().zip(permits).zip(kept);
        for (i, (piece, ((interner, permits), (old, new)))) in
            self.form.pieces.iter().zip(asked).enumerate()
        {
            let key = part(piece, i, self.state);
            let before = self.before.map(|before| part(piece, i, before));
            *new = refer(interner, permits, key, before, *old)?;
            piece.weigh(*new, &mut root, &mut sum);
        }
        Some((root, finish(sum)))
    }
}

/// The reference of a part: the one of the state before if that has the same.
#[inline(always)] // most parts are those of the state before
fn refer<const K: usize>(
    interner: &Interner<K>,
    permits: &mut Permits,
    key: [u64; K],
    before: Option<[u64; K]>,
    old: u32,
) -> Option<u32> {
    if before == Some(key) {
        return Some(old);
    }
    ask(interner, permits, key)
}

#[inline(never)] // its callers are many, and one copy will do
fn ask<const K: usize>(
    interner: &Interner<K>,
    permits: &mut Permits,
    key: [u64; K],
) -> Option<u32> {
    interner.reference(hash(&key), key, permits)
}
