//! What has to be known about a program before code is generated: which locals need memory, which
//! values bound locals can have, what may fault, what is written, who calls whom.

use crate::range::Range;
use crate::walk::{Code, Node, walk_expr, walk_place, walk_stmts};
use ergodic_ir::{
    Action, Arg, Domain, Expr, GlobalId, Iter, Local, LocalId, LocalKind, Pass, Place, ProcId,
    Program, Root, ScalarType, Step, Stmt, Type, TypeId, range_len,
};
use std::collections::BTreeSet;

/// A scalar type of a program.
pub(crate) fn scalar(program: &Program, ty: TypeId) -> Option<&ScalarType> {
    match program.types.get(ty.0 as usize) {
        Some(Type::Scalar(scalar)) => Some(scalar),
        _ => None,
    }
}

/// Capacity of a multiset type.
pub(crate) fn capacity(program: &Program, ty: TypeId) -> Option<u32> {
    match program.types.get(ty.0 as usize) {
        Some(Type::Multiset { capacity, .. }) => Some(*capacity),
        _ => None,
    }
}

/// What is known about a bound local.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub range: Range,
    /// A scalar type that has all its values.
    pub ty: Option<TypeId>,
}

impl Known {
    const NOTHING: Known = Known { range: Range::FULL, ty: None };
}

/// Facts about the locals of one function.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// Storage that is referred to and so needs an address.
    pub addressed: Vec<bool>,
    /// References and bound locals that are bound in more than one place.
    pub rebound: Vec<bool>,
    /// Values of bound locals.
    pub known: Vec<Known>,
}

impl Uses {
    pub(crate) fn new(program: &Program, locals: &[Local], code: Code<'_>) -> Uses {
        let n = locals.len();
        let mut binds = vec![0u32; n];
        let mut addressed = vec![false; n];
        let mut uses =
            Uses { addressed: Vec::new(), rebound: vec![false; n], known: vec![Known::NOTHING; n] };
        let mut sites = vec![0u32; n];
        let mut give = |uses: &mut Uses, local: LocalId, known: Known| {
            let i = local.0 as usize;
            sites[i] += 1;
            uses.known[i] = if sites[i] == 1 { known } else { Known::NOTHING };
        };
        if let Code::Action(action) = code {
            for param in &action.params {
                give(&mut uses, param.local, domain_known(program, &param.over));
            }
        }
        if let Code::Proc(proc) = code {
            for (i, pass) in proc.params.iter().enumerate() {
                binds[i] += u32::from(*pass == Pass::Ref);
            }
        }
        let mut refer = |place: &Place| {
            if let Root::Local(id) = place.root {
                addressed[id.0 as usize] |= locals[id.0 as usize].kind == LocalKind::Storage;
            }
        };
        code.walk(&mut |node| match node {
            Node::Expr(Expr::Quantified { var, over, .. }) => {
                let known = uses.iter_known(program, over);
                give(&mut uses, *var, known);
            }
            Node::Expr(Expr::Count { set, var, .. }) => {
                give(&mut uses, *var, slots_known(program, set.ty));
            }
            Node::Stmt(Stmt::RemoveWhere { set, var, .. }) => {
                give(&mut uses, *var, slots_known(program, set.ty));
            }
            Node::Stmt(Stmt::For { var, over, .. }) => {
                let known = uses.iter_known(program, over);
                give(&mut uses, *var, known);
            }
            Node::Stmt(Stmt::Let { local, value }) => {
                let known = Known { range: uses.range(program, value), ty: None };
                give(&mut uses, *local, known);
            }
            Node::Stmt(Stmt::Bind { local, place }) => {
                binds[local.0 as usize] += 1;
                refer(place);
            }
            Node::Arg(Arg::Ref(place)) => refer(place),
            _ => {}
        });
        uses.addressed = addressed;
        uses.rebound = binds.iter().zip(&sites).map(|(a, b)| *a > 1 || *b > 1).collect();
        uses
    }

