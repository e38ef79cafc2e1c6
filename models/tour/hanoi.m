-- Language tour: subprograms, rulesets and aliases (Towers of Hanoi)
--
-- Discs of different sizes lie on three pegs. One disc is moved at a time, from
-- the top of one peg to the top of another, and never onto a smaller disc. How
-- do all discs get from the first peg to the last?
--
-- A model checker solves puzzles if you claim that there is no solution: the
-- invariant below says that the last peg is never full, and the counterexample
-- is a shortest solution. It takes 2**Discs - 1 moves.
--
-- Shown here:
--   const, type, var      declarations; --const Discs=6 changes a constant
--   record, array         composed types
--   function              computes a value; may be used in guards
--   procedure             changes state, here through its var parameter: the
--                         peg itself is passed, not a copy of it
--   for, if, return       statements
--   ruleset               one rule for each choice of its parameters
--   alias                 a short name for a longer expression
--   undefine, isundefined an empty place on a peg holds no value
--
--@ verdict: violated
--@ violation: invariant "The tower never gets to the last peg"
--@ depth: 15

const
  Discs: 4;
  Pegs: 3;

type
  Disc: 1..Discs;                         -- the bigger the number, the bigger
  Peg: 1..Pegs;
  Place: 1..Discs;                        -- 1 is the lowest

  Stack: record
    height: 0..Discs;
    disc: array [Place] of Disc;          -- undefined above the height
  end;

var
  pegs: array [Peg] of Stack;

-- Parameters without "var" cannot be changed.
function MayReceive(s: Stack; d: Disc): boolean;
begin
  return s.height = 0 | d < s.disc[s.height];
end;

function Top(s: Stack): Disc;
begin
  assert s.height > 0 "A disc is there";
  return s.disc[s.height];
end;

procedure Push(var s: Stack; d: Disc);
begin
  s.height := s.height + 1;
  s.disc[s.height] := d;
end;

procedure Pop(var s: Stack);
begin
  undefine s.disc[s.height];
  s.height := s.height - 1;
end;

startstate "All discs on the first peg"
begin
  undefine pegs;
  for p: Peg do
    pegs[p].height := 0;
  end;
  -- A loop may also count, in any step, up or down.
  for d := Discs to 1 by -1 do
    Push(pegs[1], d);
  end;
end;

ruleset a: Peg; b: Peg do
  alias
    source: pegs[a];
    target: pegs[b]
  do
    rule "Move a disc"
      a != b & source.height > 0 & MayReceive(target, Top(source))
    ==>
    begin
      Push(target, Top(source));
      Pop(source);
    end;
  end;
end;

invariant "Smaller discs lie on bigger ones"
  forall p: Peg do
    forall i: Place do
      i > 1 & i <= pegs[p].height -> pegs[p].disc[i] < pegs[p].disc[i - 1]
    end
  end;

invariant "Above the height there is nothing"
  forall p: Peg do
    forall i: Place do
      isundefined(pegs[p].disc[i]) = (i > pegs[p].height)
    end
  end;

invariant "The tower never gets to the last peg"
  pegs[Pegs].height != Discs;
