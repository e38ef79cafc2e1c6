//! A diagnostic as text, by way of the `annotate-snippets` crate.
//!
//! Only the lines between the first and the last mark of a source are handed over, so that the
//! cost of a message does not depend on the size of the model.

use std::ops::Range;

use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Renderer, Snippet, normalize_untrusted_str,
};

use crate::{Diagnostic, Severity, SourceId, Sources, Span};

/// The text of a diagnostic: message, file, line, column, marked source lines, notes and help.
pub fn render(d: &Diagnostic, sources: &Sources, color: bool) -> String {
    let level = match d.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let mut title = level.primary_title(normalize_untrusted_str(&d.message));
    if let Some(code) = d.code {
        title = title.id(code);
    }
    let mut group = Group::with_title(title);
    for marks in by_source(d) {
        group = group.element(snippet(sources, &marks));
    }
    for note in &d.notes {
        group = group.element(Level::NOTE.message(normalize_untrusted_str(note)));
    }
    for help in &d.help {
        group = group.element(Level::HELP.message(normalize_untrusted_str(help)));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

struct Mark<'a> {
    span: Span,
    label: &'a str,
    kind: AnnotationKind,
}

/// The marks of a diagnostic grouped by source, the source of the primary mark first.
fn by_source(d: &Diagnostic) -> Vec<Vec<Mark<'_>>> {
    let primary = d.primary.iter().map(|m| (m, AnnotationKind::Primary));
    let secondary = d.secondary.iter().map(|m| (m, AnnotationKind::Context));
    let mut groups: Vec<(SourceId, Vec<Mark<'_>>)> = Vec::new();
    for ((span, label), kind) in primary.chain(secondary) {
        let mark = Mark { span: *span, label, kind };
        match groups.iter_mut().find(|(id, _)| *id == span.source) {
            Some((_, marks)) => marks.push(mark),
            None => groups.push((span.source, vec![mark])),
        }
    }
    groups.into_iter().map(|(_, marks)| marks).collect()
}

fn snippet<'a>(sources: &'a Sources, marks: &[Mark<'a>]) -> Snippet<'a, Annotation<'a>> {
    let id = marks[0].span.source;
    let ranges: Vec<Range<usize>> = marks.iter().map(|m| clamp(sources, m.span)).collect();
    let start = ranges.iter().map(|r| r.start).min().unwrap_or(0);
    let end = ranges.iter().map(|r| r.end).max().unwrap_or(0);
    let first = sources.line_of(id, start);
    let window = sources.lines(id, first, sources.line_of(id, end));
    let base = window.start;
    Snippet::source(&sources.text(id)[window]).path(sources.name(id)).line_start(first).annotations(
        marks.iter().zip(ranges).map(|(mark, range)| {
            let label = (!mark.label.is_empty()).then(|| normalize_untrusted_str(mark.label));
            mark.kind.span(range.start - base..range.end - base).label(label)
        }),
    )
}

fn clamp(sources: &Sources, span: Span) -> Range<usize> {
    let text = sources.text(span.source);
    let start = text.floor_char_boundary(span.start as usize);
    let end = text.floor_char_boundary(span.end as usize);
    start..end.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, d: impl FnOnce(SourceId) -> Diagnostic, expected: Expect) {
        let mut sources = Sources::new();
        let id = sources.add("model.m", text.to_owned());
        expected.assert_eq(&render(&d(id), &sources, false));
    }

    #[test]
    fn everything_at_once() {
        let text = "var\n  x: 0..3;\n\n\n\n\nrule\n  x = 1\nend\n";
        let d = |id| {
            Diagnostic::error("expected `:=`, found `=`")
                .at(Span::new(id, 30, 31), "expected `:=`")
                .also(Span::new(id, 6, 7), "`x` is declared here")
                .note("a statement changes the state")
                .help("write `:=` to assign")
                .code("E1")
        };
        check(text, d, expect![[r#"
            error[E1]: expected `:=`, found `=`
             --> model.m:8:7
              |
            2 |   x: 0..3;
              |   - `x` is declared here
            ...
            8 |   x = 1
              |       ^ expected `:=`
              |
              = note: a statement changes the state
              = help: write `:=` to assign"#]]);
    }

    #[test]
    fn odd_places() {
        let end = |id| Diagnostic::warning("at the end").at(Span::new(id, 4, 4), "here");
        check("abc\n", end, expect![[r#"
            warning: at the end
             --> model.m:2:1
              |
            2 |
              | ^ here"#]]);
        let beyond = |id| Diagnostic::warning("beyond").at(Span::new(id, 90, 70), "here");
        check("abc", beyond, expect![[r#"
            warning: beyond
             --> model.m:1:4
              |
            1 | abc
              |    ^ here"#]]);
        let split = |id| Diagnostic::warning("split").at(Span::new(id, 1, 2), "");
        check("éé", split, expect![[r#"
            warning: split
             --> model.m:1:1
              |
            1 | éé
              | ^"#]]);
        let nowhere = |_| Diagnostic::error("no\tplace\u{7}").help("none");
        check("", nowhere, expect![[r#"
            error: no    place␇
             |
             = help: none"#]]);
        let empty = |id| Diagnostic::error("empty file").at(Span::new(id, 0, 0), "");
        check("", empty, expect![[r#"
            error: empty file
             --> model.m:1:1
              |
            1 |
              | ^"#]]);
    }

    #[test]
    fn colour_is_optional() {
        let sources = Sources::new();
        let d = Diagnostic::error("m");
        assert!(!render(&d, &sources, false).contains('\u{1b}'));
        assert!(render(&d, &sources, true).contains('\u{1b}'));
    }
}
