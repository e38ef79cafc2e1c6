//! Rules, start states, properties and groups of them.

use ergodic_diag::Diagnostic;

use super::{Failed, Parsed, Parser, recovery};
use crate::ast::{
    AliasRule, ChooseRule, Expr, Priority, Property, PropertyKind, Rule, Ruleset, SimpleRule,
    StartState, Stmt,
};
use crate::token::{Kw, Soft, Tok};

/// What follows the name of a rule.
enum Start {
    /// `guard ==>`
    Guard(Expr),
    /// No guard; the first statement began like one.
    Stmt(Stmt),
    /// No guard.
    Body,
}

impl Parser<'_> {
    /// A rule; the caller has checked [`Parser::at_rule`].
    pub(super) fn rule(&mut self) -> Parsed<Rule> {
        match self.tok.kind {
            Tok::Kw(Kw::Rule) => self.simple_rule().map(Rule::Simple),
            Tok::Kw(Kw::Startstate) => Ok(Rule::StartState(self.start_state())),
            Tok::Kw(Kw::Ruleset) => self.ruleset().map(Rule::Ruleset),
            Tok::Kw(Kw::Alias) => self.alias_rule().map(Rule::Alias),
            Tok::Soft(Soft::Choose) => self.choose_rule().map(Rule::Choose),
            _ => self.property().map(Rule::Property),
        }
    }

    fn simple_rule(&mut self) -> Parsed<SimpleRule> {
        let start = self.open(Kw::EndRule);
        let priority = self.priority();
        let name = self.string();
        let named = self.since(start);
        let begin = self.head(Tok::LongArrow, Self::rule_start);
        let mut head = named;
        let (decls, body, guard) = match begin {
            Some(Start::Stmt(first)) => {
                let mut body = vec![first];
                self.stmt_separator();
                body.extend(self.block());
                (Vec::new(), body, Some(None))
            }
            other => {
                let guard = match other {
                    Some(Start::Guard(guard)) => {
                        head = named.to(guard.span);
                        Some(Some(guard))
                    }
                    Some(_) => Some(None),
                    None => {
                        self.eat(Tok::LongArrow);
                        None
                    }
                };
                let (decls, body) = self.body(true);
                (decls, body, guard)
            }
        };
        self.close();
        Ok(SimpleRule {
            name,
            priority,
            guard: guard.ok_or(Failed)?,
            decls,
            body,
            head,
            span: self.since(start),
        })
    }

    /// CMurphi's priority: a number that is not the start of the guard.
    fn priority(&mut self) -> Option<Priority> {
        let follows = self.ahead.kind;
        let priority = self.at(Tok::Int)
            && (recovery::starts_operand(follows)
                || matches!(follows, Tok::Str | Tok::Kw(_) | Tok::Plus | Tok::Minus));
        if !priority {
            return None;
        }
        let value = self.int_value();
        let span = self.bump();
        Some(Priority { value, span })
    }

    /// The guard, if there is one: only what follows an operand tells it from a statement.
    fn rule_start(&mut self) -> Parsed<Start> {
        let signed = matches!(self.tok.kind, Tok::Minus | Tok::Plus);
        if !(signed || recovery::starts_operand(self.tok.kind)) || self.at_statement_word() {
            if self.at(Tok::LongArrow) {
                let error = Diagnostic::error("this rule has an arrow but no guard")
                    .at(self.span(), "")
                    .help("leave out `==>`, or write `true ==>`");
                self.report(error);
                self.bump();
            }
            return Ok(Start::Body);
        }
        let start = self.span();
        let guard = if self.tok.kind.is_name() {
            let first = self.nested(Self::operand)?;
            match self.stmt_from(first, false)? {
                Ok(kind) => {
                    let span = self.since(start);
                    return Ok(Start::Stmt(Stmt { kind, span }));
                }
                Err(first) => self.nested(|p| p.expr_from(first))?,
            }
        } else {
            self.expr()?
        };
        if !self.eat(Tok::LongArrow) {
            self.unexpected("`==>` after the guard");
        }
        Ok(Start::Guard(guard))
    }

    fn start_state(&mut self) -> StartState {
        let start = self.open(Kw::EndStartstate);
        let name = self.string();
        let head = self.since(start);
        let (decls, body) = self.body(true);
        self.close();
        StartState { name, decls, body, head, span: self.since(start) }
    }

    fn ruleset(&mut self) -> Parsed<Ruleset> {
        let start = self.open(Kw::EndRuleset);
        let quantifiers = self.head(Tok::Kw(Kw::Do), Self::quantifiers);
        self.want_do();
        let rules = self.rule_list();
        self.close();
        Ok(Ruleset { quantifiers: quantifiers.ok_or(Failed)?, rules, span: self.since(start) })
    }

    fn alias_rule(&mut self) -> Parsed<AliasRule> {
        let start = self.open(Kw::EndAlias);
        let aliases = self.head(Tok::Kw(Kw::Do), Self::aliases);
        self.want_do();
        let rules = self.rule_list();
        self.close();
        Ok(AliasRule { aliases: aliases.ok_or(Failed)?, rules, span: self.since(start) })
    }

    fn choose_rule(&mut self) -> Parsed<ChooseRule> {
        let start = self.open(Kw::EndChoose);
        let head = self.head(Tok::Kw(Kw::Do), |p| {
            let index = p.name()?;
            p.expect(Tok::Colon)?;
            Ok((index, p.designator()?))
        });
        self.want_do();
        let rules = self.rule_list();
        self.close();
        let (index, multiset) = head.ok_or(Failed)?;
        Ok(ChooseRule { index, multiset, rules, span: self.since(start) })
    }

    /// A property, as a rule or as a statement, with its message on either side.
    pub(super) fn property(&mut self) -> Parsed<Property> {
        let kind = match self.tok.kind {
            Tok::Kw(Kw::Assert) => PropertyKind::Assert,
            Tok::Kw(Kw::Invariant) => PropertyKind::Invariant,
            Tok::Soft(Soft::Assume) => PropertyKind::Assume,
            Tok::Soft(Soft::Cover) => PropertyKind::Cover,
            Tok::Soft(Soft::Liveness) => PropertyKind::Liveness,
            _ => return Err(self.unexpected("a rule")),
        };
        let start = self.bump();
        let before = self.string();
        let condition = self.expr()?;
        let message = match before {
            Some(text) => Some(text),
            None => self.string(),
        };
        Ok(Property { kind, message, condition, span: self.since(start) })
    }
}
