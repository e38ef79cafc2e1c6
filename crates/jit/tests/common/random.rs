//! Random well-formed programs that use every kind of type, place, expression and statement.

use super::rng::Rng;
use super::types::{is_compound, is_multiset, is_real, is_scalar, types};
use ergodic_ir::*;

const BOOL: TypeId = TypeId(0);
const SMALL: TypeId = TypeId(1);
const NODE: TypeId = TypeId(5);
const ANY: TypeId = TypeId(6);

struct Gen {
    rng: Rng,
    p: Program,
    /// Locals of the function being made.
    locals: Vec<Local>,
    /// Those in scope.
    scope: Vec<LocalId>,
    /// No statements that write state variables, no calls.
    pure: bool,
    /// In a property or guard: no returns.
    returns: Option<Option<TypeId>>,
}

/// A random program.
pub fn program(seed: u64) -> Program {
    let p = Program { types: types(), loop_limit: 6, call_limit: 4, ..Program::default() };
    let mut g =
        Gen { rng: Rng::new(seed), p, locals: vec![], scope: vec![], pure: false, returns: None };
    g.whole();
    let mut p = g.p;
    let facts = Facts::new(&p);
    for (i, action) in p.actions.iter_mut().enumerate() {
        action.impure_guard = !facts.guards[i].writes.is_empty();
    }
    for (i, property) in p.properties.iter_mut().enumerate() {
        property.impure = !facts.properties[i].writes.is_empty();
    }
    p
}

impl Gen {
    fn whole(&mut self) {
        let count = 4 + self.rng.below(6);
        for i in 0..count {
            let ty = TypeId(self.rng.below(self.p.types.len()) as u32);
            let span = Default::default();
            self.p.globals.push(Global { name: format!("g{i}"), ty, span });
        }
        let kinds = [
            PropertyKind::Invariant,
            PropertyKind::Cover,
            PropertyKind::Assumption,
            PropertyKind::Liveness,
            PropertyKind::Cover,
        ];
        for kind in kinds {
            let span = Default::default();
            let expr = Some(Expr::Int(1));
            let (name, locals) = (String::new(), vec![]);
            self.p.properties.push(Property { kind, name, span, locals, expr, impure: false });
        }
        // Signatures first, so that subroutines can call each other.
        for i in 0..3 {
            let n = self.rng.below(3);
            let mut params = Vec::new();
            let mut locals = Vec::new();
            for j in 0..n {
                let by_ref = self.rng.chance(50);
                let ty = if by_ref {
                    let global = self.rng.below(self.p.globals.len());
                    self.p.globals[global].ty
                } else {
                    TypeId(self.rng.below(9) as u32)
                };
                params.push(if by_ref { Pass::Ref } else { Pass::Value });
                let kind = if by_ref { LocalKind::Ref } else { LocalKind::Storage };
                locals.push(Local { name: format!("p{j}"), ty, kind });
            }
            let result = (i < 2).then(|| TypeId(self.rng.below(9) as u32));
            let (name, span, end) = (format!("proc{i}"), Default::default(), self.site());
            self.p.procs.push(Proc { name, span, params, result, locals, body: vec![], end });
        }
        for i in 0..3 {
            self.locals = self.p.procs[i].locals.clone();
            self.scope = (0..self.locals.len() as u32).map(LocalId).collect();
            self.storage();
            self.returns = Some(self.p.procs[i].result);
            let mut body = self.stmts(2, 3);
            if let Some(ty) = self.p.procs[i].result
                && self.rng.chance(90)
            {
                let value = Some(self.value_of(ty, 2));
                body.push(Stmt::Return { value, site: self.site() });
            }
            self.p.procs[i].body = body;
            self.p.procs[i].locals = std::mem::take(&mut self.locals);
        }
        for i in 0..6 {
            let mut start = self.action(true);
            if i > 0 {
                // A state that is made without faults.
                start.params.clear();
                start.prelude.clear();
                let clear = |stmt: &Stmt| matches!(stmt, Stmt::Clear(Place { root: Root::Global(_), path, .. }) if path.is_empty());
                start.body.retain(clear);
                let more = self.harmless();
                start.body.extend(more);
            }
            self.p.starts.push(start);
        }
        for _ in 0..2 + self.rng.below(4) {
            let action = self.action(false);
            self.p.actions.push(action);
        }
        for i in 0..self.p.properties.len() {
            self.locals = vec![];
            self.scope = vec![];
            self.storage();
            self.pure = self.rng.chance(80);
            self.returns = None;
            let kind = self.p.properties[i].kind;
            let usual = if kind == PropertyKind::Assumption { 70 } else { 20 };
            let expr = if self.rng.chance(usual) { Expr::Int(1) } else { self.cond(3) };
            self.pure = false;
            self.p.properties[i].expr = Some(expr);
            self.p.properties[i].locals = std::mem::take(&mut self.locals);
        }
    }

