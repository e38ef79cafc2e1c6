//! Shapes of trees and texts of errors. Whole models are parsed in `tests/models.rs`, arbitrary
//! input in `tests/robust.rs`.

mod show;

use ergodic_diag::{Diagnostics, SourceId, Sources, render};
use expect_test::{Expect, expect};

use super::{MAX_ERRORS, parse};
use crate::ast::{Item, Model, Rule};
use show::{Tree, show, show_decl};

/// Checks the rendered diagnostics.
fn errors(text: &str, expected: Expect) {
    let mut sources = Sources::new();
    let id = sources.add("m", text.to_owned());
    let (_, diagnostics) = parse(id, text);
    let texts: Vec<String> = diagnostics.iter().map(|d| render(d, &sources, false)).collect();
    expected.assert_eq(&texts.join("\n"));
}

/// Runs on a stack as large as the one that the driver gives the front end.
fn on_large_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(run);
    thread.unwrap().join().unwrap()
}

fn accept(text: &str) -> Model {
    let (model, diagnostics) = parse(SourceId(0), text);
    assert!(diagnostics.is_empty(), "{text}: {diagnostics:#?}");
    model
}

fn tree(text: &str, expected: Expect) {
    let mut tree = Tree::default();
    for item in &accept(text).items {
        match item {
            Item::Decl(decl) => tree.line(show_decl(decl)),
            Item::Function(function) => tree.function(function),
            Item::Rule(rule) => tree.rule(rule),
        }
    }
    expected.assert_eq(&tree.text);
}

fn exprs(texts: &[&str], expected: Expect) {
    let shown: Vec<_> = texts
        .iter()
        .map(|text| match accept(&format!("invariant {text}")).items.as_slice() {
            [Item::Rule(Rule::Property(p))] => show(&p.condition),
            other => panic!("{other:?}"),
        })
        .collect();
    expected.assert_eq(&shown.join("\n"));
}

