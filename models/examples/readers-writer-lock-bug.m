-- A readers-writer lock whose readers look before they announce themselves
--
-- This is readers-writer-lock.m with a check-then-act race in it. The reader
-- now looks at the flag first, and if there is no writer adds itself to the
-- count. It saves readers the way back when a writer is there, and it looks
-- natural: first check whether we may, then do it. But the check may be out of
-- date by the time of the act.
--
-- The counterexample: a reader sees that there is no writer. Before it has
-- added itself, a writer sets the flag, finds the count at zero, and writes.
-- The reader, which has already looked, adds itself and reads.
--
-- Try next: in readers-writer-lock.m, let the writer make the same mistake
-- (wait for the count to be zero first, set the flag afterwards).
--
--@ verdict: violated
--@ violation: invariant "A writer is alone"
--@ depth: 5

const
  N: 4;                       -- number of threads

type
  Thread: scalarset(N);

  Location: enum {
    Idle,
    Look,                     -- reader: about to read the flag
    CountMe,                  -- reader: saw no writer, about to join the count
    Reading,
    Drain,                    -- writer: flag set, waiting for readers to leave
    Writing
  };

var
  pc: array [Thread] of Location;

  -- the lock
  readers: 0..N;
  writer: boolean;

-- How many threads are counted in "readers"?
function Counted(): 0..N;
var
  count: 0..N;
begin
  count := 0;
  for t: Thread do
    if pc[t] = Reading then
      count := count + 1;
    end;
  end;
  return count;
end;

startstate "Free"
begin
  for t: Thread do
    pc[t] := Idle;
  end;
  readers := 0;
  writer := false;
end;

ruleset t: Thread do

  rule "Reader: arrive"
    pc[t] = Idle
  ==>
  begin
    pc[t] := Look;
  end;

  rule "Reader: look for a writer"
    pc[t] = Look & !writer
  ==>
  begin
    pc[t] := CountMe;
  end;

  -- The mistake: "!writer" was true when we looked, but is it still?
  rule "Reader: count me"
    pc[t] = CountMe
  ==>
  begin
    readers := readers + 1;
    pc[t] := Reading;
  end;

  rule "Reader: done"
    pc[t] = Reading
  ==>
  begin
    readers := readers - 1;
    pc[t] := Idle;
  end;

  rule "Writer: set the flag"
    pc[t] = Idle & !writer
  ==>
  begin
    writer := true;
    pc[t] := Drain;
  end;

  rule "Writer: all readers have left"
    pc[t] = Drain & readers = 0
  ==>
  begin
    pc[t] := Writing;
  end;

  rule "Writer: done"
    pc[t] = Writing
  ==>
  begin
    writer := false;
    pc[t] := Idle;
  end;

end;

invariant "A writer is alone"
  forall w: Thread do
    pc[w] = Writing ->
      forall t: Thread do
        t != w -> pc[t] != Writing & pc[t] != Reading
      end
  end;

invariant "The count is right"
  readers = Counted();

invariant "The flag is right"
  writer = (exists t: Thread do pc[t] = Drain | pc[t] = Writing end);