    fn iter_known(&self, program: &Program, over: &Iter) -> Known {
        match over {
            Iter::Type(ty) => Known { range: type_range(program, *ty), ty: Some(*ty) },
            Iter::Range { from, to, .. } => {
                let range = self.range(program, from).hull(self.range(program, to));
                Known { range, ty: None }
            }
            Iter::Slots(place) => slots_known(program, place.ty),
        }
    }

    /// An interval that holds all values of an expression.
    pub(crate) fn range(&self, program: &Program, expr: &Expr) -> Range {
        match expr {
            Expr::Int(value) => Range::one(*value),
            Expr::Bound(local) => self.known[local.0 as usize].range,
            Expr::Read { place, .. } => type_range(program, place.ty),
            Expr::Unary { op, arg, .. } => Range::unary(*op, self.range(program, arg)).0,
            Expr::Binary { op, left, right, .. } => {
                Range::binary(*op, self.range(program, left), self.range(program, right)).0
            }
            Expr::And(_)
            | Expr::Or(_)
            | Expr::IsUndefined(_)
            | Expr::IsMember { .. }
            | Expr::Same { .. }
            | Expr::Quantified { .. } => Range::TRUTH,
            Expr::If { then, other, .. } => {
                self.range(program, then).hull(self.range(program, other))
            }
            Expr::Count { set, .. } => {
                Range { lo: 0, hi: i64::from(capacity(program, set.ty).unwrap_or(u32::MAX)) }
            }
            Expr::Call { proc, .. } => match program.procs[proc.0 as usize].result {
                Some(ty) => type_range(program, ty),
                None => Range::FULL,
            },
            Expr::Real(_) | Expr::Block { .. } => Range::FULL,
        }
    }

    /// Whether evaluating a place can fault (conservatively).
    pub(crate) fn place_faults(&self, program: &Program, locals: &[Local], place: &Place) -> bool {
        let mut ty = match place.root {
            Root::Global(id) => program.globals[id.0 as usize].ty,
            Root::Local(id) => locals[id.0 as usize].ty,
        };
        for step in &place.path {
            match (step, &program.types[ty.0 as usize]) {
                (Step::Field(field), Type::Record { fields, .. }) => {
                    ty = fields[*field as usize].ty;
                }
                (Step::Index { index, .. }, Type::Array { index: over, elem }) => {
                    let fits = scalar(program, *over).is_some_and(|over_ty| {
                        let same = match index {
                            Expr::Bound(local) => self.known[local.0 as usize].ty == Some(*over),
                            _ => false,
                        };
                        same || self.range(program, index).fits(over_ty)
                    });
                    if !fits || self.faults(program, locals, index) {
                        return true;
                    }
                    ty = *elem;
                }
                _ => return true,
            }
        }
        false
    }

    /// Whether evaluating an expression can fault or have another effect (conservatively).
    pub(crate) fn faults(&self, program: &Program, locals: &[Local], expr: &Expr) -> bool {
        let faults = |e: &Expr| self.faults(program, locals, e);
        match expr {
            Expr::Int(_) | Expr::Real(_) | Expr::Bound(_) => false,
            Expr::Read { place, .. } => {
                scalar(program, place.ty).is_none_or(|scalar| scalar.undefinable)
                    || self.place_faults(program, locals, place)
            }
            Expr::Unary { op, arg, .. } => {
                faults(arg) || Range::unary(*op, self.range(program, arg)).1
            }
            Expr::Binary { op, left, right, .. } => {
                let ranges = (self.range(program, left), self.range(program, right));
                faults(left) || faults(right) || Range::binary(*op, ranges.0, ranges.1).1
            }
            Expr::And(parts) | Expr::Or(parts) => parts.iter().any(faults),
            Expr::If { cond, then, other } => faults(cond) || faults(then) || faults(other),
            Expr::IsUndefined(place) => self.place_faults(program, locals, place),
            Expr::IsMember { value, .. } => faults(value),
            Expr::Quantified { over, body, .. } => {
                let over = match &**over {
                    Iter::Type(_) => false,
                    Iter::Range { from, to, step, .. } => {
                        faults(from)
                            || faults(to)
                            || faults(step)
                            || self.range(program, step).has(0)
                    }
                    Iter::Slots(place) => self.place_faults(program, locals, place),
                };
                over || faults(body)
            }
            Expr::Count { set, body, .. } => {
                self.place_faults(program, locals, set) || faults(body)
            }
            Expr::Same { .. } | Expr::Call { .. } | Expr::Block { .. } => true,
        }
    }
}

