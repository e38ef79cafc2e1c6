//! Whatever is written, there is an answer and no panic; and what is accepted is well formed.

use crate::translate;
use ergodic_ir::verify::verify;
use ergodic_murphi::Options;
use proptest::prelude::*;

/// Valid models that use most of the language.
const SEEDS: &[&str] = &[
    "const N: 2; type node: scalarset(N); color: enum { red, green }; any: union { node, color };
     cell: record c: color; n: any; r: real(4, 20); end; small: 0..N;
     var cells: array [node] of cell; net: multiset[3] of cell; x: small; b: boolean;
     function get(n: node): color; begin return cells[n].c; end;
     procedure put_it(var c: cell; v: small); var l: cell; begin l := c; c.c := green; x := v; end;
     ruleset n: node; i: small do alias me: cells[n] do
       rule \"go\" x = i & get(n) = red & !isundefined(me.n) ==> begin
         put_it(cells[n], i); me.n := undefined; multisetadd(me, net);
         if x < N then x := x + 1; elsif b then clear x; else return; end;
       end;
       choose m: net do rule net[m].c = red ==> begin multisetremove(m, net); end; end;
     end; end;
     startstate begin x := 0; undefine net; for n: node do cells[n].c := red; end; end;
     invariant \"ok\" forall n: node do cells[n].c = red -> x <= N end;",
    "var a: array [boolean] of 0..9; s: enum { p, q, w };
     function f(i: 0..9): 0..9; begin return i > 0 ? f(i - 1) : 3; end;
     rule s = p ==> var k: 0..9; begin
       switch s case p, q: s := w; case w: error \"bad\"; else put \"x\"; end;
       k := 0; while k < 3 do k := k + 1; end; a[true] := f(k) % 4;
       for i := 0 to 4 by 2 do a[i = 2] := i; end; put a[true]; assert k = 3 \"three\";
     end;
     startstate \"init\" begin clear a; clear s; end;
     cover exists i: boolean do a[i] = 1 end; assume a[false] != 7; liveness s = p;",
];

/// Pieces to put in.
const TOKENS: &[&str] = &[
    "x",
    "a",
    "s",
    "b",
    "cells",
    "net",
    "node",
    "color",
    "red",
    "N",
    "f",
    "get",
    "put_it",
    "m",
    "n",
    "i",
    "1",
    "0",
    "-1",
    "2.5",
    "true",
    "undefined",
    "&",
    "|",
    "->",
    "=",
    "!=",
    "<",
    "+",
    "/",
    "%",
    "<<",
    "~",
    "!",
    "?",
    ":",
    ":=",
    ";",
    ",",
    ".",
    "[",
    "]",
    "(",
    ")",
    "..",
    "do",
    "end",
    "begin",
    "rule",
    "ruleset",
    "startstate",
    "invariant",
    "cover",
    "assume",
    "alias",
    "choose",
    "if",
    "then",
    "for",
    "while",
    "switch",
    "case",
    "return",
    "put",
    "clear",
    "undefine",
    "error",
    "assert",
    "var",
    "const",
    "type",
    "record",
    "enum",
    "{",
    "}",
    "array",
    "of",
    "multiset",
    "scalarset",
    "union",
    "real",
    "boolean",
    "function",
    "procedure",
    "forall",
    "exists",
    "isundefined",
    "ismember",
    "multisetadd",
    "multisetremove",
    "multisetcount",
    "\"t\"",
    "sin",
    "==>",
];

/// The words and signs of a text.
fn pieces(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut quoted = false;
    let mut before = ' ';
    let word = |c: char| c.is_alphanumeric() || c == '_';
    for c in text.chars() {
        let goes_on = quoted
            || word(before) && word(c)
            || ":=-><!.".contains(before) && "=>.".contains(c) && before != ' ';
        match out.last_mut() {
            Some(last) if goes_on => last.push(c),
            _ if c.is_whitespace() => {}
            _ => out.push(c.to_string()),
        }
        quoted ^= c == '"';
        before = c;
    }
    out
}

