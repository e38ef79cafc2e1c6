//! Reporting errors, and finding a place to go on after one.

use ergodic_diag::Diagnostic;

use super::{Failed, MAX_ERRORS, Parsed, Parser};
use crate::suggest::nearest;
use crate::token::{Kw, Soft, Tok};

/// An error this close (in tokens) behind another is taken for a consequence of it.
const QUIET: usize = 2;

impl Parser<'_> {
    /// Reports something that is no error.
    pub(super) fn warn(&mut self, warning: Diagnostic) {
        if !self.stopped && self.diagnostics.len() - self.diagnostics.error_count() < MAX_ERRORS {
            self.diagnostics.push(warning);
        }
    }

    /// Reports an error, unless it is a likely consequence of the one before.
    pub(super) fn report(&mut self, error: Diagnostic) {
        if self.since_error >= QUIET {
            self.push_error(error);
        }
    }

    /// Reports an error whatever came before, and stops at the limit.
    pub(super) fn push_error(&mut self, error: Diagnostic) {
        if self.stopped {
            return;
        }
        self.since_error = 0;
        self.diagnostics.push(error);
        if self.diagnostics.error_count() >= MAX_ERRORS {
            self.diagnostics.push(Diagnostic::remark(format!(
                "stopped after {MAX_ERRORS} errors; the rest of the model was not read"
            )));
            self.stop();
        }
    }

    /// Gives up on the rest of the text.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
        self.lexer.stop();
        self.tok = self.lexer.next();
        self.ahead = self.tok;
    }

    /// Reports that the current token is not `expected`.
    pub(super) fn unexpected(&mut self, expected: &str) -> Failed {
        let error = self.mismatch(expected);
        self.report(error);
        Failed
    }

    /// The error that the current token is not `expected`, with advice if the mistake is known.
    pub(super) fn mismatch(&self, expected: &str) -> Diagnostic {
        let message = format!("expected {expected}, found {}", self.found());
        let mut error = Diagnostic::error(message).at(self.span(), format!("expected {expected}"));
        if self.at(Tok::Eof)
            && let Some(open) = self.open.last()
        {
            let what = open.end.spelling().trim_start_matches("end");
            error = error.also(open.span, format!("this `{what}` is not closed"));
        }
        match self.advice() {
            Some(advice) => error.help(advice),
            None => error,
        }
    }

    /// What the current token is, for messages.
    pub(super) fn found(&self) -> String {
        const SHOWN: usize = 32;
        match self.tok.kind {
            Tok::Eof => "the end of the file".to_owned(),
            Tok::Str => "a string".to_owned(),
            _ => {
                let text = self.text();
                match text.char_indices().nth(SHOWN) {
                    Some((cut, _)) => format!("`{}…`", &text[..cut]),
                    None => format!("`{text}`"),
                }
            }
        }
    }

    fn advice(&self) -> Option<&'static str> {
        match self.tok.kind {
            Tok::Assign => Some("`:=` assigns; write `=` to compare"),
            Tok::LongArrow => Some("`==>` follows the guard of a rule, which compares with `=`"),
            Tok::Kw(Kw::Begin) => Some("`begin` separates local declarations from statements"),
            Tok::Ident => {
                let text = self.text();
                WORDS
                    .iter()
                    .find(|(word, _)| word.eq_ignore_ascii_case(text))
                    .map(|(_, advice)| *advice)
            }
            _ => None,
        }
    }

    /// Whether the current token is `elseif` or `elif` where `elsif` was meant.
    pub(super) fn at_misspelt_elsif(&self) -> bool {
        self.at(Tok::Ident)
            && !matches!(self.ahead.kind, Tok::Assign | Tok::Dot | Tok::LBracket)
            && ["elseif", "elif"].iter().any(|word| word.eq_ignore_ascii_case(self.text()))
    }

    /// Whether the current token is a name where `begin` was probably meant: it is spelt nearly so, and with
    /// the token after it neither a declaration nor a statement starts here.
    pub(super) fn at_misspelt_begin(&self) -> bool {
        use Tok::{Assign, Colon, Comma, Dot, LBracket, LParen, Semi};
        let starts = matches!(
            self.ahead.kind,
            Assign | Colon | Comma | Dot | LBracket | LParen | Semi | Tok::Eof
        );
        self.at(Tok::Ident)
            && !starts
            && nearest(&self.text().to_ascii_lowercase(), std::iter::once(Kw::Begin.spelling()))
                .is_some()
    }

    /// Reports a missing separator just after the last token, and goes on as if it were there.
    pub(super) fn missing_semi(&mut self) {
        let place = self.since(ergodic_diag::Span::new(self.source, self.last_end, self.last_end));
        let mut error = self.mismatch("`;`");
        error.primary = Some((place, "expected `;` here".to_owned()));
        self.report(error);
    }

    /// Requires a keyword, but goes on without it.
    pub(super) fn want_kw(&mut self, word: Kw) {
        if !self.eat_kw(word) {
            self.unexpected(&format!("`{}`", word.spelling()));
        }
    }

    /// `do`, or `:` in its place.
    pub(super) fn want_do(&mut self) {
        if !self.eat_kw(Kw::Do) && !self.eat(Tok::Colon) {
            self.unexpected("`do`");
        }
    }

    /// Parses the head of a construct; after a failure, goes on at `stop` or just before.
    pub(super) fn head<T>(
        &mut self,
        stop: Tok,
        step: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Option<T> {
        let outer = self.open.len();
        match step(self) {
            Ok(node) => Some(node),
            Err(Failed) => {
                self.skip_broken(outer, Some(stop));
                None
            }
        }
    }

    /// After a failure inside a construct, with `outer` constructs open around it: skips to the
    /// `;` that ends it, to `stop`, or to a keyword that cannot be part of it.
    pub(super) fn skip_broken(&mut self, outer: usize, stop: Option<Tok>) {
        // Quantified expressions and records have an `end` of their own.
        let mut inner = self.open.len().saturating_sub(outer);
        self.open.truncate(outer);
        loop {
            match self.tok.kind {
                Tok::Eof => return,
                kind if starts_item(kind) => return,
                Tok::Kw(Kw::Forall | Kw::Exists | Kw::Record) => inner += 1,
                Tok::Kw(word) if word.is_end() && inner > 0 => inner -= 1,
                kind if inner == 0 && (ends_broken(kind) || Some(kind) == stop) => return,
                _ => {}
            }
            self.advance();
        }
    }

    /// Skips to something that can start a top-level item.
    pub(super) fn skip_to_item(&mut self) {
        while !self.at(Tok::Eof) && !starts_item(self.tok.kind) && !self.at_property() {
            self.advance();
        }
    }

    /// Whether a property starts here. The words of rumur are names unless an operand follows.
    pub(super) fn at_property(&self) -> bool {
        match self.tok.kind {
            Tok::Kw(Kw::Assert | Kw::Invariant) => true,
            Tok::Soft(Soft::Assume | Soft::Cover | Soft::Liveness) => {
                starts_operand(self.ahead.kind) || self.ahead.kind == Tok::Str
            }
            _ => false,
        }
    }
}