#[test]
fn precedence() {
    exprs(
        &[
            "!a = b & c",
            "a = !b = c",
            "-a * b - c - d % e",
            "a + - - b",
            "a -> b | c & d | e & f & g",
            "a ? b : c ? d : e -> f",
            "a || b && c | d ^ e & f",
            "a << 1 + 2 >= b",
            "~a & 15 = 3",
            "(a & b) & c & (d)",
            "¬a ∧ b ∨ c → d ≠ e",
            "x.f[i + 1].g = 0x1F | isundefined(y[2])",
        ],
        expect![[r#"
            ((Not (a = b)) & c)
            (a = (Not (b = c)))
            ((((Neg a) * b) - c) - (d % e))
            (a + (Neg (Neg b)))
            (a -> (b | (c & d) | (e & f & g)))
            (a ? b : (c ? d : (e -> f)))
            (a || (b && (c | (d ^ (e & f)))))
            ((a << (1 + 2)) >= b)
            ((BitNot a) & (15 = 3))
            ((a & b) & c & d)
            ((((Not a) && b) || c) -> (d != e))
            ((x.f[(i + 1)].g = 31) | isundefined(y[2]))"#]],
    );
}

#[test]
fn operands() {
    exprs(
        &[
            "forall i: 0..N do exists j: T; k := 1 to 9 by 2 : f(i, j,) endexists end",
            "ismember(p, T) & multisetcount(i: net, net[i].k = 1) > 2",
            "TRUE = False",
            "sqrt(2.5) < 1e-3 + cover",
            "f() = undefined",
        ],
        expect![[r#"
            (Forall i: 0..N do (Exists j: T; k := 1 to 9 by 2 do f(i, j)))
            (ismember(p, T) & (count(i: net, (net[i].k = 1)) > 2))
            (true = false)
            (sqrt(2.5) < (0.001 + cover))
            (f() = undefined)"#]],
    );
}

#[test]
fn declarations() {
    tree(
        "const N: 3; M, L: N + 1; type p: scalarset(N); e: enum {a, b,}; var
         x, y: array [p] of record f: -1..N; g, h: boolean; end;
         const K: 7 var z: union {p, enum {q}}; m: multiset [N] of e; r: real(4, 2);
         cover: e; choose: boolean",
        expect![[r#"
            const N = 3
            const M, L = (N + 1)
            type p = scalarset(N)
            type e = enum{a, b}
            var x, y: array[p](record(f: (Neg 1)..N; g, h: boolean))
            const K = 7
            var z: union{p, enum{q}}
            var m: multiset[N](e)
            var r: real(4, 2)
            var cover: e
            var choose: boolean
        "#]],
    );
}

#[test]
fn functions() {
    tree(
        "function f(a, b: T; var c: 0..3, d: U): boolean; var v: T; begin return a; endfunction;
         procedure p(); begin return end;
         Procedure q(var x: T) x := 1; Clear x EndProcedure
         externfun g(x: T): T \"g.h\"; externproc h();
         function k(): T; var i: T; i := 0; return i; end",
        expect![[r#"
            function f(a, b: T; var c: 0..3; d: U) -> boolean
              var v: T
              return a
            function p() -> -
              return -
            function q(var x: T) -> -
              x := 1
              clear x
            function g(x: T) -> T external Some("g.h")
            function h() -> - external None
            function k() -> T
              var i: T
              i := 0
              return i
        "#]],
    );
}

#[test]
fn rules() {
    tree(
        "ruleset i: T; j := 0 to 3 do
           rule 3 \"a\" x[i] = j ==> var k: T; begin k := i; end;
           rule x[i] := j; endrule
           rule p(i); q(j) end
           rule p(i) & y ==> end;
           rule 3 > y ==> begin end;
           rule if y then x := 1 end end;
           alias a: x[i]; b: a.f; do startstate \"s\" a := b end endalias;
         endruleset
         choose n: net do rule \"r\" MultisetRemove(n, net) end end;
         invariant \"before\" x = 1; assert x = 1 \"after\"; cover (y); liveness \"l\" y; assume !y",
        expect![[r#"
            ruleset i: T; j := 0 to 3
              rule [a] priority 3 (x[i] = j)
                var k: T
                k := i
              rule [-] -
                x[i] := j
              rule [-] -
                call p(i)
                call q(j)
              rule [-] (p(i) & y)
              rule [-] (3 > y)
              rule [-] -
                if y
                  x := 1
              alias a = x[i]; b = a.f
                startstate [s]
                  a := b
            choose n: net
              rule [r] -
                remove n from net
            invariant [before] (x = 1)
            assert [after] (x = 1)
            cover [-] y
            liveness [l] y
            assume [-] (Not y)
        "#]],
    );
}

#[test]
fn statements() {
    tree(
        "rule ;
           if a then ; elsif b then x := 1;; else y.f[2] := undefined end;
           switch a case 1, 2: x := 1; case b: else p(1, b) endswitch;
           for i: T; j := 3 to 1 by -1 : while a do x := i end endfor;
           alias q: x.y, r: q do clear q; undefine r; end;
           error \"e\"; put \"t\"; put x + 1; return;
           assert \"m\" a; assert a \"m\"; assume a; cover := a; cover a;
           multisetadd(m, net); multisetremovepred(i: net, net[i] = 2)
         end",
        expect![[r#"
            rule [-] -
              if a
              if b
                x := 1
              else
                y.f[2] := undefined
              switch a
              case 1, 2
                x := 1
              case b
              else
                call p(1, b)
              for i: T; j := 3 to 1 by (Neg 1)
                while a
                  x := i
              alias q = x.y; r = q
                clear q
                undefine r
              error [e]
              put [t]
              put (x + 1)
              return -
              assert [m] a
              assert [m] a
              assume [-] a
              cover := a
              cover [-] a
              add m to net
              remove all i from net with (net[i] = 2)
        "#]],
    );
}

#[test]
fn mistakes_with_operators() {
    errors(
        "rule x = 1 ==>\n  x = 2;\n  if x := 3 then x := 1 end;\n  y := x <> 3 and z;\nend;\n\
         invariant a < b < c; invariant a -> b -> c; const N = 3; M: 99999999999999999999;",
        expect![[r#"
            error: expected `:=`, found `=`
             --> m:2:5
              |
            2 |   x = 2;
              |     ^ expected `:=`
              |
              = help: `=` compares; write `:=` to assign
            error: expected an operator, found `:=`
             --> m:3:8
              |
            3 |   if x := 3 then x := 1 end;
              |        ^^ expected an operator
              |
              = help: `:=` assigns; write `=` to compare
            error: `<>` is not an operator
             --> m:4:10
              |
            4 |   y := x <> 3 and z;
              |          ^^
              |
              = help: write `!=`
            error: expected `;`, found `and`
             --> m:4:14
              |
            4 |   y := x <> 3 and z;
              |              ^ expected `;` here
              |
              = help: write `&` for conjunction
            error: `<` cannot follow here without parentheses
             --> m:6:17
              |
            6 | invariant a < b < c; invariant a -> b -> c; const N = 3; M: 99999999999999999999;
              |           ----- ^
              |           |
              |           after this
              |
              = help: put parentheses around one of the two operations
            error: `->` cannot follow here without parentheses
             --> m:6:39
              |
            6 | invariant a < b < c; invariant a -> b -> c; const N = 3; M: 99999999999999999999;
              |                                ------ ^^
              |                                |
              |                                after this
              |
              = help: put parentheses around one of the two operations
            error: expected `:`, found `=`
             --> m:6:53
              |
            6 | invariant a < b < c; invariant a -> b -> c; const N = 3; M: 99999999999999999999;
              |                                                     ^ expected `:`
              |
              = help: a declaration is written `name: type` or `name: value`
            error: this number is too large
             --> m:6:61
              |
            6 | invariant a < b < c; invariant a -> b -> c; const N = 3; M: 99999999999999999999;
              |                                                             ^^^^^^^^^^^^^^^^^^^^
              |
              = note: the greatest number is 9223372036854775807"#]],
    );
}

#[test]
fn misspelt_begin() {
    errors(
        "function f(): boolean;\nvar b: boolean;\nbegni\n  b := true;\n  return b;\nend;\n\
         startstate\nbeign\n  clear x;\nend;\nrule x = 1 ==>\nBegun\n  x := 2;\nend;",
        expect![[r#"
            error: expected `begin`, found `begni`
             --> m:3:1
              |
            3 | begni
              | ^^^^^ expected `begin`
              |
              = help: did you mean `begin`?
            error: expected `begin`, found `beign`
             --> m:8:1
              |
            8 | beign
              | ^^^^^ expected `begin`
              |
              = help: did you mean `begin`?
            error: expected `begin`, found `Begun`
              --> m:12:1
               |
            12 | Begun
               | ^^^^^ expected `begin`
               |
               = help: did you mean `begin`?"#]],
    );
}

#[test]
fn mistakes_with_branches() {
    errors(
        "rule\n  if a then x := 1 elseif b then x := 2 end;\n  if a then x := 1\n  else if b then \
         x := 2 end;\nend;\nrule if a then else x := 1; elsif c then x := 2; end end",
        expect![[r#"
            error: expected `elsif`, found `elseif`
             --> m:2:20
              |
            2 |   if a then x := 1 elseif b then x := 2 end;
              |                    ^^^^^^ expected `elsif`
              |
              = help: write `elsif`
            error: expected the `end` of this `rule`, found `rule`
             --> m:6:1
              |
            1 | rule
              | ---- this `rule` is not closed
            ...
            4 |   else if b then x := 2 end;
              |        -- this `if` needs an `end` of its own
            5 | end;
            6 | rule if a then else x := 1; elsif c then x := 2; end end
              | ^^^^ expected `end` or `endrule`
              |
              = help: write `elsif` to go on with the same `if`
            error: `elsif` cannot follow `else`
             --> m:6:29
              |
            6 | rule if a then else x := 1; elsif c then x := 2; end end
              |                             ^^^^^
              |
              = help: `else` is the last part"#]],
    );
}

#[test]
fn missing_words() {
    errors(
        "rule for i: T x[i] := 1 end; if a x := 1 end; while b do y := 1; endrule;\n\
         function f() var x: T; begin x := 1 y := 2; end;\n\
         ruleset i: T, j: T do rule x ==> y := 1; end end",
        expect![[r#"
            error: expected `do`, found `x`
             --> m:1:15
              |
            1 | rule for i: T x[i] := 1 end; if a x := 1 end; while b do y := 1; endrule;
              |               ^ expected `do`
            error: expected `then`, found `x`
             --> m:1:35
              |
            1 | rule for i: T x[i] := 1 end; if a x := 1 end; while b do y := 1; endrule;
              |                                   ^ expected `then`
            error: expected the `end` of this `while`, found `endrule`
             --> m:1:66
              |
            1 | rule for i: T x[i] := 1 end; if a x := 1 end; while b do y := 1; endrule;
              |                                               -----              ^^^^^^^ expected `end` or `endwhile`
              |                                               |
              |                                               this `while` is not closed
            error: expected `;`, found `y`
             --> m:2:36
              |
            2 | function f() var x: T; begin x := 1 y := 2; end;
              |                                    ^ expected `;` here
            error: expected `;` between quantifiers, found `,`
             --> m:3:13
              |
            3 | ruleset i: T, j: T do rule x ==> y := 1; end end
              |             ^ expected `;` between quantifiers"#]],
    );
}

#[test]
fn missing_end() {
    errors(
        "startstate\n  x := 1;\n\nrule x ==>\n  x := 2;\nend;\nend;\nrule x ==> if a then b := 1;",
        expect![[r#"
            error: expected the `end` of this `startstate`, found `rule`
             --> m:4:1
              |
            1 | startstate
              | ---------- this `startstate` is not closed
            ...
            4 | rule x ==>
              | ^^^^ expected `end` or `endstartstate`
            error: this `end` closes nothing
             --> m:7:1
              |
            7 | end;
              | ^^^ everything is closed already
            error: expected the `end` of this `if`, found the end of the file
             --> m:8:29
              |
            8 | rule x ==> if a then b := 1;
              |            --               ^ expected `end` or `endif`
              |            |
              |            this `if` is not closed"#]],
    );
}

#[test]
fn words_as_names() {
    errors(
        "var Rule: 0..3; _x: boolean; ok: boolean;\nprocedure p; begin end;\n\
         rule var to: T; begin ok := 1; var late: T; late := 2 end; pctl [x until y] < 1",
        expect![[r#"
            error: expected a name, found the keyword `Rule`
             --> m:1:5
              |
            1 | var Rule: 0..3; _x: boolean; ok: boolean;
              |     ^^^^ this word is reserved
              |
              = help: choose another name: `rule` is a keyword in any case of letters
            error: a name must begin with a letter
             --> m:1:17
              |
            1 | var Rule: 0..3; _x: boolean; ok: boolean;
              |                 ^^ this begins with `_`
              |
              = help: call it `x`
            error: expected `(`, found `;`
             --> m:2:12
              |
            2 | procedure p; begin end;
              |            ^ expected `(`
              |
              = help: without parameters, write `()` after the name
            error: expected a name, found the keyword `to`
             --> m:3:10
              |
            3 | rule var to: T; begin ok := 1; var late: T; late := 2 end; pctl [x until y] < 1
              |          ^^ this word is reserved
              |
              = help: choose another name: `to` is a keyword in any case of letters
            error: declarations cannot follow statements
             --> m:3:32
              |
            3 | rule var to: T; begin ok := 1; var late: T; late := 2 end; pctl [x until y] < 1
              |                                ^^^
              |
              = help: move them before `begin`
            error: PCTL formulas are not supported
             --> m:3:60
              |
            3 | rule var to: T; begin ok := 1; var late: T; late := 2 end; pctl [x until y] < 1
              |                                                            ^^^^
              |
              = note: the probabilistic verification of CMurphi is not part of Ergodic"#]],
    );
}

#[test]
fn broken_heads_do_not_hide_the_rest() {
    errors(
        "rule (a ==> if ) then x := ; y := 1 end; z := forall i: T do + end; w := 1; end;\n\
         type r: record a: 0 .. ; b: T; end; s: enum {a b};\n\
         rule b ==> v = 1 end",
        expect![[r#"
            error: expected `)`, found `==>`
             --> m:1:9
              |
            1 | rule (a ==> if ) then x := ; y := 1 end; z := forall i: T do + end; w := 1; end;
              |         ^^^ expected `)`
              |
              = help: `==>` follows the guard of a rule, which compares with `=`
            error: expected an expression, found `)`
             --> m:1:16
              |
            1 | rule (a ==> if ) then x := ; y := 1 end; z := forall i: T do + end; w := 1; end;
              |                ^ expected an expression
            error: expected an expression, found `;`
             --> m:1:28
              |
            1 | rule (a ==> if ) then x := ; y := 1 end; z := forall i: T do + end; w := 1; end;
              |                            ^ expected an expression
            error: expected an expression, found `end`
             --> m:1:64
              |
            1 | rule (a ==> if ) then x := ; y := 1 end; z := forall i: T do + end; w := 1; end;
              |                                                                ^^^ expected an expression
            error: expected an expression, found `;`
             --> m:2:24
              |
            2 | type r: record a: 0 .. ; b: T; end; s: enum {a b};
              |                        ^ expected an expression
            error: expected `,` or `}`, found `b`
             --> m:2:48
              |
            2 | type r: record a: 0 .. ; b: T; end; s: enum {a b};
              |                                                ^ expected `,` or `}`
            error: expected `:=`, found `=`
             --> m:3:14
              |
            3 | rule b ==> v = 1 end
              |              ^ expected `:=`
              |
              = help: `=` compares; write `:=` to assign"#]],
    );
}

#[test]
fn comments_and_strings() {
    errors(
        "// first\nrule \"a\n==> x := 'a'; // second\nend; /* never",
        expect![[r#"
            error: `//` does not start a comment
             --> m:1:1
              |
            1 | // first
              | ^^
              |
              = help: write `--` for a comment to the end of the line, or `/* … */`
            error: this string is never closed
             --> m:2:6
              |
            2 | rule "a
              |      ^^
              |
              = help: close it with `"` on the same line
            error: this rule has an arrow but no guard
             --> m:3:1
              |
            3 | ==> x := 'a'; // second
              | ^^^
              |
              = help: leave out `==>`, or write `true ==>`
            error: the character '\'' has no meaning in Murphi
             --> m:3:10
              |
            3 | ==> x := 'a'; // second
              |          ^
              |
              = help: write strings between double quotes: "…"
            error: the character '\'' has no meaning in Murphi
             --> m:3:12
              |
            3 | ==> x := 'a'; // second
              |            ^
              |
              = help: write strings between double quotes: "…"
            error: this comment is never closed
             --> m:4:6
              |
            4 | end; /* never
              |      ^^ the comment starts here
              |
              = help: close it with `*/`"#]],
    );
}

fn messages(text: String) -> (Vec<String>, Diagnostics) {
    on_large_stack(move || {
        let (model, diagnostics) = parse(SourceId(0), &text);
        drop(model);
        (diagnostics.iter().map(|d| d.message.clone()).collect(), diagnostics)
    })
}

#[test]
fn errors_are_limited() {
    let (messages, diagnostics) = messages("rule x = 1; y = 2; end;\n".repeat(50));
    assert_eq!(diagnostics.error_count(), MAX_ERRORS);
    assert_eq!(messages.len(), MAX_ERRORS + 1);
    let last = diagnostics.iter().last().unwrap();
    assert!(last.message.starts_with("stopped after"), "{last:?}");
}

#[test]
fn nesting_is_limited() {
    let nested = |open: &str, inner: &str, close: &str, n: usize| {
        let text = open.repeat(n) + inner + &close.repeat(n);
        let expr = format!("invariant {text}");
        let stmt = format!("rule x := {text} end");
        (expr, stmt)
    };
    let limit = "this is nested too deeply: the limit is 1000 levels";
    for (open, inner, close) in [
        ("(", "a", ")"),
        ("!", "a", ""),
        ("- ", "a", ""),
        ("f(", "a", ")"),
        ("a[", "a", "]"),
        ("forall i: T do ", "a", " end"),
        ("a ? b : ", "c", ""),
        ("ismember(a, 0..", "9", ")"),
    ] {
        let (good, _) = nested(open, inner, close, 450);
        assert_eq!(messages(good).0, [""; 0], "{open}");
        let (bad, stmt) = nested(open, inner, close, 100_000);
        assert_eq!(messages(bad).0, [limit], "{open}");
        assert_eq!(messages(stmt).0, [limit], "{open}");
    }
    for (open, inner, close) in [
        ("rule ", "if a then ", "end "),
        ("rule ", "while a do ", "end "),
        ("", "ruleset i: T do ", "end "),
        ("type t: ", "array [a] of ", ""),
        ("var v: ", "record a: ", "end "),
    ] {
        let text = |n: usize| open.to_owned() + &inner.repeat(n) + &close.repeat(n);
        assert_eq!(messages(text(100_000)).0, [limit], "{inner}");
    }
}

#[test]
fn chains_are_limited_but_not_conjunctions() {
    let sum = |n| messages(format!("invariant a{} = 0", " + b".repeat(n)));
    assert_eq!(sum(9_990).0, [""; 0]);
    let limit = "this expression is too long: the limit is 10000 operators in a row";
    assert_eq!(sum(20_000).0, [limit]);
    let path = messages(format!("invariant a{}", ".b".repeat(20_000)));
    assert_eq!(path.0, [limit]);
    for operator in ["&", "|", "&&", "||"] {
        let text = format!("invariant a{}", format!(" {operator} b").repeat(200_000));
        assert_eq!(messages(text).0, [""; 0], "{operator}");
    }
    // Chains inside chains add up.
    let tall = (0..50).fold("a".to_owned(), |inner, _| format!("({inner}{})", " + b".repeat(300)));
    assert_eq!(messages(format!("invariant {tall} = 0")).0, [limit]);
}
