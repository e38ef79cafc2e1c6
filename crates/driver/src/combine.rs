//! The one table of combinations: which executor, search and store go together, and the only place
//! where the generic searches are instantiated.

use crate::options::{Engine, SearchKind, StoreKind};
use ergodic_queue::memory::MemoryQueue;
use ergodic_search::{
    Ending, Limits, LiveOutcome, Observer, Outcome, Sink, Team, bfs, dfs, graph, liveness, pbfs,
};
use ergodic_store::exact::ExactStore;
use ergodic_store::rows::RowStore;
use ergodic_store::shared::FlatStore;
use ergodic_store::tree::TreeStore;
use ergodic_system::{Live, Shape, Shared, Sole};

/// A legal combination. Breadth first runs on any number of threads with the same results, over
/// any store; the numbered store serves one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The executor.
    pub engine: Engine,
    /// The search.
    pub search: SearchKind,
    /// The store.
    pub store: StoreKind,
    /// Threads.
    pub threads: usize,
}

const fn row(engine: Engine, search: SearchKind, store: StoreKind, threads: usize) -> Row {
    Row { engine, search, store, threads }
}

/// Every legal combination (of threads: one and several). Model tests run through all of them.
pub const ROWS: &[Row] = &[
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Auto, 1),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Auto, 2),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Rows, 2),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Tree, 1),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Tree, 3),
    row(Engine::Jit, SearchKind::Bfs, StoreKind::Numbered, 1),
    row(Engine::Jit, SearchKind::Dfs, StoreKind::Auto, 1),
    row(Engine::Jit, SearchKind::Dfs, StoreKind::Tree, 1),
    row(Engine::Jit, SearchKind::Dfs, StoreKind::Numbered, 1),
    row(Engine::Interp, SearchKind::Bfs, StoreKind::Auto, 1),
    row(Engine::Interp, SearchKind::Dfs, StoreKind::Numbered, 1),
];

/// What a combination found.
pub(crate) struct Explored {
    pub outcome: Outcome,
    /// The liveness properties, if the search was complete and there are any.
    pub live: Option<LiveOutcome>,
    /// How the writing of the graph ended, if it was asked for.
    pub graph: Option<Ending>,
    /// The store that was used.
    pub store: &'static str,
    /// The threads that were used.
    pub threads: usize,
}

/// The store to use: liveness and the graph need numbered states.
pub(crate) fn store_for(wanted: StoreKind, shape: Shape, numbered: bool) -> StoreKind {
    match wanted {
        _ if numbered => StoreKind::Numbered,
        StoreKind::Auto | StoreKind::Flat if FlatStore::fits(shape) => StoreKind::Flat,
        StoreKind::Auto if shape.words <= RowStore::MAX_WORDS => StoreKind::Rows,
        StoreKind::Auto | StoreKind::Flat => StoreKind::Tree,
        chosen => chosen,
    }
}

/// Runs a search, then what needs the states it visited.
pub(crate) fn explore<S: Live>(
    system: &S,
    row: Row,
    limits: &Limits,
    observer: &mut dyn Observer,
    sink: Option<&mut dyn Sink>,
) -> Explored {
    let numbered = sink.is_some() || system.live_properties() > 0;
    let shape = system.shape();
    match store_for(row.store, shape, numbered) {
        StoreKind::Flat => {
            let store = FlatStore::new(shape, limits.memory);
            shared(system, store, "flat", row, limits, observer)
        }
        StoreKind::Rows => {
            let store = RowStore::new(shape, limits.memory);
            shared(system, store, "rows", row, limits, observer)
        }
        StoreKind::Auto | StoreKind::Tree => {
            let store = TreeStore::new(shape, limits.memory);
            shared(system, store, "tree", row, limits, observer)
        }
        StoreKind::Numbered => numbered_store(system, row, limits, observer, sink),
    }
}

fn shared<S: Live, V: Shared>(
    system: &S,
    mut store: V,
    name: &'static str,
    row: Row,
    limits: &Limits,
    observer: &mut dyn Observer,
) -> Explored {
    let (outcome, threads) = match row.search {
        SearchKind::Bfs => {
            let mut frontier = MemoryQueue::new(system.shape());
            let team = Team::of(row.threads);
            let outcome = pbfs(system, &mut store, &mut frontier, &team, limits, observer);
            (outcome, team.threads)
        }
        SearchKind::Dfs => (dfs(system, &mut Sole::new(&mut store), limits, observer), 1),
    };
    Explored { outcome, live: None, graph: None, store: name, threads }
}

fn numbered_store<S: Live>(
    system: &S,
    row: Row,
    limits: &Limits,
    observer: &mut dyn Observer,
    sink: Option<&mut dyn Sink>,
) -> Explored {
    let mut store = ExactStore::new(system.shape(), limits.memory);
    let outcome = match row.search {
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
    Explored { outcome, live, graph, store: "numbered", threads: 1 }
}
