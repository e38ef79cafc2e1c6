-- A lock that is tested and then set, in two steps.
--@ verdict: violated
--@ violation: invariant "Mutual exclusion"
--@ depth: 4
-- ANCHOR: model
const
  N: 2;                                   -- processes

type
  Proc: 1..N;
  Location: enum { Idle, Entering, Critical };

var
  pc: array [Proc] of Location;
  lock: boolean;

startstate "Nobody is inside"
begin
  for p: Proc do
    pc[p] := Idle;
  end;
  lock := false;
end;

ruleset p: Proc do
  rule "See that the lock is free"
    pc[p] = Idle & !lock
  ==>
  begin
    pc[p] := Entering;
  end;

  rule "Take the lock and enter"
    pc[p] = Entering
  ==>
  begin
    lock := true;
    pc[p] := Critical;
  end;

  rule "Leave"
    pc[p] = Critical
  ==>
  begin
    lock := false;
    pc[p] := Idle;
  end;
end;

invariant "Mutual exclusion"
  forall p: Proc do
    forall q: Proc do
      p != q -> !(pc[p] = Critical & pc[q] = Critical)
    end
  end;
-- ANCHOR_END: model
