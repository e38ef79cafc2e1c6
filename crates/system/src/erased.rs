//! A system behind a pointer.
//!
//! A search is compiled once for each kind of system it is used with, and for each kind of store. The
//! unit of work is a block of states, so that a call through a pointer per block costs nothing that
//! could be measured; compiling every search once instead of once per executor, with symmetry and
//! without, saves most of the time that it takes to build the program.

use crate::records::Put;
use crate::{Batch, Block, Cursor, Fault, Live, Picks, Shape, Step, System, Violation};
use std::any::Any;

/// Any system, by reference.
#[derive(Clone, Copy)]
pub struct Erased<'a> {
    system: &'a dyn Object,
}

impl std::fmt::Debug for Erased<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Erased").field("shape", &self.system.shape()).finish_non_exhaustive()
    }
}

impl<'a> Erased<'a> {
    /// Hides what kind of system it is.
    pub fn new<S: Live>(system: &'a S) -> Erased<'a>
    where
        S::Scratch: 'static,
    {
        Erased { system }
    }
}

/// The working memory of one worker, of a kind that only the system knows.
type Scratch = Box<dyn Any + Send>;

/// [`System`] and [`Live`] without the type of the working memory.
trait Object: Sync {
    fn shape(&self) -> Shape;
    fn scratch(&self) -> Scratch;
    fn rules(&self) -> usize;
    fn initial(&self, scratch: &mut Scratch, at: &mut Cursor, out: &mut Batch) -> Step;
    fn expand(&self, s: &mut Scratch, src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step;
    fn judge(
        &self,
        s: &mut Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation>;
    fn goals<'s>(&self, scratch: &'s Scratch) -> &'s [u64];
    fn level_begins(&self, states: u64);
    fn watches_stack(&self) -> bool;
    fn stack_changes(&self, state: &[u64], put: bool);
    fn dump(&self, put: &mut Put<'_>) -> Result<(), String>;
    fn restore(&self, record: &[u64]) -> Result<(), String>;
    fn live_properties(&self) -> usize;
    fn satisfies(&self, s: &mut Scratch, state: Block<'_>, property: usize) -> Result<bool, Fault>;
}

/// The working memory as its system knows it.
fn own<S: System>(scratch: &mut Scratch) -> &mut S::Scratch
where
    S::Scratch: 'static,
{
    scratch.downcast_mut().expect("working memory comes from the same system")
}

impl<S: Live> Object for S
where
    S::Scratch: 'static,
{
    fn shape(&self) -> Shape {
        System::shape(self)
    }

    fn scratch(&self) -> Scratch {
        Box::new(System::scratch(self))
    }

    fn rules(&self) -> usize {
        System::rules(self)
    }

    fn initial(&self, scratch: &mut Scratch, at: &mut Cursor, out: &mut Batch) -> Step {
        System::initial(self, own::<S>(scratch), at, out)
    }

    fn expand(&self, s: &mut Scratch, src: Block<'_>, at: &mut Cursor, out: &mut Batch) -> Step {
        System::expand(self, own::<S>(s), src, at, out)
    }

    fn judge(
        &self,
        s: &mut Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        System::judge(self, own::<S>(s), b, fresh, at)
    }

    fn goals<'s>(&self, scratch: &'s Scratch) -> &'s [u64] {
        let scratch = scratch.downcast_ref::<S::Scratch>();
        System::goals(self, scratch.expect("working memory comes from the same system"))
    }

    fn level_begins(&self, states: u64) {
        System::level_begins(self, states);
    }

    fn watches_stack(&self) -> bool {
        System::watches_stack(self)
    }

    fn stack_changes(&self, state: &[u64], put: bool) {
        System::stack_changes(self, state, put);
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        System::dump(self, put)
    }

    fn restore(&self, record: &[u64]) -> Result<(), String> {
        System::restore(self, record)
    }

    fn live_properties(&self) -> usize {
        Live::live_properties(self)
    }

    fn satisfies(&self, s: &mut Scratch, state: Block<'_>, property: usize) -> Result<bool, Fault> {
        Live::satisfies(self, own::<S>(s), state, property)
    }
}

impl System for Erased<'_> {
    type Scratch = Box<dyn Any + Send>;

    fn shape(&self) -> Shape {
        self.system.shape()
    }

    fn scratch(&self) -> Self::Scratch {
        self.system.scratch()
    }

    fn rules(&self) -> usize {
        self.system.rules()
    }

    fn initial(&self, scratch: &mut Self::Scratch, at: &mut Cursor, out: &mut Batch) -> Step {
        self.system.initial(scratch, at, out)
    }

    fn expand(
        &self,
        scratch: &mut Self::Scratch,
        src: Block<'_>,
        at: &mut Cursor,
        out: &mut Batch,
    ) -> Step {
        self.system.expand(scratch, src, at, out)
    }

    fn judge(
        &self,
        scratch: &mut Self::Scratch,
        b: Block<'_>,
        fresh: &Picks,
        at: &mut usize,
    ) -> Option<Violation> {
        self.system.judge(scratch, b, fresh, at)
    }

    fn goals<'s>(&self, scratch: &'s Self::Scratch) -> &'s [u64] {
        self.system.goals(scratch)
    }

    fn level_begins(&self, states: u64) {
        self.system.level_begins(states);
    }

    fn watches_stack(&self) -> bool {
        self.system.watches_stack()
    }

    fn stack_changes(&self, state: &[u64], put: bool) {
        self.system.stack_changes(state, put);
    }

    fn dump(&self, put: &mut Put<'_>) -> Result<(), String> {
        self.system.dump(put)
    }

    fn restore(&self, record: &[u64]) -> Result<(), String> {
        self.system.restore(record)
    }
}

impl Live for Erased<'_> {
    fn live_properties(&self) -> usize {
        self.system.live_properties()
    }

    fn satisfies(
        &self,
        scratch: &mut Self::Scratch,
        state: Block<'_>,
        property: usize,
    ) -> Result<bool, Fault> {
        self.system.satisfies(scratch, state, property)
    }
}
