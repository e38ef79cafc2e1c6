-- Dining philosophers, everybody takes the left fork first: deadlock
--
-- N philosophers sit around a table, with one fork between any two of them.
-- Philosopher p needs fork p (on the left) and fork p+1 (on the right) to eat.
-- All of them follow the same simple rule: left fork first, then the right
-- one. The counterexample is the classic deadlock: all get hungry, all take
-- their left fork, and now everybody waits for the neighbour on the right.
--
-- A deadlock needs no property to be written down: it is a state which no rule
-- can leave. (Ergodic also calls it a deadlock if rules are enabled but none
-- of them changes the state; --deadlock off switches the check off.)
--
-- Try next:
--   --const N=3              a smaller table, a shorter counterexample
--   --deadlock off           the invariants hold: nothing bad happens here,
--                            it is just that nothing happens any more
--   dining-philosophers.m    a remedy: one philosopher reaches to the right
--
--@ options: --deadlock stutter
--@ verdict: violated
--@ violation: deadlock
--@ depth: 10
--@ options: --deadlock off
--@ verdict: holds
--@ states: 1743
--@ transitions: 7335
--@ depth: 18

const
  N: 5;                       -- number of philosophers, and of forks

type
  Phil: 0..N-1;
  Fork: 0..N-1;

  Activity: enum {
    Thinking,
    Hungry,                   -- holds no fork yet
    HoldsOne,                 -- holds the first fork, wants the second
    Eating,                   -- holds both
    Sated                     -- has returned the second fork, not the first
  };

var
  phil: array [Phil] of Activity;
  holder: array [Fork] of Phil;     -- undefined: the fork lies on the table

function FirstFork(p: Phil): Fork;
begin
  return p;
end;

function SecondFork(p: Phil): Fork;
begin
  return (p + 1) % N;
end;

function Holds(p: Phil; f: Fork): boolean;
begin
  return !isundefined(holder[f]) & holder[f] = p;
end;

startstate "Everybody thinks"
begin
  for p: Phil do
    phil[p] := Thinking;
  end;
  undefine holder;
end;

ruleset p: Phil do

  rule "Get hungry"
    phil[p] = Thinking
  ==>
  begin
    phil[p] := Hungry;
  end;

  rule "Take the first fork"
    phil[p] = Hungry & isundefined(holder[FirstFork(p)])
  ==>
  begin
    holder[FirstFork(p)] := p;
    phil[p] := HoldsOne;
  end;

  rule "Take the second fork and eat"
    phil[p] = HoldsOne & isundefined(holder[SecondFork(p)])
  ==>
  begin
    holder[SecondFork(p)] := p;
    phil[p] := Eating;
  end;

  rule "Return the second fork"
    phil[p] = Eating
  ==>
  begin
    undefine holder[SecondFork(p)];
    phil[p] := Sated;
  end;

  rule "Return the first fork and think"
    phil[p] = Sated
  ==>
  begin
    undefine holder[FirstFork(p)];
    phil[p] := Thinking;
  end;

end;

invariant "Who eats holds both forks"
  forall p: Phil do
    phil[p] = Eating -> Holds(p, FirstFork(p)) & Holds(p, SecondFork(p))
  end;

invariant "Neighbours do not eat together"
  forall p: Phil do
    !(phil[p] = Eating & phil[(p + 1) % N] = Eating)
  end;

invariant "No fork leaves the table without a reason"
  forall f: Fork do
    !isundefined(holder[f]) ->
      phil[holder[f]] = HoldsOne | phil[holder[f]] = Eating | phil[holder[f]] = Sated
  end;
