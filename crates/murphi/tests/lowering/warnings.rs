//! What is probably not meant.

use crate::{complete, show, translate};
use ergodic_murphi::Options;
use expect_test::expect;

#[test]
fn unused_and_constant_parts() {
    let text = complete(
        "const used: 2; spare: used;
         type t: enum { a, b }; u: enum { c }; v: 0..1;
         var x: t; y: boolean;
         function f(i: 0..3): boolean; begin return i = 1; end;
         ruleset i: v do rule x = a & 1 = used ==> var z: v; begin end; end;
         invariant \"odd\" 1 = 1;",
    );
    let (program, diagnostics) = translate(&text, &Options::default());
    assert!(program.is_some(), "{}", show(&text, &diagnostics));
    expect![[r#"
        warning: the constant `spare` is never used
            `spare`: declared here
        warning: the type `u` is never used
            `u`: declared here
        warning: the variable `y` is never used
            `y`: declared here
        warning: the function `f` is never used
            `f`: declared here
        warning: the rule "Rule 0" can never fire
            `rule x = a & 1 = used`: the guard is always false
        warning: the variable `z` is never used
            `z`: declared here
        warning: "odd" does not depend on the state
            `invariant "odd" 1 = 1`: no state variable is read here
    "#]]
    .assert_eq(&show(&text, &diagnostics));
}
