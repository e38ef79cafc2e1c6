-- Dining philosophers: each takes the fork on its left, then the one on its right, eats, and puts both
-- back, one at a time. The last one takes them the other way round, so nobody is stuck for ever.
--
-- For measuring partial-order reduction: most steps of different nodes commute.
--
--@ options: --deadlock stuck --const N=5
--@ verdict: holds
--@ states: 261
--@ transitions: 876
--@ depth: 12
--@ options: --deadlock stuck --const N=3
--@ verdict: holds
--@ states: 24
--@ transitions: 46
--@ depth: 6

const N: 10;
type seat: 0..N-1;
     doing: enum { Thinks, HasOne, Eats, PutsBack };
var at: array [seat] of doing;
    taken: array [seat] of boolean;   -- the fork on the left of a seat

startstate "all think" begin
  for i: seat do at[i] := Thinks; taken[i] := false; end;
end;

ruleset i: 0..N-2 do
  rule "one takes the first fork" at[i] = Thinks & !taken[i] ==> begin
    taken[i] := true; at[i] := HasOne;
  end;
  rule "one takes the second fork" at[i] = HasOne & !taken[i + 1] ==> begin
    taken[i + 1] := true; at[i] := Eats;
  end;
  rule "one puts the second fork back" at[i] = Eats ==> begin
    taken[i + 1] := false; at[i] := PutsBack;
  end;
  rule "one puts the first fork back" at[i] = PutsBack ==> begin
    taken[i] := false; at[i] := Thinks;
  end;
end;

-- The last one, the other way round.
rule "the last takes the first fork" at[N-1] = Thinks & !taken[0] ==> begin
  taken[0] := true; at[N-1] := HasOne;
end;
rule "the last takes the second fork" at[N-1] = HasOne & !taken[N-1] ==> begin
  taken[N-1] := true; at[N-1] := Eats;
end;
rule "the last puts the second fork back" at[N-1] = Eats ==> begin
  taken[N-1] := false; at[N-1] := PutsBack;
end;
rule "the last puts the first fork back" at[N-1] = PutsBack ==> begin
  taken[0] := false; at[N-1] := Thinks;
end;
