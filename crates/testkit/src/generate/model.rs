//! The syntax tree of a generated model. It is deliberately not the tree of Ergodic's front end:
//! nothing here may share a mistake with the code under test.
//!
//! Everything is referred to by name, so that a shrinker can delete a declaration without
//! renumbering. All types are declared and named; the only predeclared type is `boolean`.

/// A Murphi model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    /// Named integer constants.
    pub consts: Vec<(String, i64)>,
    /// Declared types; each refers to earlier ones only.
    pub types: Vec<TypeDef>,
    /// The state.
    pub vars: Vec<Var>,
    /// Functions and procedures; each calls earlier ones only, or itself.
    pub functions: Vec<Function>,
    /// Rules, start states and invariants.
    pub rules: Vec<Rule>,
}

/// A declared type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TypeDef {
    /// Its name.
    pub name: String,
    /// What it is.
    pub ty: Type,
}

/// The name of the predeclared type.
pub const BOOLEAN: &str = "boolean";

/// A type. Components are names of types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Type {
    /// `false` and `true`.
    Boolean,
    /// Literals, distinct in the whole model.
    Enum(Vec<String>),
    /// An integer between two bounds, both included.
    Range(i64, i64),
    /// So many interchangeable values.
    Scalarset(usize),
    /// Values of any of these enums and scalarsets.
    Union(Vec<String>),
    /// Named fields.
    Record(Vec<Var>),
    /// An element for each value of a scalar type.
    Array {
        /// The index type: boolean, enum, range or scalarset.
        index: String,
        /// The element type.
        element: String,
    },
    /// Up to `capacity` elements without order.
    Multiset {
        /// The greatest number of elements.
        capacity: usize,
        /// The element type.
        element: String,
    },
}

/// A variable, local variable or record field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Var {
    /// Its name.
    pub name: String,
    /// The name of its type.
    pub ty: String,
}

/// A function or procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type of its result; none for a procedure.
    pub result: Option<String>,
    /// Its local variables.
    pub locals: Vec<Var>,
    /// Its statements.
    pub body: Vec<Stmt>,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// The name of its type.
    pub ty: String,
    /// Whether it is a `var` parameter; otherwise it is a read-only copy.
    pub by_ref: bool,
}

/// What stands in the rule section.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A guarded command.
    Simple {
        /// Its name.
        name: String,
        /// Its guard; absent means true.
        guard: Option<Expr>,
        /// Its local variables.
        locals: Vec<Var>,
        /// Its statements.
        body: Vec<Stmt>,
    },
    /// A way to begin.
    Start {
        /// Its name.
        name: String,
        /// Its local variables.
        locals: Vec<Var>,
        /// Its statements.
        body: Vec<Stmt>,
    },
    /// A condition on every reachable state.
    Invariant {
        /// Its name.
        name: String,
        /// The condition.
        cond: Expr,
    },
    /// The rules for each combination of values.
    Ruleset {
        /// The quantifiers; the first varies fastest.
        binders: Vec<Binder>,
        /// The rules.
        rules: Vec<Rule>,
    },
    /// Names for places, around rules.
    Alias {
        /// The names and what they stand for.
        aliases: Vec<(String, Expr)>,
        /// The rules.
        rules: Vec<Rule>,
    },
    /// The rules for each element of a multiset.
    Choose {
        /// The name of the element's index.
        index: String,
        /// The multiset, a global variable.
        multiset: String,
        /// The rules.
        rules: Vec<Rule>,
    },
}

/// A name that ranges over values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binder {
    /// The bound name.
    pub name: String,
    /// What it ranges over.
    pub domain: Domain,
}

/// What a quantifier ranges over.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Domain {
    /// All values of a scalar type, ascending.
    Type(String),
    /// `from`, `from + by`, … up (or down) to `to`.
    Range {
        /// The first value.
        from: i64,
        /// The last value, if the steps hit it.
        to: i64,
        /// The step, not 0 and in the direction of `to`.
        by: i64,
    },
}

/// A designator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// A variable, parameter, alias or bound name.
    pub root: String,
    /// The way from there to the part meant.
    pub path: Vec<Step>,
}

/// One step into a record, array or multiset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// `.field`
    Field(String),
    /// `[index]` of an array.
    Index(Expr),
    /// `[index]` of a multiset, with an index bound by `choose`, a count or a removal.
    Element(String),
}

