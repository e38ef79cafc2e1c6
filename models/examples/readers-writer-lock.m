-- A readers-writer lock made of a counter and a flag
--
-- Many threads may read at the same time, but a writer must be alone. The lock
-- is a word of shared memory with a count of readers and a flag for a writer:
--   a reader  adds itself to the count FIRST and looks at the flag afterwards;
--             if a writer is there it takes itself off again and retries;
--   a writer  sets the flag FIRST (one atomic test-and-set, so that there is
--             only one writer) and waits afterwards until the count is zero.
-- Both sides announce themselves before they look, so at least one of them
-- notices the other. When both do, the reader gives way.
--
-- Modelled: each atomic operation on the lock is one step. What happens between
-- them is up to the scheduler.
-- Abstracted: the data which is protected. A reader holding the lock is just
-- in location Reading. A waiting writer is a rule that is not enabled yet.
--
-- Checked: a writer is alone, the count is right at every moment (so it does
-- return to zero), the flag is set exactly while there is a writer, and there
-- is no deadlock.
--
-- Try next:
--   --const N=6                 more threads
--   readers-writer-lock-bug.m   the reader looks first and adds itself later
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 619
--@ transitions: 2480
--@ depth: 11

const
  N: 4;                       -- number of threads

type
  Thread: scalarset(N);

  Location: enum {
    Idle,
    Look,                     -- reader: counted, about to read the flag
    Reading,
    GiveWay,                  -- reader: saw a writer, about to leave the count
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
    if pc[t] = Look | pc[t] = Reading | pc[t] = GiveWay then
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

  rule "Reader: count me"
    pc[t] = Idle
  ==>
  begin
    readers := readers + 1;
    pc[t] := Look;
  end;

  rule "Reader: look for a writer"
    pc[t] = Look
  ==>
  begin
    if writer then
      pc[t] := GiveWay;
    else
      pc[t] := Reading;
    end;
  end;

  rule "Reader: give way"
    pc[t] = GiveWay
  ==>
  begin
    readers := readers - 1;
    pc[t] := Idle;
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
