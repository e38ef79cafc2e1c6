-- The parameters of a ruleset must have different names; CMurphi and rumur refuse this too.
--@ verdict: error
--@ message: `i` is declared twice in a list

var x: 0..1;

startstate x := 0; end;

ruleset i: 0..1; i: 0..1 do
  rule "Set" begin x := i; end;
end;
