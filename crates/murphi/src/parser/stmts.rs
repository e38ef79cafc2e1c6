//! Statements.

use ergodic_diag::Diagnostic;

use super::{Failed, Parsed, Parser, recovery};
use crate::ast::{Alias, Branch, Case, Expr, ExprKind, Stmt, StmtKind};
use crate::token::{Kw, Soft, Tok};

impl Parser<'_> {
    /// Statements up to an `end`, another branch, or something that cannot be in a block.
    pub(super) fn block(&mut self) -> Vec<Stmt> {
        let mut list = Vec::new();
        loop {
            self.eat_semis();
            if let Tok::Kw(Kw::Const | Kw::Type | Kw::Var) = self.tok.kind {
                self.late_declarations();
                continue;
            }
            if self.at_block_end() {
                return list;
            }
            let (outer, before) = (self.open.len(), self.tok.start);
            match self.nested(Self::stmt) {
                Ok(stmt) => {
                    list.push(stmt);
                    self.stmt_separator();
                }
                Err(Failed) => self.skip_broken(outer, None),
            }
            if self.tok.start == before && !self.at(Tok::Eof) {
                self.advance();
            }
        }
    }

    fn at_block_end(&self) -> bool {
        match self.tok.kind {
            Tok::Eof => true,
            Tok::Kw(word) => {
                word.is_end()
                    || matches!(word, Kw::Else | Kw::Elsif | Kw::Case)
                    || recovery::starts_item(self.tok.kind)
            }
            _ => self.at_misspelt_elsif(),
        }
    }

    fn late_declarations(&mut self) {
        let error = Diagnostic::error("declarations cannot follow statements")
            .at(self.span(), "")
            .help("move them before `begin`");
        self.report(error);
        self.decls();
        self.eat_kw(Kw::Begin);
    }

    /// The semicolon between two statements.
    pub(super) fn stmt_separator(&mut self) {
        if !self.eat(Tok::Semi) && !self.at_block_end() {
            self.missing_semi();
        }
    }

    /// Whether a statement starts here that begins with a word a name could also begin.
    pub(super) fn at_statement_word(&self) -> bool {
        use Soft::{MultisetAdd, MultisetRemove, MultisetRemovePred};
        let multiset =
            matches!(self.tok.kind, Tok::Soft(MultisetAdd | MultisetRemove | MultisetRemovePred));
        (multiset && self.ahead.kind == Tok::LParen) || self.at_property()
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        let start = self.span();
        let kind = self.stmt_kind()?;
        let span = self.since(start);
        Ok(Stmt { kind, span })
    }

    fn stmt_kind(&mut self) -> Parsed<StmtKind> {
        if self.at_property() {
            return self.property().map(StmtKind::Property);
        }
        match self.tok.kind {
            Tok::Kw(Kw::If) => self.if_stmt(),
            Tok::Kw(Kw::Switch) => self.switch_stmt(),
            Tok::Kw(Kw::For) => self.for_stmt(),
            Tok::Kw(Kw::While) => self.while_stmt(),
            Tok::Kw(Kw::Alias) => self.alias_stmt(),
            Tok::Kw(Kw::Clear) => {
                self.bump();
                self.designator().map(StmtKind::Clear)
            }
            Tok::Kw(Kw::Undefine) => {
                self.bump();
                self.designator().map(StmtKind::Undefine)
            }
            Tok::Kw(Kw::Error) => {
                self.bump();
                let text = self.string();
                text.map(StmtKind::Error).ok_or_else(|| self.unexpected("a string"))
            }
            Tok::Kw(Kw::Put) => {
                self.bump();
                match self.string() {
                    Some(text) => Ok(StmtKind::PutText(text)),
                    None => self.expr().map(StmtKind::PutExpr),
                }
            }
            Tok::Kw(Kw::Return) => self.return_stmt(),
            Tok::Soft(word) if self.at_statement_word() => self.multiset_stmt(word),
            kind if kind.is_name() => self.assign_or_call(),
            _ => Err(self.unexpected("a statement")),
        }
    }

    fn assign_or_call(&mut self) -> Parsed<StmtKind> {
        let first = self.operand()?;
        let target = match self.stmt_from(first, true)? {
            Ok(kind) => return Ok(kind),
            Err(target) => target,
        };
        if !self.at(Tok::Eq) {
            return Err(self.unexpected("`:=`"));
        }
        let mut error = self.mismatch("`:=`");
        error.help = vec!["`=` compares; write `:=` to assign".to_owned()];
        self.report(error);
        self.bump();
        let value = self.expr()?;
        Ok(StmtKind::Assign { target, value })
    }

    /// The statement that begins with `first`, if what follows makes it one; otherwise `first`.
    /// Unless it must be a statement, a call is one only if nothing more belongs to it.
    pub(super) fn stmt_from(
        &mut self,
        first: Expr,
        must_be: bool,
    ) -> Parsed<Result<StmtKind, Expr>> {
        if first.is_designator() && self.eat(Tok::Assign) {
            let (target, value) = (first, self.expr()?);
            return Ok(Ok(StmtKind::Assign { target, value }));
        }
        let ends = must_be || self.at(Tok::Semi) || self.at_block_end();
        match first {
            Expr { kind: ExprKind::Call { function, args }, .. } if ends => {
                Ok(Ok(StmtKind::Call { procedure: function, args }))
            }
            other => Ok(Err(other)),
        }
    }

    fn if_stmt(&mut self) -> Parsed<StmtKind> {
        let mut start = self.open(Kw::EndIf);
        let mut branches = Vec::new();
        let mut complete = true;
        loop {
            let condition = self.head(Tok::Kw(Kw::Then), Self::expr);
            self.want_kw(Kw::Then);
            let body = self.block();
            let span = self.since(start);
            match condition {
                Some(condition) => branches.push(Branch { condition, body, span }),
                None => complete = false,
            }
            if self.at_misspelt_elsif() {
                self.unexpected("`elsif`");
            } else if !self.at_kw(Kw::Elsif) {
                break;
            }
            start = self.bump();
        }
        let otherwise = self.else_part();
        if self.at_kw(Kw::Elsif) || self.at_kw(Kw::Else) {
            self.branch_after_else();
            complete = false;
        }
        self.close();
        match complete {
            true => Ok(StmtKind::If { branches, otherwise }),
            false => Err(Failed),
        }
    }

    fn else_part(&mut self) -> Option<Vec<Stmt>> {
        if !self.eat_kw(Kw::Else) {
            return None;
        }
        if self.at_kw(Kw::If) {
            self.else_if = Some(self.span());
        }
        Some(self.block())
    }

    /// Reports and skips branches that follow an `else`.
    fn branch_after_else(&mut self) {
        let text = self.text();
        let error = Diagnostic::error(format!("`{text}` cannot follow `else`")).at(self.span(), "");
        self.report(error.help("`else` is the last part"));
        loop {
            if self.eat_kw(Kw::Elsif) {
                let _ = self.head(Tok::Kw(Kw::Then), Self::expr);
                self.want_kw(Kw::Then);
            } else if self.eat_kw(Kw::Case) {
                let _ = self.head(Tok::Colon, Self::case_values);
            } else if !self.eat_kw(Kw::Else) {
                return;
            }
            self.block();
        }
    }

    fn switch_stmt(&mut self) -> Parsed<StmtKind> {
        self.open(Kw::EndSwitch);
        let subject = self.head(Tok::Kw(Kw::Case), Self::expr);
        self.eat_semis();
        let mut cases = Vec::new();
        let mut complete = true;
        while self.at_kw(Kw::Case) {
            let start = self.bump();
            let values = self.head(Tok::Colon, Self::case_values);
            if values.is_none() {
                self.eat(Tok::Colon);
            }
            let body = self.block();
            let span = self.since(start);
            match values {
                Some(values) => cases.push(Case { values, body, span }),
                None => complete = false,
            }
        }
        let otherwise = self.else_part();
        if self.at_kw(Kw::Case) || self.at_kw(Kw::Else) {
            self.branch_after_else();
            complete = false;
        }
        self.close();
        match subject {
            Some(subject) if complete => Ok(StmtKind::Switch { subject, cases, otherwise }),
            _ => Err(Failed),
        }
    }

    /// `a, b:`
    fn case_values(&mut self) -> Parsed<Vec<Expr>> {
        let mut values = vec![self.expr()?];
        while self.eat(Tok::Comma) && !self.at(Tok::Colon) {
            values.push(self.expr()?);
        }
        if !self.eat(Tok::Colon) {
            return Err(self.unexpected("`,` or `:`"));
        }
        Ok(values)
    }

    fn for_stmt(&mut self) -> Parsed<StmtKind> {
        self.open(Kw::EndFor);
        let quantifiers = self.head(Tok::Kw(Kw::Do), Self::quantifiers);
        self.want_do();
        let body = self.block();
        self.close();
        let quantifiers = quantifiers.ok_or(Failed)?;
        Ok(StmtKind::For { quantifiers, body })
    }

    fn while_stmt(&mut self) -> Parsed<StmtKind> {
        self.open(Kw::EndWhile);
        let condition = self.head(Tok::Kw(Kw::Do), Self::expr);
        self.want_do();
        let body = self.block();
        self.close();
        let condition = condition.ok_or(Failed)?;
        Ok(StmtKind::While { condition, body })
    }

    fn alias_stmt(&mut self) -> Parsed<StmtKind> {
        self.open(Kw::EndAlias);
        let aliases = self.head(Tok::Kw(Kw::Do), Self::aliases);
        self.want_do();
        let body = self.block();
        self.close();
        let aliases = aliases.ok_or(Failed)?;
        Ok(StmtKind::Alias { aliases, body })
    }

    /// One or more aliases; the originals differ on what separates them.
    pub(super) fn aliases(&mut self) -> Parsed<Vec<Alias>> {
        let mut aliases = Vec::new();
        loop {
            let names = self.names()?;
            let start = names[0].span;
            self.want_colon();
            let value = self.expr()?;
            let span = self.since(start);
            aliases.push(Alias { names, value, span });
            if !self.eat(Tok::Comma) {
                self.eat_semis();
            }
            if !self.tok.kind.is_name() {
                return Ok(aliases);
            }
        }
    }

    fn return_stmt(&mut self) -> Parsed<StmtKind> {
        self.bump();
        let signed = matches!(self.tok.kind, Tok::Minus | Tok::Plus);
        let value = match signed || recovery::starts_operand(self.tok.kind) {
            true => Some(self.expr()?),
            false => None,
        };
        Ok(StmtKind::Return(value))
    }

    fn multiset_stmt(&mut self, word: Soft) -> Parsed<StmtKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        let kind = match word {
            Soft::MultisetRemovePred => {
                let index = self.name()?;
                self.expect(Tok::Colon)?;
                let multiset = self.designator()?;
                self.expect(Tok::Comma)?;
                let condition = self.expr()?;
                StmtKind::MultisetRemovePred { index, multiset, condition }
            }
            _ => {
                let first = self.expr()?;
                self.expect(Tok::Comma)?;
                let multiset = self.designator()?;
                match word {
                    Soft::MultisetAdd => StmtKind::MultisetAdd { element: first, multiset },
                    _ => StmtKind::MultisetRemove { index: first, multiset },
                }
            }
        };
        self.expect(Tok::RParen)?;
        Ok(kind)
    }
}
