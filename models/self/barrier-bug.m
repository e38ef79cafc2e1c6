-- The rounds of Ergodic's own parallel search, with a level that ends too early
--
-- This is barrier.m with one mistake: when all helpers have finished, the
-- coordinator asks whether there are tasks left, instead of asking whether
-- somebody was stalled. All tasks of the level are taken and everybody has
-- finished the round: what could be left?
--
-- The counterexample: the table is full when the last task is taken. The worker
-- that took it keeps it for the next round of this level, and there is none.
-- With one worker in mind the mistake is hard to see; the task is not in the
-- list, and it is not in the table either, but in somebody's hands. In the real
-- search this would be a state that is never expanded, and only in runs in
-- which a table grows in the last moments of a level.
--
--@ verdict: violated
--@ violation: assertion "A level ends when all of it is done"
--@ depth: 14
--@ options: --deadlock off

const
  Helpers: 2;
  Tasks: 3;                    -- per level
  Levels: 2;
  Room: 1;                     -- places in the table at first, and per growth
  Rounds: 8;                   -- more than can be needed

type
  Worker: 0..Helpers;          -- 0 is the coordinator
  Helper: 1..Helpers;

var
  -- the gate
  round: 0..Rounds;
  busy: 0..Helpers;
  closed: boolean;
  -- what workers share in a round
  tasks: 0..Tasks;             -- not taken yet
  room: 0..Tasks*Levels;
  stalled: boolean;
  -- each worker
  pc: array [Worker] of enum { Waiting, Working, Finishing, Ended };
  last: array [Helper] of 0..Rounds;    -- the last round it took part in
  keeps: array [Worker] of boolean;     -- a task that is not done
  -- the coordinator between rounds
  deciding: boolean;
  level: 0..Levels;            -- levels that are done
  done: 0..Tasks;              -- tasks of this level that are done

startstate
begin
  round := 0;
  busy := 0;
  closed := false;
  tasks := Tasks;
  room := Room;
  stalled := false;
  for w: Worker do
    pc[w] := Waiting;
    keeps[w] := false;
  end;
  for h: Helper do
    last[h] := 0;
  end;
  deciding := false;
  level := 0;
  done := 0;
end;

-- The coordinator -----------------------------------------------------------

rule "Open a round"
  pc[0] = Waiting & !deciding & busy = 0
==>
begin
  stalled := false;
  round := round + 1;
  busy := Helpers;
  pc[0] := Working;
end;

rule "All helpers have finished"
  pc[0] = Finishing & busy = 0
==>
begin
  pc[0] := Waiting;
  deciding := true;
end;

rule "The table is full: grow it and go on with the level"
  deciding & tasks > 0
==>
begin
  room := room + Room;
  deciding := false;
end;

-- The mistake: a task can be in the hands of a worker.
rule "The level is done"
  deciding & tasks = 0
==>
begin
  assert "A level ends when all of it is done" done = Tasks;
  deciding := false;
  level := level + 1;
  done := 0;
  if level < Levels then
    tasks := Tasks;
  else
    closed := true;
    pc[0] := Ended;
  end;
end;

-- The helpers at the gate ---------------------------------------------------

ruleset h: Helper do

  rule "Begin a round"
    pc[h] = Waiting & round > last[h]
  ==>
  begin
    last[h] := round;
    pc[h] := Working;
  end;

  rule "Finish the round"
    pc[h] = Finishing
  ==>
  begin
    busy := busy - 1;
    pc[h] := Waiting;
  end;

  rule "No more rounds"
    pc[h] = Waiting & round = last[h] & closed
  ==>
  begin
    pc[h] := Ended;
  end;

end;

-- All workers in a round ----------------------------------------------------

ruleset w: Worker do

  rule "Take a task"
    pc[w] = Working & !stalled & !keeps[w] & tasks > 0
  ==>
  begin
    tasks := tasks - 1;
    keeps[w] := true;
  end;

  rule "Put a state into the table"
    pc[w] = Working & keeps[w] & room > 0
  ==>
  begin
    room := room - 1;
    keeps[w] := false;
    done := done + 1;
  end;

  rule "Find the table full"
    pc[w] = Working & keeps[w] & room = 0
  ==>
  begin
    stalled := true;
    pc[w] := Finishing;
  end;

  rule "Stop because somebody is stalled"
    pc[w] = Working & stalled
  ==>
  begin
    pc[w] := Finishing;
  end;

  rule "Nothing left to do"
    pc[w] = Working & !keeps[w] & tasks = 0
  ==>
  begin
    pc[w] := Finishing;
  end;

end;
