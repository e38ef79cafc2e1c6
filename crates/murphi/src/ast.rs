//! The syntax tree of a Murphi model, as written: no name is resolved and no type is checked.
//!
//! The tree covers the language of CMurphi 5.4.9 and the extensions of rumur. Every node carries
//! the [`Span`] of its text; parentheses leave no node, they only widen the span of what they
//! enclose. Lists keep the order of the source.
//!
//! Invariants, given by the parser and relied upon by later stages, which may recurse freely:
//! - Statements, rules and types nest at most [`MAX_NESTING`] levels.
//! - No expression or type is higher than [`MAX_HEIGHT`]; see [`Expr::height`].
//! - A [`ExprKind::And`] or [`ExprKind::Or`] has at least two operands and is as long as it needs
//!   to be: a chain of `&` is one node.

mod height;

use ergodic_diag::Span;

/// The deepest nesting of parentheses, operators, statements, rules and types that is accepted.
pub const MAX_NESTING: usize = 1_000;

/// The greatest height of an expression or type; it bounds chains such as `a + b + c`.
pub const MAX_HEIGHT: u32 = 10_000;

/// The functions on reals that CMurphi predefines (in any case of letters), with their number of
/// arguments. They parse as ordinary calls, so that a model may define its own function instead.
pub const MATH_FUNCTIONS: &[(&str, usize)] = &[
    ("acos", 1),
    ("asin", 1),
    ("atan", 1),
    ("ceil", 1),
    ("cos", 1),
    ("cosh", 1),
    ("exp", 1),
    ("fabs", 1),
    ("floor", 1),
    ("fmod", 2),
    ("log", 1),
    ("log10", 1),
    ("pow", 2),
    ("sin", 1),
    ("sinh", 1),
    ("sqrt", 1),
    ("tan", 1),
    ("tanh", 1),
];

/// A whole model.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// Declarations, functions and rules in the order of the source. CMurphi wants all
    /// declarations first, then functions, then rules; rumur and we accept any order.
    pub items: Vec<Item>,
    /// The whole text.
    pub span: Span,
}

/// One top-level part of a model.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// A constant, type or variable declaration.
    Decl(Decl),
    /// A function or procedure.
    Function(Function),
    /// A rule, start state, property, or a group of them.
    Rule(Rule),
}

/// An identifier where it stands. Identifiers are case-sensitive.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Name {
    /// The identifier as written.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A string literal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    /// What stands between the quotes, with escape sequences left as written.
    pub raw: String,
    /// Where it stands, including the quotes.
    pub span: Span,
}

/// A declaration.
#[derive(Clone, PartialEq, Debug)]
pub enum Decl {
    /// `const a, b: value`
    Const(ConstDecl),
    /// `type a, b: T`
    Type(TypeDecl),
    /// `var a, b: T`
    Var(VarDecl),
}

/// Constants that share one value.
#[derive(Clone, PartialEq, Debug)]
pub struct ConstDecl {
    /// The declared names, at least one.
    pub names: Vec<Name>,
    /// Their value.
    pub value: Expr,
    /// From the first name to the end of the value.
    pub span: Span,
}

/// Names for one type.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeDecl {
    /// The declared names, at least one.
    pub names: Vec<Name>,
    /// The type they stand for.
    pub ty: TypeExpr,
    /// From the first name to the end of the type.
    pub span: Span,
}

/// Variables, or record fields, of one type.
#[derive(Clone, PartialEq, Debug)]
pub struct VarDecl {
    /// The declared names, at least one.
    pub names: Vec<Name>,
    /// Their type.
    pub ty: TypeExpr,
    /// From the first name to the end of the type.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
    height: u32,
}

