//! Models for the tests of jobs on several machines.

use std::path::Path;

/// A model that comes with the program.
pub fn shipped(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("models").join(name).display().to_string()
}

/// Counters that count up, one step at a time: `TOP + 1` to the power of `MANY` states, and nobody can
/// know how many are left. A batch is done quickly, so that much happens in a second.
pub const COUNTERS: &str = r#"
const TOP: 9; MANY: 6;
type which: 1..MANY;
var at: array [which] of 0..TOP;
startstate "zero" begin for i: which do at[i] := 0; end; end;
ruleset i: which do
  rule "up" at[i] < TOP ==> begin at[i] := at[i] + 1; end;
end;
cover "all at the top" forall i: which do at[i] = TOP end;
"#;

/// The same, and some states are never to be reached: the nearest after ten steps.
pub const BOUNDED: &str = r#"
const TOP: 9; MANY: 5;
type which: 1..MANY;
var at: array [which] of 0..TOP;
startstate "zero" begin for i: which do at[i] := 0; end; end;
ruleset i: which do
  rule "up" at[i] < TOP ==> begin at[i] := at[i] + 1; end;
end;
invariant "not both" !(at[1] = 5 & at[2] = 5);
"#;

/// Long chains in which there is no choice, from states in which there is one.
pub const CHAINS: &str = r#"
const TOP: 12; LONG: 6;
var at, other: 0..TOP; rest: 0..LONG;
startstate "zero" begin at := 0; other := 0; rest := 0; end;
rule "begin" rest = 0 & at < TOP ==> begin at := at + 1; rest := LONG; end;
rule "begin the other" rest = 0 & other < TOP ==> begin other := other + 1; rest := LONG; end;
rule "go on" rest > 0 ==> begin rest := rest - 1; end;
"#;

/// Chains that end where nothing can be done.
pub const CHAINS_BUG: &str = r#"
const TOP: 12; LONG: 6;
var at, other: 0..TOP; rest: 0..LONG;
startstate "zero" begin at := 0; other := 0; rest := 0; end;
rule "begin" rest = 0 & at < TOP ==> begin at := at + 1; rest := LONG; end;
rule "begin the other" rest = 0 & other < TOP ==> begin other := other + 1; rest := LONG; end;
rule "go on" rest > 0 & !(at = 3 & other = 2 & rest = 3) ==> begin rest := rest - 1; end;
"#;

/// A rule that reads what was never written, after some steps.
pub const FAULT: &str = r#"
const TOP: 20;
var at, other: 0..TOP; ghost: 0..TOP;
startstate "zero" begin at := 0; other := 0; undefine ghost; end;
rule "up" at < TOP ==> begin at := at + 1; end;
rule "other" other < TOP & at > 3 ==> begin other := other + 1; end;
rule "look" at > 5 & other > 2 ==> begin if ghost = 1 then other := 0; end; end;
"#;

/// A start state that reads what was never written.
pub const FAULT_AT_START: &str = r#"
var at, other: 0..3;
startstate "nonsense" begin at := other; end;
rule "up" at < 3 ==> begin at := at + 1; end;
"#;

/// A goal that is never reached.
pub const UNCOVERED: &str = r#"
var at: 0..9;
startstate "zero" begin at := 0; end;
rule "up" at < 8 ==> begin at := at + 1; end;
rule "down" at > 0 ==> begin at := at - 1; end;
cover "half way" at = 4;
cover "the top" at = 9;
"#;

/// States of 20 KB: a batch holds few of them.
pub const LARGE_STATES: &str = r#"
type place: 1..20000;
var list: array [place] of 0..255; at: 0..50;
startstate "zero" begin for i: place do list[i] := 0; end; at := 0; end;
rule "up" at < 50 ==> begin at := at + 1; list[at * 300] := at; end;
rule "again" at > 0 ==> begin at := at - 1; end;
"#;

/// A model without variables has one state.
pub const NOTHING: &str = r#"
startstate "here" begin end;
rule "stay" true ==> begin end;
"#;

/// A model without variables and without anything to do.
pub const NOTHING_AT_ALL: &str = r#"
startstate "here" begin end;
rule "never" false ==> begin end;
"#;
