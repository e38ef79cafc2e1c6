//! The form of the trees of a [`super::TreeStore`], and what stands in their places.
//!
//! A form is *packed* or *plain*. In a packed one a state is cut into pieces. Each place has references of
//! its own for its pieces, which are small numbers, so that all of them fit into one word, the root: as
//! many bits for each as the number of values that were seen there needs, and those that are left over for
//! growth. Pieces have at most one word (states of two words have four pieces, or two); if that gives too
//! many references, two words, which have fewer values than the two for themselves, because they change
//! together. In a plain form pairs of words are the leaves of a tree.
//!
//! The hash of a packed root does not depend on the widths: what stands in a table stays in its line when
//! they change.
//!
//! **Invariants:** all states of a shape have trees of the same form; children stand in places before
//! their node; the words of a leaf, or the pieces, taken from a state, give the state back. References
//! that were given out fit into the widths of their form.

use crate::hash::{hash_word, rehash};
use ergodic_system::Shape;
use std::ops::Range;

/// States of up to so many words are cut into pieces of equal length, others into words: a short last
/// piece is worth little, but among many it does no harm, and words are faster to take.
const EQUAL_PIECES: usize = 4;

/// Pieces of states of two words. With three, n_peterson takes a seventh more memory; dining
/// philosophers, with 20 successors per state, are a tenth faster.
const SMALL_PIECES: usize = 4;

/// A piece of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where its first bit is.
    word: usize,
    shift: u32,
    mask: u64,
    /// Bits of its references, and the first of them in the root.
    pub width: u32,
    at: u32,
    /// What its references are multiplied with in the hash of a root.
    weight: u64,
}

/// What is asked for together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Pieces of at most a word.
    Pieces,
    /// Pieces of two words.
    Pairs,
    /// Leaves of a tree.
    Leaves,
    /// Nodes of one level.
    Nodes(Range<usize>),
}

/// The form of all states of a store. A state has a row of references: of its pieces, or of the places
/// of its tree.
#[derive(Debug)]
pub(super) struct Form {
    /// None in a plain form.
    pub pieces: Vec<Piece>,
    /// Where plain states of two leaves are cut; see [`leaf`].
    pub cut: u32,
    /// Of a plain form.
    pub tree: Tree,
    /// In this order. What comes of the last one is the root.
    pub steps: Vec<Step>,
}

impl Piece {
    /// Piece `i`, of so many bits from the `first` on. Those of a second word do not count.
    fn new(i: usize, first: usize, bits: usize) -> Piece {
        Piece {
            word: first / 64,
            shift: (first % 64) as u32,
            mask: u64::MAX >> (64 - bits),
            width: 0,
            at: 0,
            weight: hash_word(i as u64) | 1,
        }
    }

    /// The piece of at most a word of a state.
    #[inline]
    pub(super) fn of(&self, state: &[u64]) -> u64 {
        let first = state[self.word] >> self.shift;
        match state.get(self.word + 1) {
            // Two shifts, because one by all bits is none.
            Some(next) if self.shift > 0 => (first | next << 1 << (63 - self.shift)) & self.mask,
            _ => first & self.mask,
        }
    }

    /// Puts a piece of at most a word into a state that has zeros there.
    pub(super) fn put(&self, value: u64, state: &mut [u64]) {
        state[self.word] |= value << self.shift;
        if let Some(next) = state.get_mut(self.word + 1) {
            *next |= value >> 1 >> (63 - self.shift);
        }
    }

    /// Adds references to their roots, and to the hashes of these.
    #[inline(always)] // where the lengths are known, the loop is unrolled
    pub(super) fn add_to(&self, roots: &mut [u64], hashes: &mut [u64], references: &[u32]) {
        for ((root, hash), reference) in roots.iter_mut().zip(hashes).zip(references) {
            self.weigh(*reference, root, hash);
        }
    }

    /// Adds a reference to a root, and to the sum from which its hash is made.
    #[inline(always)]
    pub(super) fn weigh(&self, reference: u32, root: &mut u64, sum: &mut u64) {
        *root |= u64::from(reference) << self.at;
        *sum = sum.wrapping_add(self.weight.wrapping_mul(u64::from(reference)));
    }

    /// The reference in a root.
    #[inline]
    fn reference(&self, root: u64) -> u64 {
        root >> self.at & ((1 << self.width) - 1)
    }
}

impl Form {
    /// Leaves of two words.
    pub(super) fn plain(shape: Shape) -> Form {
        let tree = Tree::over(shape.words.div_ceil(LEAF));
        let middle = shape.bits.div_ceil(2) as u32;
        let cut = if matches!(shape.words, 3 | 4) { middle - 64 } else { 64 };
        let mut steps = vec![Step::Leaves];
        steps.extend(tree.levels.iter().cloned().map(Step::Nodes));
        Form { pieces: Vec::new(), cut, tree, steps }
    }

    /// The first form for states of a shape.
    pub(super) fn first(shape: Shape) -> Form {
        let count = if shape.words == 2 { SMALL_PIECES } else { shape.words };
        let pieces = pieces(shape, count);
        let counts = vec![0; pieces.len()];
        Form::packed(pieces, Step::Pieces, &counts).unwrap_or_else(|| Form::second(shape))
    }

