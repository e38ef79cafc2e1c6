//! What counts as symmetric.

use ergodic_diag::SourceId;
use ergodic_ir::{FrontOptions, Program};
use ergodic_symmetry::{BreakReason, check_program};

fn compile(text: &str) -> Program {
    let (program, found) = ergodic_murphi::compile(SourceId(0), text, &FrontOptions::default());
    program.unwrap_or_else(|| panic!("{found:?} in {text}"))
}

/// A model with one rule whose body is given.
fn model(locals: &str, body: &str) -> Program {
    compile(&format!(
        "type pid: scalarset(3); val: scalarset(2); any: union {{pid, enum {{none}}}};
         var a: array[pid] of 0..7; n: 0..7; b: boolean; p: pid; q: any; v: val;
             m: array[pid] of array[pid] of boolean; next: array[pid] of pid;
             bag: multiset[4] of pid; owner: array[val] of pid;
         procedure put1(i: pid; x: 0..7); begin a[i] := x; end;
         procedure bump(var x: 0..7); begin x := x + 1; end;
         procedure own(i: pid); begin p := i; end;
         function full(i: pid): boolean; begin return a[i] = 7; end;
         function noisy(i: pid): boolean; begin n := n + 1; return a[i] = 7; end;
         function some(): boolean; begin for i: pid do if a[i] = 7 then return true; end; end;
           return false; end;
         ruleset r: pid; w: val do rule \"r\" true ==> {locals} begin {body} end; end;
         startstate begin for i: pid do a[i] := 0; end; n := 0; b := false; end;"
    ))
}

fn breaks(body: &str) -> Vec<BreakReason> {
    breaks_with("", body)
}

fn breaks_with(locals: &str, body: &str) -> Vec<BreakReason> {
    check_program(&model(locals, body)).iter().map(|found| found.reason).collect()
}

#[test]
fn usual_loops_are_symmetric() {
    for body in [
        "for i: pid do a[i] := 0; end;",
        "for i: pid do a[i] := a[i] + n; undefine next[i]; end;",
        "for i: pid do n := n + a[i]; end;",
        "for i: pid do if a[i] = 1 then n := n + 1; end; end;",
        "for i: pid do if a[i] = 1 then b := true; end; end;",
        "b := false; for i: pid do b := b | a[i] = 1; end;",
        "b := true; for i: pid do b := b & full(i); end;",
        "for i: pid do for j: pid do m[i][j] := false; end; end;",
        "for i: pid do for j: pid do m[j][i] := i = j; end; end;",
        "for i: pid do put1(i, n); end;",
        "for i: pid do bump(a[i]); bump(n); end;",
        "for i: pid do alias x: a[i] do x := 1; end; end;",
        "for i: pid do next[i] := i; end;",
        "for i: pid do next[i] := r; m[r][i] := true; end;",
        "for i: pid do assert a[i] < 7 \"full\"; if full(i) then error \"e\"; end; end;",
        "for i: pid do if a[i] = 2 then multisetadd(i, bag); end; end;",
        "for i: pid do undefine p; end;",
        "for i: pid do p := r; end;",
        "for i: any do if ismember(i, pid) then a[i] := 0; end; end;",
        "for i: val do owner[i] := r; end;",
        "b := some(); p := r; if exists i: pid do a[i] = 3 end then n := 1; end;",
        "if p = r & q = none then q := r; end; clear a; clear m;",
        "multisetremovepred(k: bag, bag[k] = r);",
        "for i: pid do multisetremovepred(k: bag, bag[k] = i); end;",
    ] {
        assert_eq!(breaks(body), [], "{body}");
    }
    let body = "for i: pid do t := a[i]; n := n + t; end;";
    assert_eq!(breaks_with("var t: 0..7;", body), [BreakReason::Order]);
}

