//! Values and states as people read them.

use crate::{
    Instances, Layout, Program, ScalarKind, ScalarType, Type, TypeId, UNDEFINED_REAL, bits,
    domain_value,
};
use ergodic_system::Label;

/// Printed for undefined values.
pub const UNDEFINED: &str = "Undefined";

/// A scalar value of a type.
pub fn scalar(program: &Program, ty: TypeId, code: i64) -> String {
    match &program.types[ty.0 as usize] {
        Type::Scalar(scalar) => scalar_value(program, scalar, code),
        Type::Real { .. } => real(f64::from_bits(code as u64)),
        _ => code.to_string(),
    }
}

/// A real number.
pub fn real(value: f64) -> String {
    format!("{value:?}")
}

fn scalar_value(program: &Program, ty: &ScalarType, code: i64) -> String {
    let offset = code.wrapping_sub(ty.intervals[0].0);
    match &ty.kind {
        ScalarKind::Bool => if code == 0 { "false" } else { "true" }.to_string(),
        ScalarKind::Int => code.to_string(),
        ScalarKind::Enum { names } => usize::try_from(offset)
            .ok()
            .and_then(|i| names.get(i).cloned())
            .unwrap_or_else(|| code.to_string()),
        ScalarKind::Scalarset { stem } => format!("{stem}_{}", offset.wrapping_add(1)),
        ScalarKind::Union { members } => {
            let holds = |id: &&TypeId| matches!(&program.types[id.0 as usize], Type::Scalar(t) if t.contains(code));
            match members.iter().find(holds) {
                Some(member) => scalar(program, *member, code),
                None => code.to_string(),
            }
        }
    }
}

/// The value stored at a scalar or real place; `None` if undefined.
pub fn stored(program: &Program, words: &[u64], at: usize, ty: TypeId) -> Option<i64> {
    match &program.types[ty.0 as usize] {
        Type::Scalar(scalar) => scalar.decode(bits::read(words, at, scalar.bits())),
        Type::Real { .. } => match bits::read(words, at, 64) {
            0 => None,
            raw => Some((raw ^ UNDEFINED_REAL) as i64),
        },
        _ => None,
    }
}

/// A printable part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its full name, as in `cache[Node_1].state`.
    pub name: String,
    /// Its value; `None` if undefined.
    pub value: Option<String>,
}

/// All scalars of a state in order of declaration. Empty slots of multisets are left out.
pub fn leaves(program: &Program, layout: &Layout, state: &[u64]) -> Vec<Leaf> {
    let mut out = Vec::new();
    for (i, global) in program.globals.iter().enumerate() {
        let at = layout.global(crate::GlobalId(i as u32));
        value_leaves(program, layout, state, at, global.ty, &global.name, &mut out);
    }
    out
}

/// All scalars of one value, whose name is `name`.
pub fn value_leaves(
    program: &Program,
    layout: &Layout,
    words: &[u64],
    at: usize,
    ty: TypeId,
    name: &str,
    out: &mut Vec<Leaf>,
) {
    let mut walk = |ty: TypeId, at: usize, name: String| {
        value_leaves(program, layout, words, at, ty, &name, out);
    };
    match &program.types[ty.0 as usize] {
        Type::Scalar(_) | Type::Real { .. } => {
            let value = stored(program, words, at, ty).map(|code| scalar(program, ty, code));
            out.push(Leaf { name: name.to_string(), value });
        }
        Type::Record { fields, .. } => {
            for (i, field) in fields.iter().enumerate() {
                let offset = layout.field(ty, i as u32);
                walk(field.ty, at + offset, format!("{name}.{}", field.name));
            }
        }
        Type::Array { index, elem } => {
            let Type::Scalar(range) = &program.types[index.0 as usize] else { return };
            for i in 0..range.count() {
                let code = range.code(i).unwrap_or_default();
                let label = scalar_value(program, range, code);
                let offset = i as usize * layout.stride(ty);
                walk(*elem, at + offset, format!("{name}[{label}]"));
            }
        }
        Type::Multiset { capacity, elem } => {
            let inside = layout.slot_element(ty, &program.types);
            for slot in 0..*capacity as usize {
                let offset = slot * layout.stride(ty);
                if bits::read(words, at + offset, 1) == 1 {
                    walk(*elem, at + offset + inside, format!("{name}{{{slot}}}"));
                }
            }
        }
    }
}

/// The name of a rule instance with its parameters, as in `Send, i:Node_1, v:3`.
pub fn label(program: &Program, instances: &Instances, label: Label) -> String {
    let (initial, number, instance) = instances.locate(label);
    let action = if initial { &program.starts[number] } else { &program.actions[number] };
    let mut text = action.name.clone();
    let ordinals = instances.ordinals(initial, number, instance);
    // Front ends number the locals of parameters as written; the order of firing may differ.
    let mut params: Vec<_> = action.params.iter().zip(ordinals).collect();
    params.sort_by_key(|(param, _)| param.local);
    for (param, ordinal) in params {
        let local = &action.locals[param.local.0 as usize];
        let code = domain_value(&param.over, &program.types, ordinal);
        text.push_str(&format!(", {}:{}", local.name, scalar(program, local.ty, code)));
    }
    text
}
