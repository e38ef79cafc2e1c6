-- Dekker's mutual exclusion algorithm
--
-- The first correct solution for two processes that uses nothing but reads and
-- writes of shared variables. A process raises its flag and looks at the flag
-- of the other one. If only its own is up it may enter. If both are up the
-- variable "turn" decides: the process whose turn it is insists, the other one
-- lowers its flag, waits for its turn, and tries again. Who leaves the critical
-- section hands the turn to the other.
--
-- Modelled: each read and each write of a shared variable is a step of its
-- own, in any interleaving. Both initial values of "turn" are tried: there is
-- one start state for each.
-- Abstracted: busy waiting is a rule that is not enabled yet, instead of a loop
-- that reads the same value again. Memory is sequentially consistent.
--
-- Checked: mutual exclusion, that nobody is inside with its flag down, and that
-- the two never block each other (no deadlock).
--
-- The algorithm is made for two processes, so there is no constant to change.
-- Try next: swap the two steps of leaving (lower the flag, then hand over the
-- turn), and nothing bad happens. Then delete the line in "Look at the turn"
-- which lowers the flag: again nothing is reported, although the two may now
-- circle around each other for ever. Such a livelock is neither a deadlock nor
-- a bad state. Add the following property, and it is found:
--   liveness "Somebody gets in" exists p: Proc do pc[p] = Critical end;
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 88
--@ transitions: 168
--@ depth: 14

type
  Proc: scalarset(2);

  Location: enum {
    Idle,                     -- outside, not interested
    Raise,                    -- about to raise the flag
    LookAtFlag,               -- about to read the other flag
    LookAtTurn,               -- both flags are up: about to read turn
    AwaitTurn,                -- flag lowered, waiting for the turn
    Critical,                 -- inside the critical section
    HandOver,                 -- about to give the turn away
    Lower                     -- about to lower the flag and leave
  };

var
  pc: array [Proc] of Location;

  -- the shared memory
  flag: array [Proc] of boolean;
  turn: Proc;

ruleset first: Proc do
  startstate "Nobody is interested"
  begin
    for p: Proc do
      pc[p] := Idle;
      flag[p] := false;
    end;
    turn := first;
  end;
end;

-- "other" is the process that is not "me". A scalarset has no arithmetic, so
-- the rules are written for every pair and their guards ask for two different
-- processes.
ruleset me: Proc; other: Proc do

  rule "Become interested"
    me != other & pc[me] = Idle
  ==>
  begin
    pc[me] := Raise;
  end;

  rule "Raise the flag"
    me != other & pc[me] = Raise
  ==>
  begin
    flag[me] := true;
    pc[me] := LookAtFlag;
  end;

  rule "Look at the other flag"
    me != other & pc[me] = LookAtFlag
  ==>
  begin
    if flag[other] then
      pc[me] := LookAtTurn;
    else
      pc[me] := Critical;
    end;
  end;

  -- If it is our turn we insist: we keep the flag up and look again at the
  -- other flag, until the other process has lowered it.
  rule "Look at the turn"
    me != other & pc[me] = LookAtTurn
  ==>
  begin
    if turn = me then
      pc[me] := LookAtFlag;
    else
      flag[me] := false;
      pc[me] := AwaitTurn;
    end;
  end;

  rule "Our turn has come"
    me != other & pc[me] = AwaitTurn & turn = me
  ==>
  begin
    pc[me] := Raise;
  end;

  rule "Finish the critical section"
    me != other & pc[me] = Critical
  ==>
  begin
    pc[me] := HandOver;
  end;

  rule "Hand over the turn"
    me != other & pc[me] = HandOver
  ==>
  begin
    turn := other;
    pc[me] := Lower;
  end;

  rule "Lower the flag and leave"
    me != other & pc[me] = Lower
  ==>
  begin
    flag[me] := false;
    pc[me] := Idle;
  end;

end;

invariant "Mutual exclusion"
  forall p: Proc do
    forall q: Proc do
      p != q -> !(pc[p] = Critical & pc[q] = Critical)
    end
  end;

invariant "Inside only with the flag up"
  forall p: Proc do
    pc[p] = Critical -> flag[p]
  end;
