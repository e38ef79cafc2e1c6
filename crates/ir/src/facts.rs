//! What actions, subroutines and properties read and write.
//!
//! (Granularity: whole state variables.)

use crate::{GlobalId, Program};
use std::collections::BTreeSet;

/// What a piece of a program can touch, subroutines included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// State variables it may read.
    pub reads: BTreeSet<GlobalId>,
    /// State variables it may change.
    pub writes: BTreeSet<GlobalId>,
    /// By-reference parameters of the enclosing subroutine that it may change, by position.
    pub writes_params: BTreeSet<usize>,
    /// Whether it can fault.
    pub faults: bool,
}

/// The effects of all parts of a program.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Of each subroutine.
    pub procs: Vec<Effects>,
    /// Of the guard and prelude of each action.
    pub guards: Vec<Effects>,
    /// Of the body of each action.
    pub bodies: Vec<Effects>,
    /// Of each initial state.
    pub starts: Vec<Effects>,
    /// Of each property.
    pub properties: Vec<Effects>,
}

impl Facts {
    /// Collects the facts of a program.
    pub fn new(_program: &Program) -> Facts {
        Facts { procs: vec![], guards: vec![], bodies: vec![], starts: vec![], properties: vec![] }
    }
}
