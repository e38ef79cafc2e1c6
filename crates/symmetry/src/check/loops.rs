//! Whether the rounds of a loop can be done in any order.
//!
//! The body is read once, with the loop variable as a symbol, and subroutines are read in place of
//! their calls. What it touches outside itself is noted: which variable, which path, and how. Two
//! rounds commute if whatever one writes the other does not touch, because both select an element
//! by the loop variable in the same place, or if both change it in the same commutative way: both
//! add to it, both set it to the same value, both insert in a multiset.

use ergodic_ir::{
    Arg, BinaryOp, Expr, Iter, Local, LocalId, LocalKind, Place, Program, Root, Site, Step, Stmt,
    Type, TypeId,
};

/// Statements read before giving up.
const MAX_STMTS: usize = 100_000;

/// Things touched before giving up.
const MAX_ACCESSES: usize = 4_000;

/// Calls inside calls before giving up.
const MAX_CALLS: usize = 50;

/// The place of the first thing that is not known to commute.
type Verdict = Result<(), Option<Site>>;

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    Field(u32),
    /// The element that belongs to the loop variable.
    Loop,
    Const(i64),
    Any,
}

/// A variable that outlives a round.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Base {
    Global(u32),
    Local(u32),
    /// A by-reference parameter: can be part of anything that can hold it.
    Param(u32),
}

/// A place that outlives a round.
#[derive(Clone, Debug, PartialEq)]
struct Known {
    base: Base,
    /// Type of the base.
    ty: TypeId,
    path: Vec<Key>,
}

#[derive(Clone, Debug, PartialEq)]
enum How {
    Read,
    Write,
    /// By an operation that commutes with itself, by number.
    Accumulate(u8),
    /// To a value that is the same in every round.
    Same(String),
    /// Into a multiset.
    Insert,
    /// Out of a multiset, by a condition on elements.
    Filter,
}

#[derive(Debug)]
struct Access {
    what: Known,
    how: How,
    site: Option<Site>,
}

/// What is known about a local.
#[derive(Clone, Debug)]
enum Info {
    /// It lives as long as the loop.
    Outer,
    /// It lives as long as a round; whether it always has the value of the loop variable.
    Private { is_loop: bool },
    /// A bound value.
    Bound { is_loop: bool, varies: bool },
    /// A reference; `None` if to something that lives as long as a round.
    Ref(Option<Known>),
}

/// The locals of the loop, or of a subroutine that it calls.
struct Frame<'a> {
    locals: &'a [Local],
    info: Vec<Info>,
    /// Tells calls apart.
    number: usize,
}

/// The body of a loop.
pub(super) struct Body<'a> {
    program: &'a Program,
    frames: Vec<Frame<'a>>,
    calls: usize,
    stmts: usize,
    accesses: Vec<Access>,
    /// Results that the loop can be left with.
    returns: Vec<(String, Option<Site>)>,
    /// The multiset that a condition on elements is about.
    filtered: Option<Known>,
    /// Inside an assertion, whose reads do not count.
    asserting: bool,
    site: Option<Site>,
}

