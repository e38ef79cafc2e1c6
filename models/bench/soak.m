-- A state space of any size with wide states: N counters, each with three numbers that follow from it.
--
-- Every counter goes up by itself until it is full, so the states are all vectors of counts:
-- (M+1)^N states, N * M * (M+1)^(N-1) transitions, depth N * M. A state is 79 * N bits wide. With
-- N = 8 these are 100,000,000 states of 79 bytes and 720,000,000 transitions: a soak test for stores
-- and searches,
--
--   ergodic check models/bench/soak.m --const N=8 --deadlock off --trace off
--
--@ options: --deadlock off
--@ verdict: holds
--@ states: 10000
--@ transitions: 36000
--@ depth: 36
--@ options: --deadlock off --const N=3 --const M=4
--@ verdict: holds
--@ states: 125
--@ transitions: 300
--@ depth: 12

const
  N: 4;
  M: 9;

type
  Cell: 1 .. N;
  Count: 0 .. M;
  Wide: 0 .. 16777215;

var
  cell: array [Cell] of record
    count: Count;
    first, second, third: Wide;
  end;

-- The numbers of a counter: any functions of it that are different for different counts.
procedure Follow(i: Cell);
begin
  cell[i].first := (cell[i].count * 7919 + i * 104729) % 16777216;
  cell[i].second := (cell[i].first * 31 + 17) % 16777216;
  cell[i].third := (cell[i].second * 37 + cell[i].count) % 16777216;
end;

startstate "All empty"
begin
  for i: Cell do
    cell[i].count := 0;
    Follow(i);
  end;
end;

ruleset i: Cell do
  rule "Up"
    cell[i].count < M
  ==>
  begin
    cell[i].count := cell[i].count + 1;
    Follow(i);
  end;
end;

invariant "The numbers follow"
  forall i: Cell do cell[i].first = (cell[i].count * 7919 + i * 104729) % 16777216 end;
