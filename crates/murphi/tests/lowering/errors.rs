//! What is wrong, and how it is said.

use crate::{complete, show, translate};
use ergodic_murphi::Options;
use expect_test::{Expect, expect};

/// Errors of models that lack only a rule and a start state; warnings are left out.
fn check(texts: &[&str], expected: Expect) {
    check_with(texts, &Options::default(), expected);
}

fn check_with(texts: &[&str], options: &Options, expected: Expect) {
    let mut out = String::new();
    for text in texts {
        let whole = complete(text);
        let (program, mut diagnostics) = translate(&whole, options);
        assert_eq!(program.is_none(), diagnostics.has_errors());
        diagnostics = diagnostics.into_iter().filter(|d| d.is_error()).collect();
        out.push_str(&show(&whole, &diagnostics));
    }
    expected.assert_eq(&out);
}

#[test]
fn names() {
    check(
        &[
            "var count: 0..3; rule counnt = 1 ==> begin end;",
            "var x: Nod; type Node: 0..1;",
            "rule foo(1) ==> begin end; function fooo(i: 0..3): boolean; begin return true; end;",
            "var x: 0..3; x: boolean;",
            "const a: b; b: a;",
            "type t: array [0..1] of u; u: record f: t; end;",
            "type t: enum { a, b, a };",
            "const c: 1; rule begin c := 2; end;",
            "type t: 0..1; rule t = 1 ==> begin end;",
            "var r: record left: 0..1; end; rule r.lef = 1 ==> begin end;",
            "type r: record f: 0..1; f: boolean; end; var x: r;",
        ],
        expect![[r#"
            error: there is no variable or constant `counnt`
                `counnt`: not declared
                help: did you mean `count`?
            error: there is no type `Nod`
                `Nod`: not declared
                help: did you mean `Node`?
            error: there is no function `foo`
                `foo`: not declared
                help: did you mean `fooo`?
            error: `x` is declared twice
                `x`: declared again here
                `x`: first declared here
            error: the constant `a` is defined by itself
                `a`: depends on itself
            error: the type `t` is defined by itself
                `t`: depends on itself
            error: `a` is declared twice
                `a`: declared again here
                `a`: first declared here
            error: `c` cannot be assigned to
                `c`: this is a constant
            error: `t` is a type, not a variable or constant
                `t`: a variable or constant is needed here
                `t`: declared here
            error: `record left end` has no field `lef`
                `lef`: no such field
                help: did you mean `left`?
            error: the record has two fields `f`
                `f`: again here
                `f`: first here
        "#]],
    );
}

#[test]
fn constants_and_types() {
    check(
        &[
            "const c: 1 / 0;",
            "const c: 9223372036854775807 + 1;",
            "var v: 0..1; const c: v + 1;",
            "var x: 3..1;",
            "var x: 0..5000000000000000000;",
            "type s: scalarset(0);",
            "type e: enum {};",
            "var m: multiset[0] of boolean;",
            "var a: array [record f: boolean; end] of boolean;",
            "type u: union { e, 0..3 }; e: enum { a };",
            "type u: union { e, f }; f: union { e }; e: enum { a };",
            "var x: real(20, 5);",
            "var x: 0..true;",
            "type s: scalarset(2.5);",
        ],
        expect![[r#"
            error: this constant has no value
                `1 / 0`: division by zero
            error: this constant has no value
                `9223372036854775807 + 1`: the result is out of range
            error: this is not a constant expression
                `v`: `v` is a variable
                `v`: declared here
            error: the range 3..1 is empty
                `3..1`: 3 is greater than 1
                help: write the lower bound first
            error: the bound 5000000000000000000 is too large
                `5000000000000000000`: too large
                help: bounds of ranges lie between -36028797018963968 and 36028797018963967
            error: a scalarset cannot have 0 values
                `0`: must be between 1 and 2147483647
            error: an enumeration needs at least one value
                `enum {}`: no values
                help: name the values, as in `enum { idle, busy }`
            error: a multiset cannot have room for 0 elements
                `0`: must be at least 1
            error: an array cannot be indexed by `record f end`
                `record f: boolean; end`: not a finite simple type
                help: index types are `boolean`, ranges, enumerations, scalarsets and unions
            error: `0..3` cannot be a member of a union
                `0..3`: not an enumeration, scalarset or union
                help: members of unions are enumerations, scalarsets and other unions
            error: enumeration `e` is a member of the union twice
                `f`: again here
            error: a real cannot have 20 significant digits
                `20`: must be between 1 and 15
            error: a bound of a range must be an integer
                `true`: this is `boolean`
            error: the size of a scalarset must be an integer
                `2.5`: this is a real
        "#]],
    );
}

#[test]
fn operators() {
    check(
        &[
            "var x: 0..3; rule x ==> begin end;",
            "var x: 0..3; b: boolean; rule x = b ==> begin end;",
            "type s: scalarset(3); var x: s; rule x + 1 = x ==> begin end;",
            "type s: scalarset(3); var x: s; rule x < x ==> begin end;",
            "type s: scalarset(3); var x: s; rule x = 1 ==> begin end;",
            "type s: scalarset(3); t: scalarset(3); var x: s; y: t; rule x = y ==> begin end;",
            "type e: enum { a, b }; f: enum { c }; rule a = c ==> begin end;",
            "type e: enum { a, b }; rule a < b ==> begin end;",
            "var m: multiset[2] of boolean; rule m = m ==> begin end;",
            "var x: real(4, 10); rule x % 2 = 0 ==> begin end;",
            "var b: boolean; rule (b & 1 = 1) & 3 ==> begin end;",
            "rule (true ? 1 : false) = 1 ==> begin end;",
            "var x: 0..3; rule x = undefined ==> begin end;",
            "var a: array [boolean] of boolean; rule a[1] ==> begin end;",
            "type s: scalarset(3); var a: array [s] of boolean; rule a[1] ==> begin end;",
            "var x: 0..3; rule x.f = x[1] ==> begin end;",
            "rule isundefined(1 + 1) ==> begin end;",
            "type e: enum { a }; rule ismember(1, e) ==> begin end;",
        ],
        expect![[r#"
            error: the guard of a rule must be `boolean`
                `x`: this is an integer
                help: compare it with a number, as in `x != 0`
            error: `=` cannot compare an integer with `boolean`
                `x = b`: different types
            error: `+` needs numbers
                `x`: this is scalarset `s`
                help: values of a scalarset can only be compared with `=` and `!=`, assigned and used as index: anything else would break symmetry
            error: `<` needs numbers
                `x`: this is scalarset `s`
                help: values of a scalarset can only be compared with `=` and `!=`, assigned and used as index: anything else would break symmetry
            error: `<` needs numbers
                `x`: this is scalarset `s`
                help: values of a scalarset can only be compared with `=` and `!=`, assigned and used as index: anything else would break symmetry
            error: `=` cannot compare scalarset `s` with an integer
                `x = 1`: different types
                help: values of a scalarset have no numbers: that would break symmetry
            error: `=` cannot compare scalarset `s` with scalarset `t`
                `x = y`: different types
            error: `=` cannot compare enumeration `e` with enumeration `f`
                `a = c`: different types
            error: `<` needs numbers
                `a`: this is enumeration `e`
            error: `<` needs numbers
                `b`: this is enumeration `e`
            error: multisets cannot be compared
                `m = m`: these are `multiset [2] of boolean`
                help: count elements with `multisetcount`
            error: `%` needs integers
                `x % 2`: an operand is a real
                help: use `fmod` for reals
            error: the operands of `&` must be `boolean`
                `3`: this is an integer
            error: the two values of `?:` do not fit together
                `(true ? 1 : false)`: one is an integer, the other `boolean`
            error: `undefined` is not a value
                `undefined`: not allowed here
                help: test with `isundefined(x)`, and undefine with `x := undefined`
            error: the index must be of `boolean`
                `1`: this is an integer
            error: the index must be of scalarset `s`
                `1`: this is an integer
                help: values of a scalarset have no numbers: that would break symmetry
            error: an integer has no fields
                `x`: this is an integer
            error: an integer cannot be indexed
                `x`: this is an integer
            error: expected a name, found `1`
                `1`: expected a name
            error: this can never be a member of enumeration `e`
                `1`: this is an integer
        "#]],
    );
}

#[test]
fn statements() {
    check(
        &[
            "var x: 0..3; rule begin x := true; end;",
            "var x: 0..3; r: real(4, 10); rule begin x := r; r := x; end;",
            "type s: scalarset(3); var x: s; rule begin x := 1; clear x; end;",
            "type a: record f: boolean; end; b: record g: boolean; end; var x: a; y: b;
             rule begin x := y; end;",
            "rule begin for i: 0..3 do i := 1; end; end;",
            "rule begin for i := 1 to 3 by 0 do end; end;",
            "rule begin for i := true to 3 do end; end;",
            "rule begin for i: real(4, 10) do end; end;",
            "rule begin return 1; end;",
            "var x: 0..3; rule begin switch x case true: case undefined: end; end;",
            "rule begin liveness true; end;",
            "rule begin if 1 then end; while 2 do end; assert 3; end;",
            "var x: 0..3; rule begin alias y: x + 1 do y := 1; end; end;",
            "var m: multiset[2] of boolean; rule begin multisetremove(1, m); end;",
            "var m: multiset[2] of boolean; n: multiset[2] of boolean;
             choose i: m do rule m[i] ==> begin multisetremove(i, n); end; end;",
            "var m: multiset[2] of boolean; rule begin multisetadd(3, m); end;",
            "var x: boolean; rule begin multisetadd(true, x); end;",
        ],
        expect![[r#"
            error: cannot assign `boolean` to `0..3`
                `true`: this is `boolean`
            error: cannot assign a real to `0..3`
                `r`: this is a real
                help: reals are not rounded to integers silently
            error: cannot assign an integer to scalarset `s`
                `1`: this is an integer
                help: values of a scalarset have no numbers: that would break symmetry
            error: `clear` needs a least value for every part
                `x`: this holds scalarset `s`, which has none
                help: assign the parts one by one, or use `undefine`
            error: cannot assign record `b` to record `a`
                `y`: this is record `b`
            error: `i` cannot be assigned to
                `i`: this is a loop variable
            error: a step of zero goes nowhere
                `0`: must not be zero
            error: the first value must be an integer
                `true`: this is `boolean`
            error: a quantifier cannot range over `real(4, 10)`
                `real(4, 10)`: not a finite simple type
            error: a rule cannot return a value
                `1`: there is nobody to take it
            error: this `case` can never match an integer
                `true`: this is `boolean`
            error: a `case` cannot match `undefined`
                `undefined`: not a value
                help: test with `if isundefined(x)` before the `switch`
            error: `liveness` is a property of the whole model
                `liveness true`: not a statement
                help: write it outside of rules and functions
            error: the condition of `if` must be `boolean`
                `1`: this is an integer
                help: compare it with a number, as in `x != 0`
            error: the condition of `while` must be `boolean`
                `2`: this is an integer
                help: compare it with a number, as in `x != 0`
            error: the condition of `assert` must be `boolean`
                `3`: this is an integer
                help: compare it with a number, as in `x != 0`
            error: `y` cannot be assigned to
                `y`: this is an alias
            error: elements of a multiset are found by `choose` only
                `1`: this is an integer
                help: bind an index with `choose i: m do … end` or `multisetcount(i: m, …)`
            error: elements of a multiset are found by `choose` only
                `i`: this belongs to another multiset
                help: bind an index with `choose i: m do … end` or `multisetcount(i: m, …)`
            error: cannot add an integer to `boolean`
                `3`: this is an integer
                help: write `true` or `false`
            error: a multiset is needed here
                `x`: this is `boolean`
        "#]],
    );
}

#[test]
fn functions() {
    check(
        &[
            "function f(i: 0..3): boolean; begin i := 1; return true; end;",
            "function f(): boolean; begin return; end;",
            "function f(): boolean; begin return 1; end;",
            "procedure p(); begin return 1; end;",
            "procedure p(); begin end; rule p() ==> begin end;",
            "procedure p(i: 0..3); begin end; rule begin p(); p(1, 2); p(true); end;",
            "procedure p(var i: 0..3); begin end; var x: 0..4; rule begin p(1); p(x); end;",
            "procedure p(var i: 0..3); begin end; procedure q(j: 0..3); begin p(j); end;",
            "procedure p(var i: 0..3); begin end; rule begin for i: 0..3 do p(i); end; end;",
            "procedure p(var i: 0..3); begin end; rule begin p(undefined); end;",
            "var x: 0..3; function f(): boolean; begin x := 1; return true; end;
             rule f() ==> begin end; invariant \"kept\" f();",
            "externfun f(): boolean \"f.h\"; rule f() ==> begin end;",
            "rule sin(1, 2) = sqrt(true) ==> begin end;",
        ],
        expect![[r#"
            error: `i` cannot be assigned to
                `i`: a parameter without `var` can only be read
                help: declare the parameter with `var`, or copy it to a local variable
            error: the function `f` must return a value
                `return`: the value is missing
            error: the result of `f` is of type `boolean`
                `1`: this is an integer
            error: the procedure `p` cannot return a value
                `1`: there is nobody to take it
            error: the procedure `p` has no result
                `p()`: a value is needed here
                help: call it as a statement, or give it a result type
            error: `p` takes 1 argument, not 0
                `p()`: 0 given
            error: `p` takes 1 argument, not 2
                `p(1, 2)`: 2 given
            error: the parameter `i` of `p` is of type `0..3`
                `true`: this is `boolean`
                `i`: the parameter is declared here
            error: the `var` parameter `i` needs a variable
                `1`: this is not a variable
            error: the `var` parameter `i` of `p` needs a variable of exactly its type, `0..3`
                `x`: this is `0..4`
                `i`: the parameter is declared here
                help: declare both with the same named type, or pass a local variable and copy
            error: `j` cannot be passed to a `var` parameter
                `j`: a parameter without `var` can only be read
                help: declare the parameter with `var`, or copy it to a local variable
            error: the `var` parameter `i` needs a variable
                `i`: this is not a variable
            error: the `var` parameter `i` needs a variable
                `undefined`: this is not a variable
            error: the guard of "Rule 0" changes the state variable `x`
                `rule f()`: a function called here has a side effect
                `x`: changed
                help: let the function only read; `--compat cmurphi` accepts it as it is
            error: "kept" changes the state variable `x`
                `invariant "kept" f()`: a function called here has a side effect
                `x`: changed
                help: let the function only read; `--compat cmurphi` accepts it as it is
            error: external C++ functions cannot be used
                `externfun`: declared as external
                help: write the body of `f` in Murphi
            error: `sin` takes 1 argument, not 2
                `sin(1, 2)`: 2 given
            error: `sqrt` needs numbers
                `true`: this is `boolean`
        "#]],
    );
}

#[test]
fn rules() {
    check(
        &[
            "var n: 0..3; ruleset i := 0 to n do rule begin end; end;",
            "ruleset i := 0 to 3 by 0 do rule begin end; end;",
            "ruleset i: 0..99; j: 0..999 do liveness i = j; end;",
            "var x: 0..3; choose i: x do rule begin end; end;",
            "var m: multiset[2] of boolean; choose i: m do liveness m[i]; end;",
            "type r: record f: boolean; end; function f(): r; var x: r; begin return x; end;
             alias a: f() do rule a.f ==> begin end; end;",
            "var big: array [0..1000000] of array [0..1000] of boolean;",
            "rule var l: array [0..1000000] of array [0..1000] of boolean; begin end;",
            "ruleset i: 0..99999; j: 0..99999 do rule begin end; end;",
            "ruleset i := 1 to 0; j := 0 to 5000000000 do startstate begin end; end;",
        ],
        expect![[r#"
            error: this is not a constant expression
                `n`: `n` is a variable
                `n`: declared here
            error: a step of zero goes nowhere
                `0`: must not be zero
            error: this property stands for 100000 properties
                `liveness i = j`: more than 10000
                help: use `exists` or `forall` instead of rulesets
            error: a multiset is needed here
                `x`: this is an integer
            error: `liveness` cannot be used inside `choose`
                `i`: the element may be gone later
            error: an alias of rules cannot stand for a compound result
                `f()`: a function makes this anew each time
                help: write the alias inside the rule, as a statement
            error: a value of this type is too large
                `array [0..1000000] of array [0..1000] of boolean`: 
                note: there may be 268435456 bits
                help: use smaller ranges, arrays and multisets
            error: a value of this type is too large
                `array [0..1000000] of array [0..1000] of boolean`: 
                note: there may be 268435456 bits
                help: use smaller ranges, arrays and multisets
            error: the rules have 10000000002 instances
                `rule`: this one has the most
                note: there may be 4294967294 instances
                help: use smaller types for the parameters of rulesets
            error: the rules have 5000000003 instances
                `startstate`: this one has the most
                note: there may be 4294967294 instances
                help: use smaller types for the parameters of rulesets
        "#]],
    );
}

#[test]
fn an_empty_model() {
    let (program, diagnostics) = translate("var x: boolean;", &Options::default());
    assert!(program.is_none());
    expect![[r#"
        warning: the variable `x` is never used
            `x`: declared here
        error: the model has no rule
            ``: the model ends here
            help: add a rule, as in `rule "step" x = 0 ==> begin x := 1; end;`
        error: the model has no start state
            ``: the model ends here
            help: add one, as in `startstate begin x := 0; end;`
    "#]]
    .assert_eq(&show("var x: boolean;", &diagnostics));
}

#[test]
fn given_constants() {
    let constants =
        [("Sizes", "1"), ("Size", "many"), ("Flag", "3"), ("Real", "2"), ("Depth", "2.5")];
    let constants = constants.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
    let options = Options { constants, ..Options::default() };
    let text = "const Size: 3; Flag: true; Real: 1.5; Depth: 4; var x: 0..Size;";
    check_with(
        &[text, "var x: boolean;"],
        &options,
        expect![[r#"
        error: the value given for the constant `Flag` is an integer
            `Flag`: declared as `boolean`
        error: the value given for the constant `Depth` is a real
            `Depth`: declared as an integer
        error: the model declares no constant `Sizes`
            note: the model declares Size, Flag, Real, Depth
            help: did you mean `Size`?
        error: `many` is not a value for the constant `Size`
            help: give an integer, a real, `true` or `false`
        error: the model declares no constant `Sizes`
            note: the model declares no constants
        error: the model declares no constant `Size`
            note: the model declares no constants
        error: the model declares no constant `Flag`
            note: the model declares no constants
        error: the model declares no constant `Real`
            note: the model declares no constants
        error: the model declares no constant `Depth`
            note: the model declares no constants
    "#]],
    );
}