impl<'a> Body<'a> {
    /// The body of a loop over `var`, in code with these locals, after these references were bound.
    pub(super) fn new(
        program: &'a Program,
        locals: &'a [Local],
        binds: &[(LocalId, &'a Place)],
        var: LocalId,
    ) -> Body<'a> {
        let info = locals.iter().map(|local| match local.kind {
            LocalKind::Bound => Info::Bound { is_loop: false, varies: false },
            LocalKind::Storage | LocalKind::Ref => Info::Outer,
        });
        let frame = Frame { locals, info: info.collect(), number: 0 };
        let mut body = Body {
            program,
            frames: vec![frame],
            calls: 0,
            stmts: 0,
            accesses: Vec::new(),
            returns: Vec::new(),
            filtered: None,
            asserting: false,
            site: None,
        };
        for (local, place) in binds {
            let known = body.resolve(place);
            body.set(*local, Info::Ref(known));
        }
        body.set(var, Info::Bound { is_loop: true, varies: true });
        body
    }

    /// Whether the rounds commute.
    pub(super) fn run(mut self, body: &'a [Stmt]) -> Verdict {
        self.stmts(body)?;
        let writes = || self.accesses.iter().filter(|access| access.how != How::Read);
        for write in writes() {
            if self.accesses.iter().any(|other| !self.commute(write, other)) {
                return Err(write.site);
            }
        }
        match self.returns.as_slice() {
            [] => Ok(()),
            [(first, site), rest @ ..] => {
                let same = rest.iter().all(|(other, _)| other == first);
                if same && writes().next().is_none() { Ok(()) } else { Err(*site) }
            }
        }
    }

    /// Whether two things that are done in different rounds can change places.
    fn commute(&self, a: &Access, b: &Access) -> bool {
        let alike = match (&a.how, &b.how) {
            (How::Read | How::Write, _) | (_, How::Read | How::Write) => false,
            (x, y) => x == y,
        };
        alike || !self.overlap(&a.what, &b.what)
    }

    fn overlap(&self, a: &Known, b: &Known) -> bool {
        let param = |known: &Known| matches!(known.base, Base::Param(_));
        if a.base != b.base && !param(a) && !param(b) {
            return false;
        }
        // A parameter can be any part of something that can hold it, or just that.
        if a.base != b.base && a.ty != b.ty {
            return self.holds(a.ty, b.ty) || self.holds(b.ty, a.ty);
        }
        !a.path.iter().zip(&b.path).any(|pair| match pair {
            (Key::Field(x), Key::Field(y)) => x != y,
            (Key::Const(x), Key::Const(y)) => x != y,
            (Key::Loop, Key::Loop) => true,
            _ => false,
        })
    }

    /// Whether a type is or holds another.
    fn holds(&self, outer: TypeId, inner: TypeId) -> bool {
        outer == inner
            || match &self.program.types[outer.0 as usize] {
                Type::Record { fields, .. } => fields.iter().any(|f| self.holds(f.ty, inner)),
                Type::Array { elem, .. } | Type::Multiset { elem, .. } => self.holds(*elem, inner),
                _ => false,
            }
    }

    fn frame(&self) -> &Frame<'a> {
        &self.frames[self.frames.len() - 1]
    }

    fn info(&self, local: LocalId) -> &Info {
        &self.frame().info[local.0 as usize]
    }

    fn set(&mut self, local: LocalId, info: Info) {
        if let Some(frame) = self.frames.last_mut() {
            frame.info[local.0 as usize] = info;
        }
    }

    /// What a place is; `None` if it lives as long as a round.
    fn resolve(&self, place: &Place) -> Option<Known> {
        let mut known = match place.root {
            Root::Global(id) => {
                let ty = self.program.globals[id.0 as usize].ty;
                Known { base: Base::Global(id.0), ty, path: Vec::new() }
            }
            Root::Local(id) => {
                let local = &self.frame().locals[id.0 as usize];
                let base = match local.kind {
                    LocalKind::Ref => Base::Param(id.0),
                    _ => Base::Local(id.0),
                };
                match self.info(id) {
                    Info::Outer => Known { base, ty: local.ty, path: Vec::new() },
                    Info::Ref(Some(known)) => known.clone(),
                    Info::Ref(None) | Info::Private { .. } | Info::Bound { .. } => return None,
                }
            }
        };
        known.path.extend(place.path.iter().map(|step| self.key(step)));
        Some(known)
    }

    fn key(&self, step: &Step) -> Key {
        match step {
            Step::Field(field) => Key::Field(*field),
            Step::Index { index: expr, .. } | Step::Slot { slot: expr, .. } => match expr {
                expr if self.is_loop(expr) => Key::Loop,
                Expr::Int(code) => Key::Const(*code),
                _ => Key::Any,
            },
        }
    }

