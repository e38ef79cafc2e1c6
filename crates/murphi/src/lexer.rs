//! Text to tokens, one at a time.
//!
//! The lexer never fails and always advances: what it cannot read it reports and skips. Its
//! errors go to the same list as the parser's, in the order of the text.
//!
//! Where the dialects differ it reads both: C-like escapes in strings (rumur) do not stop a
//! string of CMurphi from ending in a backslash, and the mathematical signs of rumur are
//! synonyms of the ASCII operators.

use ergodic_diag::{Diagnostic, SourceId, Span};

use crate::token::{Kw, Tok, Token, word};

/// Reads tokens from a text.
pub(crate) struct Lexer<'a> {
    text: &'a str,
    source: SourceId,
    at: usize,
    /// Errors found since the parser last collected them.
    pub(crate) errors: Vec<Diagnostic>,
    /// `//` was already explained: say it once, not for each line.
    slashes_seen: bool,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(source: SourceId, text: &'a str) -> Lexer<'a> {
        Lexer { text, source, at: 0, errors: Vec::new(), slashes_seen: false }
    }

    /// The text between two offsets of tokens.
    pub(crate) fn slice(&self, start: u32, end: u32) -> &'a str {
        &self.text[start as usize..end as usize]
    }

    /// Skips the rest of the text.
    pub(crate) fn stop(&mut self) {
        self.at = self.text.len();
    }

    /// The next token; `Eof` for ever at the end.
    pub(crate) fn next(&mut self) -> Token {
        loop {
            self.skip_blank();
            let start = self.at;
            match self.token() {
                Some(kind) => return self.finish(kind, start),
                None if start >= self.text.len() => return self.finish(Tok::Eof, start),
                None => {}
            }
        }
    }

    fn finish(&self, kind: Tok, start: usize) -> Token {
        Token { kind, start: start as u32, end: self.at as u32 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn bytes(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn span_from(&self, start: usize) -> Span {
        Span::new(self.source, start as u32, self.at as u32)
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) {
        loop {
            match self.bytes() {
                [b' ' | b'\t'..=b'\r', ..] => self.at += 1,
                [b'-', b'-', ..] => self.skip_line(),
                [b'/', b'*', ..] => self.skip_block_comment(),
                [b'/', b'/', ..] => self.slash_comment(),
                [128..=255, ..] => match self.rest().chars().next() {
                    Some(c) if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = self.bytes();
        self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    fn skip_block_comment(&mut self) {
        let start = self.at;
        match self.rest()[2..].find("*/") {
            Some(length) => self.at += length + 4,
            None => {
                self.at = self.text.len();
                let open = Span::new(self.source, start as u32, start as u32 + 2);
                self.errors.push(
                    Diagnostic::error("this comment is never closed")
                        .at(open, "the comment starts here")
                        .help("close it with `*/`"),
                );
            }
        }
    }

    fn slash_comment(&mut self) {
        let start = self.at;
        self.skip_line();
        if !self.slashes_seen {
            self.slashes_seen = true;
            let mark = Span::new(self.source, start as u32, start as u32 + 2);
            self.errors.push(
                Diagnostic::error("`//` does not start a comment")
                    .at(mark, "")
                    .help("write `--` for a comment to the end of the line, or `/* … */`"),
            );
        }
    }

    /// Reads a token at a non-blank position; `None` if there is none, after skipping something.
    fn token(&mut self) -> Option<Tok> {
        match *self.bytes().first()? {
            b'a'..=b'z' | b'A'..=b'Z' => Some(self.word()),
            b'0'..=b'9' => Some(self.number()),
            b'"' => Some(self.string('"')),
            b'_' => Some(self.underscore()),
            byte if byte.is_ascii() => self.operator(),
            _ => self.sign(),
        }
    }

    fn take_word(&mut self) -> &'a str {
        let rest = self.rest();
        let in_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let length = rest.bytes().take_while(in_word).count();
        self.at += length;
        &rest[..length]
    }

    fn word(&mut self) -> Tok {
        word(self.take_word())
    }

    fn underscore(&mut self) -> Tok {
        let start = self.at;
        let name = self.take_word();
        let better = name.trim_start_matches('_');
        let mut error = Diagnostic::error("a name must begin with a letter")
            .at(self.span_from(start), "this begins with `_`");
        if better.starts_with(|c: char| c.is_ascii_alphabetic()) {
            error = error.help(format!("call it `{better}`"));
        }
        self.errors.push(error);
        Tok::Ident
    }

    fn digits(&mut self) {
        let rest = self.bytes();
        self.at += rest.iter().take_while(|b| b.is_ascii_digit()).count();
    }

    fn number(&mut self) -> Tok {
        if let [b'0', b'x' | b'X', digit, ..] = self.bytes()
            && digit.is_ascii_hexdigit()
        {
            self.at += 2;
            let rest = self.bytes();
            self.at += rest.iter().take_while(|b| b.is_ascii_hexdigit()).count();
            return Tok::Int;
        }
        self.digits();
        let mut kind = Tok::Int;
        if let [b'.', b'0'..=b'9', ..] = self.bytes() {
            self.at += 1;
            self.digits();
            kind = Tok::Real;
        }
        if let [b'e' | b'E', b'0'..=b'9', ..] | [b'e' | b'E', b'+' | b'-', b'0'..=b'9', ..] =
            self.bytes()
        {
            self.at += 2;
            self.digits();
            kind = Tok::Real;
        }
        kind
    }

    /// Reads a string that opens at the current position with `open`.
    fn string(&mut self, open: char) -> Tok {
        let start = self.at;
        self.at += open.len_utf8();
        let rest = self.rest();
        let closes = |c: char| c == '"' || (c == '”' && open == '“');
        let mut chars = rest.char_indices();
        let mut length = rest.len();
        while let Some((at, c)) = chars.next() {
            if closes(c) {
                self.at += at + c.len_utf8();
                return Tok::Str;
            }
            if c == '\n' {
                length = at;
                break;
            }
            if c == '\\' && escapes(chars.clone(), closes) {
                chars.next();
            }
        }
        self.at += rest[..length].trim_end_matches('\r').len();
        self.errors.push(
            Diagnostic::error("this string is never closed")
                .at(self.span_from(start), "")
                .help("close it with `\"` on the same line"),
        );
        Tok::Str
    }

    fn operator(&mut self) -> Option<Tok> {
        let (kind, length) = match self.bytes() {
            [b'=', b'=', b'>', ..] => (Tok::LongArrow, 3),
            [b':', b'=', ..] => (Tok::Assign, 2),
            [b'.', b'.', ..] => (Tok::DotDot, 2),
            [b'-', b'>', ..] => (Tok::Arrow, 2),
            [b'<', b'>', ..] => return Some(self.wrong("<>", Tok::Ne)),
            [b'=', b'>', ..] => return Some(self.wrong("=>", Tok::LongArrow)),
            [b'<', b'=', ..] => (Tok::Le, 2),
            [b'<', b'<', ..] => (Tok::Shl, 2),
            [b'>', b'=', ..] => (Tok::Ge, 2),
            [b'>', b'>', ..] => (Tok::Shr, 2),
            [b'!', b'=', ..] => (Tok::Ne, 2),
            [b'=', b'=', ..] => (Tok::Eq, 2),
            [b'&', b'&', ..] => (Tok::AmpAmp, 2),
            [b'|', b'|', ..] => (Tok::PipePipe, 2),
            [b'(', ..] => (Tok::LParen, 1),
            [b')', ..] => (Tok::RParen, 1),
            [b'[', ..] => (Tok::LBracket, 1),
            [b']', ..] => (Tok::RBracket, 1),
            [b'{', ..] => (Tok::LBrace, 1),
            [b'}', ..] => (Tok::RBrace, 1),
            [b';', ..] => (Tok::Semi, 1),
            [b',', ..] => (Tok::Comma, 1),
            [b':', ..] => (Tok::Colon, 1),
            [b'.', ..] => (Tok::Dot, 1),
            [b'?', ..] => (Tok::Question, 1),
            [b'|', ..] => (Tok::Pipe, 1),
            [b'^', ..] => (Tok::Caret, 1),
            [b'&', ..] => (Tok::Amp, 1),
            [b'!', ..] => (Tok::Bang, 1),
            [b'~', ..] => (Tok::Tilde, 1),
            [b'=', ..] => (Tok::Eq, 1),
            [b'<', ..] => (Tok::Lt, 1),
            [b'>', ..] => (Tok::Gt, 1),
            [b'+', ..] => (Tok::Plus, 1),
            [b'-', ..] => (Tok::Minus, 1),
            [b'*', ..] => (Tok::Star, 1),
            [b'/', ..] => (Tok::Slash, 1),
            [b'%', ..] => (Tok::Percent, 1),
            _ => return self.strange(),
        };
        self.at += length;
        Some(kind)
    }

    /// An operator of other languages: reported, then read as what was meant.
    fn wrong(&mut self, written: &str, meant: Tok) -> Tok {
        let start = self.at;
        self.at += written.len();
        let meant_text = meant.spelling().unwrap_or_default();
        self.errors.push(
            Diagnostic::error(format!("`{written}` is not an operator"))
                .at(self.span_from(start), "")
                .help(format!("write `{meant_text}`")),
        );
        meant
    }

    /// A sign outside ASCII.
    fn sign(&mut self) -> Option<Tok> {
        let sign = self.rest().chars().next()?;
        let kind = match sign {
            '∀' => Tok::Kw(Kw::Forall),
            '∃' => Tok::Kw(Kw::Exists),
            '≔' => Tok::Assign,
            '⇒' => Tok::LongArrow,
            '→' => Tok::Arrow,
            '¬' => Tok::Bang,
            '∧' => Tok::AmpAmp,
            '∨' => Tok::PipePipe,
            '≠' => Tok::Ne,
            '≤' => Tok::Le,
            '≥' => Tok::Ge,
            '−' => Tok::Minus,
            '×' => Tok::Star,
            '÷' | '∕' => Tok::Slash,
            '“' => return Some(self.string(sign)),
            _ => return self.strange(),
        };
        self.at += sign.len_utf8();
        Some(kind)
    }

    /// Reports a run of characters that start no token, and skips it.
    fn strange(&mut self) -> Option<Tok> {
        const SIGNS: &str = "∀∃≔⇒→¬∧∨≠≤≥−×÷∕“";
        let start = self.at;
        let rest = self.rest();
        let known = |c: char| {
            c.is_ascii_alphanumeric()
                || c.is_whitespace()
                || "\"_=:.-<>!&|()[]{};,?^~+*/%".contains(c)
                || SIGNS.contains(c)
        };
        let first = rest.chars().next()?;
        let length = first.len_utf8() + {
            let tail = &rest[first.len_utf8()..];
            tail.find(known).unwrap_or(tail.len())
        };
        self.at += length;
        let run = &rest[..length];
        let message = if run.chars().count() == 1 {
            format!("the character {first:?} has no meaning in Murphi")
        } else {
            "these characters have no meaning in Murphi".to_owned()
        };
        let mut error = Diagnostic::error(message).at(self.span_from(start), "");
        error = match first {
            '\'' | '‘' | '’' | '”' => {
                error.help("write strings between double quotes: \"…\"")
            }
            '#' => error.help("Murphi has no preprocessor; a comment starts with `--`"),
            _ => error,
        };
        self.errors.push(error);
        None
    }
}

/// Whether a backslash takes the next character with it: not a line break, and not a quote unless
/// another quote is left on the line to close the string.
fn escapes(mut rest: std::str::CharIndices<'_>, closes: impl Fn(char) -> bool) -> bool {
    match rest.next() {
        None | Some((_, '\n')) => false,
        Some((_, c)) if closes(c) => {
            rest.find(|&(_, c)| c == '\n' || closes(c)).is_some_and(|(_, c)| c != '\n')
        }
        Some(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        let mut lexer = Lexer::new(SourceId(0), text);
        let mut out = Vec::new();
        loop {
            let token = lexer.next();
            if token.kind == Tok::Eof {
                break;
            }
            out.push(format!("{:?} {}", token.kind, lexer.slice(token.start, token.end)));
        }
        out.extend(lexer.errors.iter().map(|d| format!("! {}", d.message)));
        expected.assert_eq(&out.join("\n"));
    }

    #[test]
    fn numbers_and_ranges() {
        check(
            "0..07 0x1F 2.5 1e-3 4e 0x",
            expect![[r#"
            Int 0
            DotDot ..
            Int 07
            Int 0x1F
            Real 2.5
            Real 1e-3
            Int 4
            Ident e
            Int 0
            Ident x"#]],
        );
    }

    #[test]
    fn strings() {
        check(
            "\"a\" \"b\\\"\n\"c\\\"d\" “smart” \"mixed\\n\" “x\"\n\"open",
            expect![[r#"
            Str "a"
            Str "b\"
            Str "c\"d"
            Str “smart”
            Str "mixed\n"
            Str “x"
            Str "open
            ! this string is never closed"#]],
        );
    }

    #[test]
    fn signs_of_rumur() {
        check(
            "∀ ∃ ≔ ⇒ → ¬ ∧ ∨ ≠ ≤ ≥ − × ÷ ∕ ~ ^ << >>",
            expect![[r#"
            Kw(Forall) ∀
            Kw(Exists) ∃
            Assign ≔
            LongArrow ⇒
            Arrow →
            Bang ¬
            AmpAmp ∧
            PipePipe ∨
            Ne ≠
            Le ≤
            Ge ≥
            Minus −
            Star ×
            Slash ÷
            Slash ∕
            Tilde ~
            Caret ^
            Shl <<
            Shr >>"#]],
        );
    }

    #[test]
    fn comments() {
        check(
            "a -- b\n/* c ** / */ d /**/ e // f\n g // h\ni /* j",
            expect![[r#"
            Ident a
            Ident d
            Ident e
            Ident g
            Ident i
            ! `//` does not start a comment
            ! this comment is never closed"#]],
        );
    }

    #[test]
    fn junk() {
        check(
            "_a §§ 'x' # <> => \u{a0}\u{feff}b",
            expect![[r#"
            Ident _a
            Ident x
            Ne <>
            LongArrow =>
            Ident b
            ! a name must begin with a letter
            ! these characters have no meaning in Murphi
            ! the character '\'' has no meaning in Murphi
            ! the character '\'' has no meaning in Murphi
            ! the character '#' has no meaning in Murphi
            ! `<>` is not an operator
            ! `=>` is not an operator"#]],
        );
    }
}
