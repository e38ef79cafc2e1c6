//! Models as Murphi text, in the syntax that CMurphi and rumur share (rumur has neither unions
//! nor multisets). Every compound expression is parenthesised, so precedence plays no part here.

use super::model::{
    Binder, Domain, Expr, Function, Model, Param, Place, Rule, Step, Stmt, Type, TypeDef, Var,
};
use std::fmt::Write as _;

/// The Murphi text of a model.
pub fn render(model: &Model) -> String {
    let mut out = Out { text: String::new(), indent: 0 };
    out.declarations(model);
    for f in &model.functions {
        out.function(f);
    }
    out.rules(&model.rules);
    out.text
}

struct Out {
    text: String,
    indent: usize,
}

impl Out {
    fn line(&mut self, text: &str) {
        let width = 2 * self.indent;
        writeln!(self.text, "{:width$}{text}", "").expect("writing to a string succeeds");
    }

    fn nested(&mut self, f: impl FnOnce(&mut Out)) {
        self.indent += 1;
        f(self);
        self.indent -= 1;
    }

    fn declarations(&mut self, model: &Model) {
        if !model.consts.is_empty() {
            self.line("const");
            for (name, value) in &model.consts {
                self.line(&format!("  {name}: {value};"));
            }
        }
        if !model.types.is_empty() {
            self.line("type");
            for TypeDef { name, ty } in &model.types {
                self.line(&format!("  {name}: {};", type_text(ty)));
            }
        }
        self.vars(&model.vars);
    }

    fn vars(&mut self, vars: &[Var]) {
        if vars.is_empty() {
            return;
        }
        self.line("var");
        for Var { name, ty } in vars {
            self.line(&format!("  {name}: {ty};"));
        }
    }

    fn function(&mut self, f: &Function) {
        let params: Vec<String> = f.params.iter().map(param_text).collect();
        let params = params.join("; ");
        match &f.result {
            Some(ty) => self.line(&format!("function {}({params}): {ty};", f.name)),
            None => self.line(&format!("procedure {}({params});", f.name)),
        }
        self.body(&f.locals, &f.body);
    }

    fn body(&mut self, locals: &[Var], body: &[Stmt]) {
        self.vars(locals);
        self.line("begin");
        self.block(body);
        self.line("end;");
    }

    fn rules(&mut self, rules: &[Rule]) {
        for rule in rules {
            self.rule(rule);
        }
    }

    fn rule(&mut self, rule: &Rule) {
        match rule {
            Rule::Simple { name, guard, locals, body } => {
                match guard {
                    Some(g) => self.line(&format!("rule \"{name}\" {} ==>", expr_text(g))),
                    None => self.line(&format!("rule \"{name}\"")),
                }
                self.body(locals, body);
            }
            Rule::Start { name, locals, body } => {
                self.line(&format!("startstate \"{name}\""));
                self.body(locals, body);
            }
            Rule::Invariant { name, cond } => {
                self.line(&format!("invariant \"{name}\" {};", expr_text(cond)));
            }
            Rule::Ruleset { binders, rules } => {
                let binders: Vec<String> = binders.iter().map(binder_text).collect();
                self.group(&format!("ruleset {} do", binders.join("; ")), rules);
            }
            Rule::Alias { aliases, rules } => {
                self.group(&format!("alias {} do", aliases_text(aliases)), rules);
            }
            Rule::Choose { index, multiset, rules } => {
                self.group(&format!("choose {index}: {multiset} do"), rules);
            }
        }
    }

    fn group(&mut self, head: &str, rules: &[Rule]) {
        self.line(head);
        self.nested(|o| o.rules(rules));
        self.line("end;");
    }

    fn block(&mut self, body: &[Stmt]) {
        self.nested(|o| {
            for s in body {
                o.stmt(s);
            }
        });
    }

    fn looped(&mut self, head: &str, body: &[Stmt]) {
        self.line(head);
        self.block(body);
        self.line("end;");
    }

    fn otherwise(&mut self, body: &Option<Vec<Stmt>>) {
        if let Some(body) = body {
            self.line("else");
            self.block(body);
        }
        self.line("end;");
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Assign(place, value) => {
                self.line(&format!("{} := {};", place_text(place), expr_text(value)));
            }
            Stmt::Call(name, args) => self.line(&format!("{};", call_text(name, args))),
            Stmt::If(branches, otherwise) => {
                for (i, (cond, body)) in branches.iter().enumerate() {
                    let word = if i == 0 { "if" } else { "elsif" };
                    self.line(&format!("{word} {} then", expr_text(cond)));
                    self.block(body);
                }
                self.otherwise(otherwise);
            }
            Stmt::Switch(subject, cases, otherwise) => {
                self.line(&format!("switch {}", expr_text(subject)));
                for case in cases {
                    self.line(&format!("case {}:", list_text(&case.values)));
                    self.block(&case.body);
                }
                self.otherwise(otherwise);
            }
            Stmt::For(binder, body) => {
                self.looped(&format!("for {} do", binder_text(binder)), body);
            }
            Stmt::While(cond, body) => {
                self.looped(&format!("while {} do", expr_text(cond)), body);
            }
            Stmt::Alias(aliases, body) => {
                self.looped(&format!("alias {} do", aliases_text(aliases)), body);
            }
            _ => self.line(&simple_stmt_text(stmt)),
        }
    }
}