/// An expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expr {
    /// An integer literal.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
    /// The literal of an enum.
    Enum(String),
    /// A named constant.
    Const(String),
    /// The value of a designator.
    Read(Place),
    /// `-e`
    Neg(Box<Expr>),
    /// `!e`
    Not(Box<Expr>),
    /// Two operands.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `forall` or `exists`.
    Quant {
        /// Whether it is `forall`.
        all: bool,
        /// The bound name.
        binder: Binder,
        /// The condition.
        body: Box<Expr>,
    },
    /// `isundefined(place)`, for scalars.
    IsUndefined(Place),
    /// `ismember(place, T)`, for unions.
    IsMember(Place, String),
    /// The result of a function.
    Call(String, Vec<Expr>),
    /// `multisetcount(index: multiset, cond)`
    Count {
        /// The name of the element's index.
        index: String,
        /// The multiset, a global variable.
        multiset: String,
        /// Which elements to count.
        cond: Box<Expr>,
    },
}

/// Infix operators.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BinOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, rounding toward zero.
    Div,
    /// `%`, with the sign of the dividend.
    Mod,
    /// `=`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `&`, short-circuit.
    And,
    /// `|`, short-circuit.
    Or,
    /// `->`, short-circuit.
    Implies,
}

impl BinOp {
    /// The operator as written.
    pub fn symbol(self) -> &'static str {
        match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Mod => "%",
            BinOp::Eq => "=",
            BinOp::Ne => "!=",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::And => "&",
            BinOp::Or => "|",
            BinOp::Implies => "->",
        }
    }
}

/// A statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stmt {
    /// `place := value`
    Assign(Place, Expr),
    /// A procedure call.
    Call(String, Vec<Expr>),
    /// `if` and each `elsif`, then `else`.
    If(Vec<(Expr, Vec<Stmt>)>, Option<Vec<Stmt>>),
    /// `switch` with its cases, then `else`.
    Switch(Expr, Vec<Case>, Option<Vec<Stmt>>),
    /// `for binder do … end`
    For(Binder, Vec<Stmt>),
    /// `while cond do … end`
    While(Expr, Vec<Stmt>),
    /// `alias … do … end`
    Alias(Vec<(String, Expr)>, Vec<Stmt>),
    /// `clear place`
    Clear(Place),
    /// `undefine place`
    Undefine(Place),
    /// `error "text"`
    Error(String),
    /// `assert cond "text"`
    Assert(Expr, String),
    /// `put "text"`
    PutText(String),
    /// `put value`
    PutExpr(Expr),
    /// `return` with or without a value.
    Return(Option<Expr>),
    /// `multisetadd(element, multiset)`
    Add(Expr, String),
    /// `multisetremove(index, multiset)`
    Remove {
        /// An index bound by `choose`.
        index: String,
        /// The multiset, a global variable.
        multiset: String,
    },
    /// `multisetremovepred(index: multiset, cond)`
    RemovePred {
        /// The name of the element's index.
        index: String,
        /// The multiset, a global variable.
        multiset: String,
        /// Which elements to remove.
        cond: Expr,
    },
}

/// One `case` of a `switch`: literals and statements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Case {
    /// The literals, at least one.
    pub values: Vec<Expr>,
    /// The statements.
    pub body: Vec<Stmt>,
}

impl Model {
    /// The type of that name, if declared or `boolean`.
    pub fn type_named(&self, name: &str) -> Option<&Type> {
        if name == BOOLEAN {
            return Some(&Type::Boolean);
        }
        self.types.iter().find(|t| t.name == name).map(|t| &t.ty)
    }

    /// The enum that has this literal, and the literal's position in it.
    pub fn enum_of(&self, literal: &str) -> Option<(&str, usize)> {
        self.types.iter().find_map(|t| match &t.ty {
            Type::Enum(names) => {
                names.iter().position(|n| n == literal).map(|i| (t.name.as_str(), i))
            }
            _ => None,
        })
    }

    /// The function of that name.
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|f| f.name == name)
    }

    /// The type of the elements of a global multiset variable.
    pub fn element_type(&self, multiset: &str) -> Option<&str> {
        let var = self.vars.iter().find(|v| v.name == multiset)?;
        match self.type_named(&var.ty)? {
            Type::Multiset { element, .. } => Some(element),
            _ => None,
        }
    }
}

impl Place {
    /// A whole variable.
    pub fn root(name: &str) -> Place {
        Place { root: name.to_owned(), path: Vec::new() }
    }

    /// The same with one step more.
    pub fn then(mut self, step: Step) -> Place {
        self.path.push(step);
        self
    }
}

impl Expr {
    /// The value of a whole variable or bound name.
    pub fn name(name: &str) -> Expr {
        Expr::Read(Place::root(name))
    }

    /// An infix operation.
    pub fn binary(op: BinOp, left: Expr, right: Expr) -> Expr {
        Expr::Binary(op, Box::new(left), Box::new(right))
    }
}
