//! The one table of combinations: which executor, search and store go together, and the only place
//! where the generic searches are instantiated.

use crate::options::{Engine, SearchKind};
use ergodic_queue::memory::MemoryQueue;
use ergodic_search::{
    Ending, Limits, LiveOutcome, Observer, Outcome, Sink, bfs, dfs, graph, liveness,
};
use ergodic_store::exact::ExactStore;
use ergodic_system::Live;

/// A legal combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The executor.
    pub engine: Engine,
    /// The search.
    pub search: SearchKind,
    /// The store, by name.
    pub store: &'static str,
}

/// Every legal combination. Model tests run through all of them.
pub const ROWS: &[Row] = &[
    Row { engine: Engine::Jit, search: SearchKind::Bfs, store: "exact" },
    Row { engine: Engine::Jit, search: SearchKind::Dfs, store: "exact" },
    Row { engine: Engine::Interp, search: SearchKind::Bfs, store: "exact" },
    Row { engine: Engine::Interp, search: SearchKind::Dfs, store: "exact" },
];

/// What a combination found.
pub(crate) struct Explored {
    pub outcome: Outcome,
    /// The liveness properties, if the search was complete and there are any.
    pub live: Option<LiveOutcome>,
    /// How the writing of the graph ended, if it was asked for.
    pub graph: Option<Ending>,
}

/// Runs a search, then what needs the states it visited.
pub(crate) fn explore<S: Live>(
    system: &S,
    search: SearchKind,
    limits: &Limits,
    observer: &mut dyn Observer,
    sink: Option<&mut dyn Sink>,
) -> Explored {
    let mut store = ExactStore::new(system.shape(), limits.memory);
    let outcome = match search {
        SearchKind::Bfs => {
            let mut frontier = MemoryQueue::new(system.shape());
            bfs(system, &mut store, &mut frontier, limits, observer)
        }
        SearchKind::Dfs => dfs(system, &mut store, limits, observer),
    };
    let complete = outcome.ending == Ending::Complete && outcome.findings.is_empty();
    let live = (complete && system.live_properties() > 0)
        .then(|| liveness(system, &store, limits, observer));
    let graph = sink.map(|sink| graph(system, &store, limits, observer, sink));
    Explored { outcome, live, graph }
}
