-- Peterson's mutual exclusion algorithm, with its two writes swapped
--
-- This is peterson.m with one mistake, which is easy to make and easy to
-- overlook: a process signs the visitors' book of a level (last) before it
-- announces that it is on that level (level). For one process alone the order
-- of two writes to different variables makes no difference, and a compiler or
-- a processor with a weak memory model may well reorder them.
--
-- The counterexample: p signs the book and is then interrupted before it has
-- announced itself. q does everything right, sees no competitor, and enters.
-- Now p announces itself, finds that q has signed after it, takes that for
-- the permission to go on, and enters too.
--
-- Try next:
--   --const N=3    three processes: the same mistake, a longer counterexample
--   peterson.m     the right order, where nothing is found
--
--@ verdict: violated
--@ violation: invariant "Mutual exclusion"
--@ depth: 8

const
  N: 2;                       -- number of processes

type
  -- The processes are interchangeable, so they are a scalarset: a type whose
  -- values can only be compared for equality, assigned and used as an index.
  Proc: scalarset(N);
  Level: 1..N-1;
  Height: 0..N-1;             -- 0: not competing

  Location: enum {
    Idle,                     -- outside, not interested
    Sign,                     -- about to write last
    Announce,                 -- about to write level
    Wait,                     -- waiting on a level
    Critical                  -- inside the critical section
  };

var
  pc: array [Proc] of Location;
  climb: array [Proc] of Height;   -- private: the level this process works on

  -- the shared memory
  level: array [Proc] of Height;
  last: array [Level] of Proc;

-- Is a process other than "me" on the given level or above it?
function OthersAtOrAbove(me: Proc; l: Level): boolean;
begin
  return exists q: Proc do q != me & level[q] >= l end;
end;

startstate "Nobody is interested"
begin
  for p: Proc do
    pc[p] := Idle;
    climb[p] := 0;
    level[p] := 0;
  end;
  -- The first visitor of a level overwrites its entry before reading it, so
  -- the algorithm needs no initial value here. "Undefined" makes that claim
  -- checkable: reading an undefined value is an error.
  undefine last;
end;

ruleset p: Proc do

  rule "Start competing"
    pc[p] = Idle
  ==>
  begin
    climb[p] := 1;
    pc[p] := Sign;
  end;

  -- The mistake: this step has to come after "Write level".
  rule "Write last"
    pc[p] = Sign
  ==>
  begin
    last[climb[p]] := p;
    pc[p] := Announce;
  end;

  rule "Write level"
    pc[p] = Announce
  ==>
  begin
    level[p] := climb[p];
    pc[p] := Wait;
  end;

  rule "Pass the level"
    pc[p] = Wait & (last[climb[p]] != p | !OthersAtOrAbove(p, climb[p]))
  ==>
  begin
    if climb[p] = N-1 then
      pc[p] := Critical;
    else
      climb[p] := climb[p] + 1;
      pc[p] := Sign;
    end;
  end;

  rule "Leave"
    pc[p] = Critical
  ==>
  begin
    level[p] := 0;
    climb[p] := 0;
    pc[p] := Idle;
  end;

end;

invariant "Mutual exclusion"
  forall p: Proc do
    forall q: Proc do
      p != q -> !(pc[p] = Critical & pc[q] = Critical)
    end
  end;