#[test]
fn loops_that_show_their_order_are_not() {
    for body in [
        "for i: pid do p := i; end;",
        "for i: pid do own(i); end;",
        "for i: pid do if isundefined(p) then p := i; end; end;",
        "for i: pid do if n < 2 then n := n + 1; a[i] := 0; end; end;",
        "for i: pid do n := a[i]; end;",
        "for i: pid do a[r] := a[i]; end;",
        "for i: pid do a[next[i]] := a[i]; end;",
        "for i: pid do a[i] := n; n := n + 1; end;",
        "for i: pid do a[i] := a[r] + 1; end;",
        "for i: pid do if a[i] = 1 then return; end; a[i] := 1; end;",
        "for i: pid do n := n - n; end;",
        "for i: pid do n := n + 1; n := n * 2; end;",
        "for i: pid do b := true; b := false; end;",
        "for i: pid do b := b | noisy(i); end;",
    ] {
        assert_eq!(breaks(body), [BreakReason::Order], "{body}");
    }
}

#[test]
fn quantifiers_must_be_silent() {
    let body = "b := exists i: pid do noisy(i) end;";
    assert_eq!(breaks(body), [BreakReason::SideEffect]);
}

#[test]
fn references_are_followed() {
    let program = |loop_body: &str| {
        compile(&format!(
            "type pid: scalarset(3); row: array[pid] of 0..7;
             var a: row; b: row; n: 0..7;
             procedure p(var x: row; var y: row; var z: 0..7);
               begin for i: pid do {loop_body} end; end;
             rule \"r\" true ==> begin p(a, b, n); end;
             startstate begin for i: pid do a[i] := 0; b[i] := 0; end; n := 0; end;"
        ))
    };
    for (body, symmetric) in [
        ("x[i] := y[i];", true),
        ("x[i] := a[i];", true),
        ("x[i] := z;", false),
        ("z := z + 1;", true),
        ("z := z + x[i];", false),
        ("z := z + 1; n := n + 2;", true),
        ("z := 1; a[i] := 2;", false),
    ] {
        assert_eq!(check_program(&program(body)).is_empty(), symmetric, "{body}");
    }
}

#[test]
fn what_only_other_languages_can_say_is_found() {
    let breaks = |body: &str| -> Vec<BreakReason> {
        let program = ergodic_ir::text::parse(&format!(
            "(eir 1) (loop-limit 1000) (call-limit 100)
             (type pid (scalar (scalarset pid) 10..12 undefinable))
             (type int (scalar int 0..20 undefinable))
             (type - (array pid int))
             (type - (array pid pid))
             (type - (multiset 4 pid))
             (global p 0:0-0 pid) (global n 0:0-0 int) (global a 0:0-0 #2) (global next 0:0-0 #3)
             (global bag 0:0-0 #4)
             (action \"act\" 0:0-0 (local i bound pid) (local k bound int) (body {body}))
             (site 0:0-0 \"s\")"
        ));
        let program = program.unwrap_or_else(|error| panic!("{error} in {body}"));
        check_program(&program).iter().map(|found| found.reason).collect()
    };
    for (body, reason) in [
        ("(assign @0 $p 11)", BreakReason::Constant),
        ("(assign @0 (at $a (index @0 11)) 1)", BreakReason::Constant),
        (
            "(assign @0 (at $a (index @0 (read @0 $p))) (= @0 (read @0 $p) 12))",
            BreakReason::Constant,
        ),
        ("(assign @0 $n (read @0 $p))", BreakReason::Arithmetic),
        ("(copy @0 $n $p)", BreakReason::Arithmetic),
        ("(assign @0 $n (< @0 (read @0 $p) (read @0 $p)))", BreakReason::Arithmetic),
        ("(clear $p)", BreakReason::Clear),
        ("(clear $next)", BreakReason::Clear),
        ("(for i (range @0 10 12 1) (assign @0 (at $a (index @0 i)) 1))", BreakReason::Range),
        ("(for k (slots $bag) (assign @0 $n k))", BreakReason::Order),
        (
            "(let k 3) (for k (slots $bag) (assign @0 $p (read @0 (at $bag (slot @0 k)))))",
            BreakReason::Order,
        ),
    ] {
        assert_eq!(breaks(body), [reason], "{body}");
    }
    for body in [
        "(assign @0 $n 11)",
        "(clear $a)",
        "(clear $bag)",
        "(for i (type pid) (assign @0 (at $next (index @0 i)) i))",
        "(for k (slots $bag) (assign @0 (at $a (index @0 (read @0 (at $bag (slot @0 k))))) 1))",
    ] {
        assert_eq!(breaks(body), [], "{body}");
    }
}