#[derive(Clone, Debug)]
enum Change {
    Drop(prop::sample::Index),
    Twice(prop::sample::Index),
    Swap(prop::sample::Index, prop::sample::Index),
    Insert(prop::sample::Index, &'static str),
    Replace(prop::sample::Index, &'static str),
    Copy(prop::sample::Index, prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    let token = || prop::sample::select(TOKENS);
    prop_oneof![
        at().prop_map(Change::Drop),
        at().prop_map(Change::Twice),
        (at(), at()).prop_map(|(a, b)| Change::Swap(a, b)),
        (at(), token()).prop_map(|(a, t)| Change::Insert(a, t)),
        (at(), token()).prop_map(|(a, t)| Change::Replace(a, t)),
        (at(), at()).prop_map(|(a, b)| Change::Copy(a, b)),
    ]
}

fn apply(pieces: &mut Vec<String>, change: &Change) {
    let len = pieces.len();
    if len == 0 {
        return;
    }
    match change {
        Change::Drop(at) => drop(pieces.remove(at.index(len))),
        Change::Twice(at) => pieces.insert(at.index(len), pieces[at.index(len)].clone()),
        Change::Swap(a, b) => pieces.swap(a.index(len), b.index(len)),
        Change::Insert(at, token) => pieces.insert(at.index(len), (*token).to_owned()),
        Change::Replace(at, token) => pieces[at.index(len)] = (*token).to_owned(),
        Change::Copy(from, to) => pieces[to.index(len)] = pieces[from.index(len)].clone(),
    }
}

fn survive(text: &str) {
    for compat_cmurphi in [false, true] {
        let options = Options { compat_cmurphi, strict: compat_cmurphi, ..Options::default() };
        let (program, diagnostics) = translate(text, &options);
        assert_eq!(program.is_none(), diagnostics.has_errors(), "{text}");
        let internal = diagnostics.iter().find(|d| d.message.contains("internal"));
        assert!(internal.is_none(), "{internal:?}\n{text}");
        if let Some(program) = program {
            assert_eq!(verify(&program), Ok(()), "{text}");
        }
    }
}

#[test]
fn seeds_are_valid() {
    for seed in SEEDS {
        crate::program(seed);
        crate::program(&pieces(seed).join(" "));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1500), ..ProptestConfig::default() })]

    #[test]
    fn mutated_models_do_not_panic(
        seed in prop::sample::select(SEEDS),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let mut pieces = pieces(seed);
        for change in &changes {
            apply(&mut pieces, change);
        }
        survive(&pieces.join(" "));
    }
}

#[test]
fn deep_models() {
    let rest = "\nrule true ==> begin end; startstate begin end;";
    let sum = format!("var x: 0..1; invariant x {} = 1;{rest}", "+ x ".repeat(9_000));
    survive(&sum);
    let not = format!("var x: boolean; invariant {}x;{rest}", "!".repeat(900));
    survive(&not);
    let nested = format!("type t: {}boolean; var v: t;{rest}", "array [0..0] of ".repeat(900));
    survive(&nested);
    let aliases: String = (1..40).map(|i| format!("alias a{i}: a{}[x] do ", i - 1)).collect();
    let ends = "end; ".repeat(39);
    let doubled = format!(
        "var x: 0..1; a0: array [0..1] of boolean; {aliases} choose c: a39 do rule begin end; end; {ends}{rest}"
    );
    survive(&doubled);
    let exponential: String =
        (1..40).map(|i| format!("alias a{i}: x[a{0} + a{0}] do ", i - 1)).collect();
    survive(&format!(
        "var x: array [0..1] of 0..1; a0: 0..1; m: array [0..1] of multiset[1] of boolean;
         {exponential} choose c: m[a39] do rule begin end; end; {ends}{rest}"
    ));
}
