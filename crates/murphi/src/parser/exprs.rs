//! Expressions, by precedence climbing.
//!
//! From weak to strong: `?:`, `->`, `||`, `&&`, `|`, `^`, `&`, `!`, comparisons, shifts, `+ -`,
//! `* / %`, signs and `~`. As in the yacc grammars of both dialects, `!` binds weaker than a
//! comparison: `!a = b` is `!(a = b)`. `->` and comparisons do not chain. `?:` may be repeated in
//! its last part, which the originals refuse.

use ergodic_diag::{Diagnostic, Span};

use super::{Failed, Parsed, Parser};
use crate::ast::{
    BinaryOp, Domain, Expr, ExprKind, MAX_HEIGHT, QuantifiedKind, Quantifier, UnaryOp,
};
use crate::token::{Kw, Soft, Tok};

/// Binding strengths.
mod level {
    pub(super) const ANY: u8 = 1;
    pub(super) const IMPLIES: u8 = 2;
    pub(super) const OR_OR: u8 = 3;
    pub(super) const AND_AND: u8 = 4;
    pub(super) const OR: u8 = 5;
    pub(super) const XOR: u8 = 6;
    pub(super) const AND: u8 = 7;
    pub(super) const COMPARE: u8 = 9;
    pub(super) const SHIFT: u8 = 10;
    pub(super) const SUM: u8 = 11;
    pub(super) const PRODUCT: u8 = 12;
    pub(super) const SIGN: u8 = 13;
}

/// What an infix token builds.
enum Infix {
    Conditional,
    And { overloaded: bool },
    Or { overloaded: bool },
    Binary(BinaryOp),
}

fn infix(kind: Tok) -> Option<(u8, Infix)> {
    let and = |overloaded| Infix::And { overloaded };
    let or = |overloaded| Infix::Or { overloaded };
    Some(match kind {
        Tok::Question => (level::ANY, Infix::Conditional),
        Tok::Arrow => (level::IMPLIES, Infix::Binary(BinaryOp::Implies)),
        Tok::PipePipe => (level::OR_OR, or(false)),
        Tok::AmpAmp => (level::AND_AND, and(false)),
        Tok::Pipe => (level::OR, or(true)),
        Tok::Caret => (level::XOR, Infix::Binary(BinaryOp::BitXor)),
        Tok::Amp => (level::AND, and(true)),
        // `:=` never belongs here; it is reported and read as `=`.
        Tok::Eq | Tok::Assign => (level::COMPARE, Infix::Binary(BinaryOp::Eq)),
        Tok::Ne => (level::COMPARE, Infix::Binary(BinaryOp::Ne)),
        Tok::Lt => (level::COMPARE, Infix::Binary(BinaryOp::Lt)),
        Tok::Le => (level::COMPARE, Infix::Binary(BinaryOp::Le)),
        Tok::Gt => (level::COMPARE, Infix::Binary(BinaryOp::Gt)),
        Tok::Ge => (level::COMPARE, Infix::Binary(BinaryOp::Ge)),
        Tok::Shl => (level::SHIFT, Infix::Binary(BinaryOp::Shl)),
        Tok::Shr => (level::SHIFT, Infix::Binary(BinaryOp::Shr)),
        Tok::Plus => (level::SUM, Infix::Binary(BinaryOp::Add)),
        Tok::Minus => (level::SUM, Infix::Binary(BinaryOp::Sub)),
        Tok::Star => (level::PRODUCT, Infix::Binary(BinaryOp::Mul)),
        Tok::Slash => (level::PRODUCT, Infix::Binary(BinaryOp::Div)),
        Tok::Percent => (level::PRODUCT, Infix::Binary(BinaryOp::Mod)),
        _ => return None,
    })
}

