//! Words of the text form.

use super::TextError;
use std::iter::Peekable;
use std::str::CharIndices;

/// A word with the place where it starts.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) word: Word<'a>,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// `(`
    Open,
    /// `)`
    Close,
    /// Anything else without quotes.
    Plain(&'a str),
    /// A quoted text.
    Quoted(String),
}

impl Token<'_> {
    /// An error at this word.
    pub(super) fn error(&self, message: impl Into<String>) -> TextError {
        TextError { line: self.line, column: self.column, message: message.into() }
    }
}

struct Lexer<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
    line: u32,
    column: u32,
}

/// Splits a text into words; also says how deeply parentheses are nested.
pub(super) fn lex(text: &str) -> Result<(Vec<Token<'_>>, usize), TextError> {
    let mut lexer = Lexer { text, rest: text.char_indices().peekable(), line: 1, column: 1 };
    let mut tokens = Vec::new();
    let (mut level, mut deepest) = (0usize, 0);
    while let Some(token) = lexer.token()? {
        match token.word {
            Word::Open => level += 1,
            Word::Close => level = level.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(level);
        tokens.push(token);
    }
    Ok((tokens, deepest))
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Option<(usize, char)> {
        let (at, c) = self.rest.next()?;
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some((at, c))
    }

    fn skip_blanks(&mut self) {
        let mut comment = false;
        while let Some((_, c)) = self.rest.peek() {
            match c {
                '\n' => comment = false,
                ';' => comment = true,
                c if comment || c.is_whitespace() => {}
                _ => return,
            }
            self.next();
        }
    }

    fn token(&mut self) -> Result<Option<Token<'a>>, TextError> {
        self.skip_blanks();
        let (line, column) = (self.line, self.column);
        let Some((start, c)) = self.next() else { return Ok(None) };
        let mut token = Token { word: Word::Open, line, column };
        token.word = match c {
            '(' => Word::Open,
            ')' => Word::Close,
            '"' => Word::Quoted(self.quoted().map_err(|message| token.error(message))?),
            _ => {
                let ends = |c: char| c.is_whitespace() || "();\"".contains(c);
                let mut end = start + c.len_utf8();
                while let Some((at, c)) = self.rest.next_if(|(_, c)| !ends(*c)) {
                    self.column = self.column.saturating_add(1);
                    end = at + c.len_utf8();
                }
                Word::Plain(&self.text[start..end])
            }
        };
        Ok(Some(token))
    }

    /// What follows an opening quote, up to and with the closing one.
    fn quoted(&mut self) -> Result<String, String> {
        let mut out = String::new();
        loop {
            match self.next().ok_or("this text has no closing quote")?.1 {
                '"' => return Ok(out),
                '\\' => out.push(self.escaped()?),
                c => out.push(c),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        match self.next().map(|(_, c)| c) {
            Some(c @ ('"' | '\\')) => Ok(c),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => self.code_point().ok_or_else(|| String::from("a bad \\u{…} in this text")),
            _ => Err(String::from("an unknown escape after a backslash in this text")),
        }
    }

    fn code_point(&mut self) -> Option<char> {
        let (_, '{') = self.next()? else { return None };
        let mut code = 0u32;
        loop {
            match self.next()?.1 {
                '}' => return char::from_u32(code),
                c => code = code.checked_mul(16)?.checked_add(c.to_digit(16)?)?,
            }
        }
    }
}