    /// Whether an expression is the loop variable.
    fn is_loop(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Bound(local) => matches!(self.info(*local), Info::Bound { is_loop: true, .. }),
            Expr::Read { place, .. } => self.is_loop_place(place),
            _ => false,
        }
    }

    /// Whether a place is a local that always has the value of the loop variable.
    fn is_loop_place(&self, place: &Place) -> bool {
        match place.root {
            Root::Local(local) if place.path.is_empty() => {
                matches!(self.info(local), Info::Private { is_loop: true })
            }
            _ => false,
        }
    }

    /// Whether an expression has the same value in every round, if the variables that it reads have.
    fn is_same(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Int(_) | Expr::Real(_) => true,
            Expr::Bound(local) => matches!(self.info(*local), Info::Bound { varies: false, .. }),
            Expr::Read { place, .. } => self.is_same_place(place),
            Expr::Unary { arg, .. } => self.is_same(arg),
            Expr::Binary { left, right, .. } => self.is_same(left) && self.is_same(right),
            _ => false,
        }
    }

    fn is_same_place(&self, place: &Place) -> bool {
        let fixed = |key: &Key| !matches!(key, Key::Loop | Key::Any);
        let steps = place.path.iter().all(|step| match step {
            Step::Field(_) => true,
            Step::Index { index: expr, .. } | Step::Slot { slot: expr, .. } => self.is_same(expr),
        });
        let root = match place.root {
            Root::Global(_) => true,
            Root::Local(local) => match self.info(local) {
                Info::Outer => true,
                Info::Ref(Some(known)) => known.path.iter().all(fixed),
                _ => false,
            },
        };
        root && steps
    }

    fn indices(&mut self, place: &'a Place) -> Verdict {
        for step in &place.path {
            if let Step::Index { index: expr, .. } | Step::Slot { slot: expr, .. } = step {
                self.expr(expr)?;
            }
        }
        Ok(())
    }

    /// A place that is written or referred to must not be taken for the loop variable.
    fn keep_loop(&self, place: &Place) -> Verdict {
        match place.root {
            Root::Local(local) if matches!(self.info(local), Info::Private { is_loop: true }) => {
                Err(self.site)
            }
            _ => Ok(()),
        }
    }

    /// A place that a reference is bound to.
    fn refer(&mut self, place: &'a Place) -> Result<Option<Known>, Option<Site>> {
        self.indices(place)?;
        self.keep_loop(place)?;
        Ok(self.resolve(place))
    }

    fn touch(&mut self, place: &'a Place, how: How) -> Verdict {
        self.indices(place)?;
        if how != How::Read {
            self.keep_loop(place)?;
        }
        let Some(what) = self.resolve(place) else { return Ok(()) };
        self.touch_known(what, how)
    }

    fn touch_known(&mut self, what: Known, how: How) -> Verdict {
        let in_filter = |set: &Known| set.base == what.base && what.path.starts_with(&set.path);
        let ignored = self.asserting || self.filtered.as_ref().is_some_and(in_filter);
        if how == How::Read && ignored {
            return Ok(());
        }
        if self.accesses.len() >= MAX_ACCESSES {
            return Err(self.site);
        }
        self.accesses.push(Access { what, how, site: self.site });
        Ok(())
    }

    fn exprs(&mut self, list: impl IntoIterator<Item = &'a Expr>) -> Verdict {
        list.into_iter().try_for_each(|expr| self.expr(expr))
    }

    fn expr(&mut self, expr: &'a Expr) -> Verdict {
        match expr {
            Expr::Int(_) | Expr::Real(_) | Expr::Bound(_) => Ok(()),
            Expr::Read { place, .. } | Expr::IsUndefined(place) => self.touch(place, How::Read),
            Expr::Unary { arg, .. } | Expr::IsMember { value: arg, .. } => self.expr(arg),
            Expr::Binary { left, right, .. } => self.exprs([&**left, &**right]),
            Expr::And(list) | Expr::Or(list) => self.exprs(list),
            Expr::If { cond, then, other } => self.exprs([&**cond, &**then, &**other]),
            Expr::Same { left, right, .. } => {
                self.touch(left, How::Read)?;
                self.touch(right, How::Read)
            }
            Expr::Quantified { var, over, body, .. } => {
                self.iter(*var, over)?;
                self.expr(body)
            }
            Expr::Count { set, var, body } => {
                self.touch(set, How::Read)?;
                self.set(*var, Info::Bound { is_loop: false, varies: true });
                self.expr(body)
            }
            Expr::Call { proc, args, .. } => self.call(proc.0 as usize, args),
            Expr::Block { body, value } => {
                self.stmts(body)?;
                self.expr(value)
            }
        }
    }

    fn iter(&mut self, var: LocalId, over: &'a Iter) -> Verdict {
        match over {
            Iter::Type(_) => {}
            Iter::Range { from, to, step, .. } => self.exprs([from, to, step])?,
            Iter::Slots(set) => self.touch(set, How::Read)?,
        }
        self.set(var, Info::Bound { is_loop: false, varies: true });
        Ok(())
    }

    fn call(&mut self, id: usize, args: &'a [Arg]) -> Verdict {
        let proc = &self.program.procs[id];
        if self.frames.len() > MAX_CALLS {
            return Err(self.site);
        }
        let info = proc.locals.iter().map(|local| match local.kind {
            LocalKind::Bound => Info::Bound { is_loop: false, varies: true },
            LocalKind::Storage | LocalKind::Ref => Info::Private { is_loop: false },
        });
        let mut info: Vec<Info> = info.collect();
        for (i, arg) in args.iter().enumerate() {
            match arg {
                Arg::Value { value, .. } => {
                    self.expr(value)?;
                    info[i] = Info::Private { is_loop: self.is_loop(value) };
                }
                Arg::Copy { from, .. } => {
                    self.touch(from, How::Read)?;
                    info[i] = Info::Private { is_loop: self.is_loop_place(from) };
                }
                Arg::Ref(place) => info[i] = Info::Ref(self.refer(place)?),
            }
        }
        self.calls += 1;
        self.frames.push(Frame { locals: &proc.locals, info, number: self.calls });
        let result = self.stmts(&proc.body);
        self.frames.pop();
        result
    }

    fn stmts(&mut self, stmts: &'a [Stmt]) -> Verdict {
        stmts.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    fn stmt(&mut self, stmt: &'a Stmt) -> Verdict {
        self.stmts += 1;
        if self.stmts > MAX_STMTS {
            return Err(self.site);
        }
        match stmt {
            Stmt::Assign { to, value, site } => {
                self.site = Some(*site);
                self.assign(to, value)
            }
            Stmt::Copy { to, from, site } => {
                self.site = Some(*site);
                self.touch(from, How::Read)?;
                let same = self.is_same_place(from);
                let how = if same { How::Same(self.text(from)) } else { How::Write };
                self.touch(to, how)
            }
            Stmt::Undefine(place) => self.touch(place, How::Same("undefined".to_string())),
            Stmt::Clear(place) => self.touch(place, How::Same("clear".to_string())),
            Stmt::Bind { local, place } => {
                let known = self.refer(place)?;
                self.set(*local, Info::Ref(known));
                Ok(())
            }
            Stmt::Let { local, value } => {
                self.expr(value)?;
                let (is_loop, varies) = (self.is_loop(value), !self.is_same(value));
                self.set(*local, Info::Bound { is_loop, varies });
                Ok(())
            }
            Stmt::Fresh(local) => self.fresh(*local),
            Stmt::Put(_) => Ok(()),
            Stmt::Error { site } => {
                self.site = Some(*site);
                Ok(())
            }
            Stmt::Call { proc, args, site } => {
                self.site = Some(*site);
                self.call(proc.0 as usize, args)
            }
            Stmt::Return { value, site } => self.leave(value.as_ref(), *site),
            Stmt::Assert { cond, .. } => {
                let before = std::mem::replace(&mut self.asserting, true);
                let result = self.expr(cond);
                self.asserting = before;
                result
            }
            Stmt::Assume { cond } | Stmt::Cover { cond, .. } => self.expr(cond),
            _ => self.compound(stmt),
        }
    }

    /// A variable that is declared in the body is new in every round.
    fn fresh(&mut self, local: LocalId) -> Verdict {
        let used = |access: &Access| access.what.base == Base::Local(local.0);
        if self.frames.len() == 1 && self.accesses.iter().any(used) {
            return Err(self.site);
        }
        self.set(local, Info::Private { is_loop: false });
        Ok(())
    }

    /// The statements about multisets, and those that hold statements.
    fn compound(&mut self, stmt: &'a Stmt) -> Verdict {
        match stmt {
            Stmt::Add { set, from, site } => {
                self.site = Some(*site);
                self.touch(from, How::Read)?;
                self.touch(set, How::Insert)
            }
            Stmt::AddValue { set, value, site } => {
                self.site = Some(*site);
                self.expr(value)?;
                self.touch(set, How::Insert)
            }
            Stmt::Remove { set, slot, site } => {
                self.site = Some(*site);
                self.expr(slot)?;
                let Some(mut what) = self.resolve(set) else { return Ok(()) };
                what.path.push(if self.is_loop(slot) { Key::Loop } else { Key::Any });
                self.touch_known(what, How::Write)
            }
            Stmt::RemoveWhere { set, var, cond } => {
                self.touch(set, How::Filter)?;
                self.set(*var, Info::Bound { is_loop: false, varies: true });
                let known = self.resolve(set);
                let before = std::mem::replace(&mut self.filtered, known);
                let result = self.expr(cond);
                self.filtered = before;
                result
            }
            Stmt::If { branches, other } => {
                for (cond, body) in branches {
                    self.expr(cond)?;
                    self.stmts(body)?;
                }
                self.stmts(other)
            }
            Stmt::Switch { subject, cases, other } => {
                self.expr(subject)?;
                for case in cases {
                    self.exprs(&case.values)?;
                    self.stmts(&case.body)?;
                }
                self.stmts(other)
            }
            Stmt::For { var, over, body } => {
                self.iter(*var, over)?;
                self.stmts(body)
            }
            Stmt::While { cond, body, .. } => {
                self.expr(cond)?;
                self.stmts(body)
            }
            _ => Ok(()),
        }
    }

    /// Leaves the loop, or only a subroutine that it calls.
    fn leave(&mut self, value: Option<&'a Expr>, site: Site) -> Verdict {
        self.exprs(value)?;
        if self.frames.len() > 1 {
            return Ok(());
        }
        match value {
            Some(value) if !self.is_same(value) => Err(Some(site)),
            _ => {
                self.returns.push((self.text(&value), Some(site)));
                Ok(())
            }
        }
    }

    fn assign(&mut self, to: &'a Place, value: &'a Expr) -> Verdict {
        if let Some((operation, rest)) = accumulation(to, value) {
            let before = self.accesses.len();
            self.exprs(rest)?;
            // The rest may be left out, depending on what the place holds.
            let silent = self.accesses[before..].iter().all(|access| access.how == How::Read);
            if matches!(value, Expr::And(_) | Expr::Or(_)) && !silent {
                return Err(self.site);
            }
            return self.touch(to, How::Accumulate(operation));
        }
        self.expr(value)?;
        let how = match value {
            Expr::Int(_) | Expr::Real(_) => How::Same(format!("{value:?}")),
            _ if self.is_same(value) => How::Same(self.text(value)),
            _ => How::Write,
        };
        self.touch(to, how)
    }

    /// Code as text, so that equal texts are equal values.
    fn text(&self, code: &impl std::fmt::Debug) -> String {
        format!("{}: {code:?}", self.frame().number)
    }
}

