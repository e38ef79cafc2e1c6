//! Trees as text, for comparison.

use std::fmt::Write;

use crate::ast::*;

/// An expression with all parentheses.
pub(super) fn show(e: &Expr) -> String {
    let list = |items: &[Expr], by: &str| items.iter().map(show).collect::<Vec<_>>().join(by);
    match &e.kind {
        ExprKind::Int(n) => n.to_string(),
        ExprKind::Real(x) => format!("{x:?}"),
        ExprKind::Bool(b) => b.to_string(),
        ExprKind::Undefined => "undefined".to_owned(),
        ExprKind::Name(name) => name.text.clone(),
        ExprKind::Field { base, field } => format!("{}.{}", show(base), field.text),
        ExprKind::Index { base, index } => format!("{}[{}]", show(base), show(index)),
        ExprKind::Call { function, args } => format!("{}({})", function.text, list(args, ", ")),
        ExprKind::Unary { op, operand } => format!("({op:?} {})", show(operand)),
        ExprKind::Binary { op, left, right } => {
            format!("({} {} {})", show(left), op.symbol(), show(right))
        }
        ExprKind::And { operands, overloaded } => {
            format!("({})", list(operands, if *overloaded { " & " } else { " && " }))
        }
        ExprKind::Or { operands, overloaded } => {
            format!("({})", list(operands, if *overloaded { " | " } else { " || " }))
        }
        ExprKind::Conditional { condition, yes, no } => {
            format!("({} ? {} : {})", show(condition), show(yes), show(no))
        }
        ExprKind::Quantified { kind, quantifiers, body } => {
            let bound: Vec<_> = quantifiers.iter().map(show_quantifier).collect();
            format!("({kind:?} {} do {})", bound.join("; "), show(body))
        }
        ExprKind::IsUndefined(inner) => format!("isundefined({})", show(inner)),
        ExprKind::IsMember { value, ty } => {
            format!("ismember({}, {})", show(value), show_type(ty))
        }
        ExprKind::MultisetCount { index, multiset, condition } => {
            format!("count({}: {}, {})", index.text, show(multiset), show(condition))
        }
    }
}

fn show_quantifier(q: &Quantifier) -> String {
    match &q.domain {
        Domain::Type(ty) => format!("{}: {}", q.name.text, show_type(ty)),
        Domain::Range { from, to, by } => {
            let by = by.as_ref().map(|e| format!(" by {}", show(e)));
            let (from, to) = (show(from), show(to));
            format!("{} := {from} to {to}{}", q.name.text, by.unwrap_or_default())
        }
    }
}

fn names(names: &[Name]) -> String {
    let texts: Vec<_> = names.iter().map(|n| n.text.as_str()).collect();
    texts.join(", ")
}

fn show_type(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeKind::Boolean => "boolean".to_owned(),
        TypeKind::Named(name) => name.text.clone(),
        TypeKind::Range { lo, hi } => format!("{}..{}", show(lo), show(hi)),
        TypeKind::Enum(members) => format!("enum{{{}}}", names(members)),
        TypeKind::Record(fields) => {
            let fields: Vec<_> = fields
                .iter()
                .map(|f| format!("{}: {}", names(&f.names), show_type(&f.ty)))
                .collect();
            format!("record({})", fields.join("; "))
        }
        TypeKind::Array { index, element } => {
            format!("array[{}]({})", show_type(index), show_type(element))
        }
        TypeKind::Scalarset(size) => format!("scalarset({})", show(size)),
        TypeKind::Union(members) => {
            let members: Vec<_> = members.iter().map(show_type).collect();
            format!("union{{{}}}", members.join(", "))
        }
        TypeKind::Multiset { capacity, element } => {
            format!("multiset[{}]({})", show(capacity), show_type(element))
        }
        TypeKind::Real { mantissa, exponent } => {
            format!("real({}, {})", show(mantissa), show(exponent))
        }
    }
}

pub(super) fn show_decl(decl: &Decl) -> String {
    match decl {
        Decl::Const(d) => format!("const {} = {}", names(&d.names), show(&d.value)),
        Decl::Type(d) => format!("type {} = {}", names(&d.names), show_type(&d.ty)),
        Decl::Var(d) => format!("var {}: {}", names(&d.names), show_type(&d.ty)),
    }
}

fn show_property(p: &Property) -> String {
    let message = p.message.as_ref().map_or("-", |m| m.raw.as_str());
    format!("{} [{message}] {}", p.kind.keyword(), show(&p.condition))
}

/// The tree of a model, one node to a line.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) text: String,
    indent: usize,
}

