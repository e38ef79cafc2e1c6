-- Peterson's algorithm for two processes: announce, be polite, then wait.
--@ verdict: holds
--@ states: 24
-- ANCHOR: all
type
  Proc: 1..2;
  Location: enum { Idle, Polite, Waiting, Critical };

var
  pc: array [Proc] of Location;
  wants: array [Proc] of boolean;
  turn: Proc;                             -- who goes first if both want to

function Other(p: Proc): Proc;
begin
  return 3 - p;
end;

startstate "Nobody is interested"
begin
  for p: Proc do
    pc[p] := Idle;
    wants[p] := false;
  end;
  undefine turn;
end;

ruleset p: Proc do
  rule "Announce"
    pc[p] = Idle
  ==>
  begin
    wants[p] := true;
    pc[p] := Polite;
  end;

  rule "Let the other go first"
    pc[p] = Polite
  ==>
  begin
    turn := Other(p);
    pc[p] := Waiting;
  end;

  rule "Enter"
    pc[p] = Waiting & (!wants[Other(p)] | turn = p)
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

-- ANCHOR: properties
invariant "Mutual exclusion"
  !(pc[1] = Critical & pc[2] = Critical);

invariant "Who is inside has announced it"
  forall p: Proc do pc[p] = Critical -> wants[p] end;

cover "Both wait at once"
  pc[1] = Waiting & pc[2] = Waiting;

ruleset p: Proc do
  liveness "Everybody can get in"
    pc[p] = Critical;
end;
-- ANCHOR_END: properties
-- ANCHOR_END: all