impl Parser<'_> {
    /// A whole expression.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|p| p.binary(level::ANY))
    }

    /// An expression of which the first operand is parsed already.
    pub(super) fn expr_from(&mut self, first: Expr) -> Parsed<Expr> {
        self.operators(first, level::ANY)
    }

    fn binary(&mut self, min: u8) -> Parsed<Expr> {
        let first = self.prefix()?;
        self.operators(first, min)
    }

    /// Infix operators that bind at least as strongly as `min`, applied to `left`.
    fn operators(&mut self, mut left: Expr, min: u8) -> Parsed<Expr> {
        while let Some((level, operator)) = infix(self.tok.kind)
            && level >= min
        {
            left = match operator {
                Infix::Conditional => self.conditional(left)?,
                Infix::And { overloaded } => {
                    let operands = self.chain(left, level)?;
                    self.joined(|operands| ExprKind::And { operands, overloaded }, operands)?
                }
                Infix::Or { overloaded } => {
                    let operands = self.chain(left, level)?;
                    self.joined(|operands| ExprKind::Or { operands, overloaded }, operands)?
                }
                Infix::Binary(op) => self.infix_binary(left, op, level)?,
            };
        }
        Ok(left)
    }

    fn infix_binary(&mut self, left: Expr, op: BinaryOp, level: u8) -> Parsed<Expr> {
        if self.at(Tok::Assign) {
            self.unexpected("an operator");
        }
        self.bump();
        let right = self.binary(level + 1)?;
        let chains = !matches!(level, level::IMPLIES | level::COMPARE);
        if !chains && infix(self.tok.kind).is_some_and(|(next, _)| next == level) {
            self.does_not_chain(left.span.to(right.span));
        }
        let span = left.span.to(right.span);
        let (left, right) = (Box::new(left), Box::new(right));
        self.node(ExprKind::Binary { op, left, right }, span)
    }

    fn does_not_chain(&mut self, left: Span) {
        let found = self.found();
        let error = Diagnostic::error(format!("{found} cannot follow here without parentheses"))
            .at(self.span(), "")
            .also(left, "after this")
            .help("put parentheses around one of the two operations");
        self.report(error);
    }

    /// `first & b & c`: the operands of one operator.
    fn chain(&mut self, first: Expr, level: u8) -> Parsed<Vec<Expr>> {
        let operator = self.tok.kind;
        let mut operands = vec![first];
        while self.eat(operator) {
            operands.push(self.binary(level + 1)?);
        }
        Ok(operands)
    }

    fn joined(
        &mut self,
        kind: impl FnOnce(Vec<Expr>) -> ExprKind,
        operands: Vec<Expr>,
    ) -> Parsed<Expr> {
        let (first, last) = (operands[0].span, operands[operands.len() - 1].span);
        self.node(kind(operands), first.to(last))
    }

    fn conditional(&mut self, condition: Expr) -> Parsed<Expr> {
        self.bump();
        let yes = self.expr()?;
        self.expect(Tok::Colon)?;
        let no = self.expr()?;
        let span = condition.span.to(no.span);
        let kind = ExprKind::Conditional {
            condition: Box::new(condition),
            yes: Box::new(yes),
            no: Box::new(no),
        };
        self.node(kind, span)
    }

    fn prefix(&mut self) -> Parsed<Expr> {
        let (op, operand_level) = match self.tok.kind {
            Tok::Bang => (UnaryOp::Not, level::COMPARE),
            Tok::Minus => (UnaryOp::Neg, level::SIGN),
            Tok::Plus => (UnaryOp::Plus, level::SIGN),
            Tok::Tilde => (UnaryOp::BitNot, level::SIGN),
            _ => return self.operand(),
        };
        let start = self.bump();
        let operand = self.nested(|p| p.binary(operand_level))?;
        let span = start.to(operand.span);
        let operand = Box::new(operand);
        self.node(ExprKind::Unary { op, operand }, span)
    }

    /// An operand without prefix operators.
    pub(super) fn operand(&mut self) -> Parsed<Expr> {
        let leaf = match self.tok.kind {
            Tok::LParen => return self.parenthesised(),
            Tok::Int => ExprKind::Int(self.int_value()),
            Tok::Real => ExprKind::Real(self.text().parse().unwrap_or(f64::INFINITY)),
            Tok::Kw(Kw::True) => ExprKind::Bool(true),
            Tok::Kw(Kw::False) => ExprKind::Bool(false),
            Tok::Kw(Kw::Undefined) => ExprKind::Undefined,
            Tok::Kw(Kw::IsUndefined) => return self.is_undefined(),
            Tok::Kw(Kw::Forall) => return self.quantified(QuantifiedKind::Forall),
            Tok::Kw(Kw::Exists) => return self.quantified(QuantifiedKind::Exists),
            Tok::Soft(Soft::IsMember) if self.ahead.kind == Tok::LParen => {
                return self.is_member();
            }
            Tok::Soft(Soft::MultisetCount) if self.ahead.kind == Tok::LParen => {
                return self.multiset_count();
            }
            kind if kind.is_name() && self.ahead.kind == Tok::LParen => return self.call(),
            kind if kind.is_name() => return self.designator(),
            _ => return Err(self.unexpected("an expression")),
        };
        let span = self.bump();
        Ok(Expr::new(leaf, span))
    }

    /// The value of the integer literal that is the current token.
    pub(super) fn int_value(&mut self) -> i64 {
        let text = self.text();
        let value = match text.get(..2) {
            Some("0x" | "0X") => i64::from_str_radix(&text[2..], 16),
            _ => text.parse(),
        };
        if let (Ok(value), Some("00" | "01" | "02" | "03" | "04" | "05" | "06" | "07")) =
            (&value, text.get(..2))
            && *value > 7
        {
            let warning = Diagnostic::warning(format!("this number is {value}, in base ten"))
                .at(self.span(), "a leading zero does not make it octal")
                .note("CMurphi reads it so too, rumur reads it in base eight");
            self.warn(warning);
        }
        value.unwrap_or_else(|_| {
            let error = Diagnostic::error("this number is too large")
                .at(self.span(), "")
                .note(format!("the greatest number is {}", i64::MAX));
            self.report(error);
            0
        })
    }

    fn parenthesised(&mut self) -> Parsed<Expr> {
        let start = self.bump();
        let mut inner = self.expr()?;
        self.expect(Tok::RParen)?;
        inner.span = self.since(start);
        Ok(inner)
    }

    /// `name.field[index]…`
    pub(super) fn designator(&mut self) -> Parsed<Expr> {
        let name = self.name()?;
        let start = name.span;
        let mut base = Expr::new(ExprKind::Name(name), start);
        loop {
            if self.eat(Tok::Dot) {
                let field = self.name()?;
                let base_box = Box::new(base);
                let kind = ExprKind::Field { base: base_box, field };
                base = self.node(kind, self.since(start))?;
            } else if self.eat(Tok::LBracket) {
                let index = Box::new(self.expr()?);
                self.expect(Tok::RBracket)?;
                let base_box = Box::new(base);
                let kind = ExprKind::Index { base: base_box, index };
                base = self.node(kind, self.since(start))?;
            } else {
                return Ok(base);
            }
        }
    }

    fn call(&mut self) -> Parsed<Expr> {
        let function = self.name()?;
        let start = function.span;
        let args = self.arguments()?;
        self.node(ExprKind::Call { function, args }, self.since(start))
    }

    /// `(a, b, c)`, with an optional trailing comma.
    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.expect(Tok::LParen)?;
        let mut args = Vec::new();
        while !self.at(Tok::RParen) {
            args.push(self.expr()?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        self.close_list()?;
        Ok(args)
    }

    fn close_list(&mut self) -> Parsed<()> {
        if self.eat(Tok::RParen) {
            return Ok(());
        }
        Err(self.unexpected("`,` or `)`"))
    }

    fn is_undefined(&mut self) -> Parsed<Expr> {
        let start = self.bump();
        self.expect(Tok::LParen)?;
        let operand = Box::new(self.nested(Self::designator)?);
        self.expect(Tok::RParen)?;
        self.node(ExprKind::IsUndefined(operand), self.since(start))
    }

    fn is_member(&mut self) -> Parsed<Expr> {
        let start = self.bump();
        self.expect(Tok::LParen)?;
        let value = Box::new(self.expr()?);
        self.expect(Tok::Comma)?;
        let ty = Box::new(self.type_expr()?);
        self.expect(Tok::RParen)?;
        self.node(ExprKind::IsMember { value, ty }, self.since(start))
    }

    fn multiset_count(&mut self) -> Parsed<Expr> {
        let start = self.bump();
        self.expect(Tok::LParen)?;
        let index = self.name()?;
        self.expect(Tok::Colon)?;
        let multiset = Box::new(self.nested(Self::designator)?);
        self.expect(Tok::Comma)?;
        let condition = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        let kind = ExprKind::MultisetCount { index, multiset, condition };
        self.node(kind, self.since(start))
    }

    fn quantified(&mut self, kind: QuantifiedKind) -> Parsed<Expr> {
        let start = self.open(match kind {
            QuantifiedKind::Forall => Kw::EndForall,
            QuantifiedKind::Exists => Kw::EndExists,
        });
        let quantifiers = self.quantifiers()?;
        self.want_do();
        let body = Box::new(self.expr()?);
        self.close();
        let kind = ExprKind::Quantified { kind, quantifiers, body };
        self.node(kind, self.since(start))
    }

    /// One or more quantifiers between semicolons.
    pub(super) fn quantifiers(&mut self) -> Parsed<Vec<Quantifier>> {
        let mut list = vec![self.quantifier()?];
        loop {
            if self.at(Tok::Comma) {
                self.unexpected("`;` between quantifiers");
                self.bump();
            } else if !self.eat(Tok::Semi) {
                return Ok(list);
            }
            self.eat_semis();
            if self.tok.kind.is_name() {
                let next = self.quantifier()?;
                if let Some(twin) = list.iter().find(|q| q.name.text == next.name.text) {
                    let message = format!("`{}` is declared twice in a list", next.name.text);
                    let error = Diagnostic::error(message)
                        .at(next.name.span, "this one would hide the other")
                        .also(twin.name.span, "declared here");
                    self.report(error);
                }
                list.push(next);
            }
        }
    }

    fn quantifier(&mut self) -> Parsed<Quantifier> {
        let name = self.name()?;
        let start = name.span;
        let domain = if self.eat(Tok::Colon) {
            Domain::Type(self.type_expr()?)
        } else if self.eat(Tok::Assign) {
            let from = self.expr()?;
            self.expect(Tok::Kw(Kw::To))?;
            let to = self.expr()?;
            let by = match self.eat_kw(Kw::By) {
                true => Some(self.expr()?),
                false => None,
            };
            Domain::Range { from, to, by }
        } else {
            return Err(self.unexpected("`:` or `:=`"));
        };
        Ok(Quantifier { name, domain, span: self.since(start) })
    }

    /// A new node, unless it is too high.
    fn node(&mut self, kind: ExprKind, span: Span) -> Parsed<Expr> {
        let node = Expr::new(kind, span);
        if node.height() <= MAX_HEIGHT {
            return Ok(node);
        }
        let error = Diagnostic::error(format!(
            "this expression is too long: the limit is {MAX_HEIGHT} operators in a row"
        ))
        .at(span, "")
        .help("split it with functions or constants");
        self.report(error);
        self.stop();
        Err(Failed)
    }
}
