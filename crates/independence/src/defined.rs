//! State variables that are defined in all reachable states: in all initial ones, and no rule undoes it.
//!
//! Most rules read variables, and reading an undefined one is a fault; so without this nearly every rule
//! could fault.

use crate::domains::cells;
use crate::ranges::Ranges;
use ergodic_interp::Interpreter;
use ergodic_ir::{GlobalId, Layout, Program, Type, bits, stays_defined};
use ergodic_system::{Batch, Cursor, DeadlockMode, Step, System};
use std::collections::BTreeSet;
use std::sync::Arc;

/// With more initial states than this nothing is claimed.
const MOST_INITIAL_STATES: usize = 4096;

/// The variables that are always defined, all of their parts.
pub(crate) fn always_defined(program: &Arc<Program>, layout: &Layout) -> BTreeSet<GlobalId> {
    let mut defined = stays_defined(program);
    let interpreter = Interpreter::new(program.clone(), DeadlockMode::Off);
    let mut scratch = System::scratch(&interpreter);
    let mut batch = Batch::new(layout.shape(), MOST_INITIAL_STATES);
    let mut cursor = Cursor::default();
    let done = loop {
        match System::initial(&interpreter, &mut scratch, &mut cursor, &mut batch) {
            Step::Done => break true,
            // Whatever is wrong there, it leads to no state.
            Step::Violation(_) => {}
            Step::Full => break false,
        }
    };
    if !done {
        return BTreeSet::new();
    }
    defined.retain(|id| (0..batch.len()).all(|i| is_defined(program, layout, *id, batch.state(i))));
    defined
}

/// Whether all parts of a variable are defined in a state.
fn is_defined(program: &Program, layout: &Layout, id: GlobalId, state: &[u64]) -> bool {
    let (ty, at) = (program.globals[id.0 as usize].ty, layout.global(id));
    let ranges = Ranges::new(vec![(at, at + layout.bits(ty))]);
    let Some(cells) = cells(program, layout, &ranges, u64::MAX) else { return false };
    cells.iter().all(|cell| match &program.types[cell.ty.0 as usize] {
        Type::Scalar(scalar) => scalar.decode(bits::read(state, cell.bit, cell.width)).is_some(),
        _ => false,
    })
}
