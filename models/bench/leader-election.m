-- Leader election on a ring (Chang and Roberts). Every node sends its number to the next one. A node drops a
-- number that is less than its own and passes a greater one on; who gets its own number back is the leader.
--
-- For measuring partial-order reduction: most steps of different nodes commute.
--
--@ options: --deadlock off --const N=6
--@ verdict: holds
--@ states: 7107
--@ transitions: 19109
--@ depth: 27
--@ options: --deadlock off --const N=4
--@ verdict: holds
--@ states: 135
--@ transitions: 321
--@ depth: 11

const N: 7;   -- numbers differ if this is no multiple of 5
type node: 0..N-1;
var sent: array [node] of boolean;
    full: array [node] of boolean;     -- a number waits in front of a node,
    waits: array [node] of node;       -- this one
    leads: array [node] of boolean;

startstate "nobody leads" begin
  for i: node do sent[i] := false; full[i] := false; waits[i] := 0; leads[i] := false; end;
end;

ruleset i: node do
  rule "starts" !sent[i] & !full[(i + 1) % N] ==> begin
    sent[i] := true; full[(i + 1) % N] := true; waits[(i + 1) % N] := (i * 5 + 2) % N;
  end;
  rule "drops" full[i] & waits[i] < (i * 5 + 2) % N ==> begin
    full[i] := false; waits[i] := 0;
  end;
  rule "passes on" full[i] & waits[i] > (i * 5 + 2) % N & !full[(i + 1) % N] ==> begin
    full[(i + 1) % N] := true; waits[(i + 1) % N] := waits[i];
    full[i] := false; waits[i] := 0;
  end;
  rule "leads" full[i] & waits[i] = (i * 5 + 2) % N ==> begin
    leads[i] := true; full[i] := false; waits[i] := 0;
  end;
end;

invariant "one leader at most" forall i: node do forall j: node do leads[i] & leads[j] -> i = j end end;
