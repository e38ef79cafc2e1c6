//! Names of operators and other small enumerations.

use crate::{BinaryOp, LocalKind, PropertyKind, UnaryOp};

/// How an operator is written.
pub(super) fn unary_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "neg",
        UnaryOp::Not => "not",
        UnaryOp::BitNot => "bit-not",
        UnaryOp::RealNeg => "real-neg",
        UnaryOp::ToReal => "to-real",
        UnaryOp::Sqrt => "sqrt",
        UnaryOp::Sin => "sin",
        UnaryOp::Cos => "cos",
        UnaryOp::Tan => "tan",
        UnaryOp::Asin => "asin",
        UnaryOp::Acos => "acos",
        UnaryOp::Atan => "atan",
        UnaryOp::Sinh => "sinh",
        UnaryOp::Cosh => "cosh",
        UnaryOp::Tanh => "tanh",
        UnaryOp::Exp => "exp",
        UnaryOp::Log => "log",
        UnaryOp::Log10 => "log10",
        UnaryOp::RealAbs => "real-abs",
        UnaryOp::Floor => "floor",
        UnaryOp::Ceil => "ceil",
        UnaryOp::Truncate => "truncate",
    }
}

/// All operators of one argument: the ones that are read.
const UNARY: [UnaryOp; 22] = [
    UnaryOp::Neg,
    UnaryOp::Not,
    UnaryOp::BitNot,
    UnaryOp::RealNeg,
    UnaryOp::ToReal,
    UnaryOp::Sqrt,
    UnaryOp::Sin,
    UnaryOp::Cos,
    UnaryOp::Tan,
    UnaryOp::Asin,
    UnaryOp::Acos,
    UnaryOp::Atan,
    UnaryOp::Sinh,
    UnaryOp::Cosh,
    UnaryOp::Tanh,
    UnaryOp::Exp,
    UnaryOp::Log,
    UnaryOp::Log10,
    UnaryOp::RealAbs,
    UnaryOp::Floor,
    UnaryOp::Ceil,
    UnaryOp::Truncate,
];

/// How an operator is written.
pub(super) fn binary_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "div",
        BinaryOp::Rem => "rem",
        BinaryOp::BitAnd => "bit-and",
        BinaryOp::BitOr => "bit-or",
        BinaryOp::BitXor => "bit-xor",
        BinaryOp::Shl => "shl",
        BinaryOp::Shr => "shr",
        BinaryOp::Eq => "=",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::RealAdd => "real+",
        BinaryOp::RealSub => "real-",
        BinaryOp::RealMul => "real*",
        BinaryOp::RealDiv => "real/",
        BinaryOp::RealRem => "real-rem",
        BinaryOp::RealPow => "real-pow",
        BinaryOp::RealEq => "real=",
        BinaryOp::RealNe => "real!=",
        BinaryOp::RealLt => "real<",
        BinaryOp::RealLe => "real<=",
    }
}

/// All operators of two arguments: the ones that are read.
const BINARY: [BinaryOp; 24] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::BitAnd,
    BinaryOp::BitOr,
    BinaryOp::BitXor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::RealAdd,
    BinaryOp::RealSub,
    BinaryOp::RealMul,
    BinaryOp::RealDiv,
    BinaryOp::RealRem,
    BinaryOp::RealPow,
    BinaryOp::RealEq,
    BinaryOp::RealNe,
    BinaryOp::RealLt,
    BinaryOp::RealLe,
];

/// The operator that is written so.
pub(super) fn unary(name: &str) -> Option<UnaryOp> {
    UNARY.into_iter().find(|op| unary_name(*op) == name)
}

/// The operator that is written so.
pub(super) fn binary(name: &str) -> Option<BinaryOp> {
    BINARY.into_iter().find(|op| binary_name(*op) == name)
}

/// How a kind of property is written.
pub(super) fn property_name(kind: PropertyKind) -> &'static str {
    match kind {
        PropertyKind::Invariant => "invariant",
        PropertyKind::Assumption => "assumption",
        PropertyKind::Cover => "cover",
        PropertyKind::Liveness => "liveness",
    }
}

/// The kind of property that is written so.
pub(super) fn property(name: &str) -> Option<PropertyKind> {
    let kinds = [
        PropertyKind::Invariant,
        PropertyKind::Assumption,
        PropertyKind::Cover,
        PropertyKind::Liveness,
    ];
    kinds.into_iter().find(|kind| property_name(*kind) == name)
}

/// How a kind of local is written.
pub(super) fn local_name(kind: LocalKind) -> &'static str {
    match kind {
        LocalKind::Bound => "bound",
        LocalKind::Storage => "storage",
        LocalKind::Ref => "ref",
    }
}

/// The kind of local that is written so.
pub(super) fn local(name: &str) -> Option<LocalKind> {
    let kinds = [LocalKind::Bound, LocalKind::Storage, LocalKind::Ref];
    kinds.into_iter().find(|kind| local_name(*kind) == name)
}
