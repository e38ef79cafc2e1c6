//! The walk over all code that finds breaks of symmetry.

use super::loops::Body;
use super::{BreakReason, Part, Sets, SymmetryBreak};
use ergodic_ir::{
    Action, Arg, BinaryOp, Domain, Expr, Facts, Iter, Local, LocalId, Place, Program, Root, Site,
    Step, Stmt, Type, TypeId,
};

/// Looks at all parts of a program.
pub(super) fn program(program: &Program, sets: &Sets<'_>) -> Vec<SymmetryBreak> {
    let facts = Facts::new(program);
    let mut walk = Walk {
        program,
        sets,
        facts: &facts,
        part: Part::Proc(0),
        locals: &[],
        result: None,
        site: None,
        binds: Vec::new(),
        slots: Vec::new(),
        found: Vec::new(),
    };
    for (i, proc) in program.procs.iter().enumerate() {
        walk.enter(Part::Proc(i), &proc.locals, proc.result);
        walk.stmts(&proc.body);
    }
    for (i, start) in program.starts.iter().enumerate() {
        walk.action(Part::Start(i), start);
    }
    for (i, action) in program.actions.iter().enumerate() {
        walk.action(Part::Action(i), action);
    }
    for (i, property) in program.properties.iter().enumerate() {
        walk.enter(Part::Property(i), &property.locals, None);
        property.expr.iter().for_each(|expr| walk.expr(expr));
    }
    walk.found
}

struct Walk<'a> {
    program: &'a Program,
    sets: &'a Sets<'a>,
    facts: &'a Facts,
    part: Part,
    locals: &'a [Local],
    result: Option<TypeId>,
    /// The last site passed.
    site: Option<Site>,
    /// What references were bound to, in order.
    binds: Vec<(LocalId, &'a Place)>,
    /// Locals that hold slot numbers, with the scalarsets that decide their order.
    slots: Vec<(LocalId, Vec<usize>)>,
    found: Vec<SymmetryBreak>,
}

impl<'a> Walk<'a> {
    fn enter(&mut self, part: Part, locals: &'a [Local], result: Option<TypeId>) {
        (self.part, self.locals, self.result, self.site) = (part, locals, result, None);
        self.binds.clear();
        self.slots.clear();
    }

    fn report(&mut self, sets: &[usize], reason: BreakReason) {
        for set in sets {
            let ty = self.sets.list[*set].0;
            if self.found.iter().all(|found| found.ty != ty) {
                let (part, site) = (self.part, self.site);
                self.found.push(SymmetryBreak { ty, part, site, reason });
            }
        }
    }

    fn action(&mut self, part: Part, action: &'a Action) {
        self.enter(part, &action.locals, None);
        for param in &action.params {
            match &param.over {
                Domain::Type(_) => {}
                Domain::Range { .. } => self.counted(param.local),
                Domain::Slots(set) => self.slot_variable(param.local, set),
            }
        }
        self.stmts(&action.prelude);
        action.guard.iter().for_each(|expr| self.expr(expr));
        self.stmts(&action.body);
    }

    fn local_type(&self, local: LocalId) -> TypeId {
        self.locals[local.0 as usize].ty
    }

    /// A variable that runs through a range.
    fn counted(&mut self, var: LocalId) {
        let sets = self.sets.members(self.local_type(var));
        self.report(&sets, BreakReason::Range);
    }

    fn slot_variable(&mut self, var: LocalId, set: &'a Place) {
        self.place(set);
        let sets = match &self.program.types[set.ty.0 as usize] {
            Type::Multiset { elem, .. } => self.sets.inside(*elem),
            _ => Vec::new(),
        };
        self.slots.retain(|(local, _)| *local != var);
        self.slots.push((var, sets));
    }

    /// The scalarsets that an expression can have values of.
    fn sets_of(&self, expr: &Expr) -> Vec<usize> {
        match expr {
            Expr::Bound(local) => self.sets.members(self.local_type(*local)),
            Expr::Read { place, .. } => self.sets.members(place.ty),
            Expr::Call { proc, .. } => {
                let result = self.program.procs[proc.0 as usize].result;
                result.map_or_else(Vec::new, |ty| self.sets.members(ty))
            }
            Expr::If { then, other, .. } => {
                let mut sets = self.sets_of(then);
                sets.extend(self.sets_of(other));
                sets
            }
            Expr::Block { value, .. } => self.sets_of(value),
            _ => Vec::new(),
        }
    }

    /// The scalarsets of a list of which an expression can be a constant.
    fn constants(&self, expr: &Expr, sets: &[usize]) -> Vec<usize> {
        match expr {
            Expr::Int(code) => {
                sets.iter().copied().filter(|set| self.sets.holds(*set, *code)).collect()
            }
            Expr::If { then, other, .. } => {
                let mut found = self.constants(then, sets);
                found.extend(self.constants(other, sets));
                found
            }
            Expr::Block { value, .. } => self.constants(value, sets),
            _ => Vec::new(),
        }
    }

