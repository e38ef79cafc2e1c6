//! Expectations in the header of a model.
//!
//! Lines of the form `--@ key: value` (or `//@ …`, `#@ …`, after the comment signs of other
//! languages), anywhere in the file:
//!
//! | key | meaning |
//! |---|---|
//! | `verdict` | `holds`, `violated`, `incomplete` or `error` |
//! | `violation` | what is violated: `invariant "Name"`, `assertion "Text"`, `error "Text"`, `liveness "Name"`, `cover "Name"`, `deadlock`, `fault part of the message` |
//! | `message` | part of a message, for `verdict: error` |
//! | `states`, `transitions`, `depth` | counts |
//! | `options` | options of `ergodic check`; begins a new set of expectations |
//!
//! What stands before the first `options` line holds for all sets, unless a set says otherwise.

/// One of the four words for a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Nothing can go wrong.
    Holds,
    /// Something can.
    Violated,
    /// Not all was visited.
    Incomplete,
    /// The model or an option is bad.
    Error,
}

impl Word {
    /// The word as written.
    pub fn text(self) -> &'static str {
        match self {
            Word::Holds => "holds",
            Word::Violated => "violated",
            Word::Incomplete => "incomplete",
            Word::Error => "error",
        }
    }

    fn parse(text: &str) -> Option<Word> {
        let all = [Word::Holds, Word::Violated, Word::Incomplete, Word::Error];
        all.into_iter().find(|word| word.text() == text)
    }
}

/// What a run must give; `None` is not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// The result.
    pub verdict: Option<Word>,
    /// What is violated.
    pub violation: Option<String>,
    /// Part of an error message.
    pub message: Option<String>,
    /// Distinct states.
    pub states: Option<u64>,
    /// Rule firings.
    pub transitions: Option<u64>,
    /// Last level, or length of the counterexample.
    pub depth: Option<u64>,
}

/// Expectations for one set of options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// The options, as words.
    pub options: Vec<String>,
    /// What must come out.
    pub expect: Expect,
    /// Line of the `options` directive (from 1), or 0.
    pub line: usize,
}

/// A line that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// The sets of a model; empty if it has no directive at all.
pub fn parse(text: &str) -> Result<Vec<Set>, HeaderError> {
    let mut common = Expect::default();
    let mut sets: Vec<Set> = Vec::new();
    let mut any = false;
    for (i, line) in text.lines().enumerate() {
        let Some(directive) = directive(line) else { continue };
        any = true;
        let fail = |message: String| HeaderError { line: i + 1, message };
        let Some((key, value)) = directive.split_once(':') else {
            return Err(fail(format!("`{directive}` is not of the form key: value")));
        };
        let (key, value) = (key.trim(), value.trim());
        if key == "options" {
            let options = value.split_whitespace().map(str::to_string).collect();
            sets.push(Set { options, expect: common.clone(), line: i + 1 });
            continue;
        }
        let expect = sets.last_mut().map_or(&mut common, |set| &mut set.expect);
        set_key(expect, key, value).map_err(fail)?;
    }
    if sets.is_empty() && any {
        sets.push(Set { expect: common, ..Set::default() });
    }
    Ok(sets)
}

/// The text with the counts of each set replaced by those that were found.
pub fn bless(text: &str, found: &[(usize, Expect)]) -> String {
    let mut set_line = 0;
    let mut out = String::with_capacity(text.len());
    for (i, line) in text.split_inclusive('\n').enumerate() {
        let replaced = directive(line).and_then(|d| {
            let (key, _) = d.split_once(':')?;
            if key.trim() == "options" {
                set_line = i + 1;
            }
            let (_, expect) = found.iter().find(|(line, _)| *line == set_line)?;
            let value = match key.trim() {
                "verdict" => expect.verdict.map(|w| w.text().to_string()),
                "violation" => expect.violation.clone(),
                "states" => expect.states.map(|n| n.to_string()),
                "transitions" => expect.transitions.map(|n| n.to_string()),
                "depth" => expect.depth.map(|n| n.to_string()),
                _ => None,
            }?;
            let colon = line.find(':')?;
            let ending = if line.ends_with('\n') { "\n" } else { "" };
            Some(format!("{}: {value}{ending}", &line[..colon]))
        });
        out.push_str(replaced.as_deref().unwrap_or(line));
    }
    out
}

fn directive(line: &str) -> Option<&str> {
    let line = line.trim();
    ["--@", "//@", "#@"].iter().find_map(|sign| line.strip_prefix(sign)).map(str::trim)
}

fn set_key(expect: &mut Expect, key: &str, value: &str) -> Result<(), String> {
    let number = || {
        let digits: String = value.chars().filter(|c| *c != ',' && *c != '_').collect();
        digits.parse::<u64>().map(Some).map_err(|_| format!("`{value}` is not a number"))
    };
    match key {
        "verdict" => {
            let word = Word::parse(value);
            expect.verdict = Some(word.ok_or(format!(
                "unknown verdict `{value}`; it is holds, violated, incomplete or error"
            ))?);
        }
        "violation" => expect.violation = Some(value.to_string()),
        "message" => expect.message = Some(value.to_string()),
        "states" => expect.states = number()?,
        "transitions" => expect.transitions = number()?,
        "depth" => expect.depth = number()?,
        _ => {
            return Err(format!(
                "unknown key `{key}`; known are verdict, violation, message, states, transitions, depth, options"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "-- a model\n--@ verdict: holds\n--@ options: --deadlock off\n--@ states: 1,234\n\
                        --@ options: --const N=3\n--@ verdict: violated\nrule true ==> end;\n";

    #[test]
    fn sets_inherit_what_stands_before_them() {
        let sets = parse(TEXT).unwrap();
        assert_eq!(sets.len(), 2);
        assert_eq!(sets[0].options, ["--deadlock", "off"]);
        assert_eq!(sets[0].expect.verdict, Some(Word::Holds));
        assert_eq!(sets[0].expect.states, Some(1234));
        assert_eq!(sets[1].expect.verdict, Some(Word::Violated));
        assert_eq!(sets[1].expect.states, None);
    }

    #[test]
    fn bad_lines_are_named() {
        assert_eq!(parse("--@ sates: 3").unwrap_err().line, 1);
        assert!(parse("--@ verdict: maybe").unwrap_err().message.contains("maybe"));
        assert!(parse("\n--@ nothing").unwrap_err().message.contains("key: value"));
        assert!(parse("no directive").unwrap().is_empty());
    }

    #[test]
    fn blessing_rewrites_counts_of_its_set_only() {
        let found = Expect { states: Some(7), verdict: Some(Word::Holds), ..Expect::default() };
        let blessed = bless(TEXT, &[(3, found)]);
        assert!(blessed.contains("--@ states: 7\n"), "{blessed}");
        assert!(blessed.contains("--@ verdict: violated\n"), "{blessed}");
        assert!(blessed.ends_with("rule true ==> end;\n"));
    }
}
