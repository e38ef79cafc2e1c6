//! Recursive-descent parser: tokens to [`crate::ast`].
//!
//! Errors are reported where they are found, then parsing goes on. A function that cannot
//! produce its node returns [`Failed`], *after* an error was reported (or suppressed as a likely
//! consequence of one just before). Lists of statements, rules, declarations and items catch the
//! failure and skip to a place where parsing can resume; headers of compound statements do the
//! same, so that a broken condition does not hide the block behind it.
//!
//! Invariants:
//! - Time is linear in the text: two tokens of look-ahead, no backtracking, and every loop consumes
//!   a token or ends.
//! - The stack is bounded: each recursion passes through [`Parser::nested`], which stops the
//!   parser at [`MAX_NESTING`] levels; and no expression gets higher than
//!   [`crate::ast::MAX_HEIGHT`].
//! - At most [`MAX_ERRORS`] errors are reported.

mod decls;
mod exprs;
mod recovery;
mod rules;
mod stmts;
#[cfg(test)]
mod tests;
mod types;

use ergodic_diag::{Diagnostic, Diagnostics, SourceId, Span};

use crate::ast::{MAX_NESTING, Model, Name, Text};
use crate::lexer::Lexer;
use crate::token::{Kw, Tok, Token};

/// Parsing stops after this many errors.
pub const MAX_ERRORS: usize = 20;

/// Parses a model. If the diagnostics contain errors, the tree lacks the parts that were wrong.
pub fn parse(source: SourceId, text: &str) -> (Model, Diagnostics) {
    let mut parser = Parser::new(source, text);
    let items = parser.items();
    let model = Model { items, span: Span::new(source, 0, text.len() as u32) };
    let mut diagnostics = parser.diagnostics;
    diagnostics.sort_by_position();
    (model, diagnostics)
}

/// The node could not be parsed, and an error says so.
#[derive(Debug)]
struct Failed;

type Parsed<T> = Result<T, Failed>;

/// A construct that waits for its `end`.
struct Open {
    /// The long form of its `end`.
    end: Kw,
    /// The keyword that opened it.
    span: Span,
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    source: SourceId,
    /// The current token.
    tok: Token,
    /// The token after it.
    ahead: Token,
    /// Where the last consumed token ended.
    last_end: u32,
    /// The current nesting of constructs.
    depth: usize,
    /// The constructs that wait for their `end`, outermost first.
    open: Vec<Open>,
    diagnostics: Diagnostics,
    /// Tokens consumed since the last error; errors in quick succession are likely one mistake.
    since_error: usize,
    /// A limit was exceeded: the rest of the text is skipped and nothing more is reported.
    stopped: bool,
    /// The last `else` in this item that is directly followed by `if`.
    else_if: Option<Span>,
}

impl<'a> Parser<'a> {
    fn new(source: SourceId, text: &'a str) -> Parser<'a> {
        let nothing = Token { kind: Tok::Eof, start: 0, end: 0 };
        let mut parser = Parser {
            lexer: Lexer::new(source, text),
            source,
            tok: nothing,
            ahead: nothing,
            last_end: 0,
            depth: 0,
            open: Vec::new(),
            diagnostics: Diagnostics::new(),
            since_error: usize::MAX,
            stopped: false,
            else_if: None,
        };
        parser.advance();
        parser.advance();
        parser.last_end = 0;
        parser
    }

    // Tokens.

    fn advance(&mut self) {
        self.last_end = self.tok.end;
        self.tok = self.ahead;
        self.ahead = self.lexer.next();
        if !self.lexer.errors.is_empty() {
            for error in std::mem::take(&mut self.lexer.errors) {
                self.push_error(error);
            }
        }
    }

    /// Consumes the current token and returns its span.
    fn bump(&mut self) -> Span {
        let span = self.span();
        self.since_error = self.since_error.saturating_add(1);
        self.advance();
        span
    }

    fn at(&self, kind: Tok) -> bool {
        self.tok.kind == kind
    }

    fn at_kw(&self, word: Kw) -> bool {
        self.tok.kind == Tok::Kw(word)
    }

    fn eat(&mut self, kind: Tok) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn eat_kw(&mut self, word: Kw) -> bool {
        self.eat(Tok::Kw(word))
    }

    fn eat_semis(&mut self) {
        while self.eat(Tok::Semi) {}
    }

    fn span(&self) -> Span {
        self.tok.span(self.source)
    }

    /// From `start` to the end of the last consumed token.
    fn since(&self, start: Span) -> Span {
        Span::new(self.source, start.start, self.last_end.max(start.end))
    }

    /// The text of the current token.
    fn text(&self) -> &'a str {
        self.lexer.slice(self.tok.start, self.tok.end)
    }

