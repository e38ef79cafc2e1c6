//! Constants whose values are given from outside.

use ergodic_diag::Diagnostic;
use ergodic_ir::Expr as Ir;

use super::Lower;
use super::expr::Typed;
use super::scope::EntityId;
use super::types::Ty;
use crate::ast::Decl;
use crate::suggest::nearest;

/// How many declared constants a message lists.
const LISTED: usize = 20;

impl<'a> Lower<'a> {
    /// Reads the given values; each must be for a constant declared at the top level.
    pub(super) fn take_overrides(&mut self, decls: impl Iterator<Item = &'a Decl>) {
        let mut declared: Vec<&str> = Vec::new();
        for decl in decls {
            if let Decl::Const(decl) = decl {
                declared.extend(decl.names.iter().map(|n| n.text.as_str()));
            }
        }
        let options = self.options;
        for (name, text) in &options.constants {
            if !declared.contains(&name.as_str()) {
                self.no_such_constant(name, &declared);
                continue;
            }
            match parse(text.trim()) {
                Some(value) => {
                    self.overrides.insert(name.clone(), value);
                }
                None => {
                    let message = format!("`{text}` is not a value for the constant `{name}`");
                    let help = "give an integer, a real, `true` or `false`";
                    self.report(Diagnostic::error(message).help(help));
                }
            }
        }
    }

    fn no_such_constant(&mut self, name: &str, declared: &[&str]) {
        let mut d = Diagnostic::error(format!("the model declares no constant `{name}`"));
        if let Some(near) = nearest(name, declared.iter().copied()) {
            d = d.help(format!("did you mean `{near}`?"));
        }
        d = d.note(match declared {
            [] => "the model declares no constants".to_owned(),
            _ => {
                let mut list: Vec<_> =
                    declared.iter().take(LISTED).map(|n| (*n).to_owned()).collect();
                if declared.len() > LISTED {
                    list.push(format!("and {} more", declared.len() - LISTED));
                }
                format!("the model declares {}", list.join(", "))
            }
        });
        self.report(d);
    }

    /// The value of a constant: the given one if there is one and it is of the declared type.
    pub(super) fn overridden(&mut self, id: EntityId, declared: Option<Typed>) -> Option<Typed> {
        if !self.is_outermost(self.entity(id).scope) {
            return declared;
        }
        let name = self.entity(id).name;
        let Some(given) = self.overrides.get(name).cloned() else { return declared };
        let Some(declared) = declared else { return Some(given) };
        match (declared.ty, given.ty) {
            (a, b) if a == b => Some(given),
            (Ty::Real, Ty::Int) => {
                let span = self.entity(id).span;
                Some(Typed::new(self.convert(given, Ty::Real, span), Ty::Real))
            }
            (wanted, found) => {
                let (wanted, found) = (self.types.describe(wanted), self.types.describe(found));
                let message = format!("the value given for the constant `{name}` is {found}");
                let d = Diagnostic::error(message)
                    .at(self.entity(id).span, format!("declared as {wanted}"));
                self.report(d);
                None
            }
        }
    }
}

fn parse(text: &str) -> Option<Typed> {
    if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
        return Some(Typed::truth(text.eq_ignore_ascii_case("true")));
    }
    if let Ok(value) = text.parse::<i64>() {
        return Some(Typed::int(value));
    }
    let numeric = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let value: f64 = text.parse().ok().filter(|_| text.chars().all(numeric))?;
    value.is_finite().then(|| Typed::new(Ir::Real(value + 0.0), Ty::Real))
}