/// All codes of a type lie in this interval.
pub(crate) fn type_range(program: &Program, ty: TypeId) -> Range {
    scalar(program, ty).map_or(Range::FULL, Range::of)
}

fn slots_known(program: &Program, ty: TypeId) -> Known {
    let hi = i64::from(capacity(program, ty).unwrap_or(u32::MAX)) - 1;
    Known { range: Range { lo: 0, hi: hi.max(0) }, ty: None }
}

fn domain_known(program: &Program, domain: &Domain) -> Known {
    match domain {
        Domain::Type(ty) => Known { range: type_range(program, *ty), ty: Some(*ty) },
        Domain::Range { from, to, step } => {
            let last = range_len(*from, *to, *step).saturating_sub(1) as i64;
            let last = from.wrapping_add(step.wrapping_mul(last));
            Known { range: Range::one(*from).hull(Range::one(last)), ty: None }
        }
        Domain::Slots(place) => slots_known(program, place.ty),
    }
}

/// Facts about all subroutines.
#[derive(Debug, Default)]
pub(crate) struct Procs {
    /// State variables that a call may write, by-reference arguments apart.
    proc_writes: Vec<BTreeSet<GlobalId>>,
    /// By-reference parameters that a call may write.
    writes_params: Vec<BTreeSet<usize>>,
    /// Whether a call can count a goal or drop the successor.
    pub effects: Vec<bool>,
    /// Calls that can be nested, counted from an action; `None` if subroutines recur.
    pub nesting: Option<u32>,
}

/// What is written: state variables, and by-reference parameters of the subroutine.
#[derive(Default)]
struct Written {
    globals: BTreeSet<GlobalId>,
    params: BTreeSet<usize>,
}

impl Procs {
    pub(crate) fn new(program: &Program) -> Procs {
        let n = program.procs.len();
        let mut procs = Procs {
            proc_writes: vec![BTreeSet::new(); n],
            writes_params: vec![BTreeSet::new(); n],
            effects: vec![false; n],
            nesting: None,
        };
        loop {
            let mut changed = false;
            for (i, proc) in program.procs.iter().enumerate() {
                let written = procs.written(Code::Proc(proc));
                changed |= written.globals.len() > procs.proc_writes[i].len();
                changed |= written.params.len() > procs.writes_params[i].len();
                procs.proc_writes[i] = written.globals;
                procs.writes_params[i] = written.params;
                let effect = procs.has_effect(|f| walk_stmts(&proc.body, f));
                changed |= effect != procs.effects[i];
                procs.effects[i] = effect;
            }
            if !changed {
                break;
            }
        }
        procs.nesting = nesting(program);
        procs
    }

    /// State variables that a call may write, by-reference arguments apart.
    pub(crate) fn globals_written(&self, id: ProcId) -> &BTreeSet<GlobalId> {
        &self.proc_writes[id.0 as usize]
    }

    /// By-reference parameters that a call may write.
    pub(crate) fn params_written(&self, id: ProcId) -> &BTreeSet<usize> {
        &self.writes_params[id.0 as usize]
    }