impl Tree {
    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        let indent = self.indent * 2;
        writeln!(self.text, "{:indent$}{}", "", text.as_ref()).unwrap();
    }

    fn under(&mut self, show: impl FnOnce(&mut Tree)) {
        self.indent += 1;
        show(self);
        self.indent -= 1;
    }

    pub(super) fn rule(&mut self, rule: &Rule) {
        let name = |text: &Option<Text>| text.as_ref().map_or("-", |t| t.raw.as_str()).to_owned();
        match rule {
            Rule::Simple(r) => {
                let guard = r.guard.as_ref().map_or("-".to_owned(), show);
                let priority = r.priority.map(|p| format!(" priority {}", p.value));
                let priority = priority.unwrap_or_default();
                self.line(format!("rule [{}]{priority} {guard}", name(&r.name)));
                self.body(&r.decls, &r.body);
            }
            Rule::StartState(r) => {
                self.line(format!("startstate [{}]", name(&r.name)));
                self.body(&r.decls, &r.body);
            }
            Rule::Property(p) => self.line(show_property(p)),
            Rule::Ruleset(r) => {
                let bound: Vec<_> = r.quantifiers.iter().map(show_quantifier).collect();
                self.line(format!("ruleset {}", bound.join("; ")));
                self.under(|t| r.rules.iter().for_each(|r| t.rule(r)));
            }
            Rule::Alias(r) => {
                self.aliases(&r.aliases);
                self.under(|t| r.rules.iter().for_each(|r| t.rule(r)));
            }
            Rule::Choose(r) => {
                self.line(format!("choose {}: {}", r.index.text, show(&r.multiset)));
                self.under(|t| r.rules.iter().for_each(|r| t.rule(r)));
            }
        }
    }

    fn aliases(&mut self, aliases: &[Alias]) {
        let shown: Vec<_> =
            aliases.iter().map(|a| format!("{} = {}", names(&a.names), show(&a.value))).collect();
        self.line(format!("alias {}", shown.join("; ")));
    }

    fn body(&mut self, decls: &[Decl], body: &[Stmt]) {
        self.under(|t| decls.iter().for_each(|d| t.line(show_decl(d))));
        self.block(body);
    }

    fn block(&mut self, body: &[Stmt]) {
        self.under(|t| body.iter().for_each(|s| t.stmt(s)));
    }

    fn otherwise(&mut self, otherwise: &Option<Vec<Stmt>>) {
        if let Some(body) = otherwise {
            self.line("else");
            self.block(body);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        let list = |items: &[Expr]| items.iter().map(show).collect::<Vec<_>>().join(", ");
        match &stmt.kind {
            StmtKind::Assign { target, value } => {
                self.line(format!("{} := {}", show(target), show(value)));
            }
            StmtKind::Call { procedure, args } => {
                self.line(format!("call {}({})", procedure.text, list(args)));
            }
            StmtKind::If { branches, otherwise } => {
                for branch in branches {
                    self.line(format!("if {}", show(&branch.condition)));
                    self.block(&branch.body);
                }
                self.otherwise(otherwise);
            }
            StmtKind::Switch { subject, cases, otherwise } => {
                self.line(format!("switch {}", show(subject)));
                for case in cases {
                    self.line(format!("case {}", list(&case.values)));
                    self.block(&case.body);
                }
                self.otherwise(otherwise);
            }
            StmtKind::For { quantifiers, body } => {
                let bound: Vec<_> = quantifiers.iter().map(show_quantifier).collect();
                self.line(format!("for {}", bound.join("; ")));
                self.block(body);
            }
            StmtKind::While { condition, body } => {
                self.line(format!("while {}", show(condition)));
                self.block(body);
            }
            StmtKind::Alias { aliases, body } => {
                self.aliases(aliases);
                self.block(body);
            }
            StmtKind::Clear(e) => self.line(format!("clear {}", show(e))),
            StmtKind::Undefine(e) => self.line(format!("undefine {}", show(e))),
            StmtKind::Error(text) => self.line(format!("error [{}]", text.raw)),
            StmtKind::Property(p) => self.line(show_property(p)),
            StmtKind::PutText(text) => self.line(format!("put [{}]", text.raw)),
            StmtKind::PutExpr(e) => self.line(format!("put {}", show(e))),
            StmtKind::Return(e) => {
                self.line(format!("return {}", e.as_ref().map_or("-".to_owned(), show)));
            }
            StmtKind::MultisetAdd { element, multiset } => {
                self.line(format!("add {} to {}", show(element), show(multiset)));
            }
            StmtKind::MultisetRemove { index, multiset } => {
                self.line(format!("remove {} from {}", show(index), show(multiset)));
            }
            StmtKind::MultisetRemovePred { index, multiset, condition } => self.line(format!(
                "remove all {} from {} with {}",
                index.text,
                show(multiset),
                show(condition)
            )),
        }
    }

    pub(super) fn function(&mut self, f: &Function) {
        let params: Vec<_> = f
            .params
            .iter()
            .map(|p| {
                let mode = if p.by_reference { "var " } else { "" };
                format!("{mode}{}: {}", names(&p.names), show_type(&p.ty))
            })
            .collect();
        let result = f.result.as_ref().map_or("-".to_owned(), show_type);
        let external = match &f.external {
            Some(external) => format!(" external {:?}", external.file.as_ref().map(|t| &t.raw)),
            None => String::new(),
        };
        self.line(format!("function {}({}) -> {result}{external}", f.name.text, params.join("; ")));
        self.body(&f.decls, &f.body);
    }
}