    /// Statements that fill state variables and do not fault.
    fn harmless(&mut self) -> Vec<Stmt> {
        let fine = |place: &Place| {
            let fine = |step: &Step| match step {
                Step::Field(_) => true,
                Step::Index { index, .. } => {
                    matches!(index, Expr::Int(code) if (0..=2).contains(code) || (100..=202).contains(code))
                }
                Step::Slot { .. } => false,
            };
            matches!(place.root, Root::Global(_)) && place.path.iter().all(fine)
        };
        self.scope.clear();
        let mut out = Vec::new();
        for _ in 0..25 {
            let site = self.site();
            if self.rng.chance(30) {
                let Some(set) = self.place(is_multiset, 0).filter(fine) else { continue };
                let Type::Multiset { capacity, elem } = *self.ty(set.ty) else { continue };
                let stmt = if is_compound(self.ty(elem)) {
                    let Some(from) = self.place_of(elem).filter(fine) else { continue };
                    Stmt::Add { set: set.clone(), from, site }
                } else {
                    Stmt::AddValue { set: set.clone(), value: self.constant(elem), site }
                };
                let (all, var) = (Expr::Int(1), LocalId(0));
                let count = Expr::Count { set: Box::new(set), var, body: Box::new(all) };
                let (left, right) = (Box::new(count), Box::new(Expr::Int(i64::from(capacity))));
                let room = Expr::Binary { op: BinaryOp::Lt, left, right, site };
                out.push(Stmt::If { branches: vec![(room, vec![stmt])], other: vec![] });
                continue;
            }
            let Some(to) = self.place(|ty| !is_compound(ty), 0).filter(fine) else { continue };
            out.push(if self.rng.chance(80) {
                let value = self.constant(to.ty);
                Stmt::Assign { to, value, site }
            } else {
                Stmt::Undefine(to)
            });
        }
        out
    }

    fn site(&mut self) -> Site {
        self.p.sites.push(SiteInfo { span: Default::default(), text: String::new() });
        Site(self.p.sites.len() as u32 - 1)
    }

    fn local(&mut self, ty: TypeId, kind: LocalKind) -> LocalId {
        let name = format!("l{}", self.locals.len());
        self.locals.push(Local { name, ty, kind });
        LocalId(self.locals.len() as u32 - 1)
    }

    /// A few storage locals.
    fn storage(&mut self) {
        for _ in 0..self.rng.below(4) {
            let ty = TypeId(self.rng.below(self.p.types.len()) as u32);
            let local = self.local(ty, LocalKind::Storage);
            self.scope.push(local);
        }
    }

    fn ty(&self, id: TypeId) -> &Type {
        &self.p.types[id.0 as usize]
    }

