-- A cover goal in a ruleset is one goal: it is met if it is met for some values of the parameters.
--@ verdict: holds
--@ states: 3
--@ options: --const TOP=9
--@ verdict: violated
--@ violation: cover "A value of the upper half"
--@ options: --symmetry off

const TOP: 2;

var x: 0..9;

startstate x := 0; end;

rule "Count" begin x := (x + 1) % 3; end;

ruleset i: TOP..9 do
  cover "A value of the upper half" x = i;
end;
