//! Why two instances depend on each other, in the words of the model.

use crate::footprint::Footprint;
use crate::numbers::InstanceId;
use ergodic_ir::{GlobalId, Layout, Program, Type, TypeId, show};

/// What makes two instances depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// They are the same instance.
    Same,
    /// Both write the same part of the state.
    BothWrite,
    /// One writes what the guard of the other reads.
    Guard,
    /// One writes what the body of the other reads.
    Body,
    /// One writes what decides whether rules that come before the other are enabled.
    Priority,
    /// One writes what an assumption reads that the other can make false.
    Assumption,
    /// Sets were too large to be kept apart.
    Coarse,
}

/// A reason for the dependence of two instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What kind of reason.
    pub why: Why,
    /// The instance that writes (one of the two, if both do).
    pub writer: InstanceId,
    /// The other.
    pub other: InstanceId,
    /// The part of the state, as in `chan[0].len`; empty if the reason is about none.
    pub part: String,
    /// A sentence.
    pub text: String,
}

/// The first reason that is found, the most telling kinds first.
pub(crate) fn find(
    program: &Program,
    layout: &Layout,
    footprints: &[Footprint],
    (a, b): (InstanceId, InstanceId),
    name: &dyn Fn(InstanceId) -> String,
) -> Reason {
    let of = |id: InstanceId| &footprints[id.index()];
    let reason = |why, writer, other, bits: Option<(usize, usize)>| {
        let part = bits.map_or(String::new(), |bits| part_name(program, layout, bits));
        let text = sentence(why, &name(writer), &name(other), &part);
        Reason { why, writer, other, part, text }
    };
    if a == b {
        return reason(Why::Same, a, b, None);
    }
    if let Some(bits) = of(a).writes.first_common(&of(b).writes) {
        return reason(Why::BothWrite, a, b, Some(bits));
    }
    for (why, part) in [
        (Why::Guard, (|f| &f.guard) as fn(&Footprint) -> &crate::Ranges),
        (Why::Body, |f| &f.body),
        (Why::Priority, |f| &f.rank),
        (Why::Assumption, |f| &f.assumed),
    ] {
        for (writer, other) in [(a, b), (b, a)] {
            if let Some(bits) = of(writer).writes.first_common(part(of(other))) {
                return reason(why, writer, other, Some(bits));
            }
        }
    }
    reason(Why::Coarse, a, b, None)
}

fn sentence(why: Why, writer: &str, other: &str, part: &str) -> String {
    match why {
        Why::Same => format!("`{writer}` is one instance"),
        Why::BothWrite => format!("`{writer}` and `{other}` both write `{part}`"),
        Why::Guard => format!("`{writer}` writes `{part}`, which the guard of `{other}` reads"),
        Why::Body => format!("`{writer}` writes `{part}`, which the body of `{other}` reads"),
        Why::Priority => format!(
            "`{writer}` writes `{part}`, which decides whether rules that have priority over \
             `{other}` are enabled"
        ),
        Why::Assumption => format!(
            "`{writer}` writes `{part}`, on which an assumption depends that `{other}` can make false"
        ),
        Why::Coarse => format!(
            "`{writer}` and `{other}` touch so much of the state that their parts are not told apart"
        ),
    }
}

/// The name of the smallest part of the state that holds all of a run of bits.
pub(crate) fn part_name(program: &Program, layout: &Layout, bits: (usize, usize)) -> String {
    for (i, global) in program.globals.iter().enumerate() {
        let start = layout.global(GlobalId(i as u32));
        let end = start + layout.bits(global.ty);
        if start <= bits.0 && bits.0 < end {
            let mut name = global.name.clone();
            let clipped = (bits.0 - start, bits.1.min(end) - start);
            inner_name(program, layout, global.ty, clipped, &mut name);
            return name;
        }
    }
    format!("bit {}", bits.0)
}

/// Appends the steps to the smallest part that holds a run of bits of a value.
fn inner_name(
    program: &Program,
    layout: &Layout,
    mut ty: TypeId,
    mut bits: (usize, usize),
    name: &mut String,
) {
    loop {
        let (offset, inner, step) = match &program.types[ty.0 as usize] {
            Type::Record { fields, .. } => {
                let holds = |i: &usize| {
                    let at = layout.field(ty, *i as u32);
                    at <= bits.0 && bits.1 <= at + layout.bits(fields[*i].ty)
                };
                let Some(i) = (0..fields.len()).find(holds) else { return };
                (layout.field(ty, i as u32), fields[i].ty, format!(".{}", fields[i].name))
            }
            Type::Array { index, elem } if layout.stride(ty) > 0 => {
                let stride = layout.stride(ty);
                let i = bits.0 / stride;
                if bits.1 > (i + 1) * stride {
                    return;
                }
                let Type::Scalar(over) = &program.types[index.0 as usize] else { return };
                let Some(code) = over.code(i as u64) else { return };
                (i * stride, *elem, format!("[{}]", show::scalar(program, *index, code)))
            }
            _ => return,
        };
        name.push_str(&step);
        bits = (bits.0 - offset, bits.1 - offset);
        ty = inner;
    }
}
