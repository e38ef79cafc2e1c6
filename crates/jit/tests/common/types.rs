//! The types of random programs: every kind of type, and every awkward size.

use ergodic_ir::*;

fn scalar(kind: ScalarKind, intervals: &[(i64, i64)], undefinable: bool) -> Type {
    Type::Scalar(ScalarType { name: None, kind, intervals: intervals.to_vec(), undefinable })
}

fn record(fields: &[TypeId]) -> Type {
    let field = |(i, ty): (usize, &TypeId)| Field { name: format!("f{i}"), ty: *ty };
    Type::Record { name: None, fields: fields.iter().enumerate().map(field).collect() }
}

/// The types of random programs.
pub fn types() -> Vec<Type> {
    let t = TypeId;
    let names = ["red", "green", "blue"].map(str::to_string).to_vec();
    let stem = "Node".to_string();
    vec![
        scalar(ScalarKind::Bool, &[(0, 1)], false),
        scalar(ScalarKind::Int, &[(0, 7)], true),
        scalar(ScalarKind::Int, &[(-5, 5)], false),
        scalar(ScalarKind::Int, &[(-1_000_000_000_000, 1_000_000_000_000)], true),
        scalar(ScalarKind::Enum { names }, &[(100, 102)], true),
        scalar(ScalarKind::Scalarset { stem }, &[(200, 202)], true),
        scalar(ScalarKind::Union { members: vec![t(5), t(4)] }, &[(200, 202), (100, 102)], true),
        Type::Real { digits: 6, exponent: 30 },
        Type::Real { digits: 12, exponent: 99 },
        record(&[t(4), t(1), t(6)]),                // 9: message
        Type::Array { index: t(5), elem: t(9) },    // 10
        Type::Multiset { capacity: 3, elem: t(9) }, // 11
        Type::Multiset { capacity: 2, elem: t(1) }, // 12
        record(&[t(9), t(12)]),                     // 13: holds a multiset
        Type::Array { index: t(5), elem: t(13) },   // 14
        record(&[t(1), t(7), t(0)]),                // 15: holds a real
        Type::Array { index: t(1), elem: t(15) },   // 16
        Type::Multiset { capacity: 2, elem: t(7) }, // 17
        Type::Array { index: t(6), elem: t(2) },    // 18: index with a hole
        scalar(ScalarKind::Int, &[(0, 40)], true),  // 19
        Type::Array { index: t(19), elem: t(3) },   // 20: long
        record(&[t(0), t(2)]),                      // 21: never undefined
        scalar(ScalarKind::Int, &[(0, (1 << 57) - 3)], true), // 22: widest
        scalar(ScalarKind::Int, &[(3, 3)], false),  // 23: no bits
        Type::Multiset { capacity: 2, elem: t(13) }, // 24: nested
        Type::Array { index: t(5), elem: t(1) },    // 25
        record(&[t(22), t(23), t(22)]),             // 26
        Type::Array { index: t(4), elem: t(26) },   // 27
        scalar(ScalarKind::Int, &[(0, 254)], true), // 28: a byte
        Type::Array { index: t(5), elem: t(28) },   // 29: bytes
        Type::Multiset { capacity: 2, elem: t(29) }, // 30
    ]
}

pub fn is_scalar(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(_))
}

pub fn is_real(ty: &Type) -> bool {
    matches!(ty, Type::Real { .. })
}

pub fn is_multiset(ty: &Type) -> bool {
    matches!(ty, Type::Multiset { .. })
}

pub fn is_compound(ty: &Type) -> bool {
    !is_scalar(ty) && !is_real(ty)
}
