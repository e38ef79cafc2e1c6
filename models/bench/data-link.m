-- A data link: two stations send numbered frames to each other, in turns, over a wire that loses some. A frame
-- also says which one is expected next. A station goes back to the oldest frame that was not acknowledged.
-- Whatever happens is followed by some steps of bookkeeping, in which nothing else can happen.
--
-- For measuring path compression: most states have one successor, as in the model of the paper behind it (a radio
-- link protocol; M. Mäkelä, Efficiently verifying safety properties with idle office computers, 2002). Work makes
-- steps as expensive as you like, without more states: the check sum follows from the rest.
--
--@ verdict: holds
--@ options: --const Window=2
--@ states: 5884
--@ transitions: 7990
--@ depth: 62
--@ options: --const Window=2 --symmetry off
--@ states: 23534
--@ transitions: 31956
--@ depth: 62

const
  Window: 3;              -- frames under way from a station
  Numbers: Window + 1;    -- of frames, round and round
  Values: 2;              -- of what is sent
  Steps: 3;               -- after a frame has arrived; fewer after something else
  Work: 4;                -- additions in a step

type
  station: scalarset(2);
  value: scalarset(Values);
  number: 0 .. Numbers - 1;
  place: 0 .. Window - 1;
  sum: 0 .. 1023;
  side: record
    oldest: number;                  -- that was not acknowledged
    sent: 0 .. Window;
    data: array [place] of value;    -- of those, the oldest first
    next: number;                    -- that is expected from the other one
  end;

var
  at: array [station] of side;
  turn: station;
  busy: boolean;                     -- a frame is on the wire
  frame: record
    seq: number; ack: number; data: value;
  end;
  left: 0 .. Steps;                  -- bookkeeping that is left to do
  check: array [station] of sum;

-- How often two neighbours are equal, counted again and again.
function Sum(s: station): sum;
var n: sum;
begin
  n := left;
  for i: 1 .. Work do
    for p: 0 .. Window - 2 do
      if p + 1 < at[s].sent & at[s].data[p] = at[s].data[p + 1] then n := (n + 1) % 1024; end;
    end;
  end;
  return n;
end;

procedure Add();
begin
  for s: station do check[s] := Sum(s); end;
end;

procedure Happened(steps: 0 .. Steps);
begin
  left := steps;
  Add();
end;

procedure Send(s: station; p: place);
begin
  busy := true;
  frame.seq := (at[s].oldest + p) % Numbers;
  frame.ack := at[s].next;
  frame.data := at[s].data[p];
end;

procedure Quiet();
begin
  busy := false;
  undefine frame;
end;

ruleset s: station do startstate "nothing was sent"
begin
  for t: station do
    at[t].oldest := 0; at[t].sent := 0; at[t].next := 0;
    for p: place do undefine at[t].data[p]; end;
  end;
  turn := s; left := 0;
  Quiet();
  Add();
end; end;

rule "goes on with its books" left > 0 ==> begin
  left := left - 1;
  Add();
end;

ruleset s: station do
  ruleset v: value do
    rule "sends a new frame" left = 0 & !busy & turn = s & at[s].sent < Window ==> begin
      at[s].data[at[s].sent] := v;
      at[s].sent := at[s].sent + 1;
      Send(s, at[s].sent - 1);
      Happened(Steps - 1);
    end;
  end;
  ruleset p: place do
    rule "sends a frame again" left = 0 & !busy & turn = s & p < at[s].sent ==> begin
      Send(s, p);
      Happened(Steps - 1);
    end;
  end;
end;

ruleset s: station; r: station do
  rule "the frame is lost" left = 0 & busy & s = turn & r != s ==> begin
    turn := r;
    Quiet();
    Happened(1);
  end;
  rule "the frame arrives" left = 0 & busy & s = turn & r != s ==>
  var known: 0 .. Numbers - 1;
  begin
    alias me: at[r]; other: at[s] do
      if frame.seq = me.next then
        assert "what arrives is what was sent" other.data[(frame.seq - other.oldest + Numbers) % Numbers] = frame.data;
        me.next := (me.next + 1) % Numbers;
      end;
      -- What is acknowledged leaves the window.
      known := (frame.ack - me.oldest + Numbers) % Numbers;
      for i: 1 .. Window do
        if i <= known then
          for p: 0 .. Window - 2 do
            if isundefined(me.data[p + 1]) then undefine me.data[p]; else me.data[p] := me.data[p + 1]; end;
          end;
          undefine me.data[Window - 1];
        end;
      end;
      me.sent := me.sent - known;
      me.oldest := frame.ack;
    end;
    turn := r;
    Quiet();
    Happened(Steps);
  end;
end;

invariant "the other one expects what is in the window, or what comes after it"
  forall s: station do forall r: station do
    r = s | (at[r].next - at[s].oldest + Numbers) % Numbers <= at[s].sent
  end end;