    /// The form for states whose pieces of a word have too many values.
    fn second(shape: Shape) -> Form {
        if shape.words == 2 {
            return Form::halves(shape);
        }
        let pairs = pairs(shape);
        let counts = vec![0; pairs.len()];
        // The plain form of states of two leaves is as good.
        let form = Form::packed(pairs, Step::Pairs, &counts).filter(|_| shape.words > EQUAL_PIECES);
        form.unwrap_or_else(|| Form::plain(shape))
    }

    /// The form for states of two words whose smaller pieces have too many values: two pieces, whose
    /// references fit whatever their number.
    fn halves(shape: Shape) -> Form {
        let pieces = pieces(shape, 2);
        Form::packed(pieces, Step::Pieces, &[0, 0]).unwrap_or_else(|| Form::plain(shape))
    }

    /// The form that comes after this one, when so many values of the pieces were seen.
    pub(super) fn next(&self, shape: Shape, counts: &[u64]) -> Form {
        let step = &self.steps[0];
        let wider = Form::packed(self.pieces.clone(), step.clone(), counts);
        wider.unwrap_or_else(|| match step {
            Step::Pieces if self.pieces.len() > 2 => Form::second(shape),
            _ => Form::plain(shape),
        })
    }

    /// Whether another form differs from this one in widths only.
    pub(super) fn is_like(&self, other: &Form) -> bool {
        self.steps == other.steps && self.pieces.len() == other.pieces.len()
    }

    /// The packed form for so many values of the pieces, if there is one.
    fn packed(mut pieces: Vec<Piece>, step: Step, counts: &[u64]) -> Option<Form> {
        let least: Vec<u32> = counts.iter().map(|count| bits(count + 1)).collect();
        if least.iter().sum::<u32>() > 64 || least.iter().any(|width| *width > 32) {
            return None;
        }
        spread(&mut pieces, &least);
        Some(Form { pieces, cut: 64, tree: Tree::over(0), steps: vec![step] })
    }

    /// The length of a row. Its last place holds nothing, and zero.
    pub(super) fn row(&self) -> usize {
        self.pieces.len() + self.tree.places + 1
    }

    /// The places of a step in a row.
    pub(super) fn places(&self, step: &Step) -> Range<usize> {
        let leaves = self.tree.leaves;
        match step {
            Step::Pieces | Step::Pairs => 0..self.pieces.len(),
            Step::Leaves => 0..leaves,
            Step::Nodes(level) => leaves + level.start..leaves + level.end,
        }
    }

    /// Whether states are cut into pieces.
    #[inline]
    pub(super) fn is_packed(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// The root of a row.
    pub(super) fn root(&self, row: &[u32]) -> u64 {
        if !self.is_packed() {
            return pair(row, self.tree.root);
        }
        let references = row.iter().zip(&self.pieces);
        references.fold(0, |root, (reference, piece)| root | u64::from(*reference) << piece.at)
    }

    /// Takes a packed root apart.
    pub(super) fn unpack(&self, root: u64, row: &mut [u32]) {
        for (place, piece) in row.iter_mut().zip(&self.pieces) {
            *place = piece.reference(root) as u32;
        }
    }

    /// A packed root in another form, with other widths.
    pub(super) fn repacked(&self, root: u64, other: &Form) -> u64 {
        let pieces = self.pieces.iter().zip(&other.pieces);
        pieces.fold(0, |word, (old, new)| word | old.reference(root) << new.at)
    }

    /// The hash of a root.
    #[inline]
    pub(super) fn hash(&self, root: u64) -> u64 {
        if !self.is_packed() {
            return hash_word(root);
        }
        let weighed = |piece: &Piece| piece.weight.wrapping_mul(piece.reference(root));
        finish(self.pieces.iter().map(weighed).fold(0, u64::wrapping_add))
    }
}

/// The hash of a packed root from the sum of its weighed references. The sum is mixed well only in its
/// high bits.
#[inline]
pub(super) fn finish(sum: u64) -> u64 {
    rehash(sum)
}

/// The pieces of at most a word of states, without widths.
fn pieces(shape: Shape, count: usize) -> Vec<Piece> {
    let bits = shape.bits.max(1);
    let length = if count > EQUAL_PIECES { 64 } else { bits.div_ceil(count) };
    let piece = |i| Piece::new(i, i * length, length.min(bits - i * length));
    (0..count).map(piece).collect()
}

/// The pieces of two words.
fn pairs(shape: Shape) -> Vec<Piece> {
    let piece = |i| Piece::new(i, i * LEAF * 64, 64.min(shape.bits - i * LEAF * 64));
    (0..shape.words.div_ceil(LEAF)).map(piece).collect()
}

/// Bits of a number.
fn bits(number: u64) -> u32 {
    64 - number.leading_zeros()
}

/// Gives pieces their places in the root: the bits they need, and those that are left, in turns, to those
/// that can have more values, and have most.
fn spread(pieces: &mut [Piece], least: &[u32]) {
    let mut left = 64 - least.iter().sum::<u32>();
    let mut by_width: Vec<usize> = (0..pieces.len()).collect();
    by_width.sort_by_key(|i| std::cmp::Reverse(least[*i]));
    for (piece, least) in pieces.iter_mut().zip(least) {
        piece.width = *least;
    }
    while left > 0 {
        let before = left;
        for i in &by_width {
            let piece = &mut pieces[*i];
            if left > 0 && piece.width < (bits(piece.mask) + 1).min(32) {
                piece.width += 1;
                left -= 1;
            }
        }
        if left == before {
            break;
        }
    }
    let mut at = 0;
    for piece in pieces {
        piece.at = at;
        at += piece.width;
    }
}

/// Words of a leaf.
pub(super) const LEAF: usize = 2;

/// The form of all trees. Places below `leaves` are leaves, then come the nodes below the root; in
/// place `places` there is nothing, and a reference of zero.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tree {
    pub leaves: usize,
    pub places: usize,
    /// The children of each node below the root.
    pub nodes: Vec<[u32; 4]>,
    /// The nodes by their height, lowest first.
    pub levels: Vec<Range<usize>>,
    pub root: [u32; 2],
}

