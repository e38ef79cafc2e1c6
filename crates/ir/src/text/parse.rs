//! The reader: everything above statements.

use super::lex::{Token, Word};
use super::names::Names;
use super::{TextError, VERSION, ops};
use crate::{
    Action, Domain, Field, Global, Local, LocalId, Param, Pass, Proc, Program, Property,
    PropertyKind, ScalarKind, ScalarType, Site, SiteInfo, Stmt, Type, TypeId,
};
use ergodic_diag::{SourceId, Span};
use std::str::FromStr;

/// The result of reading something.
pub(super) type Read<T> = Result<T, TextError>;

/// The reader.
pub(super) struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    pub(super) program: Program,
    types: Names,
    pub(super) globals: Names,
    pub(super) procs: Names,
    pub(super) properties: Names,
    pub(super) locals: Vec<Local>,
    pub(super) local_names: Names,
    /// Expressions and statements around the current one.
    pub(super) depth: usize,
}

/// Reads a program.
pub(super) fn parse(tokens: Vec<Token<'_>>) -> Read<Program> {
    let mut parser = Parser {
        tokens,
        at: 0,
        program: Program::default(),
        types: Names::default(),
        globals: Names::default(),
        procs: Names::default(),
        properties: Names::default(),
        locals: Vec::new(),
        local_names: Names::default(),
        depth: 0,
    };
    let forms = parser.outline()?;
    // Code needs all types and state variables; these need nothing but names.
    let (declarations, code): (Vec<_>, Vec<_>) =
        forms.into_iter().partition(|(_, keyword)| matches!(*keyword, "type" | "global"));
    for (start, keyword) in declarations.into_iter().chain(code) {
        parser.at = start;
        parser.part(keyword)?;
    }
    Ok(parser.program)
}