    fn action(&mut self, initial: bool) -> Action {
        self.locals = vec![Local { name: "n".to_string(), ty: SMALL, kind: LocalKind::Bound }];
        self.scope = vec![];
        self.returns = None;
        let mut params = Vec::new();
        for _ in 0..self.rng.below(3) {
            let (ty, over) = match self.rng.below(5) {
                0 => (NODE, Domain::Type(NODE)),
                1 => (ANY, Domain::Type(ANY)),
                2 => {
                    let (from, to) = (self.rng.below(9) as i64 - 4, self.rng.below(9) as i64 - 4);
                    let step = *self.rng.pick(&[1, 2, -1, -3]);
                    (SMALL, Domain::Range { from, to, step })
                }
                _ => {
                    self.pure = true;
                    let bound: Vec<LocalId> = self.scope.clone();
                    let place = self.place(is_multiset, 1);
                    self.pure = false;
                    let plain = |place: &Place| {
                        let mut fine = matches!(place.root, Root::Global(_));
                        for step in &place.path {
                            let expr = match step {
                                Step::Field(_) => continue,
                                Step::Index { index, .. } => index,
                                Step::Slot { slot, .. } => slot,
                            };
                            fine &= match expr {
                                Expr::Int(_) => true,
                                Expr::Bound(local) => bound.contains(local),
                                _ => false,
                            };
                        }
                        fine
                    };
                    match place {
                        Some(place) if plain(&place) => (SMALL, Domain::Slots(place)),
                        _ => (SMALL, Domain::Type(SMALL)),
                    }
                }
            };
            let local = self.local(ty, LocalKind::Bound);
            self.scope.push(local);
            params.push(Param { local, over });
        }
        self.storage();
        self.pure = self.rng.chance(85);
        let mut prelude = Vec::new();
        for _ in 0..self.rng.below(3) {
            if let Some(stmt) = self.binding(2) {
                prelude.push(stmt);
            }
        }
        let mut guard = Vec::new();
        if !initial {
            for _ in 0..self.rng.below(4) {
                guard.push(self.cond(2));
            }
        }
        self.pure = false;
        self.returns = Some(None);
        let mut body = Vec::new();
        if initial {
            for i in 0..self.p.globals.len() {
                let (root, ty) = (Root::Global(GlobalId(i as u32)), self.p.globals[i].ty);
                if self.rng.chance(90) {
                    body.push(Stmt::Clear(Place { root, path: vec![], ty }));
                }
            }
        }
        let most = 1 + self.rng.below(4);
        body.extend(self.stmts(3, most));
        self.returns = None;
        Action {
            name: String::new(),
            span: Default::default(),
            params,
            locals: std::mem::take(&mut self.locals),
            prelude,
            guard,
            body,
            priority: self.rng.below(2) as i64,
            impure_guard: false,
        }
    }

    fn place(&mut self, wanted: fn(&Type) -> bool, depth: usize) -> Option<Place> {
        for _ in 0..30 {
            let places: Vec<LocalId> = self
                .scope
                .iter()
                .copied()
                .filter(|id| self.locals[id.0 as usize].kind != LocalKind::Bound)
                .collect();
            let (root, mut ty) = if !places.is_empty() && self.rng.chance(40) {
                let id = *self.rng.pick(&places);
                (Root::Local(id), self.locals[id.0 as usize].ty)
            } else {
                let i = self.rng.below(self.p.globals.len());
                (Root::Global(GlobalId(i as u32)), self.p.globals[i].ty)
            };
            let mut path = Vec::new();
            loop {
                if wanted(self.ty(ty)) && self.rng.chance(70) {
                    return Some(Place { root, path, ty });
                }
                match self.ty(ty).clone() {
                    Type::Record { fields, .. } => {
                        let field = self.rng.below(fields.len());
                        path.push(Step::Field(field as u32));
                        ty = fields[field].ty;
                    }
                    Type::Array { index, elem } => {
                        let index = self.index(index, depth);
                        path.push(Step::Index { index, site: self.site() });
                        ty = elem;
                    }
                    Type::Multiset { capacity, elem } => {
                        let slot = if self.rng.chance(80) {
                            Expr::Int(self.rng.below(capacity as usize + 1) as i64)
                        } else {
                            self.int(depth.saturating_sub(1))
                        };
                        path.push(Step::Slot { slot, site: self.site() });
                        ty = elem;
                    }
                    _ => break,
                }
            }
        }
        None
    }

    /// Mostly a good index.
    fn index(&mut self, ty: TypeId, depth: usize) -> Expr {
        let fits = |local: &LocalId| {
            let local = &self.locals[local.0 as usize];
            local.kind == LocalKind::Bound && local.ty == ty
        };
        let good: Vec<LocalId> = self.scope.iter().copied().filter(fits).collect();
        if !good.is_empty() && self.rng.chance(60) {
            return Expr::Bound(*self.rng.pick(&good));
        }
        if self.rng.chance(90) { self.constant(ty) } else { self.int(depth.saturating_sub(1)) }
    }

