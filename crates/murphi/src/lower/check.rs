//! What can be said only of the whole model.

use ergodic_diag::{Diagnostic, Diagnostics, Span};
use ergodic_ir::{
    Action, Expr as Ir, Facts, GlobalId, Layout, MAX_STATE_BITS, Program, PropertyKind as IrKind,
    TypeId, domain_size, verify,
};

use super::Lower;
use crate::ast::Model;

impl Lower<'_> {
    /// Completes the program; it is missing if something is wrong.
    pub(super) fn finish(mut self, model: &Model) -> (Option<Program>, Diagnostics) {
        self.check_presence(model);
        self.warn_unused();
        if self.diagnostics.has_errors() {
            return (None, self.diagnostics);
        }
        self.program.types = self.types.finish();
        self.check_sizes(model);
        if self.diagnostics.has_errors() {
            return (None, self.diagnostics);
        }
        let facts = Facts::new(&self.program);
        self.check_effects(&facts);
        self.warn_constant_parts(&facts);
        if self.diagnostics.has_errors() {
            return (None, self.diagnostics);
        }
        if cfg!(debug_assertions)
            && let Err(broken) = verify::verify(&self.program)
        {
            let first = broken.first().map_or("", String::as_str);
            let message = format!("internal error: the translation is not well formed: {first}");
            self.report(Diagnostic::error(message).help("please report this"));
            return (None, self.diagnostics);
        }
        (Some(self.program), self.diagnostics)
    }

    fn check_presence(&mut self, model: &Model) {
        let end = model.span.after();
        if self.program.actions.is_empty() {
            let d = Diagnostic::error("the model has no rule")
                .at(end, "the model ends here")
                .help("add a rule, as in `rule \"step\" x = 0 ==> begin x := 1; end;`");
            self.report(d);
        }
        if self.program.starts.is_empty() {
            let d = Diagnostic::error("the model has no start state")
                .at(end, "the model ends here")
                .help("add one, as in `startstate begin x := 0; end;`");
            self.report(d);
        }
    }

    fn check_sizes(&mut self, model: &Model) {
        let end = model.span.after();
        let layout = Layout::new(&self.program);
        let sizes = (0..self.program.types.len()).map(|i| TypeId(i as u32));
        let large = sizes.into_iter().find(|id| layout.bits(*id) as u64 > MAX_STATE_BITS);
        let too_large = if let Some(id) = large {
            Some(("a value of this type", self.types.place(id).unwrap_or(end), ""))
        } else if layout.shape().bits as u64 > MAX_STATE_BITS {
            let largest = self.program.globals.iter().max_by_key(|g| layout.bits(g.ty));
            let span = largest.map_or(end, |global| global.span);
            Some(("a state of this model", span, "this is the largest variable"))
        } else {
            None
        };
        if let Some((what, span, label)) = too_large {
            let d = Diagnostic::error(format!("{what} is too large"))
                .at(span, label)
                .note(format!("there may be {MAX_STATE_BITS} bits"))
                .help("use smaller ranges, arrays and multisets");
            self.report(d);
        }
        self.check_instances(end);
    }

    /// All rules together must not have more instances than can be numbered.
    fn check_instances(&mut self, end: Span) {
        let limit = u64::from(u32::MAX);
        let size = |action: &&Action| {
            let sizes = action.params.iter().map(|p| domain_size(&p.over, &self.program));
            // A parameter without values must not hide one with too many.
            let largest = sizes.clone().max().unwrap_or(1);
            sizes.fold(1u64, u64::saturating_mul).max(largest)
        };
        let all = || self.program.starts.iter().chain(&self.program.actions);
        let total = all().map(|a| size(&a)).fold(0u64, u64::saturating_add);
        if total < limit {
            return;
        }
        let span = all().max_by_key(size).map_or(end, |action| action.span);
        let d = Diagnostic::error(format!("the rules have {total} instances"))
            .at(span, "this one has the most")
            .note(format!("there may be {} instances", limit - 1))
            .help("use smaller types for the parameters of rulesets");
        self.report(d);
    }

    /// Guards and properties must not change the state.
    fn check_effects(&mut self, facts: &Facts) {
        let mut wrong = Vec::new();
        for (action, effects) in self.program.actions.iter_mut().zip(&facts.guards) {
            if let Some(written) = effects.writes.first() {
                action.impure_guard = true;
                wrong.push((action.span, format!("the guard of \"{}\"", action.name), *written));
            }
        }
        for (property, effects) in self.program.properties.iter_mut().zip(&facts.properties) {
            if let Some(written) = effects.writes.first() {
                property.impure = true;
                wrong.push((property.span, format!("\"{}\"", property.name), *written));
            }
        }
        if self.options.compat_cmurphi {
            return;
        }
        for (span, what, GlobalId(written)) in wrong {
            let global = &self.program.globals[written as usize];
            let message = format!("{what} changes the state variable `{}`", global.name);
            let d = Diagnostic::error(message)
                .at(span, "a function called here has a side effect")
                .also(global.span, "changed")
                .help("let the function only read; `--compat cmurphi` accepts it as it is");
            self.report(d);
        }
    }

    fn warn_constant_parts(&mut self, facts: &Facts) {
        let mut found = Vec::new();
        for action in &self.program.actions {
            if action.guard.contains(&Ir::Int(0)) {
                let message = format!("the rule \"{}\" can never fire", action.name);
                found.push((action.span, message, "the guard is always false"));
            }
        }
        for (property, effects) in self.program.properties.iter().zip(&facts.properties) {
            let constant = property.expr.is_some() && effects.reads.is_empty();
            if constant && matches!(property.kind, IrKind::Invariant | IrKind::Assumption) {
                let message = format!("\"{}\" does not depend on the state", property.name);
                found.push((property.span, message, "no state variable is read here"));
            }
        }
        for (span, message, label) in found {
            self.report(Diagnostic::warning(message).at(span, label));
        }
    }
}
