-- Language tour: unions
--
-- A union type joins scalarsets and enumerations into one type, so that one
-- variable (or one array index) can name either. The scalarset part keeps its
-- symmetry, which it would lose if everybody were numbered.
--
-- The model: a baton goes from the referee to the runners. Each runner passes
-- it on to one who has not had it in this round. The last one gives it back
-- to the referee, who notes who that was, and the next round begins.
--
-- Shown here:
--   union { Runner, enum { Referee } }   the type of everybody
--   ismember(x, Runner)                  is x in this part of the union?
--   array [Person] of ...                a union as an index
--   ruleset p: Person                    all members of the union, in turn
--   lastRunner := holder                 a union value in a scalarset variable:
--                                        an error unless it is a Runner
--
-- How many states? Within a round it matters who has had the baton, and who has
-- it now: 1 state with the referee, 3 with the first runner, 3 * 2 with the
-- second, 3 with the last, which makes 13. Times the four values of lastRunner
-- (it is undefined at first) gives 52.
--
-- Try next: --const Runners=5, with and without symmetry reduction.
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 52
--@ transitions: 72
--@ depth: 7

const
  Runners: 3;

type
  Runner: scalarset(Runners);
  Person: union { Runner, enum { Referee } };

var
  holder: Person;                         -- who has the baton
  had: array [Person] of boolean;         -- who has had it in this round
  lastRunner: Runner;                     -- of the previous round

startstate "The referee has the baton"
begin
  for p: Person do
    had[p] := false;
  end;
  holder := Referee;
  had[Referee] := true;
  undefine lastRunner;
end;

ruleset p: Person do
  rule "Pass the baton to somebody who has not had it"
    !had[p]
  ==>
  begin
    holder := p;
    had[p] := true;
  end;
end;

rule "Give the baton back to the referee"
  ismember(holder, Runner) & forall r: Runner do had[r] end
==>
begin
  lastRunner := holder;
  for r: Runner do
    had[r] := false;
  end;
  holder := Referee;
end;

invariant "Who has the baton has had it"
  had[holder];

invariant "The referee starts and ends each round"
  holder = Referee -> forall r: Runner do !had[r] end;
