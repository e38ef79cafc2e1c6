-- A ring of nodes that each work on a message for some steps before they pass it on.
--
-- For measuring partial-order reduction: most steps of different nodes commute.
--
--@ options: --deadlock stuck --const N=5 --const Messages=2
--@ verdict: holds
--@ states: 270
--@ transitions: 515
--@ depth: 39
--@ options: --deadlock stuck --const N=3 --const Messages=1
--@ verdict: holds
--@ states: 15
--@ transitions: 15
--@ depth: 14

const N: 8; Steps: 3; Messages: 4;
type node: 0..N-1; step: 0..Steps;
var busy: array [node] of boolean;    -- it has a message
    left: array [node] of step;       -- steps that it still works on it
    box: array [node] of boolean;     -- a message waits in front of it

startstate "messages wait" begin
  for i: node do busy[i] := false; left[i] := 0; box[i] := i < Messages; end;
end;

ruleset i: node do
  rule "takes a message" !busy[i] & box[i] ==> begin
    box[i] := false; busy[i] := true; left[i] := Steps;
  end;
  rule "works" busy[i] & left[i] > 0 ==> begin left[i] := left[i] - 1; end;
  rule "passes it on" busy[i] & left[i] = 0 & !box[(i + 1) % N] ==> begin
    busy[i] := false; box[(i + 1) % N] := true;
  end;
end;