    /// A value that comes to a place of a type.
    fn flows(&mut self, value: &'a Expr, ty: TypeId) {
        self.expr(value);
        let constants = self.constants(value, &self.sets.members(ty));
        self.report(&constants, BreakReason::Constant);
        self.leaks(self.sets_of(value), ty);
    }

    /// Values of scalarsets that come to a type: they must not turn into something else.
    fn leaks(&mut self, mut sets: Vec<usize>, ty: TypeId) {
        sets.retain(|set| self.sets.cuts(ty, *set));
        self.report(&sets, BreakReason::Arithmetic);
    }

    /// Two values that are compared for equality.
    fn compared(&mut self, left: &Expr, right: &Expr) {
        let mut constants = self.constants(left, &self.sets_of(right));
        constants.extend(self.constants(right, &self.sets_of(left)));
        self.report(&constants, BreakReason::Constant);
    }

    /// A place, with the indices on its way.
    fn place(&mut self, place: &'a Place) {
        let mut ty = match place.root {
            Root::Global(id) => self.program.globals[id.0 as usize].ty,
            Root::Local(id) => self.local_type(id),
        };
        for step in &place.path {
            ty = match (step, &self.program.types[ty.0 as usize]) {
                (Step::Field(field), Type::Record { fields, .. }) => fields[*field as usize].ty,
                (Step::Index { index, site }, Type::Array { index: over, elem }) => {
                    self.flows(index, *over);
                    self.site = Some(*site);
                    *elem
                }
                (Step::Slot { slot, .. }, Type::Multiset { elem, .. }) => {
                    self.slot(slot);
                    *elem
                }
                _ => return,
            };
        }
    }

