-- Language tour: liveness, cover and assume
--
-- An invariant says that something bad never happens. Three more properties
-- (extensions known from rumur) say other things about the states of a model:
--
--   assume "name" condition     States where it does not hold are left out, as
--                               if they did not exist. It restricts what the
--                               environment may do, without touching the rules.
--   cover "name" condition      It must hold in at least one reachable state.
--                               It guards against a model that satisfies its
--                               invariants because hardly anything happens.
--   liveness "name" condition   From every reachable state, a state where it
--                               holds can be reached. That is, the system never
--                               gets into a trap. (It does not say that it will
--                               be reached: somebody else may go on for ever.)
--
-- The model: a lift. People call it to a floor; it moves floor by floor with its
-- door closed, and opens where it has been called. A call which is not
-- answered is remembered.
--
-- Try next: remove the assumption and see the states multiply. Then read
-- liveness-bug.m.
--
--@ verdict: holds
--@ options: --deadlock stutter
--@ states: 88
--@ transitions: 324
--@ depth: 8

const
  Floors: 4;

type
  Floor: 1..Floors;

var
  at: Floor;                              -- where the lift is
  open: boolean;                          -- its door
  called: array [Floor] of boolean;

function Calls(): 0..Floors;
var
  count: 0..Floors;
begin
  count := 0;
  for f: Floor do
    if called[f] then
      count := count + 1;
    end;
  end;
  return count;
end;

startstate "Waiting on the ground floor"
begin
  at := 1;
  open := false;
  for f: Floor do
    called[f] := false;
  end;
end;

ruleset f: Floor do
  rule "Call the lift"
    !called[f]
  ==>
  begin
    called[f] := true;
  end;
end;

rule "Open the door"
  !open & called[at]
==>
begin
  open := true;
  called[at] := false;
end;

rule "Close the door"
  open
==>
begin
  open := false;
end;

rule "Go up"
  !open & exists f: Floor do f > at & called[f] end
==>
begin
  at := at + 1;
end;

rule "Go down"
  !open & exists f: Floor do f < at & called[f] end
==>
begin
  at := at - 1;
end;

-- The house is quiet: there are never more than two calls at a time.
assume "At most two calls at a time"
  Calls() <= 2;

cover "Two people wait while the door is open at the top"
  open & at = Floors & Calls() = 2;

-- Properties may be in rulesets, like rules: here one for each floor.
ruleset f: Floor do
  liveness "Every call can be answered"
    !called[f];

  liveness "Every floor can be visited"
    at = f & open;
end;
