-- A slot of Ergodic's own table of states, with a thread that does not wait
--
-- This is table.m with one mistake: a thread that meets its own first word over
-- a second word that is not written yet takes the slot for that of another
-- state, and goes on to the next slot instead of waiting. It looks harmless:
-- zero is not its second word, so the states do differ, now.
--
-- The counterexample: thread 0 takes slot 0 with its first word. Before it
-- writes the second one, thread 1 with the same state passes by, takes slot 1
-- and writes both of its words. Both are told that the state is new: it would
-- be expanded twice, and every count after it would be wrong.
--
-- Try next: let the thread report "known" instead of going on. Then no state is
-- called new twice, and yet it is worse: find out which state is lost.
--
--@ verdict: violated
--@ violation: invariant "A state is new once"
--@ depth: 5
--@ options: --deadlock off

const
  Threads: 4;
  Slots: 4;                    -- the mistake wastes slots

type
  Thread: 0..Threads-1;
  Slot: 0..Slots-1;
  Word: 0..2;                  -- 0 is "not written"
  State: record
    first: Word;
    second: Word;
  end;

var
  table: array [Slot] of State;
  offer: array [Thread] of State;       -- what each thread offers; constant
  at: array [Thread] of 0..Slots;       -- where its walk is
  pc: array [Thread] of enum { Walk, Write, New, Known };

function same(a: State; b: State): boolean;
begin
  return a.first = b.first & a.second = b.second;
end;

startstate "Two offer the same state, one a state that begins alike"
begin
  for s: Slot do
    table[s].first := 0;
    table[s].second := 0;
  end;
  for t: Thread do
    at[t] := 0;
    pc[t] := Walk;
  end;
  offer[0].first := 1;  offer[0].second := 1;
  offer[1].first := 1;  offer[1].second := 1;
  offer[2].first := 1;  offer[2].second := 2;
  offer[3].first := 2;  offer[3].second := 1;
end;

ruleset t: Thread do
  alias me: offer[t] do

  -- One compare-and-swap: it finds the slot free and takes it, in one step.
  rule "Take a free slot"
    pc[t] = Walk & table[at[t]].first = 0
  ==>
  begin
    table[at[t]].first := me.first;
    pc[t] := Write;
  end;

  rule "Write the second word"
    pc[t] = Write
  ==>
  begin
    table[at[t]].second := me.second;
    pc[t] := New;
  end;

  rule "Pass a slot with another first word"
    pc[t] = Walk & table[at[t]].first != 0 & table[at[t]].first != me.first
  ==>
  begin
    at[t] := at[t] + 1;
  end;

  -- The mistake: enabled also while the second word is zero.
  rule "Compare the second word"
    pc[t] = Walk & table[at[t]].first = me.first
  ==>
  begin
    if table[at[t]].second = me.second then
      pc[t] := Known;
    else
      at[t] := at[t] + 1;
    end;
  end;

  end;
end;

invariant "A state is new once"
  forall t: Thread do forall u: Thread do
    t != u & pc[t] = New & pc[u] = New -> !same(offer[t], offer[u])
  end end;