/// The forms of a type.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeKind {
    /// `boolean`
    Boolean,
    /// A declared type.
    Named(Name),
    /// `lo .. hi`
    Range {
        /// The least value.
        lo: Box<Expr>,
        /// The greatest value.
        hi: Box<Expr>,
    },
    /// `enum { a, b }`; rumur's grammar admits an empty list.
    Enum(Vec<Name>),
    /// `record … end`
    Record(Vec<VarDecl>),
    /// `array [index] of element`
    Array {
        /// The index type.
        index: Box<TypeExpr>,
        /// The type of the elements.
        element: Box<TypeExpr>,
    },
    /// `scalarset (size)`
    Scalarset(Box<Expr>),
    /// `union { T, U }`
    Union(Vec<TypeExpr>),
    /// `multiset [capacity] of element`
    Multiset {
        /// The greatest number of elements.
        capacity: Box<Expr>,
        /// The type of the elements.
        element: Box<TypeExpr>,
    },
    /// `real (mantissa, exponent)`
    Real {
        /// Decimal digits of the mantissa.
        mantissa: Box<Expr>,
        /// Decimal digits of the exponent.
        exponent: Box<Expr>,
    },
}

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands, including parentheses around it.
    pub span: Span,
    height: u32,
}

/// The forms of an expression.
#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    /// An integer literal, decimal or hexadecimal. Never negative.
    Int(i64),
    /// A real literal.
    Real(f64),
    /// `true` or `false`, in any case of letters.
    Bool(bool),
    /// CMurphi's `undefined`: meant as the right side of an assignment, as an argument of a call
    /// or as a `case` value.
    Undefined,
    /// A variable, constant, enumeration value, parameter, alias or quantified name.
    Name(Name),
    /// `base.field`
    Field {
        /// The record.
        base: Box<Expr>,
        /// The field of it.
        field: Name,
    },
    /// `base[index]`, of an array or a multiset.
    Index {
        /// The array or multiset.
        base: Box<Expr>,
        /// The index.
        index: Box<Expr>,
    },
    /// A function call; see [`MATH_FUNCTIONS`] for predefined ones.
    Call {
        /// The function.
        function: Name,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// A prefix operator.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: Box<Expr>,
    },
    /// An infix operator other than conjunction and disjunction.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Its left operand.
        left: Box<Expr>,
        /// Its right operand.
        right: Box<Expr>,
    },
    /// `a & b & c`, or `a && b`, or `a ∧ b`.
    And {
        /// Two or more operands.
        operands: Vec<Expr>,
        /// Whether it was written with `&`, which on ranges means the bitwise operation in rumur;
        /// `&&` and `∧` are logical only.
        overloaded: bool,
    },
    /// `a | b | c`, or `a || b`, or `a ∨ b`.
    Or {
        /// Two or more operands.
        operands: Vec<Expr>,
        /// Whether it was written with `|`, as for [`ExprKind::And`].
        overloaded: bool,
    },
    /// `condition ? yes : no`
    Conditional {
        /// What decides.
        condition: Box<Expr>,
        /// The value if it holds.
        yes: Box<Expr>,
        /// The value if not.
        no: Box<Expr>,
    },
    /// `forall q; q do body end` or `exists …`
    Quantified {
        /// Which of the two.
        kind: QuantifiedKind,
        /// One or more quantifiers, outermost first.
        quantifiers: Vec<Quantifier>,
        /// The quantified condition.
        body: Box<Expr>,
    },
    /// `isundefined(designator)`
    IsUndefined(Box<Expr>),
    /// `ismember(value, T)`
    IsMember {
        /// The value, of a union type.
        value: Box<Expr>,
        /// The member type asked for.
        ty: Box<TypeExpr>,
    },
    /// `multisetcount(i: multiset, condition)`
    MultisetCount {
        /// The name that ranges over the elements.
        index: Name,
        /// The multiset.
        multiset: Box<Expr>,
        /// The condition counted.
        condition: Box<Expr>,
    },
}

/// Prefix operators.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum UnaryOp {
    /// `!`; it binds weaker than comparisons: `!a = b` is `!(a = b)`.
    Not,
    /// `-`
    Neg,
    /// `+`
    Plus,
    /// `~` (rumur)
    BitNot,
}

/// Infix operators that build [`ExprKind::Binary`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum BinaryOp {
    /// `->`
    Implies,
    /// `^` (rumur)
    BitXor,
    /// `=` or `==`
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
    /// `<<` (rumur)
    Shl,
    /// `>>` (rumur)
    Shr,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
}

impl BinaryOp {
    /// The operator as written in ASCII.
    pub fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Implies => "->",
            BinaryOp::BitXor => "^",
            BinaryOp::Eq => "=",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
        }
    }
}

/// The two quantified expressions.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum QuantifiedKind {
    /// `forall`
    Forall,
    /// `exists`
    Exists,
}