impl<'a> Parser<'a> {
    /// The next word.
    pub(super) fn peek(&self) -> Option<&Word<'a>> {
        self.tokens.get(self.at).map(|token| &token.word)
    }

    fn peek_second(&self) -> Option<&Word<'a>> {
        self.tokens.get(self.at + 1).map(|token| &token.word)
    }

    /// An error at the next word.
    pub(super) fn error<T>(&self, message: impl Into<String>) -> Read<T> {
        match (self.tokens.get(self.at), self.tokens.last()) {
            (Some(token), _) => Err(token.error(message)),
            (None, Some(last)) => Err(last.error(format!("{} after this", message.into()))),
            (None, None) => Err(TextError { line: 1, column: 1, message: message.into() }),
        }
    }

    /// An opening parenthesis.
    pub(super) fn open(&mut self) -> Read<()> {
        self.expect(&Word::Open, "`(` expected")
    }

    /// A closing parenthesis.
    pub(super) fn close(&mut self) -> Read<()> {
        self.expect(&Word::Close, "`)` expected")
    }

    fn expect(&mut self, word: &Word<'_>, message: &str) -> Read<()> {
        if self.peek() != Some(word) {
            return self.error(message);
        }
        self.at += 1;
        Ok(())
    }

    /// Whether the list ends here.
    pub(super) fn ends(&self) -> bool {
        self.peek() == Some(&Word::Close)
    }

    /// The next word, if it has no quotes and is no parenthesis.
    pub(super) fn peek_plain(&self) -> Option<&'a str> {
        match self.peek() {
            Some(Word::Plain(text)) => Some(text),
            _ => None,
        }
    }

    /// A word without quotes.
    pub(super) fn plain(&mut self, what: &str) -> Read<&'a str> {
        let Some(text) = self.peek_plain() else { return self.error(format!("{what} expected")) };
        self.at += 1;
        Ok(text)
    }

    /// A word that means something; `read` tells what, or why not.
    pub(super) fn word<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&Self, &'a str) -> Result<T, String>,
    ) -> Read<T> {
        let Some(text) = self.peek_plain() else { return self.error(format!("{what} expected")) };
        match read(self, text) {
            Ok(value) => {
                self.at += 1;
                Ok(value)
            }
            Err(message) => self.error(message),
        }
    }

    /// A given word, if it comes next.
    pub(super) fn eat(&mut self, word: &str) -> bool {
        let found = self.peek_plain() == Some(word);
        self.at += usize::from(found);
        found
    }

    /// An opening parenthesis and a keyword.
    pub(super) fn form(&mut self) -> Read<&'a str> {
        self.open()?;
        self.plain("a keyword")
    }

    /// Things up to the end of the list.
    pub(super) fn rest<T>(&mut self, item: impl Fn(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = Vec::new();
        while !self.ends() {
            items.push(item(self)?);
        }
        self.close()?;
        Ok(items)
    }

    /// A number.
    pub(super) fn number<N: FromStr>(&mut self) -> Read<N> {
        self.word("a number", |_, text| {
            text.parse().map_err(|_| format!("`{text}` is no number that fits here"))
        })
    }

    /// A name or text, with or without quotes.
    pub(super) fn name(&mut self) -> Read<String> {
        let name = match self.peek() {
            Some(Word::Plain(text)) => (*text).to_string(),
            Some(Word::Quoted(text)) => text.clone(),
            _ => return self.error("a name expected"),
        };
        self.at += 1;
        Ok(name)
    }

    /// A place to report.
    pub(super) fn site(&mut self) -> Read<Site> {
        self.word("a site", |_, text| {
            let number = text.strip_prefix('@').and_then(|number| number.parse().ok());
            number.map(Site).ok_or_else(|| format!("`{text}` is no site like `@3`"))
        })
    }

    fn span(&mut self) -> Read<Span> {
        self.word("a span", |_, text| {
            let span = || {
                let (source, range) = text.split_once(':')?;
                let (start, end) = range.split_once('-')?;
                let source = SourceId(source.parse().ok()?);
                Some(Span { source, start: start.parse().ok()?, end: end.parse().ok()? })
            };
            span().ok_or_else(|| format!("`{text}` is no span like `0:10-20`"))
        })
    }

    /// A reference to a type.
    pub(super) fn type_ref(&mut self) -> Read<TypeId> {
        self.word("a type", |parser, text| parser.types.number(text, "type").map(TypeId))
    }

    /// A reference to a local.
    pub(super) fn local_ref(&mut self) -> Read<LocalId> {
        self.word("a local", |parser, text| parser.local_names.number(text, "local").map(LocalId))
    }

    /// Where the parts of the text begin, with their keywords; collects names on the way.
    fn outline(&mut self) -> Read<Vec<(usize, &'a str)>> {
        let mut forms = Vec::new();
        while self.peek().is_some() {
            let start = self.at;
            let keyword = self.form()?;
            let none = keyword == "type" && self.peek_plain() == Some("-");
            if matches!(keyword, "type" | "global" | "proc" | "property") {
                let name = if none { None } else { Some(self.name()?) };
                let names = match keyword {
                    "type" => &mut self.types,
                    "global" => &mut self.globals,
                    "proc" => &mut self.procs,
                    _ => &mut self.properties,
                };
                names.push(name.as_deref());
            }
            let mut level = 1;
            while level > 0 {
                match self.peek() {
                    Some(Word::Open) => level += 1,
                    Some(Word::Close) => level -= 1,
                    Some(_) => {}
                    None => return self.error("`)` expected"),
                }
                self.at += 1;
            }
            forms.push((start, keyword));
        }
        Ok(forms)
    }

    /// A part of the program.
    fn part(&mut self, keyword: &str) -> Read<()> {
        self.open()?;
        let at_keyword = self.at;
        self.at += 1;
        match keyword {
            "eir" => {
                if self.number::<i64>()? != VERSION {
                    self.at -= 1;
                    return self.error(format!("only version {VERSION} is known"));
                }
            }
            "loop-limit" => self.program.loop_limit = self.number()?,
            "call-limit" => self.program.call_limit = self.number()?,
            "type" => {
                let ty = self.ty()?;
                self.program.types.push(ty);
            }
            "global" => {
                let (name, span, ty) = (self.name()?, self.span()?, self.type_ref()?);
                self.program.globals.push(Global { name, ty, span });
            }
            "site" => {
                let (span, text) = (self.span()?, self.name()?);
                self.program.sites.push(SiteInfo { span, text });
            }
            "proc" => {
                let proc = self.proc()?;
                self.program.procs.push(proc);
            }
            "start" => {
                let action = self.action()?;
                self.program.starts.push(action);
            }
            "action" => {
                let action = self.action()?;
                self.program.actions.push(action);
            }
            "property" => {
                let property = self.property()?;
                self.program.properties.push(property);
            }
            _ => {
                self.at = at_keyword;
                return self.error(format!("unknown part `{keyword}`"));
            }
        }
        self.close()
    }

    fn ty(&mut self) -> Read<Type> {
        let name = if self.eat("-") { None } else { Some(self.name()?) };
        let named = name.is_some();
        let keyword = self.form()?;
        let ty = match keyword {
            "scalar" => self.scalar(name)?,
            "record" => {
                let mut fields = Vec::new();
                while !self.ends() {
                    self.open()?;
                    let (name, ty) = (self.name()?, self.type_ref()?);
                    self.close()?;
                    fields.push(Field { name, ty });
                }
                Type::Record { name, fields }
            }
            "real" if !named => Type::Real { digits: self.number()?, exponent: self.number()? },
            "array" if !named => Type::Array { index: self.type_ref()?, elem: self.type_ref()? },
            "multiset" if !named => {
                Type::Multiset { capacity: self.number()?, elem: self.type_ref()? }
            }
            "real" | "array" | "multiset" => {
                return self
                    .error(format!("a type of the form `{keyword}` has no name: write `-`"));
            }
            _ => return self.error(format!("unknown type `{keyword}`")),
        };
        self.close()?;
        Ok(ty)
    }

    fn scalar(&mut self, name: Option<String>) -> Read<Type> {
        let kind = if self.eat("bool") {
            ScalarKind::Bool
        } else if self.eat("int") {
            ScalarKind::Int
        } else {
            match self.form()? {
                "enum" => ScalarKind::Enum { names: self.rest(Parser::name)? },
                "scalarset" => {
                    let stem = self.name()?;
                    self.close()?;
                    ScalarKind::Scalarset { stem }
                }
                "union" => ScalarKind::Union { members: self.rest(Parser::type_ref)? },
                other => return self.error(format!("unknown scalar type `{other}`")),
            }
        };
        let mut intervals = Vec::new();
        while self.peek_plain().is_some_and(|text| text != "undefinable") {
            intervals.push(self.word("an interval", |_, text| interval(text))?);
        }
        let undefinable = self.eat("undefinable");
        Ok(Type::Scalar(ScalarType { name, kind, intervals, undefinable }))
    }

    /// Forgets the locals of the part before.
    fn enter(&mut self) {
        self.locals.clear();
        self.local_names = Names::default();
    }

    /// The rest of the declaration of a local.
    fn local(&mut self) -> Read<()> {
        let name = self.name()?;
        let kind = self.word("a kind of local", |_, text| {
            ops::local(text).ok_or_else(|| format!("`{text}` is no kind of local"))
        })?;
        let ty = self.type_ref()?;
        self.close()?;
        self.local_names.push(Some(&name));
        self.locals.push(Local { name, ty, kind });
        Ok(())
    }

    fn stmts_into(&mut self, out: &mut Vec<Stmt>) -> Read<()> {
        out.extend(self.rest(Parser::stmt)?);
        Ok(())
    }

    fn proc(&mut self) -> Read<Proc> {
        self.enter();
        let (name, span) = (self.name()?, self.span()?);
        let (mut params, mut result, mut end, mut body) = (Vec::new(), None, None, Vec::new());
        while !self.ends() {
            match self.form()? {
                "params" => params.extend(self.rest(|parser| parser.word("a mode", pass))?),
                "result" => {
                    result = Some(self.type_ref()?);
                    self.close()?;
                }
                "end" => {
                    end = Some(self.site()?);
                    self.close()?;
                }
                "local" => self.local()?,
                "body" => self.stmts_into(&mut body)?,
                other => return self.error(format!("unknown part `{other}` of a subroutine")),
            }
        }
        let Some(end) = end else { return self.error("a subroutine needs `(end @…)`") };
        let locals = std::mem::take(&mut self.locals);
        Ok(Proc { name, span, params, result, locals, body, end })
    }

    fn action(&mut self) -> Read<Action> {
        self.enter();
        let (name, span) = (self.name()?, self.span()?);
        let (mut params, mut prelude, mut body) = (Vec::new(), Vec::new(), Vec::new());
        let (mut guard, mut priority, mut impure_guard) = (Vec::new(), 0, false);
        while !self.ends() {
            if self.eat("impure-guard") {
                impure_guard = true;
                continue;
            }
            match self.form()? {
                "priority" => {
                    priority = self.number()?;
                    self.close()?;
                }
                "local" => self.local()?,
                "param" => params.push(self.param()?),
                "prelude" => self.stmts_into(&mut prelude)?,
                "guard" => guard.extend(self.rest(Parser::expr)?),
                "body" => self.stmts_into(&mut body)?,
                other => return self.error(format!("unknown part `{other}` of an action")),
            }
        }
        let locals = std::mem::take(&mut self.locals);
        Ok(Action { name, span, params, locals, prelude, guard, body, priority, impure_guard })
    }

    fn param(&mut self) -> Read<Param> {
        let local = self.local_ref()?;
        let over = match self.form()? {
            "type" => Domain::Type(self.type_ref()?),
            "range" => {
                Domain::Range { from: self.number()?, to: self.number()?, step: self.number()? }
            }
            "slots" => Domain::Slots(self.place()?),
            other => return self.error(format!("unknown domain `{other}`")),
        };
        self.close()?;
        self.close()?;
        Ok(Param { local, over })
    }

    fn property(&mut self) -> Read<Property> {
        self.enter();
        let (name, span) = (self.name()?, self.span()?);
        let kind: PropertyKind = self.word("a kind of property", |_, text| {
            ops::property(text).ok_or_else(|| format!("`{text}` is no kind of property"))
        })?;
        let impure = self.eat("impure");
        let mut expr = None;
        while !self.ends() {
            match self.form()? {
                "local" => self.local()?,
                "expr" if expr.is_none() => {
                    expr = Some(self.expr()?);
                    self.close()?;
                }
                other => return self.error(format!("unexpected `{other}` in a property")),
            }
        }
        let locals = std::mem::take(&mut self.locals);
        Ok(Property { kind, name, span, locals, expr, impure })
    }

    /// Whether the next thing is a list with this keyword.
    pub(super) fn next_form_is(&self, keyword: &str) -> bool {
        self.peek() == Some(&Word::Open) && self.peek_second() == Some(&Word::Plain(keyword))
    }
}

fn interval(text: &str) -> Result<(i64, i64), String> {
    let ends =
        text.split_once("..").and_then(|(lo, hi)| Some((lo.parse().ok()?, hi.parse().ok()?)));
    ends.ok_or_else(|| format!("`{text}` is no interval like `0..7`"))
}

fn pass(_: &Parser<'_>, text: &str) -> Result<Pass, String> {
    match text {
        "value" => Ok(Pass::Value),
        "ref" => Ok(Pass::Ref),
        _ => Err(format!("`{text}` is neither `value` nor `ref`")),
    }
}