impl Tree {
    /// The tree over so many leaves: four by four, as long as more than four are left, and then two
    /// by two.
    pub(super) fn over(leaves: usize) -> Tree {
        let mut top: Vec<u32> = (0..leaves as u32).collect();
        let (mut nodes, mut levels) = (Vec::new(), Vec::new());
        while top.len() > 2 {
            let first = nodes.len();
            let by = if top.len() > 4 { 4 } else { 2 };
            top = Vec::from_iter(top.chunks(by).map(|children| match children {
                [child] => *child,
                _ => {
                    let child = |i: usize| children.get(i).copied().unwrap_or(u32::MAX);
                    nodes.push(std::array::from_fn(child));
                    (leaves + nodes.len() - 1) as u32
                }
            }));
            levels.push(first..nodes.len());
        }
        let places = leaves + nodes.len();
        let nothing = places as u32;
        nodes.iter_mut().flatten().for_each(|child| *child = nothing.min(*child));
        let child = |i: usize| top.get(i).copied().unwrap_or(nothing);
        Tree { leaves, places, nodes, levels, root: [child(0), child(1)] }
    }
}

/// Leaf `i` of a state; a word that is missing is zero. States of two leaves are cut at bit
/// `64 + cut`, in the middle: two halves have fewer values than a large and a small part. For larger
/// states `cut` is 64.
#[inline]
pub(super) fn leaf(state: &[u64], i: usize, cut: u32) -> [u64; LEAF] {
    let word = |k: usize| state.get(k).copied().unwrap_or(0);
    if cut == 64 {
        return [state[LEAF * i], word(LEAF * i + 1)];
    }
    match i {
        0 => [word(0), word(1) & ((1 << cut) - 1)],
        _ => [word(1) >> cut | word(2) << (64 - cut), word(2) >> cut | word(3) << (64 - cut)],
    }
}

/// Puts the leaves of a state together again: the way back from [`leaf`].
pub(super) fn put_leaves(
    mut leaves: impl Iterator<Item = [u64; LEAF]>,
    cut: u32,
    state: &mut [u64],
) {
    if cut == 64 {
        for (words, leaf) in state.chunks_mut(LEAF).zip(leaves) {
            words.copy_from_slice(&leaf[..words.len()]);
        }
        return;
    }
    let [a, b] = leaves.next().unwrap_or_default();
    let [c, d] = leaves.next().unwrap_or_default();
    let whole = [a, b | c << cut, c >> (64 - cut) | d << cut, d >> (64 - cut)];
    state.copy_from_slice(&whole[..state.len()]);
}

/// Two references as one word.
#[inline]
pub(super) fn pair(references: &[u32], [left, right]: [u32; 2]) -> u64 {
    let (left, right) = (references[left as usize], references[right as usize]);
    u64::from(left) << 32 | u64::from(right)
}

/// Four references as two words.
#[inline]
pub(super) fn quad(references: &[u32], [a, b, c, d]: [u32; 4]) -> [u64; LEAF] {
    [pair(references, [a, b]), pair(references, [c, d])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_two_children_at_the_root() {
        let tree = |leaves| {
            let Tree { nodes, levels, root, .. } = Tree::over(leaves);
            let ends: Vec<usize> = levels.iter().map(|level| level.end).collect();
            (nodes, ends, root)
        };
        assert_eq!(tree(1), (vec![], vec![], [0, 1]));
        assert_eq!(tree(2), (vec![], vec![], [0, 1]));
        assert_eq!(tree(3), (vec![[0, 1, 4, 4]], vec![1], [3, 2]));
        assert_eq!(tree(5), (vec![[0, 1, 2, 3]], vec![1], [5, 4]));
        assert_eq!(tree(7), (vec![[0, 1, 2, 3], [4, 5, 6, 9]], vec![2], [7, 8]));
        let nine = vec![[0, 1, 2, 3], [4, 5, 6, 7], [9, 10, 12, 12]];
        assert_eq!(tree(9), (nine, vec![2, 3], [11, 8]));
    }
}
