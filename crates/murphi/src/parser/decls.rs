//! The top level, declarations, functions and procedures.

use ergodic_diag::Diagnostic;

use super::{Failed, Parsed, Parser, recovery};
use crate::ast::{
    ConstDecl, Decl, External, Function, Item, Param, Rule, Stmt, TypeDecl, TypeExpr,
};
use crate::token::{Kw, Soft, Tok};

impl Parser<'_> {
    /// All items of a model.
    pub(super) fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            self.eat_semis();
            self.else_if = None;
            let outer = self.open.len();
            let result = match self.tok.kind {
                Tok::Eof => return items,
                Tok::Kw(Kw::Const | Kw::Type | Kw::Var) => {
                    items.extend(self.decls().into_iter().map(Item::Decl));
                    Ok(())
                }
                Tok::Kw(Kw::Function | Kw::Procedure) => {
                    self.function().map(|f| items.push(Item::Function(f)))
                }
                Tok::Soft(Soft::ExternFun | Soft::ExternProc) => {
                    self.external().map(|f| items.push(Item::Function(f)))
                }
                _ if self.at_rule() => self.top_rule().map(|r| items.push(Item::Rule(r))),
                _ => {
                    self.stray_item();
                    Ok(())
                }
            };
            if let Err(Failed) = result {
                self.skip_broken(outer, None);
            }
        }
    }

    fn top_rule(&mut self) -> Parsed<Rule> {
        self.nested(Self::rule)
    }

    /// Reports what cannot start an item, and skips it.
    fn stray_item(&mut self) {
        match self.tok.kind {
            Tok::Kw(word) if word.is_end() => {
                let text = self.text();
                let error = Diagnostic::error(format!("this `{text}` closes nothing"))
                    .at(self.span(), "everything is closed already");
                self.report(error);
                self.advance();
            }
            Tok::Soft(Soft::Pctl) => {
                let error = Diagnostic::error("PCTL formulas are not supported")
                    .at(self.span(), "")
                    .note("the probabilistic verification of CMurphi is not part of Ergodic");
                self.report(error);
                self.stop();
            }
            _ => {
                self.unexpected("a declaration, a function or a rule");
                self.advance();
                self.skip_to_item();
            }
        }
    }

    /// Any number of `const`, `type` and `var` sections.
    pub(super) fn decls(&mut self) -> Vec<Decl> {
        let mut decls = Vec::new();
        while let Tok::Kw(section @ (Kw::Const | Kw::Type | Kw::Var)) = self.tok.kind {
            self.bump();
            self.eat_semis();
            while self.at_declaration() {
                let (outer, before) = (self.open.len(), self.tok.start);
                match self.decl(section) {
                    Ok(decl) => {
                        decls.push(decl);
                        self.decl_separator();
                    }
                    Err(Failed) => {
                        // The failure may be a keyword in place of a name.
                        if self.tok.start == before {
                            self.advance();
                        }
                        self.skip_broken(outer, None);
                    }
                }
                self.eat_semis();
            }
        }
        decls
    }

    /// Whether a declaration (`name:` or `name, name:`) starts here, perhaps with a mistake.
    pub(super) fn at_declaration(&self) -> bool {
        use Tok::{Assign, Colon, Comma, Dot, LBracket, LParen};
        match self.tok.kind {
            // These look like statements, for functions may lack a `begin`.
            Tok::Ident => {
                !matches!(self.ahead.kind, Assign | Dot | LBracket | LParen)
                    && !self.at_misspelt_begin()
            }
            // A keyword that is used as a name.
            Tok::Kw(word) => self.ahead.kind == Colon && !matches!(word, Kw::Else),
            Tok::Soft(_) => matches!(self.ahead.kind, Colon | Comma),
            _ => false,
        }
    }

    fn decl(&mut self, section: Kw) -> Parsed<Decl> {
        if section == Kw::Var {
            return Ok(Decl::Var(self.var_decl()?));
        }
        let names = self.names()?;
        let start = names[0].span;
        self.want_colon();
        if section == Kw::Type {
            let ty = self.type_expr()?;
            let span = self.since(start);
            return Ok(Decl::Type(TypeDecl { names, ty, span }));
        }
        let value = self.expr()?;
        let span = self.since(start);
        Ok(Decl::Const(ConstDecl { names, value, span }))
    }

    /// The semicolon after a declaration, which may be missing before a word.
    fn decl_separator(&mut self) {
        let word_follows =
            matches!(self.tok.kind, Tok::Kw(_) | Tok::Eof) || self.tok.kind.is_name();
        if !self.eat(Tok::Semi) && !word_follows {
            let outer = self.open.len();
            self.missing_semi();
            self.skip_broken(outer, None);
        }
    }

    fn function(&mut self) -> Parsed<Function> {
        let long = match self.tok.kind {
            Tok::Kw(Kw::Procedure) => Kw::EndProcedure,
            _ => Kw::EndFunction,
        };
        let start = self.open(long);
        let head = self.head(Tok::Semi, |p| {
            let name = p.name()?;
            let params = p.params()?;
            Ok((name, params, p.result()?))
        });
        self.eat_semis();
        let (decls, body) = self.body(false);
        self.close();
        let (name, params, result) = head.ok_or(Failed)?;
        Ok(Function { name, params, result, decls, body, external: None, span: self.since(start) })
    }

    fn external(&mut self) -> Parsed<Function> {
        let keyword = self.bump();
        let name = self.name()?;
        let params = self.params()?;
        let result = self.result()?;
        let file = self.string();
        Ok(Function {
            name,
            params,
            result,
            decls: Vec::new(),
            body: Vec::new(),
            external: Some(External { file, span: keyword }),
            span: self.since(keyword),
        })
    }

    fn result(&mut self) -> Parsed<Option<TypeExpr>> {
        match self.eat(Tok::Colon) {
            true => self.type_expr().map(Some),
            false => Ok(None),
        }
    }

    fn params(&mut self) -> Parsed<Vec<Param>> {
        if !self.at(Tok::LParen) {
            let error = self.mismatch("`(`");
            self.report(error.help("without parameters, write `()` after the name"));
            return Ok(Vec::new());
        }
        self.bump();
        let mut params = Vec::new();
        loop {
            self.eat_semis();
            if self.eat(Tok::RParen) {
                return Ok(params);
            }
            let start = self.span();
            let by_reference = self.eat_kw(Kw::Var);
            let names = self.names()?;
            self.want_colon();
            let ty = self.type_expr()?;
            params.push(Param { by_reference, names, ty, span: self.since(start) });
            let more = self.eat(Tok::Comma) || self.at(Tok::Semi) || self.tok.kind.is_name();
            if !more && !self.at(Tok::RParen) && !self.at_kw(Kw::Var) {
                return Err(self.unexpected("`;` or `)`"));
            }
        }
    }

    /// Local declarations, `begin` and statements.
    pub(super) fn body(&mut self, begin_required: bool) -> (Vec<Decl>, Vec<Stmt>) {
        let declares = matches!(self.tok.kind, Tok::Kw(Kw::Const | Kw::Type | Kw::Var));
        let decls = self.decls();
        if self.at_misspelt_begin() {
            let error = self.mismatch("`begin`");
            self.report(error.help("did you mean `begin`?"));
            self.bump();
        } else if !self.eat_kw(Kw::Begin) && declares && begin_required {
            self.unexpected("`begin` after the local declarations");
        }
        (decls, self.block())
    }

    /// Whether a rule, start state, property or group of them starts here.
    pub(super) fn at_rule(&self) -> bool {
        match self.tok.kind {
            Tok::Kw(Kw::Rule | Kw::Startstate | Kw::Ruleset | Kw::Alias) => true,
            Tok::Soft(Soft::Choose) => self.ahead.kind.is_name(),
            _ => self.at_property(),
        }
    }

    /// The rules inside a group, up to its `end`.
    pub(super) fn rule_list(&mut self) -> Vec<Rule> {
        let mut rules = Vec::new();
        loop {
            self.eat_semis();
            let outer = self.open.len();
            match self.tok.kind {
                Tok::Eof => return rules,
                Tok::Kw(word) if word.is_end() => return rules,
                _ if self.at_rule() => match self.nested(Self::rule) {
                    Ok(rule) => rules.push(rule),
                    Err(Failed) => self.skip_broken(outer, None),
                },
                kind if recovery::starts_item(kind) => return rules,
                _ => {
                    self.unexpected("a rule or `end`");
                    self.advance();
                    self.skip_broken(outer, None);
                }
            }
        }
    }
}
