//! Results for programs: one versioned object, described in the manual's page on output formats.

use ergodic_driver::{
    Assurance, Diagnostic, Finding, Model, Report, Severity, Sources, Span, TraceStep, Verdict,
};
use serde_json::{Map, Value, json};

/// Version of the object; it grows when a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

/// A report as one object.
pub fn report(model: &Model, report: &Report, with_trace: bool) -> Value {
    let stats = &report.stats;
    let (verdict, reason, omission) = match &report.verdict {
        Verdict::Holds(Assurance::Exact) => ("holds", Value::Null, json!(0.0)),
        Verdict::Holds(Assurance::OmissionBound(p)) => ("holds", Value::Null, json!(p)),
        Verdict::Violated => {
            let title = report.findings.first().map(Finding::title);
            ("violated", json!(title), json!(0.0))
        }
        Verdict::Incomplete(reason) => ("incomplete", json!(reason.to_string()), Value::Null),
    };
    let findings: Vec<Value> =
        report.findings.iter().map(|f| finding(model, f, with_trace)).collect();
    let trace = findings.first().map_or(json!([]), |f| f["trace"].clone());
    json!({
        "version": VERSION,
        "tool": concat!("ergodic ", env!("CARGO_PKG_VERSION")),
        "model": model.name,
        "verdict": verdict,
        "reason": reason,
        "states": stats.states,
        "transitions": stats.transitions,
        "depth": stats.depth,
        "max_frontier": stats.max_frontier,
        "levels": stats.levels,
        "state_bits": stats.state_bits,
        "seconds": stats.elapsed.as_secs_f64(),
        "compile_seconds": stats.compile.as_secs_f64(),
        "states_per_second": stats.states_per_second(),
        "peak_memory_bytes": stats.peak_memory,
        "bytes_per_state": stats.bytes_per_state(),
        "omission_bound": omission,
        "threads": stats.threads,
        "engine": stats.engine,
        "store": stats.store,
        "search": stats.search,
        "symmetry": stats.symmetry,
        "strategy": stats.strategy,
        "reduction": stats.reduction,
        "compressed_paths": stats.compressed,
        "revisits": stats.forgets,
        "seconds_before": stats.seconds_before,
        "figures": stats.figures.iter().map(|f| (f.key.to_string(), json!(f.value))).collect::<Map<_, _>>(),
        "rules": rules(model, report),
        "covers": report.covers.iter().map(|c| json!({
            "name": c.name, "place": place(&model.sources, Some(c.span)), "hits": c.hits,
        })).collect::<Vec<_>>(),
        "violations": findings,
        "trace": trace,
        "notes": report.notes,
        "warnings": model.warnings.iter().chain(&report.warnings).map(|d| diagnostic(&model.sources, d)).collect::<Vec<_>>(),
    })
}

/// Bad input as one object.
pub fn errors(name: &str, sources: &Sources, diagnostics: &[Diagnostic]) -> Value {
    json!({
        "version": VERSION,
        "tool": concat!("ergodic ", env!("CARGO_PKG_VERSION")),
        "model": name,
        "verdict": "error",
        "reason": diagnostics.iter().find(|d| d.severity == Severity::Error).map(|d| d.message.clone()),
        "errors": diagnostics.iter().map(|d| diagnostic(sources, d)).collect::<Vec<_>>(),
    })
}

fn rules(model: &Model, report: &Report) -> Vec<Value> {
    let rule = |r: &ergodic_driver::RuleStats| {
        json!({
            "name": r.name,
            "place": place(&model.sources, Some(r.span)),
            "instances": r.instances,
            "fired": r.fired,
            "new": r.fresh,
        })
    };
    report.rules.iter().map(rule).collect()
}

/// One violation.
pub fn finding(model: &Model, finding: &Finding, with_trace: bool) -> Value {
    let steps: Vec<Value> = if with_trace {
        (0..finding.trace.len()).map(|i| step(model, &finding.trace, i)).collect()
    } else {
        Vec::new()
    };
    json!({
        "kind": finding.kind.word(),
        "name": finding.name,
        "message": finding.message,
        "help": finding.help,
        "place": place(&model.sources, finding.span),
        "depth": finding.depth,
        "shortest": finding.shortest,
        "trace": steps,
    })
}

/// Step `i` of a trace: the rule with its parameters, the whole state, and what changed.
pub fn step(model: &Model, trace: &[TraceStep], i: usize) -> Value {
    let step = &trace[i];
    let params: Map<String, Value> =
        step.params.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let state: Map<String, Value> =
        step.state.iter().map(|leaf| (leaf.name.clone(), json!(leaf.value))).collect();
    let before: Option<Map<String, Value>> = i.checked_sub(1).map(|p| {
        trace[p].state.iter().map(|leaf| (leaf.name.clone(), json!(leaf.value))).collect()
    });
    let changes: Map<String, Value> = match &before {
        None => Map::new(),
        Some(old) => {
            let gone = old.keys().filter(|name| !state.contains_key(*name));
            let gone = gone.map(|name| (name.clone(), Value::Null));
            let new = state.iter().filter(|(name, value)| old.get(*name) != Some(value));
            gone.chain(new.map(|(name, value)| (name.clone(), value.clone()))).collect()
        }
    };
    json!({
        "step": i,
        "rule": step.rule,
        "params": params,
        "place": place(&model.sources, Some(step.span)),
        "changes": changes,
        "state": state,
        "output": step.output,
        "faulted": step.faulted,
    })
}

fn diagnostic(sources: &Sources, d: &Diagnostic) -> Value {
    json!({
        "severity": match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        },
        "message": d.message,
        "place": place(sources, d.primary.as_ref().map(|(span, _)| *span)),
        "label": d.primary.as_ref().map(|(_, label)| label),
        "notes": d.notes,
        "help": d.help,
    })
}

fn place(sources: &Sources, span: Option<Span>) -> Value {
    match span {
        Some(span) => {
            let (line, column) = sources.line_col(span);
            json!({ "file": sources.name(span.source), "line": line, "column": column })
        }
        None => Value::Null,
    }
}
