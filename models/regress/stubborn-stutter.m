-- A rule that only leads back to the same state must not put off the one that does not: with stubborn sets
-- both are enabled and have nothing to do with each other, and the deadlock is behind the second.
--@ verdict: violated
--@ violation: deadlock
--@ states: 2
--@ depth: 1

var a: boolean; b: boolean;

startstate begin a := true; b := false; end;

rule "stays" true ==> begin a := true; end;
rule "moves" !b ==> begin b := true; end;