    /// A slot number in its proper place.
    fn slot(&mut self, slot: &'a Expr) {
        if !matches!(slot, Expr::Bound(_)) {
            self.expr(slot);
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match expr {
            Expr::Int(_) | Expr::Real(_) => {}
            Expr::Bound(local) => {
                if let Some((_, sets)) = self.slots.iter().find(|(slot, _)| slot == local) {
                    self.report(&sets.clone(), BreakReason::SlotNumber);
                }
            }
            Expr::Read { place, site } => {
                self.place(place);
                self.site = Some(*site);
            }
            Expr::Unary { arg, .. } => {
                self.expr(arg);
                self.report(&self.sets_of(arg), BreakReason::Arithmetic);
            }
            Expr::Binary { op, left, right, site } => self.binary(*op, left, right, *site),
            Expr::And(list) | Expr::Or(list) => list.iter().for_each(|expr| self.expr(expr)),
            Expr::If { cond, then, other } => {
                [cond, then, other].into_iter().for_each(|expr| self.expr(expr));
            }
            Expr::IsUndefined(place) => self.place(place),
            Expr::IsMember { value, ty } => {
                self.expr(value);
                let mut sets = self.sets_of(value);
                sets.retain(|set| self.sets.cuts(*ty, *set));
                self.report(&sets, BreakReason::Constant);
            }
            Expr::Same { left, right, .. } => {
                self.place(left);
                self.place(right);
            }
            Expr::Quantified { var, over, body, .. } => {
                let sets = self.iter(*var, over);
                self.pure(&sets, body);
                self.expr(body);
            }
            Expr::Count { set, var, body } => {
                self.slot_variable(*var, set);
                self.pure_slots(*var, body);
                self.expr(body);
            }
            Expr::Call { proc, args, .. } => self.call(proc.0 as usize, args),
            Expr::Block { body, value } => {
                self.stmts(body);
                self.expr(value);
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &'a Expr, right: &'a Expr, site: Site) {
        let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        let slot = |expr: &Expr| matches!(expr, Expr::Bound(local) if self.slots.iter().any(|(slot, _)| slot == local));
        if equality && slot(left) && slot(right) {
            return;
        }
        self.expr(left);
        self.expr(right);
        self.site = Some(site);
        if equality {
            self.compared(left, right);
        } else {
            let mut sets = self.sets_of(left);
            sets.extend(self.sets_of(right));
            self.report(&sets, BreakReason::Arithmetic);
        }
    }

    /// What a variable runs over; gives the scalarsets whose order is that of the run.
    fn iter(&mut self, var: LocalId, over: &'a Iter) -> Vec<usize> {
        match over {
            Iter::Type(ty) => self.sets.members(*ty),
            Iter::Range { from, to, step, .. } => {
                [from, to, step].into_iter().for_each(|expr| self.expr(expr));
                self.counted(var);
                Vec::new()
            }
            Iter::Slots(set) => {
                self.slot_variable(var, set);
                self.slots.last().map_or_else(Vec::new, |(_, sets)| sets.clone())
            }
        }
    }

    /// A condition that is asked in the order of scalarsets must change nothing.
    fn pure(&mut self, sets: &[usize], body: &Expr) {
        if !sets.is_empty() {
            let effects = self.facts.expr(self.program, self.locals, body);
            if !effects.writes.is_empty() || !effects.writes_params.is_empty() {
                self.report(sets, BreakReason::SideEffect);
            }
        }
    }

    fn pure_slots(&mut self, var: LocalId, body: &Expr) {
        let sets = self.slots.iter().find(|(slot, _)| *slot == var);
        let sets = sets.map_or_else(Vec::new, |(_, sets)| sets.clone());
        self.pure(&sets, body);
    }

    fn call(&mut self, proc: usize, args: &'a [Arg]) {
        let locals = &self.program.procs[proc].locals;
        for (arg, local) in args.iter().zip(locals) {
            match arg {
                Arg::Value { value, site } => {
                    self.flows(value, local.ty);
                    self.site = Some(*site);
                }
                Arg::Copy { from, .. } => {
                    self.place(from);
                    self.leaks(self.sets.members(from.ty), local.ty);
                }
                Arg::Ref(place) => self.place(place),
            }
        }
    }

    fn stmts(&mut self, stmts: &'a [Stmt]) {
        stmts.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::Assign { to, value, site } => {
                self.site = Some(*site);
                self.flows(value, to.ty);
                self.place(to);
            }
            Stmt::Copy { to, from, site } => {
                self.site = Some(*site);
                self.place(from);
                self.place(to);
                self.leaks(self.sets.members(from.ty), to.ty);
            }
            Stmt::Undefine(place) => self.place(place),
            Stmt::Clear(place) => {
                self.place(place);
                self.report(&self.sets.cleared(place.ty), BreakReason::Clear);
            }
            Stmt::Bind { local, place } => {
                self.place(place);
                self.binds.push((*local, place));
            }
            Stmt::Let { local, value } => self.flows(value, self.local_type(*local)),
            Stmt::Fresh(_) => {}
            Stmt::Call { proc, args, site } => {
                self.site = Some(*site);
                self.call(proc.0 as usize, args);
            }
            Stmt::Return { value, site } => {
                self.site = Some(*site);
                match (value, self.result) {
                    (Some(value), Some(ty)) => self.flows(value, ty),
                    (value, _) => value.iter().for_each(|value| self.expr(value)),
                }
            }
            Stmt::Assert { cond, site } => {
                self.site = Some(*site);
                self.expr(cond);
            }
            Stmt::Assume { cond } | Stmt::Cover { cond, .. } => self.expr(cond),
            Stmt::Error { site } => self.site = Some(*site),
            // What is printed is no part of any state.
            Stmt::Put(_) => {}
            Stmt::Add { set, from, .. } => {
                self.place(from);
                self.place(set);
            }
            Stmt::AddValue { set, value, site } => {
                self.site = Some(*site);
                match &self.program.types[set.ty.0 as usize] {
                    Type::Multiset { elem, .. } => self.flows(value, *elem),
                    _ => self.expr(value),
                }
                self.place(set);
            }
            Stmt::Remove { set, slot, .. } => {
                self.slot(slot);
                self.place(set);
            }
            Stmt::RemoveWhere { set, var, cond } => {
                self.slot_variable(*var, set);
                self.pure_slots(*var, cond);
                self.expr(cond);
            }
            Stmt::If { .. } | Stmt::Switch { .. } | Stmt::For { .. } | Stmt::While { .. } => {
                self.control(stmt);
            }
        }
    }

    /// The statements that hold statements.
    fn control(&mut self, stmt: &'a Stmt) {
        match stmt {
            Stmt::If { branches, other } => {
                for (cond, body) in branches {
                    self.expr(cond);
                    self.stmts(body);
                }
                self.stmts(other);
            }
            Stmt::Switch { subject, cases, other } => {
                self.expr(subject);
                for case in cases {
                    for value in &case.values {
                        self.expr(value);
                        self.compared(subject, value);
                    }
                    self.stmts(&case.body);
                }
                self.stmts(other);
            }
            Stmt::For { var, over, body } => {
                let sets = self.iter(*var, over);
                if !sets.is_empty() {
                    let order = Body::new(self.program, self.locals, &self.binds, *var).run(body);
                    if let Err(site) = order {
                        self.site = site.or(self.site);
                        self.report(&sets, BreakReason::Order);
                    }
                }
                self.stmts(body);
            }
            Stmt::While { cond, body, site } => {
                self.site = Some(*site);
                self.expr(cond);
                self.stmts(body);
            }
            _ => {}
        }
    }
}
