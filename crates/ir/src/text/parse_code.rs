//! The reader: places, expressions and statements.

use super::lex::Word;
use super::parse::{Parser, Read};
use super::{ops, step_type};
use crate::verify::MAX_DEPTH;
use crate::{
    Arg, Expr, GlobalId, Iter, LocalId, Place, ProcId, PutPart, Root, Step, Stmt, SwitchCase, Type,
    TypeId,
};

impl Parser<'_> {
    /// A place.
    pub(super) fn place(&mut self) -> Read<Place> {
        if self.peek() != Some(&Word::Open) {
            let (root, ty) = self.root()?;
            let Some(ty) = ty else {
                return self
                    .error("the type of the place before is unknown: write `(at … : type)`");
            };
            return Ok(Place { root, path: Vec::new(), ty });
        }
        if !self.next_form_is("at") {
            return self.error("a place expected: a variable or `(at …)`");
        }
        self.form()?;
        let (root, mut ty) = self.root()?;
        let mut path = Vec::new();
        while !self.ends() {
            if self.eat(":") {
                ty = Some(self.type_ref()?);
                break;
            }
            let step = self.step(ty)?;
            ty = ty.and_then(|ty| step_type(&self.program.types, ty, &step));
            path.push(step);
        }
        let Some(ty) = ty else {
            return self.error("the type of this place is unknown: end it with `: type`");
        };
        self.close()?;
        Ok(Place { root, path, ty })
    }

    /// Where a place starts, and the type there.
    fn root(&mut self) -> Read<(Root, Option<TypeId>)> {
        self.word("a variable", |parser, text| match text.strip_prefix('$') {
            Some(name) => {
                let number = parser.globals.number(name, "state variable")?;
                let global = parser.program.globals.get(number as usize);
                Ok((Root::Global(GlobalId(number)), global.map(|global| global.ty)))
            }
            None => {
                let number = parser.local_names.number(text, "local")?;
                let local = parser.locals.get(number as usize);
                Ok((Root::Local(LocalId(number)), local.map(|local| local.ty)))
            }
        })
    }

    fn step(&mut self, ty: Option<TypeId>) -> Read<Step> {
        if self.peek() != Some(&Word::Open) {
            let field = self.word("a step", |parser, text| parser.field(text, ty))?;
            return Ok(Step::Field(field));
        }
        let step = match self.form()? {
            "index" => {
                let site = self.site()?;
                Step::Index { index: self.expr()?, site }
            }
            "slot" => {
                let site = self.site()?;
                Step::Slot { slot: self.expr()?, site }
            }
            other => return self.error(format!("unknown step `{other}`")),
        };
        self.close()?;
        Ok(step)
    }

    fn field(&self, text: &str, ty: Option<TypeId>) -> Result<u32, String> {
        let name = text.strip_prefix('.').ok_or_else(|| format!("`{text}` is no step"))?;
        if let Ok(number) = name.parse() {
            return Ok(number);
        }
        let found = match ty.and_then(|ty| self.program.types.get(ty.0 as usize)) {
            Some(Type::Record { fields, .. }) => fields.iter().position(|f| f.name == name),
            _ => return Err(format!("`{text}` is a step from something that is no record")),
        };
        found.map(|i| i as u32).ok_or_else(|| format!("the record has no field `{name}`"))
    }

    fn boxed_place(&mut self) -> Read<Box<Place>> {
        self.place().map(Box::new)
    }

    fn boxed(&mut self) -> Read<Box<Expr>> {
        self.expr().map(Box::new)
    }

    /// Counts a level of nesting.
    fn enter_level(&mut self) -> Read<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return self.error(format!("nested more than {MAX_DEPTH} levels deep"));
        }
        Ok(())
    }

    /// An expression.
    pub(super) fn expr(&mut self) -> Read<Expr> {
        self.enter_level()?;
        let expr = if self.peek() == Some(&Word::Open) {
            let keyword = self.form()?;
            let expr = match (ops::unary(keyword), ops::binary(keyword)) {
                (Some(op), _) => {
                    let site = self.site()?;
                    Expr::Unary { op, arg: self.boxed()?, site }
                }
                (_, Some(op)) => {
                    let site = self.site()?;
                    Expr::Binary { op, left: self.boxed()?, right: self.boxed()?, site }
                }
                _ => self.form_expr(keyword)?,
            };
            self.close()?;
            expr
        } else {
            self.word("an expression", |parser, text| parser.atom(text))?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn atom(&self, text: &str) -> Result<Expr, String> {
        if let Some(bits) = text.strip_prefix("0x") {
            let bits = u64::from_str_radix(bits, 16).map_err(|_| format!("`{text}` is no real"))?;
            return Ok(Expr::Real(f64::from_bits(bits)));
        }
        if !text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return self.local_names.number(text, "local").map(|id| Expr::Bound(LocalId(id)));
        }
        if let Ok(code) = text.parse() {
            return Ok(Expr::Int(code));
        }
        match text.parse::<f64>() {
            Ok(value) if text.contains(['.', 'e']) && value.is_finite() => Ok(Expr::Real(value)),
            _ => Err(format!("`{text}` is no number that fits here")),
        }
    }

    /// What follows the keyword of an expression that is no operator.
    fn form_expr(&mut self, keyword: &str) -> Read<Expr> {
        Ok(match keyword {
            "read" => {
                let site = self.site()?;
                Expr::Read { place: self.boxed_place()?, site }
            }
            "and" => Expr::And(self.exprs()?),
            "or" => Expr::Or(self.exprs()?),
            "if" => Expr::If { cond: self.boxed()?, then: self.boxed()?, other: self.boxed()? },
            "undefined?" => Expr::IsUndefined(self.boxed_place()?),
            "member?" => {
                let ty = self.type_ref()?;
                Expr::IsMember { value: self.boxed()?, ty }
            }
            "same?" => {
                let site = self.site()?;
                Expr::Same { left: self.boxed_place()?, right: self.boxed_place()?, site }
            }
            "all" | "some" => Expr::Quantified {
                all: keyword == "all",
                var: self.local_ref()?,
                over: Box::new(self.iter()?),
                body: self.boxed()?,
            },
            "count" => {
                let var = self.local_ref()?;
                Expr::Count { set: self.boxed_place()?, var, body: self.boxed()? }
            }
            "call" => {
                let site = self.site()?;
                Expr::Call { proc: self.proc_ref()?, args: self.args()?, site }
            }
            "block" => {
                self.open()?;
                Expr::Block { body: self.rest(Parser::stmt)?, value: self.boxed()? }
            }
            other => return self.error(format!("unknown expression `{other}`")),
        })
    }

    /// Expressions before the end of the list, which is left.
    fn exprs(&mut self) -> Read<Vec<Expr>> {
        let mut list = Vec::new();
        while !self.ends() {
            list.push(self.expr()?);
        }
        Ok(list)
    }

    /// Statements before the end of the list, which is left.
    fn stmts(&mut self) -> Read<Vec<Stmt>> {
        let mut list = Vec::new();
        while !self.ends() {
            list.push(self.stmt()?);
        }
        Ok(list)
    }

    fn iter(&mut self) -> Read<Iter> {
        let iter = match self.form()? {
            "type" => Iter::Type(self.type_ref()?),
            "range" => {
                let site = self.site()?;
                Iter::Range { from: self.expr()?, to: self.expr()?, step: self.expr()?, site }
            }
            "slots" => Iter::Slots(self.place()?),
            other => return self.error(format!("unknown values `{other}` of a loop")),
        };
        self.close()?;
        Ok(iter)
    }

    fn proc_ref(&mut self) -> Read<ProcId> {
        self.word("a subroutine", |parser, text| {
            parser.procs.number(text, "subroutine").map(ProcId)
        })
    }

    fn args(&mut self) -> Read<Vec<Arg>> {
        let mut args = Vec::new();
        while !self.ends() {
            let arg = match self.form()? {
                "value" => {
                    let site = self.site()?;
                    Arg::Value { value: self.expr()?, site }
                }
                "copy" => {
                    let site = self.site()?;
                    Arg::Copy { from: self.place()?, site }
                }
                "ref" => Arg::Ref(self.place()?),
                other => return self.error(format!("unknown argument `{other}`")),
            };
            self.close()?;
            args.push(arg);
        }
        Ok(args)
    }

    /// A statement.
    pub(super) fn stmt(&mut self) -> Read<Stmt> {
        self.enter_level()?;
        let stmt = match self.form()? {
            "undefine" => Stmt::Undefine(self.place()?),
            "clear" => Stmt::Clear(self.place()?),
            "bind" => Stmt::Bind { local: self.local_ref()?, place: self.place()? },
            "let" => Stmt::Let { local: self.local_ref()?, value: self.expr()? },
            "fresh" => Stmt::Fresh(self.local_ref()?),
            "assume" => Stmt::Assume { cond: self.expr()? },
            "cover" => {
                let property = self.word("a property", |parser, text| {
                    parser.properties.number(text, "property")
                })?;
                Stmt::Cover { cond: self.expr()?, property }
            }
            "put" => Stmt::Put(self.put()?),
            "remove-where" => {
                let var = self.local_ref()?;
                Stmt::RemoveWhere { set: self.place()?, var, cond: self.expr()? }
            }
            "if" => self.branches()?,
            "switch" => self.switch()?,
            "for" => Stmt::For { var: self.local_ref()?, over: self.iter()?, body: self.stmts()? },
            keyword => self.reporting_stmt(keyword)?,
        };
        self.close()?;
        self.depth -= 1;
        Ok(stmt)
    }

    /// The statements that start with the site to report.
    fn reporting_stmt(&mut self, keyword: &str) -> Read<Stmt> {
        let known = [
            "assign",
            "copy",
            "call",
            "return",
            "assert",
            "error",
            "add",
            "add-value",
            "remove",
            "while",
        ];
        if !known.contains(&keyword) {
            return self.error(format!("unknown statement `{keyword}`"));
        }
        let site = self.site()?;
        Ok(match keyword {
            "assign" => Stmt::Assign { to: self.place()?, value: self.expr()?, site },
            "copy" => Stmt::Copy { to: self.place()?, from: self.place()?, site },
            "call" => Stmt::Call { proc: self.proc_ref()?, args: self.args()?, site },
            "return" => {
                let value = if self.ends() { None } else { Some(self.expr()?) };
                Stmt::Return { value, site }
            }
            "assert" => Stmt::Assert { cond: self.expr()?, site },
            "add" => Stmt::Add { set: self.place()?, from: self.place()?, site },
            "add-value" => Stmt::AddValue { set: self.place()?, value: self.expr()?, site },
            "remove" => Stmt::Remove { set: self.place()?, slot: self.expr()?, site },
            "while" => Stmt::While { cond: self.expr()?, body: self.stmts()?, site },
            _ => Stmt::Error { site },
        })
    }

    /// An `(else …)`, if it comes next.
    fn otherwise(&mut self) -> Read<Vec<Stmt>> {
        if !self.next_form_is("else") {
            return Ok(Vec::new());
        }
        self.form()?;
        self.rest(Parser::stmt)
    }

    fn branches(&mut self) -> Read<Stmt> {
        let mut branches = Vec::new();
        while self.next_form_is("when") {
            self.form()?;
            branches.push((self.expr()?, self.rest(Parser::stmt)?));
        }
        Ok(Stmt::If { branches, other: self.otherwise()? })
    }

    fn switch(&mut self) -> Read<Stmt> {
        let subject = self.expr()?;
        let mut cases = Vec::new();
        while self.next_form_is("case") {
            self.form()?;
            self.open()?;
            let values = self.rest(Parser::expr)?;
            cases.push(SwitchCase { values, body: self.rest(Parser::stmt)? });
        }
        Ok(Stmt::Switch { subject, cases, other: self.otherwise()? })
    }

    fn put(&mut self) -> Read<Vec<PutPart>> {
        let mut parts = Vec::new();
        while !self.ends() {
            if self.peek() != Some(&Word::Open) {
                parts.push(PutPart::Text(self.name()?));
                continue;
            }
            parts.push(match self.form()? {
                "place" => {
                    let name = self.name()?;
                    PutPart::Place { place: self.place()?, name }
                }
                "value" => {
                    let value = self.expr()?;
                    let ty = if self.ends() { None } else { Some(self.type_ref()?) };
                    PutPart::Value { value, ty }
                }
                other => return self.error(format!("unknown part `{other}` of `put`")),
            });
            self.close()?;
        }
        Ok(parts)
    }
}