    fn constant(&mut self, ty: TypeId) -> Expr {
        match self.ty(ty).clone() {
            Type::Scalar(scalar) => {
                let most = scalar.count().min(1 << 40) as usize;
                Expr::Int(scalar.code(self.rng.below(most) as u64).unwrap_or(0))
            }
            _ => Expr::Real(*self.rng.pick(&[0.0, 1.0, -2.5, 0.125, 1e9, 123_456.789, 1e29])),
        }
    }

    /// A value that often fits a type.
    fn value_of(&mut self, ty: TypeId, depth: usize) -> Expr {
        if self.rng.chance(60) {
            return self.constant(ty);
        }
        if is_real(self.ty(ty)) { self.real(depth) } else { self.int(depth) }
    }

    fn cond(&mut self, depth: usize) -> Expr {
        match self.rng.below(8) {
            0 => self.int(depth),
            1 => Expr::Int(1),
            2 | 3 => {
                let op = *self.rng.pick(&[BinaryOp::Eq, BinaryOp::Ne, BinaryOp::Lt, BinaryOp::Le]);
                self.binary(op, depth)
            }
            4 => Expr::And(
                (0..self.rng.below(4)).map(|_| self.cond(depth.saturating_sub(1))).collect(),
            ),
            5 => Expr::Or(
                (0..self.rng.below(4)).map(|_| self.cond(depth.saturating_sub(1))).collect(),
            ),
            6 => {
                let arg = Box::new(self.cond(depth.saturating_sub(1)));
                Expr::Unary { op: UnaryOp::Not, arg, site: self.site() }
            }
            _ => self.question(depth.saturating_sub(1)),
        }
    }

    fn binary(&mut self, op: BinaryOp, depth: usize) -> Expr {
        let depth = depth.saturating_sub(1);
        let left = self.int(depth);
        let right = match op {
            BinaryOp::Shl | BinaryOp::Shr if self.rng.chance(80) => {
                Expr::Int(self.rng.below(66) as i64)
            }
            _ => self.int(depth),
        };
        Expr::Binary { op, left: Box::new(left), right: Box::new(right), site: self.site() }
    }

    fn question(&mut self, depth: usize) -> Expr {
        match self.rng.below(6) {
            0 => match self.place(|_| true, depth) {
                Some(place) => Expr::IsUndefined(Box::new(place)),
                None => Expr::Int(0),
            },
            1 => {
                let value = Box::new(self.int(depth));
                Expr::IsMember { value, ty: TypeId(self.rng.below(7) as u32) }
            }
            2 => {
                let Some(left) = self.place(is_compound, depth) else { return Expr::Int(1) };
                for _ in 0..10 {
                    if let Some(right) = self.place(is_compound, depth)
                        && right.ty == left.ty
                    {
                        let (left, right) = (Box::new(left), Box::new(right));
                        return Expr::Same { left, right, site: self.site() };
                    }
                }
                let right = Box::new(left.clone());
                Expr::Same { left: Box::new(left), right, site: self.site() }
            }
            3 | 4 => {
                let (ty, over) = self.iter(depth);
                let var = self.local(ty, LocalKind::Bound);
                self.scope.push(var);
                let body = Box::new(self.cond(depth));
                self.scope.pop();
                Expr::Quantified { all: self.rng.chance(50), var, over: Box::new(over), body }
            }
            _ => match self.place(is_multiset, depth) {
                Some(set) => {
                    let var = self.local(SMALL, LocalKind::Bound);
                    self.scope.push(var);
                    let body = Box::new(self.cond(depth));
                    self.scope.pop();
                    Expr::Count { set: Box::new(set), var, body }
                }
                None => Expr::Int(0),
            },
        }
    }

    fn iter(&mut self, depth: usize) -> (TypeId, Iter) {
        match self.rng.below(4) {
            0 => (NODE, Iter::Type(NODE)),
            1 => (ANY, Iter::Type(ANY)),
            2 => match self.place(is_multiset, depth) {
                Some(place) => (SMALL, Iter::Slots(place)),
                None => (BOOL, Iter::Type(BOOL)),
            },
            _ => {
                let from = Expr::Int(self.rng.below(9) as i64 - 4);
                let to = Expr::Int(self.rng.below(9) as i64 - 4);
                let step = match self.rng.below(8) {
                    0 => self.int(0),
                    1 => Expr::Int(-1),
                    2 => Expr::Int(0),
                    3 => Expr::Int(2),
                    _ => Expr::Int(1),
                };
                (SMALL, Iter::Range { from, to, step, site: self.site() })
            }
        }
    }

