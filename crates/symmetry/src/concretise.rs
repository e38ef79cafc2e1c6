//! From a path of canonical states to a run of the model.
//!
//! A search under symmetry keeps labels that were fired in canonical states, so a path of them jumps
//! between members of orbits. A run is found by following the orbits from a concrete start: the
//! state `s_i` is in the orbit of the canonical `c_i`, so some instance of a rule leads from `s_i`
//! into the orbit of `c_{i+1}`; nothing needs to be stored for that.

use crate::Symmetries;

/// There is no step into the orbit of a canonical state: the program is not symmetric, or the chain
/// is not one of its paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoStep {
    /// Position in the chain of the state that cannot be reached.
    pub at: usize,
}

impl std::fmt::Display for NoStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "no step leads into the orbit of state {} of the path", self.at)
    }
}

impl std::error::Error for NoStep {}

/// Finds a run from `start` whose states are in the orbits of the states of `chain`.
///
/// `start` is in the orbit of `chain[0]` (else the answer is `NoStep { at: 0 }`); the chain's states
/// are any members of their orbits. `successors` gives the labels and successors of a state; the
/// first that fits is taken. The result has one step for each state of the chain after the first.
pub fn concretise<L, C, I>(
    symmetries: &Symmetries,
    start: &[u64],
    chain: &[C],
    mut successors: impl FnMut(&[u64]) -> I,
) -> Result<Vec<(L, Vec<u64>)>, NoStep>
where
    C: AsRef<[u64]>,
    I: IntoIterator<Item = (L, Vec<u64>)>,
{
    let mut scratch = symmetries.scratch();
    let mut canon = |state: &[u64]| {
        let mut state = state.to_vec();
        symmetries.canonise(&mut scratch, &mut state);
        state
    };
    let mut run: Vec<(L, Vec<u64>)> = Vec::new();
    for (at, goal) in chain.iter().enumerate() {
        let goal = canon(goal.as_ref());
        if at == 0 {
            if canon(start) != goal {
                return Err(NoStep { at });
            }
            continue;
        }
        let here = run.last().map_or(start, |(_, state)| state.as_slice());
        let mut steps = successors(here).into_iter();
        run.push(steps.find(|(_, state)| canon(state) == goal).ok_or(NoStep { at })?);
    }
    Ok(run)
}
