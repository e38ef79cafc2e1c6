//! S-expressions that are to be printed, and how they are broken into lines.

/// Lines are broken that would be longer.
const WIDTH: usize = 100;

/// Deeper indentation is not shown: deep nesting must not cost quadratic space.
const MAX_INDENT: usize = 60;

/// An S-expression.
#[derive(Debug)]
pub(super) enum Doc {
    /// A word.
    Atom(String),
    /// A list.
    List {
        /// Its parts.
        items: Vec<Doc>,
        /// Characters on one line.
        width: usize,
        /// Whether it is broken even if it fits a line.
        broken: bool,
    },
}

impl Doc {
    /// A list; broken if one of its parts is.
    pub(super) fn list(items: Vec<Doc>) -> Doc {
        let width = items.iter().map(|item| item.width() + 1).sum::<usize>().max(1) + 1;
        let broken = items.iter().any(|item| matches!(item, Doc::List { broken: true, .. }));
        Doc::List { items, width, broken }
    }

    /// A list of a keyword and other things.
    pub(super) fn form(keyword: &str, items: impl IntoIterator<Item = Doc>) -> Doc {
        let keyword = std::iter::once(Doc::from(keyword));
        Doc::list(keyword.chain(items).collect())
    }

    /// The same list, always broken.
    pub(super) fn tall(self) -> Doc {
        match self {
            Doc::List { items, width, .. } => Doc::List { items, width, broken: true },
            atom => atom,
        }
    }

    fn width(&self) -> usize {
        match self {
            Doc::Atom(text) => text.chars().count(),
            Doc::List { width, .. } => *width,
        }
    }

    /// Appends the text of this.
    pub(super) fn write(&self, indent: usize, out: &mut String) {
        let indent = indent.min(MAX_INDENT);
        match self {
            Doc::Atom(text) => out.push_str(text),
            Doc::List { width, broken, .. } if !broken && indent + width <= WIDTH => self.flat(out),
            Doc::List { items, .. } => {
                out.push('(');
                let mut inline = true;
                for (i, item) in items.iter().enumerate() {
                    inline &= i == 0 || matches!(item, Doc::Atom(_));
                    if !inline {
                        out.push('\n');
                        out.extend(std::iter::repeat_n(' ', indent + 2));
                    } else if i > 0 {
                        out.push(' ');
                    }
                    item.write(if i == 0 { indent + 1 } else { indent + 2 }, out);
                }
                out.push(')');
            }
        }
    }

    fn flat(&self, out: &mut String) {
        match self {
            Doc::Atom(text) => out.push_str(text),
            Doc::List { items, .. } => {
                out.push('(');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(' ');
                    }
                    item.flat(out);
                }
                out.push(')');
            }
        }
    }
}

impl From<&str> for Doc {
    fn from(text: &str) -> Doc {
        Doc::Atom(text.to_string())
    }
}

impl From<String> for Doc {
    fn from(text: String) -> Doc {
        Doc::Atom(text)
    }
}
