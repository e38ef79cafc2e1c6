//! What is known where code is generated: values of fields that were read or written before, what
//! was found to be defined or inside an interval, and which bits of the state were written.
//!
//! Facts follow control. Every jump to a block that is entered later is noted; where control meets,
//! a fact holds if it holds on all ways in. A value that all ways in know dominates each of them, and
//! so the place where they meet: it can be used there. At the head of a loop, whose ways back are not
//! generated yet, nothing is known about memory that can change.

use cranelift_codegen::ir::{Block, Value};
use ergodic_ir::TypeId;
use std::collections::HashMap;
use std::rc::Rc;

/// Facts that are kept at most: more would lengthen compilation and fill registers.
const MOST_FACTS: usize = 192;

/// Stretches of written bits that are told apart at most.
const MOST_WRITTEN: usize = 16;

/// Bits from the first to before the second.
pub(crate) type Span = (i64, i64);

/// All bits.
pub(crate) const ALL: Span = (i64::MIN, i64::MAX);

fn meet(a: Span, b: Span) -> bool {
    a.0 < b.1 && b.0 < a.1
}

/// A piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mem {
    /// The source state, which never changes.
    Source,
    /// The state that is worked on.
    State,
    /// A storage local.
    Local(usize),
}

/// A field: what tells it from others, and the bits among which it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldKey {
    pub mem: Mem,
    pub konst: i64,
    /// The part of its position that is only known at run time, and whether it counts bytes.
    pub dynamic: Option<(Value, bool)>,
    pub width: u32,
    pub span: Span,
}

/// What a value is known for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// It is in a field.
    Field(FieldKey),
    /// It is the code of a stored form.
    Code(Value, TypeId),
    /// It is a product with a constant.
    Product(Value, i64),
    /// It is a sum.
    Sum(Value, Value),
    /// It is not zero.
    Nonzero,
    /// It is in an interval.
    Inside(i64, i64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    key: Key,
    value: Value,
}

/// What is known at one place.
#[derive(Clone, Debug)]
struct Facts {
    known: Rc<Vec<Fact>>,
    /// Bits of the state that may differ from the source.
    written: Rc<Vec<Span>>,
}

impl Facts {
    /// Nothing is known: any bit may have been written.
    fn none() -> Facts {
        Facts { known: Rc::default(), written: Rc::new(vec![ALL]) }
    }

    /// What holds if these facts or others hold.
    fn or(mut self, other: &Facts) -> Facts {
        if !Rc::ptr_eq(&self.known, &other.known) {
            Rc::make_mut(&mut self.known).retain(|fact| other.known.contains(fact));
        }
        for span in other.written.iter() {
            self.write(*span);
        }
        self
    }

    fn write(&mut self, span: Span) {
        let inside = |old: &Span| old.0 <= span.0 && span.1 <= old.1;
        if self.written.iter().any(inside) {
            return;
        }
        let written = Rc::make_mut(&mut self.written);
        written.push(span);
        if written.len() > MOST_WRITTEN {
            *written = vec![ALL];
        }
    }

    fn retain(&mut self, keep: impl Fn(&FieldKey) -> bool) {
        let lost = |fact: &Fact| matches!(&fact.key, Key::Field(field) if !keep(field));
        if self.known.iter().any(lost) {
            Rc::make_mut(&mut self.known).retain(|fact| !lost(fact));
        }
    }
}

/// Facts here, and on the ways into blocks that are not entered yet.
#[derive(Debug)]
pub(crate) struct Flow {
    now: Facts,
    ahead: HashMap<Block, Facts>,
}

impl Flow {
    pub(crate) fn new() -> Flow {
        Flow { now: Facts::none(), ahead: HashMap::new() }
    }

    /// Control can go from here to a block.
    pub(crate) fn edge(&mut self, to: Block) {
        let facts = match self.ahead.remove(&to) {
            Some(others) => others.or(&self.now),
            None => self.now.clone(),
        };
        self.ahead.insert(to, facts);
    }

    /// Code is generated in a block from now on whose ways in were all noted.
    pub(crate) fn enter(&mut self, block: Block) {
        self.now = self.ahead.remove(&block).unwrap_or_else(Facts::none);
    }

