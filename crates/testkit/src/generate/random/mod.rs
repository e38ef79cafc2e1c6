//! From a seed to a model.
//!
//! Two devices keep faults rare but present. Every variable is either *firm* (all start states
//! define it, nothing undefines it) or *shaky*; expressions read shaky places only behind
//! `isundefined` or when the model is risky. And a model is *risky* or not as a whole: only risky
//! ones divide by variables, assign unchecked sums, index without care, or overfill multisets.
//!
//! Models stay symmetric in their scalarsets: a `for` over a scalarset writes only the element
//! of its own index, from constants, so its order cannot be observed.

mod exprs;
mod rules;
mod stmts;

use super::check::{check, is_scalar};
use super::model::{BOOLEAN, Expr, Model, Place, Step, Type, TypeDef, Var};
use super::rng::Rng;

/// How large random models are, and which language they use.
#[derive(Copy, Clone, Debug)]
pub struct Size {
    /// A bound on the number of conceivable (not reachable) states.
    pub state_bound: u64,
    /// The greatest number of variables.
    pub vars: usize,
    /// The greatest number of functions and procedures.
    pub functions: usize,
    /// The greatest number of rules, those inside rulesets not counted.
    pub rules: usize,
    /// The greatest number of statements in a row.
    pub stmts: usize,
    /// The greatest depth of expressions.
    pub depth: usize,
    /// Which features may occur.
    pub dialect: Dialect,
}

/// Which features may occur in a random model.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Everything.
    Full,
    /// What CMurphi and rumur give the same meaning: no unions and multisets, no copies of
    /// undefined scalars, no endless loops, no aliases that depend on variables, no arguments
    /// that change while the callee runs.
    Portable,
}

impl Size {
    /// A handful of states and statements.
    pub const SMALL: Size = Size {
        state_bound: 10_000,
        vars: 4,
        functions: 1,
        rules: 4,
        stmts: 2,
        depth: 2,
        dialect: Dialect::Full,
    };

    /// Up to a few thousand states.
    pub const MEDIUM: Size = Size {
        state_bound: 1_000_000,
        vars: 6,
        functions: 3,
        rules: 7,
        stmts: 3,
        depth: 3,
        dialect: Dialect::Full,
    };

    /// Up to some ten thousand states.
    pub const LARGE: Size = Size {
        state_bound: 100_000_000,
        vars: 9,
        functions: 4,
        rules: 10,
        stmts: 4,
        depth: 3,
        dialect: Dialect::Full,
    };

    /// The same size within [`Dialect::Portable`].
    pub const fn portable(self) -> Size {
        Size { dialect: Dialect::Portable, ..self }
    }
}

impl Model {
    /// The model of a seed. The same arguments always give the same, well-formed model.
    pub fn random(seed: u64, size: Size) -> Model {
        let mut rng = Rng::new(seed);
        loop {
            let model = Random::new(Rng::new(rng.next_u64()), size).model();
            if check(&model).is_ok() {
                return model;
            }
        }
    }
}

/// A name in scope.
#[derive(Clone)]
struct Entry {
    name: String,
    /// None for a name bound to plain integers.
    ty: Option<String>,
    writable: bool,
    /// Whether it may be undefined.
    shaky: bool,
    /// Whether it is a quantified value, good as an index.
    bound: bool,
}

/// What a function needs and may do, known to its callers.
#[derive(Clone)]
struct Signature {
    pure: bool,
    /// For each parameter, whether its argument may be undefined.
    shaky: Vec<bool>,
    /// The caller must pass a number that is not negative.
    recursive: bool,
}

/// A part of a place, its indices still open.
#[derive(Clone)]
enum Hole {
    Field(String),
    Index(String),
    Element(String),
}

/// A model under construction.
struct Random {
    rng: Rng,
    size: Size,
    model: Model,
    scope: Vec<Entry>,
    signatures: Vec<Signature>,
    /// Indices of multisets in scope, with their multisets.
    elements: Vec<(String, String)>,
    /// Multisets chosen from by the current rule: elements are removed at its end only.
    chosen: Vec<String>,
    next: usize,
    risky: bool,
    in_function: bool,
    /// Whether statements may change globals.
    effects: bool,
    /// Whether expressions may read variables (otherwise only bound names).
    open: bool,
}

impl Random {
    fn new(mut rng: Rng, size: Size) -> Random {
        let risky = rng.chance(75);
        let model = Model {
            consts: Vec::new(),
            types: Vec::new(),
            vars: Vec::new(),
            functions: Vec::new(),
            rules: Vec::new(),
        };
        Random {
            rng,
            size,
            model,
            scope: Vec::new(),
            signatures: Vec::new(),
            elements: Vec::new(),
            chosen: Vec::new(),
            next: 0,
            risky,
            in_function: false,
            effects: true,
            open: true,
        }
    }

    fn full(&self) -> bool {
        self.size.dialect == Dialect::Full
    }

