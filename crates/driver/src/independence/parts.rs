//! Names of the parts of a state that a rule touches, all its instances together.

use ergodic_independence::Ranges;
use ergodic_ir::{GlobalId, Layout, Program, Type, TypeId};
use std::collections::HashSet;

/// Where the variables of a program lie.
pub(super) struct Parts<'p> {
    program: &'p Program,
    layout: Layout,
    /// The variables and their first bits, ascending.
    starts: Vec<(usize, GlobalId)>,
}

/// Names in the order in which they were found.
#[derive(Default)]
struct Names {
    list: Vec<String>,
    known: HashSet<String>,
}

impl<'p> Parts<'p> {
    pub(super) fn new(program: &'p Program) -> Parts<'p> {
        let layout = Layout::new(program);
        let starts = layout.globals_in_order().into_iter().map(|id| (layout.global(id), id));
        Parts { program, starts: starts.collect(), layout }
    }

    /// The parts that some sets of bits touch: `a[*]` stands for any element of `a`, `a` for all.
    pub(super) fn names<'r>(&self, sets: impl Iterator<Item = &'r Ranges>) -> Vec<String> {
        let mut names = Names::default();
        let mut seen = HashSet::new();
        // Instances of a rule often touch the same.
        for ranges in sets.filter(|ranges| seen.insert(*ranges)) {
            for bits in ranges.iter() {
                self.add_range(bits, &mut names);
            }
        }
        names.list
    }

    fn add_range(&self, bits: (usize, usize), names: &mut Names) {
        let first = self.starts.partition_point(|(start, _)| *start <= bits.0).saturating_sub(1);
        for (start, id) in &self.starts[first..] {
            if *start >= bits.1 {
                break;
            }
            let global = &self.program.globals[id.0 as usize];
            self.add(global.ty, *start, &global.name, bits, names);
        }
    }

    /// Adds what a run of bits covers of the value of a type at a place.
    fn add(&self, ty: TypeId, at: usize, name: &str, bits: (usize, usize), names: &mut Names) {
        let end = at + self.layout.bits(ty);
        if end <= bits.0 || bits.1 <= at {
            return;
        }
        let whole = bits.0 <= at && end <= bits.1;
        match &self.program.types[ty.0 as usize] {
            Type::Record { fields, .. } if !whole => {
                for (i, field) in fields.iter().enumerate() {
                    let inner = at + self.layout.field(ty, i as u32);
                    self.add(field.ty, inner, &format!("{name}.{}", field.name), bits, names);
                }
            }
            Type::Array { elem, .. } if !whole && self.layout.stride(ty) > 0 => {
                let stride = self.layout.stride(ty);
                let first = bits.0.saturating_sub(at) / stride;
                let last = (bits.1.min(end) - at - 1) / stride;
                let inner = format!("{name}[*]");
                // All elements between the first and the last are covered, and have one name.
                for i in [first, (first + 1).min(last), last] {
                    self.add(*elem, at + i * stride, &inner, bits, names);
                }
            }
            _ => names.add(name),
        }
    }
}

impl Names {
    fn add(&mut self, name: &str) {
        if !self.known.contains(name) {
            self.known.insert(name.to_string());
            self.list.push(name.to_string());
        }
    }
}

/// The form of the name of a part: `chan[2].len` is `chan[*].len`.
pub fn pattern(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut inside = false;
    for c in part.chars() {
        match c {
            '[' => out.push_str("[*"),
            ']' => out.push(']'),
            _ if inside => {}
            c => out.push(c),
        }
        inside = c == '[' || (inside && c != ']');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::pattern;

    #[test]
    fn indices_become_stars() {
        assert_eq!(pattern("chan[2].box[Node_1].len"), "chan[*].box[*].len");
        assert_eq!((pattern("x"), pattern("")), ("x".to_string(), String::new()));
    }
}
