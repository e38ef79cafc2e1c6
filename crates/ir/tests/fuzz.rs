//! Nothing panics on any input: random texts, and programs that are broken at random.

mod common;

use common::everything;
use ergodic_ir::text::{parse, print};
use ergodic_ir::verify::verify;
use ergodic_ir::{Facts, Layout, Program};
use proptest::prelude::*;
use proptest::sample::select;

/// Words of the text form, and some that are not.
const WORDS: &[&str] = &[
    "(",
    "(",
    "(",
    ")",
    ")",
    ")",
    "eir",
    "1",
    "type",
    "scalar",
    "bool",
    "int",
    "enum",
    "union",
    "0..1",
    "-1..",
    "undefinable",
    "record",
    "array",
    "multiset",
    "real",
    "global",
    "proc",
    "start",
    "action",
    "property",
    "site",
    "local",
    "bound",
    "storage",
    "ref",
    "param",
    "range",
    "slots",
    "prelude",
    "guard",
    "body",
    "priority",
    "impure-guard",
    "result",
    "end",
    "params",
    "value",
    "assign",
    "copy",
    "if",
    "when",
    "else",
    "switch",
    "case",
    "for",
    "while",
    "call",
    "put",
    "at",
    "read",
    "and",
    "not",
    "+",
    "all",
    "count",
    "block",
    "index",
    "slot",
    ".0",
    ".f",
    ":",
    "#0",
    "#4294967295",
    "x",
    "x#0",
    "$x",
    "$#1",
    "@0",
    "@x",
    "0:1-2",
    "\"s\"",
    "\"",
    "\\",
    ";",
    "\n",
    "1.5",
    "1e999",
    "0x7ff8000000000000",
    "-",
    "invariant",
    "cover",
    "expr",
    "é",
    "\u{0}",
];

/// Replacements for words that are numbers or names.
const NUMBERS: &[&str] = &[
    "#0",
    "#1",
    "#2",
    "#3",
    "#4",
    "#5",
    "#6",
    "#7",
    "#8",
    "#9",
    "#10",
    "#11",
    "#12",
    "#13",
    "#14",
    "#4294967295",
    "$#0",
    "$#1",
    "$#6",
    "$#7",
    "$#9",
    "$#99",
    "@0",
    "@1",
    "@2",
    "@4294967295",
    ".0",
    ".1",
    ".2",
    ".9",
    "0",
    "1",
    "-1",
    "3",
    "4294967295",
    "9223372036854775807",
    "-9223372036854775808",
    "0..1",
    "5..1",
    "0..9223372036854775807",
    "-9223372036854775808..9223372036854775807",
    "1.5",
    "bound",
    "storage",
    "ref",
    "value",
    "int",
    "bool",
    "cover",
    "invariant",
    "impure",
    "n",
    "Node",
    "Small",
];

/// Splits a printed program into parentheses, words and what is between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let solid = |c: char| !c.is_whitespace() && !"()".contains(c);
        let end = match rest.find(|c| !solid(c)) {
            Some(0) => rest.chars().next().map_or(1, char::len_utf8),
            Some(end) => end,
            None => rest.len(),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

fn is_number(word: &str) -> bool {
    let first = word.chars().next().unwrap_or(' ');
    "#$@.-0123456789".contains(first)
        || ["bound", "storage", "ref", "value", "n", "s", "d", "x", "m", "Node", "Small"]
            .contains(&word)
}

/// The program with every variant, some of its numbers and names replaced.
fn broken(changes: &[(prop::sample::Index, &str)]) -> Option<Program> {
    let text = print(&everything::program());
    let mut words: Vec<&str> = words(&text);
    let places: Vec<usize> = (0..words.len()).filter(|i| is_number(words[*i])).collect();
    for (index, word) in changes {
        words[places[index.index(places.len())]] = word;
    }
    parse(&words.concat()).ok()
}

fn check_all(program: &Program) {
    let verdict = verify(program);
    let _ = Facts::new(program);
    assert!(parse(&print(program)).as_ref() == Ok(program));
    if verdict.is_ok() {
        let _ = Layout::new(program);
        let _ = ergodic_ir::Instances::new(program).total();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_words_are_read_or_refused(words in prop::collection::vec(select(WORDS), 0..80)) {
        if let Ok(program) = parse(&words.join(" ")) {
            check_all(&program);
        }
    }

    #[test]
    fn broken_programs_are_judged(
        changes in prop::collection::vec((any::<prop::sample::Index>(), select(NUMBERS)), 1..6),
    ) {
        if let Some(program) = broken(&changes) {
            check_all(&program);
        }
    }

    #[test]
    fn cut_texts_are_refused(at in any::<prop::sample::Index>(), word in select(WORDS)) {
        let text = print(&everything::program());
        let cut = text.floor_char_boundary(at.index(text.len()));
        let _ = parse(&text[..cut]);
        let _ = parse(&format!("{}{word}{}", &text[..cut], &text[cut..]));
    }

    #[test]
    fn broken_numbers_are_judged(
        table in 0usize..6,
        at in any::<prop::sample::Index>(),
        number in prop_oneof![0u32..16, Just(u32::MAX)],
    ) {
        let mut program = everything::program();
        match table {
            0 => drop(program.types.remove(at.index(program.types.len()))),
            1 => drop(program.globals.remove(at.index(program.globals.len()))),
            2 => program.actions[0].locals.truncate(at.index(11)),
            3 => program.procs.truncate(at.index(2)),
            4 => program.properties.truncate(at.index(5)),
            _ => program.sites.truncate(at.index(2)),
        }
        if let Some(global) = program.globals.first_mut() {
            global.ty.0 = number;
        }
        check_all(&program);
    }
}

/// Replacements that can stand where a word stands: sites for sites, names and numbers for names…
fn alike(word: &str) -> Vec<&'static str> {
    let class = |word: &str| match word.chars().next() {
        Some(first @ ('@' | '$' | '.')) => first,
        Some('-' | '0'..='9') => '0',
        _ => '#',
    };
    NUMBERS.iter().copied().filter(|other| class(other) == class(word)).collect()
}

#[test]
fn single_changes_are_judged() {
    let text = print(&everything::program());
    let words: Vec<&str> = words(&text);
    assert_eq!(words.concat(), text);
    let (mut tried, mut read) = (0, 0);
    for place in (0..words.len()).filter(|place| is_number(words[*place])) {
        let others = alike(words[place]);
        for step in 0..4 {
            let mut changed = words.clone();
            changed[place] = others[(place + 5 * step) % others.len()];
            tried += 1;
            if let Ok(program) = parse(&changed.concat()) {
                check_all(&program);
                read += 1;
            }
        }
    }
    assert!(2 * read > tried, "only {read} of {tried} changed programs could be read");
}