    /// Whether a piece of code can count a goal or drop the successor.
    pub(crate) fn has_effect<'a>(&self, walk: impl FnOnce(&mut dyn FnMut(Node<'a>))) -> bool {
        let mut effect = false;
        walk(&mut |node| {
            effect |= match node {
                Node::Stmt(Stmt::Cover { .. } | Stmt::Assume { .. }) => true,
                Node::Stmt(Stmt::Call { proc, .. }) | Node::Expr(Expr::Call { proc, .. }) => {
                    self.effects[proc.0 as usize]
                }
                _ => false,
            };
        });
        effect
    }

    /// Whether evaluating a place can do more than fault: write, count a goal, drop the successor.
    /// Calls that write by reference and statements are taken to do so.
    pub(crate) fn may_do_something(&self, place: &Place) -> bool {
        let mut something = false;
        walk_place(place, &mut |node| {
            something |= match node {
                Node::Stmt(_) => true,
                Node::Expr(Expr::Call { proc, .. }) => {
                    let callee = proc.0 as usize;
                    self.effects[callee]
                        || !self.proc_writes[callee].is_empty()
                        || !self.writes_params[callee].is_empty()
                }
                _ => false,
            };
        });
        something
    }

    /// State variables that a piece of code may write.
    pub(crate) fn writes(&self, code: Code<'_>) -> BTreeSet<GlobalId> {
        self.written(code).globals
    }

    /// Whether prelude or guard may write. Source states are constant memory, so this is not taken
    /// from the program on trust.
    pub(crate) fn impure_guard(&self, action: &Action) -> bool {
        action.impure_guard || !self.writes(Code::Guard(action)).is_empty()
    }

    fn written(&self, code: Code<'_>) -> Written {
        // References by what they are bound to.
        let mut roots: Vec<(LocalId, Root)> = Vec::new();
        code.walk(&mut |node| {
            if let Node::Stmt(Stmt::Bind { local, place }) = node {
                roots.push((*local, place.root));
            }
        });
        let params: &[Pass] = match code {
            Code::Proc(proc) => &proc.params,
            _ => &[],
        };
        let mut written = Written::default();
        let mut write = |place: &Place| {
            let mut todo = vec![place.root];
            let mut seen = BTreeSet::new();
            while let Some(root) = todo.pop() {
                match root {
                    Root::Global(id) => {
                        written.globals.insert(id);
                    }
                    Root::Local(id) => {
                        if seen.insert(id) {
                            if params.get(id.0 as usize) == Some(&Pass::Ref) {
                                written.params.insert(id.0 as usize);
                            }
                            todo.extend(roots.iter().filter(|r| r.0 == id).map(|r| r.1));
                        }
                    }
                }
            }
        };
        let mut calls = Vec::new();
        code.walk(&mut |node| match node {
            Node::Stmt(
                Stmt::Assign { to, .. }
                | Stmt::Copy { to, .. }
                | Stmt::Undefine(to)
                | Stmt::Clear(to),
            ) => write(to),
            Node::Stmt(
                Stmt::Add { set, .. }
                | Stmt::AddValue { set, .. }
                | Stmt::Remove { set, .. }
                | Stmt::RemoveWhere { set, .. },
            ) => write(set),
            Node::Stmt(Stmt::Call { proc, args, .. })
            | Node::Expr(Expr::Call { proc, args, .. }) => {
                let callee = proc.0 as usize;
                for (i, arg) in args.iter().enumerate() {
                    if let Arg::Ref(place) = arg
                        && self.writes_params[callee].contains(&i)
                    {
                        write(place);
                    }
                }
                calls.push(callee);
            }
            _ => {}
        });
        for callee in calls {
            written.globals.extend(self.proc_writes[callee].iter().copied());
        }
        written
    }
}

/// Deepest nesting of calls from outside; `None` if there is recursion.
fn nesting(program: &Program) -> Option<u32> {
    let callees: Vec<BTreeSet<usize>> = program
        .procs
        .iter()
        .map(|proc| {
            let mut set = BTreeSet::new();
            walk_stmts(&proc.body, &mut |node| match node {
                Node::Stmt(Stmt::Call { proc, .. }) | Node::Expr(Expr::Call { proc, .. }) => {
                    set.insert(proc.0 as usize);
                }
                _ => {}
            });
            set
        })
        .collect();
    // Longest chains by relaxation: more rounds than subroutines mean a cycle.
    let mut depth = vec![1u32; callees.len()];
    for _ in 0..=callees.len() {
        let mut changed = false;
        for i in 0..callees.len() {
            let below = callees[i].iter().map(|c| depth[*c] + 1).max().unwrap_or(1);
            changed |= below > depth[i];
            depth[i] = depth[i].max(below);
        }
        if !changed {
            return Some(depth.into_iter().max().unwrap_or(0));
        }
    }
    None
}