    /// Code is generated in a block from now on whose ways in were not all noted.
    pub(crate) fn enter_unknown(&mut self) {
        self.now = Facts::none();
    }

    /// Code is generated in the head of a loop from now on: further ways in come later.
    pub(crate) fn enter_loop(&mut self) {
        self.forget_memory();
        self.now.write(ALL);
    }

    /// Forgets what is in memory that can change.
    pub(crate) fn forget_memory(&mut self) {
        self.now.retain(|field| field.mem == Mem::Source);
    }

    /// The state that is worked on is a new copy of the source.
    pub(crate) fn copied(&mut self) {
        self.now.retain(|field| field.mem != Mem::State);
        self.now.written = Rc::default();
    }

    /// Some bits of a piece of memory are written.
    pub(crate) fn write(&mut self, mem: Mem, span: Span) {
        self.now.retain(|field| field.mem != mem || !meet(field.span, span));
        if mem == Mem::State {
            self.now.write(span);
        }
    }

    /// Anything that can change may be written.
    pub(crate) fn write_anywhere(&mut self) {
        self.enter_loop();
    }

    /// Whether bits of the state may differ from those of the source.
    pub(crate) fn written(&self, span: Span) -> bool {
        self.now.written.iter().any(|old| meet(*old, span))
    }

    /// The value that is known for something.
    pub(crate) fn find(&self, key: Key) -> Option<Value> {
        self.now.known.iter().find(|fact| fact.key == key).map(|fact| fact.value)
    }

    /// Whether something is known about a value.
    pub(crate) fn holds(&self, key: Key, value: Value) -> bool {
        self.now.known.contains(&Fact { key, value })
    }

    pub(crate) fn learn(&mut self, key: Key, value: Value) {
        if self.holds(key, value) {
            return;
        }
        let known = Rc::make_mut(&mut self.now.known);
        if known.len() == MOST_FACTS {
            known.remove(0);
        }
        known.push(Fact { key, value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(mem: Mem, from: i64, to: i64) -> Key {
        let (width, span) = ((to - from) as u32, (from, to));
        Key::Field(FieldKey { mem, konst: from, dynamic: None, width, span })
    }

    fn value(number: u32) -> Value {
        Value::from_u32(number)
    }

    #[test]
    fn where_control_meets_all_ways_count() {
        let mut flow = Flow::new();
        let (meeting, other) = (Block::from_u32(1), Block::from_u32(2));
        flow.copied();
        flow.learn(Key::Nonzero, value(1));
        flow.edge(other);
        flow.learn(Key::Nonzero, value(2));
        flow.write(Mem::State, (0, 4));
        flow.edge(meeting);
        flow.enter(other);
        assert!(!flow.written((0, 4)));
        flow.write(Mem::State, (8, 9));
        flow.edge(meeting);
        flow.enter(meeting);
        assert!(flow.holds(Key::Nonzero, value(1)));
        assert!(!flow.holds(Key::Nonzero, value(2)));
        assert!(flow.written((3, 5)) && flow.written((8, 9)) && !flow.written((4, 8)));
        flow.enter(Block::from_u32(3));
        assert!(!flow.holds(Key::Nonzero, value(1)) && flow.written((4, 8)));
    }

    #[test]
    fn writes_end_what_was_known_of_the_same_bits() {
        let mut flow = Flow::new();
        let fields = [
            field(Mem::State, 0, 4),
            field(Mem::State, 4, 8),
            field(Mem::Local(0), 0, 4),
            field(Mem::Source, 0, 4),
        ];
        for (i, key) in fields.into_iter().enumerate() {
            flow.learn(key, value(i as u32));
        }
        let known = |flow: &Flow| fields.map(|key| flow.find(key).is_some());
        flow.write(Mem::State, (3, 4));
        assert_eq!(known(&flow), [false, true, true, true]);
        flow.enter_loop();
        assert_eq!(known(&flow), [false, false, false, true]);
    }

    #[test]
    fn old_facts_make_room() {
        let mut flow = Flow::new();
        (0..MOST_FACTS as u32 + 1).for_each(|i| flow.learn(Key::Nonzero, value(i)));
        assert!(!flow.holds(Key::Nonzero, value(0)) && flow.holds(Key::Nonzero, value(1)));
    }
}