/// A name that ranges over values, in `forall`, `exists`, `for` and `ruleset`.
#[derive(Clone, PartialEq, Debug)]
pub struct Quantifier {
    /// The bound name.
    pub name: Name,
    /// What it ranges over.
    pub domain: Domain,
    /// The whole of it.
    pub span: Span,
}

/// What a quantifier ranges over.
#[derive(Clone, PartialEq, Debug)]
pub enum Domain {
    /// `i: T`
    Type(TypeExpr),
    /// `i := from to to by step`
    Range {
        /// The first value.
        from: Expr,
        /// The bound, included.
        to: Expr,
        /// The step; 1 if absent.
        by: Option<Expr>,
    },
}

/// A name for a designator or a value: `name: value`.
#[derive(Clone, PartialEq, Debug)]
pub struct Alias {
    /// The new names; more than one only in rumur's `a, b: value`.
    pub names: Vec<Name>,
    /// What they stand for.
    pub value: Expr,
    /// The whole of it.
    pub span: Span,
}

/// A function or procedure. The two keywords are synonyms: what counts is the result type.
#[derive(Clone, PartialEq, Debug)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The type of the result; none for a procedure.
    pub result: Option<TypeExpr>,
    /// Local declarations.
    pub decls: Vec<Decl>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// Set for CMurphi's `externfun` and `externproc`, whose bodies are C++ code elsewhere.
    pub external: Option<External>,
    /// The whole of it.
    pub span: Span,
}

/// Where the body of an external function is.
#[derive(Clone, PartialEq, Debug)]
pub struct External {
    /// The file named, if any.
    pub file: Option<Text>,
    /// The keyword.
    pub span: Span,
}

/// Parameters that share one type.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Whether it is marked `var`: the caller's variable may be changed.
    pub by_reference: bool,
    /// The names, at least one.
    pub names: Vec<Name>,
    /// Their type.
    pub ty: TypeExpr,
    /// The whole of it.
    pub span: Span,
}

/// What stands in the rule section of a model.
#[derive(Clone, PartialEq, Debug)]
pub enum Rule {
    /// `rule …`
    Simple(SimpleRule),
    /// `startstate …`
    StartState(StartState),
    /// `invariant …` and its relatives.
    Property(Property),
    /// `ruleset … do … end`
    Ruleset(Ruleset),
    /// `alias … do rules end`
    Alias(AliasRule),
    /// `choose i: multiset do rules end`
    Choose(ChooseRule),
}

impl Rule {
    /// The whole of it.
    pub fn span(&self) -> Span {
        match self {
            Rule::Simple(r) => r.span,
            Rule::StartState(r) => r.span,
            Rule::Property(r) => r.span,
            Rule::Ruleset(r) => r.span,
            Rule::Alias(r) => r.span,
            Rule::Choose(r) => r.span,
        }
    }
}

/// A guarded command.
#[derive(Clone, PartialEq, Debug)]
pub struct SimpleRule {
    /// Its name, if it has one.
    pub name: Option<Text>,
    /// CMurphi's priority, the number after the keyword; 0 if absent. Low numbers go first.
    pub priority: Option<Priority>,
    /// The guard; absent means `true`.
    pub guard: Option<Expr>,
    /// Local declarations.
    pub decls: Vec<Decl>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The `rule` keyword, name and guard: what a message about the rule points at.
    pub head: Span,
    /// The whole of it.
    pub span: Span,
}

/// The priority of a rule.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Priority {
    /// Its value.
    pub value: i64,
    /// Where it stands.
    pub span: Span,
}

/// A way to begin.
#[derive(Clone, PartialEq, Debug)]
pub struct StartState {
    /// Its name, if it has one.
    pub name: Option<Text>,
    /// Local declarations.
    pub decls: Vec<Decl>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// The `startstate` keyword and name.
    pub head: Span,
    /// The whole of it.
    pub span: Span,
}

/// A property, as a rule or as a statement. As statements `assert` and `invariant` mean the same,
/// and so they do as rules.
#[derive(Clone, PartialEq, Debug)]
pub struct Property {
    /// The keyword.
    pub kind: PropertyKind,
    /// Its name or message, written before or after the condition.
    pub message: Option<Text>,
    /// The condition.
    pub condition: Expr,
    /// The whole of it.
    pub span: Span,
}