fn simple_stmt_text(stmt: &Stmt) -> String {
    match stmt {
        Stmt::Clear(place) => format!("clear {};", place_text(place)),
        Stmt::Undefine(place) => format!("undefine {};", place_text(place)),
        Stmt::Error(text) => format!("error \"{text}\";"),
        Stmt::Assert(cond, text) => format!("assert {} \"{text}\";", expr_text(cond)),
        Stmt::PutText(text) => format!("put \"{text}\";"),
        Stmt::PutExpr(value) => format!("put {};", expr_text(value)),
        Stmt::Return(None) => "return;".to_owned(),
        Stmt::Return(Some(value)) => format!("return {};", expr_text(value)),
        Stmt::Add(value, multiset) => format!("multisetadd({}, {multiset});", expr_text(value)),
        Stmt::Remove { index, multiset } => format!("multisetremove({index}, {multiset});"),
        Stmt::RemovePred { index, multiset, cond } => {
            format!("multisetremovepred({index}: {multiset}, {});", expr_text(cond))
        }
        _ => unreachable!("compound statements are written by their caller"),
    }
}

fn type_text(ty: &Type) -> String {
    match ty {
        Type::Boolean => "boolean".to_owned(),
        Type::Enum(names) => format!("enum {{ {} }}", names.join(", ")),
        Type::Range(lo, hi) => format!("{lo} .. {hi}"),
        Type::Scalarset(n) => format!("scalarset({n})"),
        Type::Union(members) => format!("union {{ {} }}", members.join(", ")),
        Type::Record(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|f| format!("{}: {};", f.name, f.ty)).collect();
            format!("record {} end", fields.join(" "))
        }
        Type::Array { index, element } => format!("array [{index}] of {element}"),
        Type::Multiset { capacity, element } => format!("multiset [{capacity}] of {element}"),
    }
}

fn param_text(p: &Param) -> String {
    let var = if p.by_ref { "var " } else { "" };
    format!("{var}{}: {}", p.name, p.ty)
}

fn binder_text(binder: &Binder) -> String {
    let name = &binder.name;
    match &binder.domain {
        Domain::Type(ty) => format!("{name}: {ty}"),
        Domain::Range { from, to, by: 1 } => format!("{name} := {from} to {to}"),
        Domain::Range { from, to, by } => format!("{name} := {from} to {to} by {by}"),
    }
}

fn aliases_text(aliases: &[(String, Expr)]) -> String {
    let list: Vec<String> =
        aliases.iter().map(|(name, e)| format!("{name}: {}", expr_text(e))).collect();
    list.join("; ")
}

fn place_text(place: &Place) -> String {
    let mut text = place.root.clone();
    for step in &place.path {
        match step {
            Step::Field(name) => text.push_str(&format!(".{name}")),
            Step::Index(index) => text.push_str(&format!("[{}]", expr_text(index))),
            Step::Element(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

fn list_text(items: &[Expr]) -> String {
    items.iter().map(expr_text).collect::<Vec<_>>().join(", ")
}

fn call_text(name: &str, args: &[Expr]) -> String {
    format!("{name}({})", list_text(args))
}

fn expr_text(expr: &Expr) -> String {
    match expr {
        Expr::Int(n) if *n < 0 => format!("({n})"),
        Expr::Int(n) => n.to_string(),
        Expr::Bool(b) => b.to_string(),
        Expr::Enum(name) | Expr::Const(name) => name.clone(),
        Expr::Read(place) => place_text(place),
        Expr::Neg(e) => format!("(-{})", expr_text(e)),
        Expr::Not(e) => format!("(!{})", expr_text(e)),
        Expr::Binary(op, a, b) => {
            format!("({} {} {})", expr_text(a), op.symbol(), expr_text(b))
        }
        Expr::Cond(c, a, b) => {
            format!("({} ? {} : {})", expr_text(c), expr_text(a), expr_text(b))
        }
        Expr::Quant { all, binder, body } => {
            let word = if *all { "forall" } else { "exists" };
            format!("({word} {} do {} end)", binder_text(binder), expr_text(body))
        }
        Expr::IsUndefined(place) => format!("isundefined({})", place_text(place)),
        Expr::IsMember(place, ty) => format!("ismember({}, {ty})", place_text(place)),
        Expr::Call(name, args) => call_text(name, args),
        Expr::Count { index, multiset, cond } => {
            format!("multisetcount({index}: {multiset}, {})", expr_text(cond))
        }
    }
}
