//! A diagnostic as text, by way of the `annotate-snippets` crate.
//!
//! Only the lines between the first and the last mark of a source are handed over, so that the
//! cost of a message does not depend on the size of the model. Marks that are far apart get a
//! snippet each, and lines too long to be looked at are named but not shown.

use std::ops::Range;

use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet,
    normalize_untrusted_str,
};

use crate::{Diagnostic, Severity, SourceId, Sources, Span};

/// The most source text, in bytes, that one snippet is made from.
const SNIPPET_BYTES: usize = 64 * 1024;

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
        group = group.elements(place(sources, &marks));
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

/// What to show for the marks of one source.
fn place<'a>(sources: &'a Sources, marks: &[Mark<'a>]) -> Vec<Element<'a>> {
    match marks {
        _ if window(sources, marks).1.len() <= SNIPPET_BYTES => {
            vec![snippet(sources, marks).into()]
        }
        [mark] => origin(sources, mark),
        _ => marks.chunks(1).flat_map(|mark| place(sources, mark)).collect(),
    }
}

/// The number of the first line that the marks touch, and the bytes of all lines between them.
fn window(sources: &Sources, marks: &[Mark<'_>]) -> (usize, Range<usize>) {
    let id = marks[0].span.source;
    let ranges = || marks.iter().map(|m| clamp(sources, m.span));
    let start = ranges().map(|r| r.start).min().unwrap_or(0);
    let end = ranges().map(|r| r.end).max().unwrap_or(0);
    let first = sources.line_of(id, start);
    let last = sources.line_of(id, end);
    (first, sources.lines(id, first, last))
}

fn snippet<'a>(sources: &'a Sources, marks: &[Mark<'a>]) -> Snippet<'a, Annotation<'a>> {
    let id = marks[0].span.source;
    let (first, window) = window(sources, marks);
    let base = window.start;
    Snippet::source(&sources.text(id)[window]).path(sources.name(id)).line_start(first).annotations(
        marks.iter().map(|mark| {
            let range = clamp(sources, mark.span);
            let label = (!mark.label.is_empty()).then(|| normalize_untrusted_str(mark.label));
            mark.kind.span(range.start - base..range.end - base).label(label)
        }),
    )
}

/// A mark in text that is too long to be shown.
fn origin<'a>(sources: &'a Sources, mark: &Mark<'a>) -> Vec<Element<'a>> {
    let (line, column) = sources.line_col(mark.span);
    let origin = Origin::path(sources.name(mark.span.source)).line(line).char_column(column);
    let mut elements = vec![origin.into()];
    if !mark.label.is_empty() {
        elements.push(Level::NOTE.message(normalize_untrusted_str(mark.label)).into());
    }
    elements
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
        check(
            text,
            d,
            expect![[r#"
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
              = help: write `:=` to assign"#]],
        );
    }

    #[test]
    fn odd_places() {
        let end = |id| Diagnostic::warning("at the end").at(Span::new(id, 4, 4), "here");
        check(
            "abc\n",
            end,
            expect![[r#"
            warning: at the end
             --> model.m:2:1
              |
            2 |
              | ^ here"#]],
        );
        let beyond = |id| Diagnostic::warning("beyond").at(Span::new(id, 90, 70), "here");
        check(
            "abc",
            beyond,
            expect![[r#"
            warning: beyond
             --> model.m:1:4
              |
            1 | abc
              |    ^ here"#]],
        );
        let split = |id| Diagnostic::warning("split").at(Span::new(id, 1, 2), "");
        check(
            "éé",
            split,
            expect![[r#"
            warning: split
             --> model.m:1:1
              |
            1 | éé
              | ^"#]],
        );
        let nowhere = |_| Diagnostic::error("no\tplace\u{7}").help("none");
        check(
            "",
            nowhere,
            expect![[r#"
            error: no    place␇
             |
             = help: none"#]],
        );
        let empty = |id| Diagnostic::error("empty file").at(Span::new(id, 0, 0), "");
        check(
            "",
            empty,
            expect![[r#"
            error: empty file
             --> model.m:1:1
              |
            1 |
              | ^"#]],
        );
    }

    #[test]
    fn long_texts_are_not_shown_whole() {
        let far = format!("a{}b", "\n".repeat(100_000));
        let d = |id| {
            Diagnostic::error("far apart")
                .at(Span::new(id, 0, 1), "here")
                .also(Span::new(id, 100_001, 100_002), "there")
        };
        check(
            &far,
            d,
            expect![[r#"
            error: far apart
                  --> model.m:1:1
                   |
                 1 | a
                   | ^ here
                   |
                  ::: model.m:100001:1
                   |
            100001 | b
                   | - there"#]],
        );
        let d = |id| Diagnostic::error("long line").at(Span::new(id, 8, 9), "here");
        check(
            &"x".repeat(100_000),
            d,
            expect![[r#"
            error: long line
            --> model.m:1:9
             = note: here"#]],
        );
    }

    #[test]
    fn colour_is_optional() {
        let sources = Sources::new();
        let d = Diagnostic::error("m");
        assert!(!render(&d, &sources, false).contains('\u{1b}'));
        assert!(render(&d, &sources, true).contains('\u{1b}'));
    }
}