    fn bound(&mut self, real: bool) -> Option<Expr> {
        let fits = |id: &LocalId| {
            let local = &self.locals[id.0 as usize];
            local.kind == LocalKind::Bound && is_real(self.ty(local.ty)) == real
        };
        let all: Vec<LocalId> = self.scope.iter().copied().filter(fits).collect();
        (!all.is_empty()).then(|| Expr::Bound(*self.rng.pick(&all)))
    }

    fn int(&mut self, depth: usize) -> Expr {
        let leaf = depth == 0 || self.rng.chance(30);
        if leaf {
            if self.rng.chance(30)
                && let Some(bound) = self.bound(false)
            {
                return bound;
            }
            if self.rng.chance(60)
                && let Some(place) = self.place(is_scalar, 0)
            {
                return Expr::Read { place: Box::new(place), site: self.site() };
            }
            let edges = [0, 1, 2, -1, 7, 100, 101, 200, 202, 1 << 40, i64::MAX, i64::MIN];
            return Expr::Int(if self.rng.chance(85) {
                *self.rng.pick(&edges[..9])
            } else {
                *self.rng.pick(&edges)
            });
        }
        match self.rng.below(12) {
            0 => {
                let op = *self.rng.pick(&[UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot]);
                let arg = Box::new(self.int(depth - 1));
                Expr::Unary { op, arg, site: self.site() }
            }
            1..=4 => {
                let ops = [
                    BinaryOp::Add,
                    BinaryOp::Sub,
                    BinaryOp::Mul,
                    BinaryOp::Div,
                    BinaryOp::Rem,
                    BinaryOp::BitAnd,
                    BinaryOp::BitOr,
                    BinaryOp::BitXor,
                    BinaryOp::Shl,
                    BinaryOp::Shr,
                ];
                let op = *self.rng.pick(&ops);
                self.binary(op, depth)
            }
            5 => {
                let ops = [BinaryOp::RealEq, BinaryOp::RealNe, BinaryOp::RealLt, BinaryOp::RealLe];
                let op = *self.rng.pick(&ops);
                let (left, right) =
                    (Box::new(self.real(depth - 1)), Box::new(self.real(depth - 1)));
                Expr::Binary { op, left, right, site: self.site() }
            }
            6 => {
                let arg = Box::new(self.real(depth - 1));
                Expr::Unary { op: UnaryOp::Truncate, arg, site: self.site() }
            }
            7 => {
                let cond = Box::new(self.cond(depth - 1));
                let (then, other) = (Box::new(self.int(depth - 1)), Box::new(self.int(depth - 1)));
                Expr::If { cond, then, other }
            }
            8 => self.call_for(false, depth).unwrap_or(Expr::Int(3)),
            9 => {
                let outside = self.returns.take();
                let mark = self.scope.len();
                let body = self.stmts(depth - 1, 2);
                let value = Box::new(self.int(depth - 1));
                self.scope.truncate(mark);
                self.returns = outside;
                Expr::Block { body, value }
            }
            10 => self.question(depth - 1),
            _ => self.cond(depth - 1),
        }
    }

    fn real(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.rng.chance(30) {
            if self.rng.chance(30)
                && let Some(bound) = self.bound(true)
            {
                return bound;
            }
            if self.rng.chance(70)
                && let Some(place) = self.place(is_real, 0)
            {
                return Expr::Read { place: Box::new(place), site: self.site() };
            }
            return self.constant(TypeId(7));
        }
        match self.rng.below(4) {
            0 => {
                let ops = [
                    UnaryOp::RealNeg,
                    UnaryOp::Sqrt,
                    UnaryOp::Sin,
                    UnaryOp::Exp,
                    UnaryOp::Log,
                    UnaryOp::RealAbs,
                    UnaryOp::Floor,
                    UnaryOp::Ceil,
                ];
                let (op, arg) = (*self.rng.pick(&ops), Box::new(self.real(depth - 1)));
                Expr::Unary { op, arg, site: self.site() }
            }
            1 => {
                let arg = Box::new(self.int(depth - 1));
                Expr::Unary { op: UnaryOp::ToReal, arg, site: self.site() }
            }
            2 => self.call_for(true, depth).unwrap_or(Expr::Real(1.5)),
            _ => {
                let ops = [
                    BinaryOp::RealAdd,
                    BinaryOp::RealSub,
                    BinaryOp::RealMul,
                    BinaryOp::RealDiv,
                    BinaryOp::RealRem,
                    BinaryOp::RealPow,
                ];
                let op = *self.rng.pick(&ops);
                let (left, right) =
                    (Box::new(self.real(depth - 1)), Box::new(self.real(depth - 1)));
                Expr::Binary { op, left, right, site: self.site() }
            }
        }
    }

