-- The rounds of Ergodic's own parallel search: waiting, growing, ending
--
-- A breadth-first search with several threads works level by level. A
-- coordinator opens a round; it and its helpers take the tasks of the level and
-- put the states they find into a shared table; then the coordinator waits
-- until every helper has finished the round. The table can be full in the
-- middle of a level, and it can grow only while nobody uses it. So a worker
-- that finds it full keeps its task, raises the flag "stalled" and finishes the
-- round early, as all others do when they see the flag. The coordinator grows
-- the table and opens another round for the same level, in which everybody
-- goes on where it stopped. So there is one kind of waiting for levels, growth
-- and the end (crates/search/src/pbfs/gate.rs and worker.rs).
--
-- Modelled: the gate (number of the round, busy helpers, closed), the tasks,
-- the table as the number of places left, and two levels of tasks. Each task
-- puts one state into the table. Steps that the program takes under a lock or
-- by one atomic instruction are single steps here, in any interleaving.
-- Abstracted: what the states are (see table.m for the table itself), sleeping
-- and waking, and panics.
--
-- Checked: nobody works while the table grows; tasks are neither lost nor done
-- twice; a level ends only when all of it is done; nobody takes part in a round
-- twice; and from everywhere the search can come to its end (liveness), so
-- there is no deadlock.
--
-- Try next:
--   --const Helpers=3 --const Tasks=4    more of everything
--   barrier-bug.m                        a level that ends too early
--
--@ verdict: holds
--@ options: --deadlock off
--@ states: 961
--@ transitions: 2226
--@ depth: 84

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
  deciding & stalled
==>
begin
  room := room + Room;
  deciding := false;
end;

rule "The level is done"
  deciding & !stalled
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

invariant "Nobody works while the coordinator decides"
  deciding -> forall w: Worker do pc[w] = Waiting end;

invariant "Busy helpers are counted"
  round > 0 & level < Levels ->
    !(busy = 0 & exists h: Helper do pc[h] = Working | pc[h] = Finishing end);

invariant "A helper without a round has finished it"
  busy = 0 & round > 0 -> forall h: Helper do last[h] = round end;

invariant "No task is lost or doubled"
  level < Levels ->
    exists n: 0..Helpers+1 do
      tasks + done + n = Tasks
      & ((exists w: Worker do keeps[w] end) -> n > 0)
      & ((forall w: Worker do !keeps[w] end) -> n = 0)
    end;

liveness "The search comes to its end"
  level = Levels & forall w: Worker do pc[w] = Ended end;