/// If a place is set to itself combined with something else in a way that commutes: the number of
/// the operation, and the something else.
fn accumulation<'a>(to: &Place, value: &'a Expr) -> Option<(u8, Vec<&'a Expr>)> {
    let is_old = |expr: &Expr| matches!(expr, Expr::Read { place, .. } if same_place(place, to));
    match value {
        Expr::Binary { op, left, right, .. } => {
            let number = match op {
                BinaryOp::Add | BinaryOp::Sub => 1,
                BinaryOp::Mul => 2,
                BinaryOp::BitAnd => 3,
                BinaryOp::BitOr => 4,
                BinaryOp::BitXor => 5,
                _ => return None,
            };
            if is_old(left) {
                Some((number, vec![&**right]))
            } else if is_old(right) && *op != BinaryOp::Sub {
                Some((number, vec![&**left]))
            } else {
                None
            }
        }
        Expr::And(list) | Expr::Or(list) => {
            let number = if matches!(value, Expr::And(_)) { 3 } else { 4 };
            let old = list.iter().position(is_old)?;
            let rest = list.iter().enumerate().filter(|(i, _)| *i != old);
            Some((number, rest.map(|(_, expr)| expr).collect()))
        }
        _ => None,
    }
}

/// Whether two places are written alike.
fn same_place(a: &Place, b: &Place) -> bool {
    let same_step = |(a, b): (&Step, &Step)| match (a, b) {
        (Step::Field(x), Step::Field(y)) => x == y,
        (Step::Index { index: x, .. }, Step::Index { index: y, .. })
        | (Step::Slot { slot: x, .. }, Step::Slot { slot: y, .. }) => same_expr(x, y),
        _ => false,
    };
    a.root == b.root && a.path.len() == b.path.len() && a.path.iter().zip(&b.path).all(same_step)
}

fn same_expr(a: &Expr, b: &Expr) -> bool {
    match (a, b) {
        (Expr::Int(x), Expr::Int(y)) => x == y,
        (Expr::Bound(x), Expr::Bound(y)) => x == y,
        (Expr::Read { place: x, .. }, Expr::Read { place: y, .. }) => same_place(x, y),
        _ => false,
    }
}