    fn call_for(&mut self, real: bool, depth: usize) -> Option<Expr> {
        if self.pure && self.rng.chance(70) {
            return None;
        }
        let proc = self.rng.below(2);
        let result = self.p.procs[proc].result?;
        if is_real(self.ty(result)) != real {
            return None;
        }
        let args = self.args(proc, depth)?;
        Some(Expr::Call { proc: ProcId(proc as u32), args, site: self.site() })
    }

    fn args(&mut self, proc: usize, depth: usize) -> Option<Vec<Arg>> {
        let (params, locals) =
            (self.p.procs[proc].params.clone(), self.p.procs[proc].locals.clone());
        let mut args = Vec::new();
        for (pass, local) in params.iter().zip(&locals) {
            args.push(match pass {
                Pass::Value if self.rng.chance(40) => {
                    let wanted = if is_real(self.ty(local.ty)) { is_real } else { is_scalar };
                    let from = self.place(wanted, 0)?;
                    Arg::Copy { from, site: self.site() }
                }
                Pass::Value => {
                    let value = self.value_of(local.ty, depth.saturating_sub(1));
                    Arg::Value { value, site: self.site() }
                }
                Pass::Ref => Arg::Ref(self.place_of(local.ty)?),
            });
        }
        Some(args)
    }

    /// A place of exactly this type.
    fn place_of(&mut self, ty: TypeId) -> Option<Place> {
        for _ in 0..20 {
            let wanted: fn(&Type) -> bool = match self.ty(ty) {
                Type::Scalar(_) => is_scalar,
                Type::Real { .. } => is_real,
                Type::Multiset { .. } => is_multiset,
                _ => is_compound,
            };
            if let Some(place) = self.place(wanted, 0)
                && place.ty == ty
            {
                return Some(place);
            }
        }
        None
    }

    fn stmts(&mut self, depth: usize, most: usize) -> Vec<Stmt> {
        let mark = self.scope.len();
        let count = self.rng.below(most + 1);
        let stmts = (0..count).filter_map(|_| self.stmt(depth)).collect();
        self.scope.truncate(mark);
        stmts
    }

    /// A Bind or Let; its local stays in scope.
    fn binding(&mut self, depth: usize) -> Option<Stmt> {
        if self.rng.chance(50) {
            let place = self.place(|_| true, depth)?;
            let again = self.scope.iter().copied().find(|id| {
                let local = &self.locals[id.0 as usize];
                local.kind == LocalKind::Ref && local.ty == place.ty
            });
            let local = match again {
                Some(local) if self.rng.chance(60) => local,
                _ => self.local(place.ty, LocalKind::Ref),
            };
            self.scope.push(local);
            return Some(Stmt::Bind { local, place });
        }
        let ty = *self.rng.pick(&[SMALL, SMALL, NODE, TypeId(7)]);
        let value = self.value_of(ty, depth);
        let local = self.local(ty, LocalKind::Bound);
        self.scope.push(local);
        Some(Stmt::Let { local, value })
    }