    fn expect(&mut self, kind: Tok) -> Parsed<Span> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        let what = kind.spelling().unwrap_or_default();
        Err(self.unexpected(&format!("`{what}`")))
    }

    fn name(&mut self) -> Parsed<Name> {
        if self.tok.kind.is_name() {
            let text = self.text().to_owned();
            let span = self.bump();
            return Ok(Name { text, span });
        }
        if let Tok::Kw(word) = self.tok.kind {
            let text = self.text();
            let error = Diagnostic::error(format!("expected a name, found the keyword `{text}`"))
                .at(self.span(), "this word is reserved")
                .help(format!(
                    "choose another name: `{}` is a keyword in any case of letters",
                    word.spelling()
                ));
            self.report(error);
            return Err(Failed);
        }
        Err(self.unexpected("a name"))
    }

    /// `a, b, c`, where the grammar goes on with `:`; a trailing comma is allowed.
    fn names(&mut self) -> Parsed<Vec<Name>> {
        let mut names = vec![self.name()?];
        while self.eat(Tok::Comma) && !self.at(Tok::Colon) {
            names.push(self.name()?);
        }
        Ok(names)
    }

    /// A string literal, if there is one.
    fn string(&mut self) -> Option<Text> {
        if !self.at(Tok::Str) {
            return None;
        }
        let text = self.text();
        let inner = text.strip_prefix(['"', '“']).unwrap_or(text);
        let raw = inner.strip_suffix(['"', '”']).unwrap_or(inner).to_owned();
        let span = self.bump();
        Some(Text { raw, span })
    }

    /// Runs a recursive step, unless that would exceed the nesting limit.
    fn nested<T>(&mut self, step: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_NESTING {
            let error = Diagnostic::error(format!(
                "this is nested too deeply: the limit is {MAX_NESTING} levels"
            ))
            .at(self.span(), "")
            .help("name the inner parts with functions, constants or types");
            self.report(error);
            self.stop();
            return Err(Failed);
        }
        self.depth += 1;
        let result = step(self);
        self.depth -= 1;
        result
    }

    // Constructs that end with `end`.

    /// Consumes the opening keyword of a construct that ends with `end`.
    fn open(&mut self, end: Kw) -> Span {
        let span = self.bump();
        self.open.push(Open { end, span });
        span
    }

    /// Consumes the `end` of the innermost open construct, or reports that it is missing.
    fn close(&mut self) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let Tok::Kw(found) = self.tok.kind else {
            return self.missing_end(&open);
        };
        if found == Kw::End || closes(found, open.end) {
            self.bump();
        } else {
            self.missing_end(&open);
            let belongs_outside = self.open.iter().any(|outer| closes(found, outer.end));
            if found.is_end() && !belongs_outside {
                self.advance();
            }
        }
    }

    fn missing_end(&mut self, open: &Open) {
        let long = open.end.spelling();
        let what = long.trim_start_matches("end");
        let found = self.found();
        let mut error =
            Diagnostic::error(format!("expected the `end` of this `{what}`, found {found}"))
                .at(self.span(), format!("expected `end` or `{long}`"))
                .also(open.span, format!("this `{what}` is not closed"));
        if let Some(span) = self.else_if.take() {
            error = error
                .also(span, "this `if` needs an `end` of its own")
                .help("write `elsif` to go on with the same `if`");
        }
        self.report(error);
    }
}

/// Whether the keyword `found` is the long form `end`; functions and procedures are alike.
fn closes(found: Kw, end: Kw) -> bool {
    let plain = |word| match word {
        Kw::EndProcedure => Kw::EndFunction,
        other => other,
    };
    plain(found) == plain(end)
}
