//! The form of the trees of a [`super::TreeStore`], and what stands in their places.
//!
//! **Invariants:** all states of a shape have trees of the same form; children stand in places before
//! their node; the words of a leaf, taken from a state, give the state back.

use std::ops::Range;

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