    fn stmt(&mut self, depth: usize) -> Option<Stmt> {
        let deep = depth > 0;
        let less = depth.saturating_sub(1);
        let choice = self.rng.below(if self.pure { 8 } else { 22 });
        Some(match choice {
            0 => self.binding(less)?,
            1 if deep => {
                let branches = (0..1 + self.rng.below(2))
                    .map(|_| (self.cond(less), self.stmts(less, 2)))
                    .collect();
                Stmt::If { branches, other: self.stmts(less, 2) }
            }
            2 if deep => {
                let (ty, over) = self.iter(less);
                let var = self.local(ty, LocalKind::Bound);
                self.scope.push(var);
                let body = self.stmts(less, 2);
                self.scope.pop();
                Stmt::For { var, over, body }
            }
            3 if deep && self.rng.chance(50) => {
                Stmt::While { cond: self.cond(less), body: self.stmts(less, 2), site: self.site() }
            }
            4 if self.rng.chance(30) => {
                let cond = self.cond(less);
                match self.rng.below(3) {
                    0 => Stmt::Assert { cond, site: self.site() },
                    1 => Stmt::Assume { cond },
                    _ => Stmt::Cover { cond, property: *self.rng.pick(&[1, 4]) },
                }
            }
            5 => {
                let text = PutPart::Text(String::new());
                let value = PutPart::Value { value: self.int(less), ty: None };
                let place = self.place(|_| true, less)?;
                Stmt::Put(vec![text, value, PutPart::Place { place, name: String::new() }])
            }
            6 if deep => {
                let subject = self.int(less);
                let mut used = Vec::new();
                let mut cases = Vec::new();
                for _ in 0..self.rng.below(5) {
                    let values = (0..1 + self.rng.below(2))
                        .map(|_| {
                            let value = self.rng.below(9) as i64 - 1;
                            if self.rng.chance(90) && !used.contains(&value) {
                                used.push(value);
                                Expr::Int(value)
                            } else {
                                Expr::Int(100 + used.len() as i64)
                            }
                        })
                        .collect();
                    cases.push(SwitchCase { values, body: self.stmts(less, 2) });
                }
                Stmt::Switch { subject, cases, other: self.stmts(less, 1) }
            }
            7 => {
                let storage = self.scope.iter().copied();
                let mut storage =
                    storage.filter(|id| self.locals[id.0 as usize].kind == LocalKind::Storage);
                Stmt::Fresh(storage.next()?)
            }
            8 if self.rng.chance(10) => Stmt::Error { site: self.site() },
            9 => {
                let proc = self.rng.below(3);
                let args = self.args(proc, less)?;
                Stmt::Call { proc: ProcId(proc as u32), args, site: self.site() }
            }
            10 if self.rng.chance(20) => match self.returns? {
                None => Stmt::Return { value: None, site: self.site() },
                Some(ty) => {
                    let value = Some(self.value_of(ty, less));
                    Stmt::Return { value, site: self.site() }
                }
            },
            11 => Stmt::Undefine(self.place(|_| true, less)?),
            12 => Stmt::Clear(self.place(|_| true, less)?),
            13 => {
                let from = self.place(|_| true, less)?;
                let to = match self.ty(from.ty) {
                    Type::Scalar(_) => self.place(is_scalar, less)?,
                    Type::Real { .. } => self.place(is_real, less)?,
                    _ => self.place_of(from.ty)?,
                };
                Stmt::Copy { to, from, site: self.site() }
            }
            14 | 15 => {
                let set = self.place(is_multiset, less)?;
                let Type::Multiset { elem, .. } = *self.ty(set.ty) else { return None };
                let site = self.site();
                if is_compound(self.ty(elem)) {
                    Stmt::Add { set, from: self.place_of(elem)?, site }
                } else if is_scalar(self.ty(elem)) && self.rng.chance(40) {
                    Stmt::Add { set, from: self.place(is_scalar, less)?, site }
                } else {
                    Stmt::AddValue { set, value: self.value_of(elem, less), site }
                }
            }
            16 => {
                let set = self.place(is_multiset, less)?;
                let slot = Expr::Int(self.rng.below(3) as i64);
                Stmt::Remove { set, slot, site: self.site() }
            }
            17 => {
                let set = self.place(is_multiset, less)?;
                let var = self.local(SMALL, LocalKind::Bound);
                self.scope.push(var);
                let cond = self.cond(less);
                self.scope.pop();
                Stmt::RemoveWhere { set, var, cond }
            }
            _ => {
                let to = self.place(|ty| !is_compound(ty), less)?;
                let value = self.value_of(to.ty, depth);
                Stmt::Assign { to, value, site: self.site() }
            }
        })
    }
}
