-- Peterson's mutual exclusion algorithm, for N processes
--
-- N processes share memory and want a critical section of which at most one
-- of them is ever inside. There is no lock instruction, only reads and writes.
-- A process climbs through the levels 1 .. N-1. On each level it announces
-- where it is (level), signs the visitors' book of that level (last), and then
-- waits until either somebody else has signed after it or no other process is
-- as high as itself. On each level at least one process is left behind, so at
-- most one passes the last level. With N = 2 there is one level, and this is
-- the well-known two-process algorithm: level is the flag and last is the turn.
--
-- Modelled: the order of the two writes. They are two separate steps, and the
-- other processes may do anything in between.
-- Abstracted: the waiting condition reads the levels of all other processes in
-- one step, and memory is sequentially consistent.
--
-- Checked: mutual exclusion, a stronger invariant which explains why it holds
-- (at most N-l processes have got past level l), and that there is no deadlock.
--
-- Try next:
--   --const N=2    the two-process algorithm
--   --const N=4    four processes: three levels
--   peterson-bug.m the same with the two writes swapped
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 894
--@ transitions: 2196
--@ depth: 21

const
  N: 3;                       -- number of processes

type
  -- The processes are interchangeable, so they are a scalarset: a type whose
  -- values can only be compared for equality, assigned and used as an index.
  Proc: scalarset(N);
  Level: 1..N-1;
  Height: 0..N-1;             -- 0: not competing

  Location: enum {
    Idle,                     -- outside, not interested
    Announce,                 -- about to write level
    Sign,                     -- about to write last
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

-- How many processes have got past level l?
function Passed(l: Level): 0..N;
var
  count: 0..N;
begin
  count := 0;
  for p: Proc do
    if climb[p] > l | pc[p] = Critical then
      count := count + 1;
    end;
  end;
  return count;
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
    pc[p] := Announce;
  end;

  rule "Write level"
    pc[p] = Announce
  ==>
  begin
    level[p] := climb[p];
    pc[p] := Sign;
  end;

  rule "Write last"
    pc[p] = Sign
  ==>
  begin
    last[climb[p]] := p;
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
      pc[p] := Announce;
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

invariant "Each level holds one back"
  forall l: Level do Passed(l) <= N - l end;
