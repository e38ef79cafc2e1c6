//! The whole graph, state by state and edge by edge, as a stream.

use crate::bits::Bits;
use crate::revisit::Revisit;
use crate::{Control, Ending, Limits, Observer, Progress, Watch};
use ergodic_system::{Label, Numbered, System};

/// Receives a graph. A node comes before the edges that leave it; an edge may lead to a node that
/// comes later.
pub trait Sink {
    /// A state; numbers ascend from 0.
    fn node(&mut self, number: u64, state: &[u64], initial: bool) -> Control;

    /// A step between two states.
    fn edge(&mut self, from: u64, to: u64, label: Label) -> Control;
}

/// Streams the graph over all states of `store` to `sink`. Steps to states that the store does not
/// have (after a search that was cut short) are left out, and so are faults.
pub fn graph<S: System, V: Numbered>(
    system: &S,
    store: &V,
    limits: &Limits,
    observer: &mut dyn Observer,
    sink: &mut dyn Sink,
) -> Ending {
    stream(system, store, limits, observer, sink).into()
}

fn stream<S: System, V: Numbered>(
    system: &S,
    store: &V,
    limits: &Limits,
    observer: &mut dyn Observer,
    sink: &mut dyn Sink,
) -> Result<(), Ending> {
    let coverage = store.coverage();
    let mut revisit = Revisit::new(system, store, limits.batch);
    let mut watch = Watch::new(limits, observer, 1);
    let mut initial = Bits::new(coverage.states);
    revisit.initial(|number| initial.insert(number));
    let mut state = vec![0; system.shape().words];
    let mut progress = Progress {
        states: coverage.states,
        bytes: coverage.bytes + initial.bytes(),
        ..Progress::default()
    };
    for number in 0..coverage.states {
        store.fetch(number, &mut state);
        go_on(sink.node(number, &state, initial.contains(number)))?;
        revisit.clear();
        revisit.fetch(number);
        progress.transitions +=
            revisit.edges(|from, to, label| go_on(sink.edge(from, to, label)))?;
        if number % 16 == 0 {
            progress.waiting = coverage.states - number - 1;
            watch.look(&progress)?;
        }
    }
    Ok(())
}

fn go_on(control: Control) -> Result<(), Ending> {
    match control {
        Control::Continue => Ok(()),
        Control::Stop(reason) => Err(Ending::Stopped(reason)),
    }
}
