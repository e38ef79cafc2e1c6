-- A slot of Ergodic's own table of states: who was first?
--
-- When several threads of Ergodic explore a model together, they share one
-- table of visited states. Two threads often find the same state at the same
-- time, and exactly one of them must be told "this is new": if both are, the
-- state is expanded twice and counts are wrong; if neither is, the state is
-- never expanded and a violation behind it is missed. There are no locks.
--
-- Modelled: states of two words in a table of a few slots (claim_two in
-- crates/store/src/slots.rs). A thread walks along the slots:
--   * a slot whose first word is zero is free. The thread tries to take it by
--     swapping its own first word for the zero (compare-and-swap). If it wins,
--     it writes its second word afterwards, in another step;
--   * a slot with another first word is passed by;
--   * a slot with the thread's own first word may hold the same state or one
--     that only begins alike. The second word tells. If that is still zero, its
--     owner has not written it yet, and the thread waits.
-- Values are chosen so that all of this happens: the states (1,1), (1,2) and
-- (2,1), some offered twice, and every thread begins its walk in slot 0.
-- Abstracted: hashing, lines and growth. Memory is sequentially consistent;
-- each word is written once, so there is little to reorder (the tests under
-- loom look at weaker memory).
--
-- Checked: no state is called new twice and no state stands in two slots
-- (invariants); when all threads are done, every offered state was called new
-- and is in the table; and the waiting never blocks everybody (no deadlock).
--
-- Try next: table-bug.m, where a thread does not wait for the second word.
--
--@ verdict: holds
--@ options: --deadlock off
--@ states: 359
--@ transitions: 739
--@ depth: 12

const
  Threads: 4;
  Slots: 3;                    -- as many as there are different states

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

  -- Not enabled while the second word is zero: that is the waiting.
  rule "Compare the second word"
    pc[t] = Walk & table[at[t]].first = me.first & table[at[t]].second != 0
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

invariant "A state stands in one slot"
  forall s: Slot do forall r: Slot do
    s != r & table[s].first != 0 & table[s].second != 0 -> !same(table[s], table[r])
  end end;

invariant "Nobody runs off the table"
  forall t: Thread do at[t] < Slots end;

invariant "In the end everything was new once and is there"
  (forall t: Thread do pc[t] = New | pc[t] = Known end) ->
    forall t: Thread do
      (exists u: Thread do pc[u] = New & same(offer[t], offer[u]) end)
      & (exists s: Slot do same(offer[t], table[s]) end)
    end;

-- All threads can finish from everywhere: nobody waits for ever.
invariant "Somebody can go on, or all are done"
  (exists t: Thread do
    pc[t] = Write
    | (pc[t] = Walk & (table[at[t]].first != offer[t].first | table[at[t]].second != 0))
  end)
  | (forall t: Thread do pc[t] = New | pc[t] = Known end);
