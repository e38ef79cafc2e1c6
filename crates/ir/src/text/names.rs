//! Names that can stand for numbers.

use std::collections::HashMap;

/// The names of numbered things.
#[derive(Debug, Default)]
pub(super) struct Names {
    names: Vec<Option<String>>,
    /// The number of each name; `None` if it is not unique.
    numbers: HashMap<String, Option<u32>>,
}

impl Names {
    /// The names of things in order.
    pub(super) fn new<'a>(names: impl IntoIterator<Item = Option<&'a str>>) -> Names {
        let mut all = Names::default();
        names.into_iter().for_each(|name| all.push(name));
        all
    }

    /// Adds the name of the next thing.
    pub(super) fn push(&mut self, name: Option<&str>) {
        let number = self.names.len() as u32;
        if let Some(name) = name {
            let known = self.numbers.entry(name.to_string());
            known.and_modify(|number| *number = None).or_insert(Some(number));
        }
        self.names.push(name.map(str::to_string));
    }

    /// Whether references are by number.
    pub(super) fn needs_number(&self, number: u32) -> bool {
        self.reference(number).contains('#')
    }

    /// How a number is written.
    pub(super) fn reference(&self, number: u32) -> String {
        let name = self.names.get(number as usize).and_then(Option::as_deref);
        match name.filter(|name| is_plain(name)) {
            Some(name) if self.numbers.get(name) == Some(&Some(number)) => name.to_string(),
            Some(name) => format!("{name}#{number}"),
            None => format!("#{number}"),
        }
    }

    /// The number that is written so; `what` names the kind of thing in messages.
    pub(super) fn number(&self, text: &str, what: &str) -> Result<u32, String> {
        let Some((name, number)) = text.split_once('#') else {
            return match self.numbers.get(text) {
                Some(Some(number)) => Ok(*number),
                Some(None) => Err(format!("there is more than one {what} `{text}`: add a number")),
                None => Err(format!("there is no {what} `{text}`")),
            };
        };
        let Ok(number) = number.parse::<u32>() else {
            return Err(format!("`{text}` does not end in a number"));
        };
        match self.names.get(number as usize) {
            _ if name.is_empty() => Ok(number),
            Some(Some(known)) if known == name => Ok(number),
            _ => Err(format!("{what} {number} is not called `{name}`")),
        }
    }
}

/// Whether a name can be written without quotes.
pub(super) fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A name where it is given.
pub(super) fn declared(name: &str) -> String {
    if is_plain(name) { name.to_string() } else { quoted(name) }
}

/// A text in quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
