//! What can be said about a source: one [`Diagnostic`], and the list that a stage collects.

use crate::Span;

/// How serious a diagnostic is.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Severity {
    /// The input cannot be used.
    Error,
    /// The input can be used, but probably says something unintended.
    Warning,
    /// Something worth knowing.
    Note,
}

/// One message about a source, with its places, notes and advice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How serious it is.
    pub severity: Severity,
    /// The message: one sentence, lower case, without a final full stop.
    pub message: String,
    /// A stable code, for messages that are documented at length.
    pub code: Option<&'static str>,
    /// The place it is about, with a label (which may be empty).
    pub primary: Option<(Span, String)>,
    /// Further places that explain it.
    pub secondary: Vec<(Span, String)>,
    /// Facts that explain it.
    pub notes: Vec<String>,
    /// What to do about it.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// A diagnostic of the given severity, so far without a place.
    pub fn new(severity: Severity, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity,
            message: message.into(),
            code: None,
            primary: None,
            secondary: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
        }
    }

    /// An error.
    pub fn error(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, message)
    }

    /// A warning.
    pub fn warning(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, message)
    }

    /// A remark that stands alone. (To add a remark to a diagnostic, use [`Diagnostic::note`].)
    pub fn remark(message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, message)
    }

    /// Sets the place it is about.
    #[must_use]
    pub fn at(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.primary = Some((span, label.into()));
        self
    }

    /// Adds a further place.
    #[must_use]
    pub fn also(mut self, span: Span, label: impl Into<String>) -> Diagnostic {
        self.secondary.push((span, label.into()));
        self
    }

    /// Adds an explaining fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// Adds advice.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }

    /// Sets the stable code.
    #[must_use]
    pub fn code(mut self, code: &'static str) -> Diagnostic {
        self.code = Some(code);
        self
    }

    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The diagnostics of a stage, in the order they were found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// An empty list.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Appends a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Whether any of them is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(Diagnostic::is_error)
    }

    /// How many of them are errors.
    pub fn error_count(&self) -> usize {
        self.list.iter().filter(|d| d.is_error()).count()
    }

    /// Whether there are none at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// The plain list.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.list
    }

    /// Orders them by source and position; those without a place come last, in their old order.
    pub fn sort_by_position(&mut self) {
        self.list.sort_by_key(|d| match &d.primary {
            Some((span, _)) => (false, span.source, span.start, span.end),
            None => (true, crate::SourceId::default(), 0, 0),
        });
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, items: I) {
        self.list.extend(items);
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(items: I) -> Diagnostics {
        Diagnostics { list: items.into_iter().collect() }
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics { list: vec![diagnostic] }
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceId;

    #[test]
    fn counting_and_sorting() {
        let span = |start| Span::new(SourceId(0), start, start + 1);
        let mut all = Diagnostics::new();
        all.push(Diagnostic::error("no place"));
        all.push(Diagnostic::warning("late").at(span(9), ""));
        all.extend([Diagnostic::error("early").at(span(2), "")]);
        assert!(all.has_errors());
        assert_eq!((all.error_count(), all.len()), (2, 3));
        all.sort_by_position();
        let order: Vec<_> = all.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(order, ["early", "late", "no place"]);
    }
}
