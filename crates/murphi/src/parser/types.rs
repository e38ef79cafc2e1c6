//! Types.

use ergodic_diag::Diagnostic;

use super::{Failed, Parsed, Parser, recovery};
use crate::ast::{ExprKind, MAX_HEIGHT, TypeExpr, TypeKind, VarDecl};
use crate::token::{Kw, Soft, Tok};

impl Parser<'_> {
    /// A type.
    pub(super) fn type_expr(&mut self) -> Parsed<TypeExpr> {
        self.nested(Self::type_form)
    }

    fn type_form(&mut self) -> Parsed<TypeExpr> {
        let start = self.span();
        let kind = match (self.tok.kind, self.ahead.kind) {
            (Tok::Kw(Kw::Boolean), _) => {
                self.bump();
                TypeKind::Boolean
            }
            (Tok::Kw(Kw::Enum), _) => self.enumeration()?,
            (Tok::Kw(Kw::Record), _) => self.record()?,
            (Tok::Kw(Kw::Array), _) => self.array()?,
            (Tok::Kw(Kw::Scalarset), _) => self.scalarset()?,
            (Tok::Soft(Soft::Union), Tok::LBrace) => self.union_type()?,
            (Tok::Soft(Soft::Multiset), Tok::LBracket) => self.multiset()?,
            (Tok::Soft(Soft::Real), Tok::LParen) => self.real()?,
            _ => self.range_or_name()?,
        };
        let ty = TypeExpr::new(kind, self.since(start));
        if ty.height() <= MAX_HEIGHT {
            return Ok(ty);
        }
        let error = Diagnostic::error(format!(
            "this type is too deep: the limit is {MAX_HEIGHT} nodes in a row"
        ))
        .at(ty.span, "");
        self.report(error);
        self.stop();
        Err(Failed)
    }

    fn range_or_name(&mut self) -> Parsed<TypeKind> {
        let signed = matches!(self.tok.kind, Tok::Minus | Tok::Plus);
        if !signed && !recovery::starts_operand(self.tok.kind) {
            return Err(self.unexpected("a type"));
        }
        let lo = self.expr()?;
        if self.eat(Tok::DotDot) {
            let (lo, hi) = (Box::new(lo), Box::new(self.expr()?));
            return Ok(TypeKind::Range { lo, hi });
        }
        match lo.kind {
            ExprKind::Name(name) => Ok(TypeKind::Named(name)),
            _ => Err(self.unexpected("`..` and the upper end of a range")),
        }
    }

    fn enumeration(&mut self) -> Parsed<TypeKind> {
        self.bump();
        self.expect(Tok::LBrace)?;
        let mut names = Vec::new();
        while !self.at(Tok::RBrace) {
            names.push(self.name()?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        if !self.eat(Tok::RBrace) {
            return Err(self.unexpected("`,` or `}`"));
        }
        Ok(TypeKind::Enum(names))
    }

    fn record(&mut self) -> Parsed<TypeKind> {
        self.open(Kw::EndRecord);
        let mut fields = Vec::new();
        self.eat_semis();
        while self.at_declaration() {
            fields.push(self.var_decl()?);
            self.eat_semis();
        }
        self.close();
        Ok(TypeKind::Record(fields))
    }

    /// `a, b: T`
    pub(super) fn var_decl(&mut self) -> Parsed<VarDecl> {
        let names = self.names()?;
        let start = names[0].span;
        self.want_colon();
        let ty = self.type_expr()?;
        Ok(VarDecl { names, ty, span: self.since(start) })
    }

    /// Requires the `:` of a declaration; reads `=`, `:=` or nothing in its place.
    pub(super) fn want_colon(&mut self) {
        if self.eat(Tok::Colon) {
            return;
        }
        let mut error = self.mismatch("`:`");
        if matches!(self.tok.kind, Tok::Eq | Tok::Assign) {
            error.help = vec!["a declaration is written `name: type` or `name: value`".to_owned()];
            self.report(error);
            self.advance();
        } else {
            self.report(error);
        }
    }

    fn array(&mut self) -> Parsed<TypeKind> {
        self.bump();
        self.expect(Tok::LBracket)?;
        let index = Box::new(self.type_expr()?);
        self.expect(Tok::RBracket)?;
        self.want_kw(Kw::Of);
        let element = Box::new(self.type_expr()?);
        Ok(TypeKind::Array { index, element })
    }

    fn multiset(&mut self) -> Parsed<TypeKind> {
        self.bump();
        self.expect(Tok::LBracket)?;
        let capacity = Box::new(self.expr()?);
        self.expect(Tok::RBracket)?;
        self.want_kw(Kw::Of);
        let element = Box::new(self.type_expr()?);
        Ok(TypeKind::Multiset { capacity, element })
    }

    fn scalarset(&mut self) -> Parsed<TypeKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        let size = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        Ok(TypeKind::Scalarset(size))
    }

    fn union_type(&mut self) -> Parsed<TypeKind> {
        self.bump();
        self.expect(Tok::LBrace)?;
        let mut members = Vec::new();
        while !self.at(Tok::RBrace) {
            members.push(self.type_expr()?);
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        if !self.eat(Tok::RBrace) {
            return Err(self.unexpected("`,` or `}`"));
        }
        Ok(TypeKind::Union(members))
    }

    fn real(&mut self) -> Parsed<TypeKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        let mantissa = Box::new(self.expr()?);
        self.expect(Tok::Comma)?;
        let exponent = Box::new(self.expr()?);
        self.expect(Tok::RParen)?;
        Ok(TypeKind::Real { mantissa, exponent })
    }
}
