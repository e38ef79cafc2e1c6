//! Whatever the input, the parser ends quickly, without a panic, and with bounded diagnostics.

use std::time::{Duration, Instant};

use ergodic_diag::{SourceId, Sources, render};
use ergodic_murphi::{MAX_ERRORS, parse};
use proptest::prelude::*;

/// Parses on a stack as large as the driver's, renders the errors, and returns their number.
fn survive(text: String) -> usize {
    let run = move || {
        let (model, diagnostics) = parse(SourceId(0), &text);
        assert!(diagnostics.len() <= MAX_ERRORS + 1);
        assert_eq!(model.span.end as usize, text.len());
        let mut sources = Sources::new();
        sources.add("m", text);
        for d in &diagnostics {
            assert!(!render(d, &sources, false).is_empty());
        }
        diagnostics.error_count()
    };
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(run);
    thread.unwrap().join().unwrap()
}

const TOKENS: &[&str] = &[
    "alias",
    "array",
    "assert",
    "assume",
    "begin",
    "boolean",
    "by",
    "case",
    "choose",
    "clear",
    "const",
    "cover",
    "do",
    "else",
    "elsif",
    "elseif",
    "end",
    "endfor",
    "endif",
    "endrule",
    "enum",
    "error",
    "exists",
    "externfun",
    "false",
    "for",
    "forall",
    "function",
    "if",
    "invariant",
    "ismember",
    "isundefined",
    "liveness",
    "multiset",
    "multisetadd",
    "multisetcount",
    "multisetremovepred",
    "of",
    "procedure",
    "put",
    "real",
    "record",
    "return",
    "rule",
    "ruleset",
    "scalarset",
    "startstate",
    "switch",
    "then",
    "to",
    "true",
    "type",
    "undefine",
    "undefined",
    "union",
    "var",
    "while",
    "pctl",
    "x",
    "y",
    "T",
    "0",
    "7",
    "2.5",
    "\"s\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ";",
    ",",
    ":",
    ".",
    "..",
    ":=",
    "==>",
    "?",
    "->",
    "||",
    "&&",
    "|",
    "^",
    "&",
    "!",
    "~",
    "=",
    "!=",
    "<",
    "<=",
    "<<",
    "+",
    "-",
    "*",
    "/",
    "%",
    "\n",
    "--",
    "/*",
    "*/",
    "\"",
    "“",
    "≠",
    "∀",
    "§",
];

const MODEL: &str = r#"
const N: 3;
type proc: scalarset(N); state: enum {idle, trying, critical};
  message: record from: proc; kind: 0..N-1; end;
var procs: array [proc] of state; turn: union {proc, enum {none}};
  net: multiset [N] of message;
function free(p: proc): boolean; var q: proc; begin
  return forall q: proc do p = q | procs[q] != critical endforall; end;
procedure send(var m: message; p: proc); begin m.from := p; multisetadd(m, net); end;
ruleset p: proc; k := 0 to N-1 by 2 do
  rule "enter" procs[p] = trying & free(p) ==> var m: message; begin
    procs[p] := critical; undefine m; send(m, p);
    if k > 1 then clear m.kind; elsif !isundefined(turn) then put "x"; else error "no"; end;
    switch procs[p] case idle, trying: turn := p; else while k < 2 do return; end; end;
    for i := 1 to 3 do alias s: procs[p] do s := idle; end; end;
  endrule;
  choose m: net do rule "deliver" multisetremove(m, net); end; end;
endruleset;
startstate "init" for p: proc do procs[p] := idle; endfor; turn := undefined; end;
invariant "mutex" !exists p: proc; q: proc do p != q & procs[p] = critical end;
"#;

#[test]
fn the_model_to_mutate_is_correct() {
    assert_eq!(survive(MODEL.to_owned()), 0);
}

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(TOKENS), 0..300).prop_map(|words| words.join(" "))
}

/// The model with pieces removed, doubled, swapped or replaced.
fn mutant() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0u8..4, prop::sample::select(TOKENS));
    prop::collection::vec(edit, 1..12).prop_map(|edits| {
        let mut words: Vec<&str> = MODEL.split_inclusive([' ', ';', '(', ')']).collect();
        for (at, how, token) in edits {
            let at = at.index(words.len());
            match how {
                0 => words[at] = " ",
                1 => words.insert(at, words[at]),
                2 => words.swap(at, 0),
                _ => words[at] = token,
            }
        }
        words.concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        survive(String::from_utf8_lossy(&bytes).into_owned());
    }

    #[test]
    fn random_text(text in "[ -~\n∀≤“”é]{0,500}") {
        survive(text);
    }

    #[test]
    fn token_soup(text in soup()) {
        survive(text);
    }

    #[test]
    fn mutated_models(text in mutant()) {
        survive(text);
    }
}

#[test]
fn large_inputs_take_linear_time() {
    const SIZE: usize = 5_000_000;
    let fill = |unit: &str| unit.repeat(SIZE / unit.len());
    let start = Instant::now();
    for unit in [
        "§",
        "(",
        "\"",
        "\"\\\"",
        "\\\"",
        "''",
        "//\n",
        "/*",
        "rule ",
        "if a then ",
        "end ",
        "x ",
        "x := ",
        "forall i: T do ",
        "var x: record ",
        "else ",
        ", ",
        "a & ",
        "a + ",
        "elseif ",
        "var rule: ",
        "case 1: ",
        "procedure p; ",
        "cover ",
        "1 ",
        "aaaaaaaa",
    ] {
        survive(fill(unit));
        survive("rule ".to_owned() + &fill(unit));
        survive("invariant ".to_owned() + &fill(unit));
    }
    let mut seed = 1u32;
    let noise: String = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        TOKENS[(seed >> 16) as usize % TOKENS.len()]
    })
    .take(SIZE / 5)
    .collect();
    survive(noise);
    // Generous: the point is to notice quadratic behaviour, which takes hours.
    assert!(start.elapsed() < Duration::from_secs(120), "{:?}", start.elapsed());
}