/// The keywords that introduce a property.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum PropertyKind {
    /// `assert`
    Assert,
    /// `invariant`
    Invariant,
    /// `assume` (rumur)
    Assume,
    /// `cover` (rumur)
    Cover,
    /// `liveness` (rumur)
    Liveness,
}

impl PropertyKind {
    /// The keyword.
    pub fn keyword(self) -> &'static str {
        match self {
            PropertyKind::Assert => "assert",
            PropertyKind::Invariant => "invariant",
            PropertyKind::Assume => "assume",
            PropertyKind::Cover => "cover",
            PropertyKind::Liveness => "liveness",
        }
    }
}

/// Rules for each combination of values.
#[derive(Clone, PartialEq, Debug)]
pub struct Ruleset {
    /// One or more quantifiers, outermost first.
    pub quantifiers: Vec<Quantifier>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// The whole of it.
    pub span: Span,
}

/// Rules that share names for designators.
#[derive(Clone, PartialEq, Debug)]
pub struct AliasRule {
    /// One or more aliases.
    pub aliases: Vec<Alias>,
    /// The rules.
    pub rules: Vec<Rule>,
    /// The whole of it.
    pub span: Span,
}

/// Rules for each element of a multiset.
#[derive(Clone, PartialEq, Debug)]
pub struct ChooseRule {
    /// The name that ranges over the elements.
    pub index: Name,
    /// The multiset, a designator.
    pub multiset: Expr,
    /// The rules.
    pub rules: Vec<Rule>,
    /// The whole of it.
    pub span: Span,
}

/// A statement.
#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands, without the semicolon.
    pub span: Span,
}

/// The forms of a statement.
#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    /// `target := value`
    Assign {
        /// A designator.
        target: Expr,
        /// The new value.
        value: Expr,
    },
    /// A procedure call.
    Call {
        /// The procedure.
        procedure: Name,
        /// The arguments.
        args: Vec<Expr>,
    },
    /// `if … then … elsif … else … end`
    If {
        /// The `if` and each `elsif`, in order.
        branches: Vec<Branch>,
        /// The statements after `else`.
        otherwise: Option<Vec<Stmt>>,
    },
    /// `switch … case … else … end`
    Switch {
        /// What is compared.
        subject: Expr,
        /// The cases, in order.
        cases: Vec<Case>,
        /// The statements after `else`.
        otherwise: Option<Vec<Stmt>>,
    },
    /// `for … do … end`
    For {
        /// One or more quantifiers, outermost first.
        quantifiers: Vec<Quantifier>,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `while … do … end`
    While {
        /// The condition to go on.
        condition: Expr,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `alias … do … end`
    Alias {
        /// One or more aliases.
        aliases: Vec<Alias>,
        /// The statements.
        body: Vec<Stmt>,
    },
    /// `clear designator`
    Clear(Expr),
    /// `undefine designator`; see also [`ExprKind::Undefined`].
    Undefine(Expr),
    /// `error "message"`
    Error(Text),
    /// `assert …` and its relatives.
    Property(Property),
    /// `put "text"`
    PutText(Text),
    /// `put expression`
    PutExpr(Expr),
    /// `return` with or without a value.
    Return(Option<Expr>),
    /// `multisetadd(element, multiset)`
    MultisetAdd {
        /// What is added.
        element: Expr,
        /// The multiset.
        multiset: Expr,
    },
    /// `multisetremove(index, multiset)`
    MultisetRemove {
        /// The index of the element, from `choose`.
        index: Expr,
        /// The multiset.
        multiset: Expr,
    },
    /// `multisetremovepred(i: multiset, condition)`
    MultisetRemovePred {
        /// The name that ranges over the elements.
        index: Name,
        /// The multiset.
        multiset: Expr,
        /// Elements for which it holds are removed.
        condition: Expr,
    },
}

/// One condition of an `if`, with its statements.
#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    /// The condition.
    pub condition: Expr,
    /// The statements.
    pub body: Vec<Stmt>,
    /// From `if` or `elsif` to the last statement.
    pub span: Span,
}

/// One `case` of a `switch`.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// The values, at least one.
    pub values: Vec<Expr>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// From `case` to the last statement.
    pub span: Span,
}