/// Words of other languages, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("and", "write `&` for conjunction"),
    ("or", "write `|` for disjunction"),
    ("not", "write `!` for negation"),
    ("mod", "write `%` for the remainder"),
    ("div", "write `/` for division"),
    ("in", "write `name: type` to range over a type"),
    ("elseif", "write `elsif`"),
    ("elif", "write `elsif`"),
];

/// Whether a token can only start a declaration section, a function or a rule.
pub(super) fn starts_item(kind: Tok) -> bool {
    use Kw::{Const, Function, Procedure, Rule, Ruleset, Startstate, Type, Var};
    let Tok::Kw(word) = kind else { return false };
    matches!(word, Const | Type | Var | Function | Procedure | Rule | Ruleset | Startstate)
}

/// Whether a token can start an expression, apart from a sign.
pub(super) fn starts_operand(kind: Tok) -> bool {
    match kind {
        Tok::Kw(word) => matches!(
            word,
            Kw::True | Kw::False | Kw::Undefined | Kw::IsUndefined | Kw::Forall | Kw::Exists
        ),
        Tok::Int | Tok::Real | Tok::LParen | Tok::Bang | Tok::Tilde => true,
        kind => kind.is_name(),
    }
}

/// Whether a token ends a broken statement: a separator, an `end`, or the next statement.
fn ends_broken(kind: Tok) -> bool {
    use Kw::{
        Alias, Assert, Case, Clear, Else, Elsif, Error, For, If, Invariant, Put, Return, Switch,
        Undefine, While,
    };
    match kind {
        Tok::Semi => true,
        Tok::Kw(word) => {
            word.is_end()
                || matches!(
                    word,
                    Alias
                        | Assert
                        | Case
                        | Clear
                        | Else
                        | Elsif
                        | Error
                        | For
                        | If
                        | Invariant
                        | Put
                        | Return
                        | Switch
                        | Undefine
                        | While
                )
        }
        _ => false,
    }
}
