//! Source texts and positions inside them.
//!
//! A source is addressed by [`SourceId`]; a [`Span`] is a half-open range of byte offsets into one
//! source. Lines and columns are derived on demand from the line table that [`Sources::add`] builds.

/// Names one text registered in [`Sources`].
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A half-open range of byte offsets into one source.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Span {
    /// The source that the offsets refer to.
    pub source: SourceId,
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just after the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `source`.
    pub fn new(source: SourceId, start: u32, end: u32) -> Span {
        Span { source, start, end }
    }

    /// The smallest span that covers both; `self` if the two lie in different sources.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        if self.source != other.source {
            return self;
        }
        Span {
            source: self.source,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The empty span just after this one: the place for "something is missing here".
    #[must_use]
    pub fn after(self) -> Span {
        Span { source: self.source, start: self.end, end: self.end }
    }
}

/// All texts of one run, with their names and line tables.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<File>,
}

#[derive(Clone, Debug)]
struct File {
    name: String,
    text: String,
    /// Offset of the first byte of each line; the first entry is always 0.
    lines: Vec<u32>,
}

impl Sources {
    /// No sources yet.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Registers a text under the name that diagnostics will show.
    pub fn add(&mut self, name: impl Into<String>, text: String) -> SourceId {
        let id = SourceId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        let mut lines = vec![0];
        let breaks =
            text.bytes().enumerate().filter_map(|(at, byte)| (byte == b'\n').then_some(at + 1));
        lines.extend(breaks.map_while(|at| u32::try_from(at).ok()));
        self.files.push(File { name: name.into(), text, lines });
        id
    }

    fn file(&self, id: SourceId) -> Option<&File> {
        self.files.get(id.0 as usize)
    }

    /// The name a source was added under; empty if there is no such source.
    pub fn name(&self, id: SourceId) -> &str {
        self.file(id).map_or("", |file| &file.name)
    }

    /// The text of a source; empty if there is no such source.
    pub fn text(&self, id: SourceId) -> &str {
        self.file(id).map_or("", |file| &file.text)
    }

    /// The part of the text that a span covers, clamped to the source and to whole characters.
    pub fn slice(&self, span: Span) -> &str {
        let text = self.text(span.source);
        let start = text.floor_char_boundary(span.start as usize);
        let end = text.floor_char_boundary(span.end as usize);
        &text[start..end.max(start)]
    }

    /// Line and column where a span starts, both counted from 1, columns in characters.
    pub fn line_col(&self, span: Span) -> (usize, usize) {
        let Some(file) = self.file(span.source) else {
            return (1, 1);
        };
        let at = file.text.floor_char_boundary(span.start as usize);
        let line = self.line_of(span.source, at);
        let start = file.lines[line - 1] as usize;
        (line, file.text[start..at].chars().count() + 1)
    }

    /// The number, counted from 1, of the line that holds byte `at`.
    pub(crate) fn line_of(&self, id: SourceId, at: usize) -> usize {
        self.file(id).map_or(1, |file| file.lines.partition_point(|&start| start as usize <= at))
    }

    /// The byte range of lines `first..=last`, counted from 1, including the last line break.
    pub(crate) fn lines(&self, id: SourceId, first: usize, last: usize) -> std::ops::Range<usize> {
        let Some(file) = self.file(id) else {
            return 0..0;
        };
        let start = file.lines[first - 1] as usize;
        let end = file.lines.get(last).map_or(file.text.len(), |&start| start as usize);
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_and_column_count_characters() {
        let mut sources = Sources::new();
        let id = sources.add("m", "ab\r\nñx\n".to_owned());
        let at = |start| sources.line_col(Span::new(id, start, start));
        assert_eq!(at(0), (1, 1));
        assert_eq!(at(4), (2, 1));
        assert_eq!(at(6), (2, 2));
        assert_eq!(at(8), (3, 1));
        assert_eq!(at(99), (3, 1));
        assert_eq!(sources.slice(Span::new(id, 4, 7)), "ñx");
        assert_eq!(sources.slice(Span::new(id, 7, 2)), "");
    }

    #[test]
    fn joining_spans() {
        let a = Span::new(SourceId(0), 3, 5);
        let b = Span::new(SourceId(0), 9, 12);
        assert_eq!(b.to(a), Span::new(SourceId(0), 3, 12));
        assert_eq!(a.to(Span::new(SourceId(1), 0, 1)), a);
    }
}
