//! Construction of expressions and types, which keeps track of their height.

use ergodic_diag::Span;

use super::{Domain, Expr, ExprKind, Quantifier, TypeExpr, TypeKind};

impl Expr {
    /// An expression, with its height computed from its parts.
    pub fn new(kind: ExprKind, span: Span) -> Expr {
        let height = 1 + inner_height(&kind);
        Expr { kind, span, height }
    }

    /// How many nodes the longest path through the expression has, types inside it included.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Whether it is written as a designator: a name with any fields and indices.
    pub fn is_designator(&self) -> bool {
        matches!(self.kind, ExprKind::Name(_) | ExprKind::Field { .. } | ExprKind::Index { .. })
    }
}

impl TypeExpr {
    /// A type, with its height computed from its parts.
    pub fn new(kind: TypeKind, span: Span) -> TypeExpr {
        let inner = match &kind {
            TypeKind::Boolean | TypeKind::Named(_) | TypeKind::Enum(_) => 0,
            TypeKind::Range { lo: a, hi: b } | TypeKind::Real { mantissa: a, exponent: b } => {
                a.height.max(b.height)
            }
            TypeKind::Record(fields) => highest(fields.iter().map(|f| f.ty.height)),
            TypeKind::Array { index, element } => index.height.max(element.height),
            TypeKind::Scalarset(size) => size.height,
            TypeKind::Union(members) => highest(members.iter().map(|m| m.height)),
            TypeKind::Multiset { capacity, element } => capacity.height.max(element.height),
        };
        TypeExpr { kind, span, height: 1 + inner }
    }

    /// How many nodes the longest path through the type has, expressions inside it included.
    pub fn height(&self) -> u32 {
        self.height
    }
}

fn highest(heights: impl Iterator<Item = u32>) -> u32 {
    heights.max().unwrap_or(0)
}

fn inner_height(kind: &ExprKind) -> u32 {
    use ExprKind as E;
    match kind {
        E::Int(_) | E::Real(_) | E::Bool(_) | E::Undefined | E::Name(_) => 0,
        E::Field { base: a, .. } | E::IsUndefined(a) | E::Unary { operand: a, .. } => a.height,
        E::Index { base: a, index: b }
        | E::Binary { left: a, right: b, .. }
        | E::MultisetCount { multiset: a, condition: b, .. } => a.height.max(b.height),
        E::Call { args: list, .. }
        | E::And { operands: list, .. }
        | E::Or { operands: list, .. } => highest(list.iter().map(|e| e.height)),
        E::Conditional { condition, yes, no } => condition.height.max(yes.height).max(no.height),
        E::Quantified { quantifiers, body, .. } => {
            highest(quantifiers.iter().map(domain_height)).max(body.height)
        }
        E::IsMember { value, ty } => value.height.max(ty.height),
    }
}

fn domain_height(quantifier: &Quantifier) -> u32 {
    match &quantifier.domain {
        Domain::Type(ty) => ty.height,
        Domain::Range { from, to, by } => {
            let by = by.as_ref().map_or(0, |e| e.height);
            from.height.max(to.height).max(by)
        }
    }
}
