-- Dining philosophers, with ordered forks: no deadlock
--
-- N philosophers sit around a table, with one fork between any two of them.
-- Philosopher p needs fork p (on the left) and fork p+1 (on the right) to eat.
-- If everybody first takes the fork on the same side, all may end up with one
-- fork each and wait for ever: see dining-philosophers-deadlock.m. The remedy
-- here is to number the forks and to take the lower-numbered one first. Then
-- philosopher N-1, who sits between forks N-1 and 0, reaches to the right
-- first, and a circle of waiting philosophers cannot close.
--
-- Modelled: taking and returning each fork is a step of its own.
-- Abstracted: time; thinking and eating take as long as they like.
--
-- Checked: who eats holds both forks, neighbours never eat at the same time,
-- and there is no deadlock.
--
-- A fork's place at the table matters, so philosophers are numbers and not a
-- scalarset: p+1 would be illegal there, and there is no symmetry to exploit.
--
-- Try next:
--   --const N=9                     a bigger table, to see the states multiply
--   dining-philosophers-deadlock.m  the version which blocks
--
--@ verdict: holds
--@ options: --deadlock stutter
--@ states: 1424
--@ transitions: 5916
--@ depth: 17

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
  if p = N-1 then
    return 0;
  else
    return p;
  end;
end;

function SecondFork(p: Phil): Fork;
begin
  if p = N-1 then
    return N-1;
  else
    return p + 1;
  end;
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
