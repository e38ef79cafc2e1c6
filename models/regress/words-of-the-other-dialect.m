-- Words that only one of CMurphi and rumur reserves are names for the other.
--@ verdict: holds
--@ states: 2

type
  property: 0..1;

var
  assume, cover, liveness: property;
  next, until, pctl, process, program, interleaved, traceuntil: property;
  log, exp, sin, floor, ceil, pow, real: property;
  union, multiset, choose, ismember: property;
  in, not, and, or: property;

startstate
  assume := 0; cover := 0; liveness := 0;
end;

rule "Turn" begin
  assume := 1 - assume;
  cover := 1 - cover;
  liveness := cover;
end;

invariant assume = cover & cover = liveness;
