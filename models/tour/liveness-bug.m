-- Language tour: a liveness property that fails
--
-- The lift of properties.m, somewhat simpler, with a weight limit added. People
-- enter while the door is open, and leave when they have arrived. If too many
-- have entered the door stays open until somebody gets out. That sounds safe,
-- but people only get out where they want to go.
--
-- There is no bad state here. There is no deadlock either: the bell of the
-- overloaded lift goes on ringing, so something always happens. But the lift
-- never moves again, and that is what the liveness property says: from every
-- state, a state can be reached where the door is closed.
--
-- The counterexample leads to a state from which the property can no longer be
-- satisfied, by whatever happens next.
--
-- Try next: add a rule which lets a passenger of an overloaded lift get out, and
-- the property holds.
--
--@ verdict: violated
--@ violation: liveness "The door can always be closed"

const
  Floors: 3;
  Limit: 2;                               -- passengers which the lift can carry
  Room: 3;                                -- passengers for which there is room

type
  Floor: 1..Floors;
  Seat: scalarset(Room);

var
  at: Floor;
  open: boolean;
  ringing: boolean;                       -- the bell: on and off, on and off
  goal: array [Seat] of Floor;            -- undefined: nobody there

function Passengers(): 0..Room;
var
  count: 0..Room;
begin
  count := 0;
  for s: Seat do
    if !isundefined(goal[s]) then
      count := count + 1;
    end;
  end;
  return count;
end;

startstate "Waiting on the ground floor"
begin
  at := 1;
  open := true;
  ringing := false;
  undefine goal;
end;

ruleset s: Seat; f: Floor do
  rule "Somebody enters, to go to another floor"
    open & isundefined(goal[s]) & f != at
  ==>
  begin
    goal[s] := f;
  end;
end;

ruleset s: Seat do
  rule "Somebody has arrived and gets out"
    open & !isundefined(goal[s]) & goal[s] = at
  ==>
  begin
    undefine goal[s];
  end;
end;

rule "Close the door"
  open & Passengers() <= Limit
==>
begin
  open := false;
  ringing := false;
end;

rule "Open the door"
  !open
==>
begin
  open := true;
end;

rule "Ring because of too many passengers"
  open & Passengers() > Limit
==>
begin
  ringing := !ringing;
end;

rule "Go up"
  !open & at < Floors
==>
begin
  at := at + 1;
end;

rule "Go down"
  !open & at > 1
==>
begin
  at := at - 1;
end;

invariant "The door closes only within the weight limit"
  !open -> Passengers() <= Limit;

liveness "The door can always be closed"
  !open;