/// One thing to do before an action fires, and the number of parameters that must be known before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hoisted<'a> {
    pub item: Item<'a>,
    pub depth: usize,
}

/// A binding of the prelude or a conjunct of the guard.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item<'a> {
    Bind(&'a Stmt),
    Test(&'a Expr),
}

/// Finds the outermost parameter loop for each part of prelude and guard.
///
/// Instances behave as if each evaluated slots, prelude and guard on its own and in order. So a part
/// that cannot fault may move before others that cannot fault; a part that can may only move where
/// everything before it has been decided, and never out of a loop over slots, which may be empty.
pub(crate) fn hoist<'a>(
    program: &Program,
    procs: &Procs,
    uses: &Uses,
    action: &'a Action,
) -> Vec<Hoisted<'a>> {
    let innermost = action.params.len();
    let impure = procs.impure_guard(action);
    let mut depths = vec![0usize; action.locals.len()];
    let mut last_slots = 0; // depth inside the last loop over slots
    let mut faulty_slots = 0; // depth inside the last loop whose place can fault
    for (i, param) in action.params.iter().enumerate() {
        depths[param.local.0 as usize] = i + 1;
        if let Domain::Slots(place) = &param.over {
            last_slots = i + 1;
            if uses.place_faults(program, &action.locals, place) {
                faulty_slots = i + 1;
            }
        }
    }
    let mut out: Vec<Hoisted<'a>> = Vec::new();
    let (mut all, mut faulty) = (0, faulty_slots);
    let items = action.prelude.iter().map(Item::Bind).chain(action.guard.iter().map(Item::Test));
    for item in items {
        let mut own = 0;
        let mut fixed = impure;
        if let Item::Bind(Stmt::Bind { local, .. } | Stmt::Let { local, .. }) = item {
            // What the body binds again must be bound anew for every instance.
            fixed |= uses.rebound[local.0 as usize];
        }
        let mut look = |node: Node<'a>| match node {
            Node::Expr(Expr::Bound(local)) => own = own.max(depths[local.0 as usize]),
            Node::Place(Place { root: Root::Local(local), .. }) => {
                let i = local.0 as usize;
                fixed |= action.locals[i].kind == LocalKind::Storage;
                own = own.max(depths[i]);
            }
            Node::Expr(Expr::Block { .. }) => fixed = true,
            _ => {}
        };
        let (faults, effect) = match item {
            Item::Bind(stmt) => {
                walk_stmts(std::slice::from_ref(stmt), &mut look);
                let faults = match stmt {
                    Stmt::Bind { place, .. } => uses.place_faults(program, &action.locals, place),
                    Stmt::Let { value, .. } => uses.faults(program, &action.locals, value),
                    _ => true,
                };
                (faults, procs.has_effect(|f| walk_stmts(std::slice::from_ref(stmt), f)))
            }
            Item::Test(expr) => {
                walk_expr(expr, &mut look);
                let faults = uses.faults(program, &action.locals, expr);
                (faults, procs.has_effect(|f| walk_expr(expr, f)))
            }
        };
        let depth = if fixed || effect {
            innermost
        } else if faults {
            own.max(all).max(last_slots)
        } else {
            own.max(faulty)
        };
        if let Item::Bind(Stmt::Bind { local, .. } | Stmt::Let { local, .. }) = item {
            depths[local.0 as usize] = depths[local.0 as usize].max(depth);
        }
        all = all.max(depth);
        if faults || fixed || effect {
            faulty = faulty.max(depth);
        }
        out.push(Hoisted { item, depth });
    }
    out
}