    /// True in `percent` of the cases, in risky models only.
    fn risk(&mut self, percent: usize) -> bool {
        self.rng.chance(percent) && self.risky
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn model(mut self) -> Model {
        if self.rng.chance(40) {
            let value = self.rng.between(1, 4);
            let name = self.fresh("K");
            self.model.consts.push((name, value));
        }
        self.types();
        self.variables();
        for _ in 0..self.rng.below(self.size.functions + 1) {
            self.function();
        }
        self.all_rules();
        self.model
    }

    // ---- types and variables ----

    fn declare(&mut self, prefix: &str, ty: Type) -> String {
        let name = self.fresh(prefix);
        self.model.types.push(TypeDef { name: name.clone(), ty });
        name
    }

    fn types(&mut self) {
        for _ in 0..1 + self.rng.below(2) {
            let lo = if self.rng.chance(30) { self.rng.between(-3, -1) } else { 0 };
            let hi = lo + self.rng.between(1, 4);
            self.declare("Num", Type::Range(lo, hi));
        }
        let literals = (0..self.rng.between(2, 3)).map(|_| self.fresh("lit")).collect();
        let of = self.declare("Tag", Type::Enum(literals));
        if self.rng.chance(70) {
            let n = 2 + usize::from(self.rng.chance(25));
            let set = self.declare("Pid", Type::Scalarset(n));
            if self.full() && self.rng.chance(50) {
                self.declare("Any", Type::Union(vec![of, set]));
            }
        }
        for _ in 0..1 + self.rng.below(3) {
            self.compound_type();
        }
        if self.full() && self.rng.chance(45) {
            let candidates = self.type_names(|m, t| {
                is_scalar(m, t)
                    || matches!(m.type_named(t), Some(Type::Record(fields))
                        if fields.iter().all(|f| is_scalar(m, &f.ty)))
            });
            let element = self.pick_name(&candidates);
            let capacity = 1 + self.rng.below(3);
            self.declare("Bag", Type::Multiset { capacity, element });
        }
    }

    fn compound_type(&mut self) {
        let parts = self.type_names(|m, t| domain(m, t) < 400);
        if self.rng.chance(50) {
            let fields = (0..1 + self.rng.below(3))
                .map(|_| Var { ty: self.pick_name(&parts), name: self.fresh("f") })
                .collect();
            self.declare("Rec", Type::Record(fields));
        } else {
            let indices = self.type_names(|m, t| {
                is_scalar(m, t) && !matches!(m.type_named(t), Some(Type::Union(_)))
            });
            let index = self.pick_name(&indices);
            let element = self.pick_name(&parts);
            self.declare("Arr", Type::Array { index, element });
        }
    }

    /// All types with a property, `boolean` included.
    fn type_names(&self, keep: impl Fn(&Model, &str) -> bool) -> Vec<String> {
        let all = self.model.types.iter().map(|t| t.name.as_str());
        all.chain([BOOLEAN]).filter(|t| keep(&self.model, t)).map(str::to_owned).collect()
    }

    fn pick_name(&mut self, names: &[String]) -> String {
        self.rng.pick(names).expect("boolean is always there").clone()
    }

    fn variables(&mut self) {
        let mut states: u64 = 1;
        let wanted = 2 + self.size.vars / 4 + self.rng.below(self.size.vars - 1);
        let mut names = self.type_names(|_, _| true);
        let bags = self.type_names(|m, t| matches!(m.type_named(t), Some(Type::Multiset { .. })));
        for i in 0..5 * wanted {
            let bag_turn = i == 0 && !bags.is_empty();
            let compound: Vec<String> =
                names.iter().filter(|n| !is_scalar(&self.model, n)).cloned().collect();
            let ty = if bag_turn {
                bags[0].clone()
            } else if !compound.is_empty() && self.rng.chance(40) {
                self.pick_name(&compound)
            } else {
                self.pick_name(&names)
            };
            let total = states.saturating_mul(domain(&self.model, &ty));
            if total > self.size.state_bound || self.model.vars.len() == wanted {
                continue;
            }
            states = total;
            let is_bag = bags.contains(&ty);
            if is_bag {
                names.retain(|n| *n != ty);
            }
            let name = self.fresh(if is_bag { "bag" } else { "v" });
            let shaky = !is_bag && self.rng.chance(20);
            self.model.vars.push(Var { name: name.clone(), ty: ty.clone() });
            self.enter(&name, Some(&ty), true, shaky);
        }
        if self.model.vars.is_empty() {
            self.model.vars.push(Var { name: "v".to_owned(), ty: BOOLEAN.to_owned() });
            self.enter("v", Some(BOOLEAN), true, false);
        }
    }

    // ---- scope ----

    fn enter(&mut self, name: &str, ty: Option<&str>, writable: bool, shaky: bool) {
        let (name, ty) = (name.to_owned(), ty.map(str::to_owned));
        self.scope.push(Entry { name, ty, writable, shaky, bound: false });
    }

    fn enter_bound(&mut self, name: &str, ty: Option<&str>) {
        self.enter(name, ty, false, false);
        self.scope.last_mut().expect("just entered").bound = true;
    }

    fn is_global(&self, name: &str) -> bool {
        self.model.vars.iter().any(|v| v.name == name)
    }

    /// A random place among those in scope that satisfy `want` (given the type and the name).
    fn place(&mut self, want: impl Fn(&Random, &Entry, &str) -> bool) -> Option<(Place, String)> {
        let mut found = Vec::new();
        for entry in self.scope.iter().filter(|e| self.open || e.bound) {
            if let Some(ty) = &entry.ty {
                let mut paths = Vec::new();
                self.parts(entry, ty, &mut Vec::new(), &mut paths);
                paths.retain(|(_, t)| want(self, entry, t));
                found.extend(paths.into_iter().map(|(p, t)| (entry.name.clone(), p, t)));
            }
        }
        for _ in 0..3 {
            let (root, holes, ty) = self.rng.pick(&found)?.clone();
            if let Some(path) = self.fill(holes) {
                return Some((Place { root, path }, ty));
            }
        }
        None
    }

    fn parts(
        &self,
        entry: &Entry,
        ty: &str,
        path: &mut Vec<Hole>,
        out: &mut Vec<(Vec<Hole>, String)>,
    ) {
        out.push((path.clone(), ty.to_owned()));
        let mut inner = |hole: Hole, ty: &str| {
            path.push(hole);
            self.parts(entry, ty, path, out);
            path.pop();
        };
        match self.model.type_named(ty) {
            Some(Type::Record(fields)) => {
                fields.iter().for_each(|f| inner(Hole::Field(f.name.clone()), &f.ty));
            }
            Some(Type::Array { index, element }) => inner(Hole::Index(index.clone()), element),
            Some(Type::Multiset { element, .. }) => {
                for (index, multiset) in &self.elements {
                    if *multiset == entry.name {
                        inner(Hole::Element(index.clone()), element);
                    }
                }
            }
            _ => {}
        }
    }

    fn fill(&mut self, holes: Vec<Hole>) -> Option<Vec<Step>> {
        holes
            .into_iter()
            .map(|hole| match hole {
                Hole::Field(name) => Some(Step::Field(name)),
                Hole::Element(index) => Some(Step::Element(index)),
                Hole::Index(ty) => self.index(&ty).map(Step::Index),
            })
            .collect()
    }

    /// A value of an index type: a quantified name if possible, a literal, or a variable.
    fn index(&mut self, ty: &str) -> Option<Expr> {
        let is = |e: &&Entry, bound| e.ty.as_deref() == Some(ty) && e.bound == bound && !e.shaky;
        let bound: Vec<String> =
            self.scope.iter().filter(|e| is(e, true)).map(|e| e.name.clone()).collect();
        let variables: Vec<String> = self
            .scope
            .iter()
            .filter(|e| self.open && is(e, false))
            .map(|e| e.name.clone())
            .collect();
        if self.risk(6) && matches!(self.model.type_named(ty), Some(Type::Range(..))) {
            return Some(self.int_expr(1));
        }
        let literal = self.literal(ty);
        let choice = self.rng.weighted(&[
            if bound.is_empty() { 0 } else { 6 },
            if variables.is_empty() { 0 } else { 3 },
            if literal.is_none() { 0 } else { 2 },
            1,
        ]);
        match choice {
            0 => self.rng.pick(&bound).map(|n| Expr::name(n)),
            1 => self.rng.pick(&variables).map(|n| Expr::name(n)),
            _ => literal,
        }
    }

    /// A literal of a type; scalarsets and compound types have none.
    fn literal(&mut self, ty: &str) -> Option<Expr> {
        match self.model.type_named(ty)?.clone() {
            Type::Boolean => Some(Expr::Bool(self.rng.chance(50))),
            Type::Enum(names) => self.rng.pick(&names).map(|n| Expr::Enum(n.clone())),
            Type::Range(lo, hi) => Some(Expr::Int(self.rng.between(lo, hi))),
            Type::Union(members) => members.iter().find_map(|m| self.literal(m)),
            _ => None,
        }
    }
}

/// How many values a type has, undefined parts included.
fn domain(model: &Model, ty: &str) -> u64 {
    let power = |base: u64, n: u64| (0..n).fold(1u64, |p, _| p.saturating_mul(base));
    match model.type_named(ty).expect("a declared type") {
        Type::Boolean => 3,
        Type::Enum(names) => names.len() as u64 + 1,
        Type::Range(lo, hi) => (hi - lo + 2) as u64,
        Type::Scalarset(n) => *n as u64 + 1,
        Type::Union(members) => 1 + members.iter().map(|m| domain(model, m) - 1).sum::<u64>(),
        Type::Record(fields) => {
            fields.iter().fold(1u64, |p, f| p.saturating_mul(domain(model, &f.ty)))
        }
        Type::Array { index, element } => power(domain(model, element), domain(model, index) - 1),
        Type::Multiset { capacity, element } => power(domain(model, element), *capacity as u64),
    }
}
