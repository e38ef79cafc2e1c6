-- Each process announces itself before it looks: safe, but it can get stuck.
--@ options: --deadlock stutter
--@ verdict: violated
--@ violation: deadlock
--@ depth: 2
--@ options: --deadlock off
--@ verdict: holds
--@ states: 8
-- ANCHOR: all
const
  N: 2;

type
  Proc: 1..N;
  Location: enum { Idle, Waiting, Critical };

var
  pc: array [Proc] of Location;
  wants: array [Proc] of boolean;

startstate "Nobody is interested"
begin
  for p: Proc do
    pc[p] := Idle;
    wants[p] := false;
  end;
end;

-- ANCHOR: rules
ruleset p: Proc do
  rule "Announce"
    pc[p] = Idle
  ==>
  begin
    wants[p] := true;
    pc[p] := Waiting;
  end;

  rule "Enter"
    pc[p] = Waiting & forall q: Proc do q != p -> !wants[q] end
  ==>
  begin
    pc[p] := Critical;
  end;

  rule "Leave"
    pc[p] = Critical
  ==>
  begin
    wants[p] := false;
    pc[p] := Idle;
  end;
end;
-- ANCHOR_END: rules

invariant "Mutual exclusion"
  forall p: Proc do
    forall q: Proc do
      p != q -> !(pc[p] = Critical & pc[q] = Critical)
    end
  end;
-- ANCHOR_END: all
