-- A ring of nodes that each colour a message some times before they pass it on.
--
-- For measuring partial-order reduction: as message-ring.m, most steps of different nodes commute, but which
-- colour a message gets is open, so that the levels of the reduced graph have many states.
--
--@ options: --deadlock stuck --const N=3 --const Messages=2 --const Steps=1 --const Colours=2
--@ verdict: holds
--@ states: 108
--@ transitions: 252
--@ depth: 15

const N: 6; Steps: 2; Messages: 3; Colours: 3;
type node: 0..N-1; step: 0..Steps; colour: 0..Colours-1;
var busy: array [node] of boolean;    -- it has a message
    left: array [node] of step;       -- times that it still colours it
    box: array [node] of boolean;     -- a message waits in front of it
    hue: array [node] of colour;      -- of the message that it has, or that waits in front of it

startstate "messages wait" begin
  for i: node do busy[i] := false; left[i] := 0; box[i] := i < Messages; hue[i] := 0; end;
end;

ruleset i: node do
  rule "takes a message" !busy[i] & box[i] ==> begin
    box[i] := false; busy[i] := true; left[i] := Steps;
  end;
  ruleset c: colour do
    rule "colours it" busy[i] & left[i] > 0 ==> begin left[i] := left[i] - 1; hue[i] := c; end;
  end;
  rule "passes it on" busy[i] & left[i] = 0 & !box[(i + 1) % N] & !busy[(i + 1) % N] ==> begin
    busy[i] := false; box[(i + 1) % N] := true; hue[(i + 1) % N] := hue[i]; hue[i] := 0;
  end;
end;
