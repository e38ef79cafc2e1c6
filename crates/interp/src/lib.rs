//! The reference executor: it *defines* what a program means.
//!
//! [`Interpreter`] walks the program tree on packed states. It is a
//! [`ergodic_system::RuleSystem`], so every search can run it, and it is the judge of every other
//! executor and of every counterexample: [`Interpreter::replay`] executes a path of labels again,
//! collects what the model prints, and explains a fault in words.
//!
//! How the parts fit:
//! * `memory`: the state being made, the storage of locals, and frames;
//! * `machine`: places, calls, faults: what expressions and statements share;
//! * `value`: loading, storing and comparing values of any type;
//! * `expr`, `stmt`: one function for each kind of expression and statement;
//! * `interpreter`: firing, judging, and the traits of the waist;
//! * `explain`: the concrete names of places and the sentences about faults;
//! * `replay`: paths.
//!
//! Invariants:
//! * a program passed [`ergodic_ir::verify`]; broken programs may panic, never corrupt memory;
//! * an instance of a rule is executed at most once per expansion, full batches or not, so that
//!   cover goals count each firing once;
//! * explaining never changes what is computed.
//!
//! Stack: calls and nested code of the program recurse on the stack of the thread, at a few hundred
//! bytes per level of nesting. A thousand nested calls whose bodies nest a hundred levels deep were
//! measured to fit 32 MiB; [`STACK_BYTES`] leaves room for eight times that. Whoever raises the call
//! limit or runs deeper code must run the interpreter on a larger stack.

mod explain;
mod expr;
mod interpreter;
mod machine;
mod memory;
mod replay;
mod stmt;
mod value;

pub use explain::Explained;
pub use interpreter::{FireOne, Interpreter};
pub use memory::Scratch;
pub use replay::{FaultedStep, ReplayError, ReplayedStep, ReplayedTrace, StepReport};

/// Stack that a thread needs to run programs with a call limit of 1,000.
pub const STACK_BYTES: usize = 256 << 20;
