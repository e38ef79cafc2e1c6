-- The protocol of Ergodic's fleet: one search on many machines that may die
--
-- A fleet shares a search among processes. Keepers hold the set of visited
-- states, each a part of it. Workers expand states. Between them is a broker: it
-- stores batches of states and hands each to a worker, again and again until
-- somebody acknowledges it. Workers die, pause and come back; then two of them
-- work on the same batch, and one does not know it (a zombie). In the end no
-- state may be missing, no state may have been in two batches, and the
-- statistics must be those of a search on one machine.
--
-- The name of a batch follows from its content, and one keeper, chosen by the
-- name, is its home. What a worker does with a batch B:
--   1. expand it; leave out successors that are in the filter of this worker;
--   2. claim the others for B, each at its keeper. A state is B's if nobody, or
--      B itself, has claimed it before. It is settled if the batch that owns it
--      is done, and pending else. Settled states go into the filter. A keeper
--      that knows B as done says so, and the worker goes on with 5;
--   3. record the parents of the states that are B's, at their keepers, last at
--      home; if B is done there, go on with 5;
--   4. publish the states that are B's as new batches, in pieces;
--   5. report B as done, with its statistics and the names of its children: at
--      home first, where only the first report counts, then at other keepers;
--   6. acknowledge B, and put the states that are B's into the filter.
-- The search ends when the broker has no batches any more. Then the names of
-- done batches must be those of the root and of all children reported (compared
-- by number and sum). If not, the broker has lost a batch: there is no verdict.
--
-- Modelled: two batches of a search that has five states, and all that comes of
-- them. Requests to different keepers are different steps. Workers crash
-- anywhere and lose everything, also the filter. A batch is delivered again
-- while somebody works on it. Answers to claims and to publishing get lost, and
-- the request is repeated. The broker may store twice what is published twice,
-- miss an acknowledgement, and lose a message. What must not go on for ever is
-- bounded: see Mishaps.
-- Abstracted: a crash of a keeper changes nothing, because it writes its log
-- before it answers and reads it when it comes back. The root is a batch like
-- others, done by the coordinator; it is done here. A keeper forgets who claimed
-- a state when that batch is done; the model does not, for checking. What is
-- recorded besides parents, and levels, have no part in this.
--
-- Checked: the invariants at the end, first what a user relies on, then why it
-- is so. Goals (cover) show that zombies get to the dangerous places. And from
-- everywhere the stream can be emptied (liveness).
--
-- Try next:
--   --const Mishaps=2            1.4 million states
--   --const Salt=1               other homes
--
-- What three of the rules are for is shown by leaving them out (--const Mistake):
--   1  A filter takes pending states, too. It looks harmless: the state is in the
--      set and somebody has it, so why ask again? But a worker claims state 3 for
--      batch 1 and crashes; another one, at work on batch 0, is told that 3 is not
--      its own, and notes it in its filter. Then it is given batch 1. It leaves
--      out 3, which this batch owns and nobody has published; and nobody will, for
--      now the batch is done.
--   2  Home is not asked before publishing. It looks harmless: a keeper that is
--      asked for a state says so if the batch is done. But a worker has reported
--      batch 0 at home, and not yet at the other keeper, so that state 3 is settled
--      and 2 and 4 are pending. Another worker claims 3 for batch 1 and notes it in
--      its filter. Then batch 0 is delivered to it again: it leaves out 3, has
--      nothing to ask at home, and publishes a batch of 2 and 4 that is none of
--      those of the first worker. They would be expanded and counted twice. It is
--      the filter that makes the question necessary.
--   3  A batch is acknowledged when home has said to go on, before its children are
--      published. It looks harmless: the worker has them in its hands. But nobody
--      else has: if the worker crashes now they are lost, and a broker without
--      batches is the end of the search.
--
--@ options: --deadlock off
--@ verdict: holds
--@ states: 93092
--@ transitions: 238021
--@ depth: 37
--@ options: --deadlock off --const Mistake=1
--@ verdict: violated
--@ violation: invariant "What a batch that is done has claimed is recorded and published"
--@ depth: 15
--@ options: --deadlock off --const Mistake=2
--@ verdict: violated
--@ violation: assertion "A state is in one batch"
--@ depth: 20
--@ options: --deadlock off --const Mistake=3
--@ verdict: violated
--@ violation: invariant "What is claimed is published, or its batch is still in the stream"
--@ depth: 4

const
  Workers: 2;
  Keepers: 2;
  States: 5;
  Piece: 2;                    -- states in a batch, at most
  Copies: 2;                   -- messages with the same batch, at most
  Mishaps: 1;                  -- crashes and all else that is bounded, in total
  Salt: 0;                     -- of the hash that chooses homes
  Mistake: 0;                  -- which rule is left out
  All: (1 << States) - 1;      -- the set of all states
  Root: States;                -- the batch that the initial states come from

type
  Worker: scalarset(Workers);
  Keeper: 0..Keepers-1;
  State: 0..States-1;
  Set: 0..All;                 -- of states, one bit each
  -- No state is in two batches (see Store), so the first of its states is as
  -- good a name for a batch as its whole content.
  Batch: 0..States;
  Copy: 0..Copies-1;
  Step: enum {
    Idle, Claiming, Recording, Publishing, Reporting, Spreading, Acking
  };

var
  -- the broker
  content: array [State] of Set;          -- of batches ever published
  message: array [State] of array [Copy] of enum { Ready, Held, Gone };
  -- the keepers
  owner: array [State] of Batch;          -- undefined: not claimed
  parent: array [State] of boolean;       -- recorded
  done: array [Keeper] of array [Batch] of boolean;
  counted: 0..2*States*States;            -- transitions, by reports
  number: -States..States;                -- of children reported, less those done
  sum: -99..99;                           -- of their contents, likewise
  -- each worker
  step: array [Worker] of Step;
  batch: array [Worker] of State;
  copy: array [Worker] of Copy;
  left: array [Worker] of Set;            -- what this step has not dealt with yet
  mine: array [Worker] of Set;            -- what its batch owns
  told: array [Worker] of array [Keeper] of boolean;
  filter: array [Worker] of Set;
  -- for checking
  mishaps: 0..Mishaps;
  lost: boolean;                          -- by the broker
  published: Set;                         -- states in batches ever published
  finished: Set;                          -- states in batches that are done

-- Sets ----------------------------------------------------------------------

function Has(set: Set; s: State): boolean;
begin
  return (set >> s) % 2 = 1;
end;

function One(s: State): Set;
begin
  return 1 << s;
end;

function Without(set: Set; other: Set): Set;
begin
  return set & ~other;
end;

function First(set: Set): State;
begin
  for s: State do
    if Has(set, s) then return s; end;
  end;
  error "An empty set has no first state";
end;

function Size(set: Set): 0..States;
var
  size: 0..States;
begin
  size := 0;
  for s: State do
    if Has(set, s) then size := size + 1; end;
  end;
  return size;
end;

-- The piece that is published next.
function NextPiece(set: Set): Set;
var
  piece: Set;
begin
  piece := 0;
  for s: State do
    if Has(set, s) & Size(piece) < Piece then piece := piece | One(s); end;
  end;
  return piece;
end;

-- The states of a keeper.
function At(k: Keeper): Set;
var
  set: Set;
begin
  set := 0;
  for s: State do
    if s % Keepers = k then set := set | One(s); end;
  end;
  return set;
end;

-- What is searched: 0 and 1 are initial states, each in a batch of its own.
-- 3 is reached from both batches, 4 from 0 and from a successor of 0, and
-- 0 from 3.
function Successors(s: State): Set;
begin
  switch s
    case 0: return One(2) | One(3) | One(4);
    case 1: return One(3);
    case 2: return One(4);
    case 3: return One(0);
    case 4: return 0;
  end;
end;

function Expand(b: State): Set;
var
  set: Set;
begin
  set := 0;
  for s: State do
    if Has(content[b], s) then set := set | Successors(s); end;
  end;
  return set;
end;

-- Keepers -------------------------------------------------------------------

function Home(b: State): Keeper;
begin
  return (content[b] * 5 / 4 + Salt) % Keepers;
end;

function Claimed(s: State): boolean;
begin
  return !isundefined(owner[s]);
end;

procedure KeepClaims(k: Keeper; b: State; keys: Set);
begin
  for s: State do
    if Has(keys & At(k), s) & !Claimed(s) then owner[s] := b; end;
  end;
end;

procedure KeepParents(keys: Set);
begin
  for s: State do
    if Has(keys, s) then parent[s] := true; end;
  end;
end;

-- The transitions of a batch do not depend on the filter, so it does not matter
-- whose report is the first.
procedure KeepReport(b: State; children: Set);
var
  rest: Set;
begin
  if !done[Home(b)][b] then
    assert "All successors of a batch that is done are claimed"
      forall s: State do Has(Expand(b), s) -> Claimed(s) end;
    assert "A state is counted once" (content[b] & finished) = 0;
    done[Home(b)][b] := true;
    finished := finished | content[b];
    for s: State do
      if Has(content[b], s) then counted := counted + Size(Successors(s)); end;
    end;
    number := number - 1;
    sum := sum - content[b];
    rest := children;
    while rest != 0 do
      number := number + 1;
      sum := sum + NextPiece(rest);
      rest := Without(rest, NextPiece(rest));
    end;
  end;
end;

-- The broker ----------------------------------------------------------------

function Stored(b: State; c: Copy): boolean;
begin
  return !isundefined(message[b][c]) & message[b][c] != Gone;
end;

function InStream(b: State): boolean;
begin
  return exists c: Copy do Stored(b, c) end;
end;

function Empty(): boolean;
begin
  return forall b: State do !InStream(b) end;
end;

-- What has been there before is dropped. (The exception is the rule "Publish a
-- piece that is stored twice".)
procedure Store(child: Set);
begin
  if isundefined(content[First(child)]) then
    assert "A state is in one batch" (child & published) = 0;
    published := published | child;
    content[First(child)] := child;
    message[First(child)][0] := Ready;
  else
    assert "A state is in one batch" child = content[First(child)];
  end;
end;

function AtWork(b: State; c: Copy): boolean;
begin
  return exists w: Worker do step[w] != Idle & batch[w] = b & copy[w] = c end;
end;

-- Workers -------------------------------------------------------------------

function DoneAtHome(w: Worker): boolean;
begin
  return done[Home(batch[w])][batch[w]];
end;

procedure Rest(w: Worker);
begin
  step[w] := Idle;
  undefine batch[w];
  undefine copy[w];
  left[w] := 0;
  mine[w] := 0;
  for k: Keeper do told[w][k] := false; end;
end;

procedure WhenClaimed(w: Worker);
begin
  if left[w] = 0 then
    step[w] := Recording;
    left[w] := mine[w];
  end;
end;

procedure WhenPublished(w: Worker);
begin
  if left[w] = 0 then step[w] := Reporting; end;
end;

-- Somebody else has done the batch. Home has the report already, so what this
-- worker knows does not matter.
procedure Skip(w: Worker);
begin
  left[w] := 0;
  mine[w] := 0;
  step[w] := Reporting;
end;

startstate "The root is done"
begin
  for b: 0..1 do
    content[b] := One(b);
    message[b][0] := Ready;
  end;
  for s: State do
    if s <= 1 then owner[s] := Root; end;
    parent[s] := s <= 1;
  end;
  for k: Keeper do
    for b: Batch do done[k][b] := b = Root; end;
  end;
  counted := 0;
  number := 2;
  sum := One(0) + One(1);
  for w: Worker do
    Rest(w);
    filter[w] := 0;
  end;
  mishaps := 0;
  lost := false;
  published := One(0) | One(1);
  finished := 0;
end;

ruleset w: Worker do

  ruleset b: State; c: Copy do
    rule "Take a batch and expand it"
      step[w] = Idle & Stored(b, c) & message[b][c] = Ready
    ==>
    begin
      message[b][c] := Held;
      batch[w] := b;
      copy[w] := c;
      left[w] := Without(Expand(b), filter[w]);
      step[w] := Claiming;
      WhenClaimed(w);
    end;
  end;

  ruleset k: Keeper do

    rule "Claim states"
      step[w] = Claiming & (left[w] & At(k)) != 0
    ==>
    begin
      if done[k][batch[w]] then
        Skip(w);
      else
        KeepClaims(k, batch[w], left[w]);
        for s: State do
          if Has(left[w] & At(k), s) then
            if owner[s] = batch[w] then
              mine[w] := mine[w] | One(s);
            elsif done[k][owner[s]] | Mistake = 1 then
              filter[w] := filter[w] | One(s);
            end;
          end;
        end;
        left[w] := Without(left[w], At(k));
        WhenClaimed(w);
      end;
    end;

    rule "Claim states, and the answer is lost"
      step[w] = Claiming & (left[w] & At(k)) != 0 & !done[k][batch[w]]
    ==>
    begin
      KeepClaims(k, batch[w], left[w]);
    end;

    rule "Record parents away from home"
      step[w] = Recording & k != Home(batch[w]) & (left[w] & At(k)) != 0
    ==>
    begin
      if done[k][batch[w]] then
        Skip(w);
      else
        KeepParents(left[w] & At(k));
        left[w] := Without(left[w], At(k));
      end;
    end;

    rule "Report away from home"
      step[w] = Spreading & !told[w][k]
    ==>
    begin
      done[k][batch[w]] := true;
      told[w][k] := true;
      if forall i: Keeper do told[w][i] end then step[w] := Acking; end;
    end;

  end;

  -- Also if there is nothing to record, for the sake of the question.
  rule "Record parents at home and ask whether to go on"
    step[w] = Recording & Without(left[w], At(Home(batch[w]))) = 0
  ==>
  begin
    if DoneAtHome(w) & Mistake != 2 then
      Skip(w);
    else
      if Mistake = 3 then message[batch[w]][copy[w]] := Gone; end;
      KeepParents(left[w]);
      left[w] := mine[w];
      step[w] := Publishing;
      WhenPublished(w);
    end;
  end;

  rule "Publish a piece"
    step[w] = Publishing
  ==>
  var
    child: Set;
  begin
    child := NextPiece(left[w]);
    Store(child);
    left[w] := Without(left[w], child);
    WhenPublished(w);
  end;

  rule "Publish a piece, and the answer is lost"
    step[w] = Publishing
  ==>
  begin
    Store(NextPiece(left[w]));
  end;

  ruleset c: Copy do
    rule "Publish a piece that is stored twice"
      step[w] = Publishing & mishaps < Mishaps
      & c > 0 & !isundefined(message[First(left[w])][c - 1])
      & isundefined(message[First(left[w])][c])
    ==>
    var
      child: Set;
    begin
      mishaps := mishaps + 1;
      child := NextPiece(left[w]);
      Store(child);
      message[First(child)][c] := Ready;
      left[w] := Without(left[w], child);
      WhenPublished(w);
    end;
  end;

  rule "Report at home"
    step[w] = Reporting
  ==>
  begin
    KeepReport(batch[w], mine[w]);
    told[w][Home(batch[w])] := true;
    step[w] := Spreading;
  end;

  rule "Acknowledge"
    step[w] = Acking
  ==>
  begin
    message[batch[w]][copy[w]] := Gone;
    filter[w] := filter[w] | mine[w];
    Rest(w);
  end;

  rule "Acknowledge in vain"
    step[w] = Acking & Stored(batch[w], copy[w]) & mishaps < Mishaps
  ==>
  begin
    mishaps := mishaps + 1;
    filter[w] := filter[w] | mine[w];
    Rest(w);
  end;

  rule "Crash"
    (step[w] != Idle | filter[w] != 0) & mishaps < Mishaps
  ==>
  begin
    mishaps := mishaps + 1;
    filter[w] := 0;
    Rest(w);
  end;

end;

ruleset b: State; c: Copy do

  rule "Deliver again what nobody works on"
    Stored(b, c) & message[b][c] = Held & !AtWork(b, c)
  ==>
  begin
    message[b][c] := Ready;
  end;

  -- The worker pauses, or the network does.
  rule "Deliver again what somebody works on"
    Stored(b, c) & message[b][c] = Held & AtWork(b, c) & mishaps < Mishaps
  ==>
  begin
    mishaps := mishaps + 1;
    message[b][c] := Ready;
  end;

  rule "Lose a message"
    Stored(b, c) & mishaps < Mishaps
  ==>
  begin
    mishaps := mishaps + 1;
    lost := true;
    message[b][c] := Gone;
  end;

end;

-- The end -------------------------------------------------------------------

function Balanced(): boolean;
begin
  return number = 0 & sum = 0;
end;

function Transitions(): 0..States*States;
var
  count: 0..States*States;
begin
  count := 0;
  for s: State do
    count := count + Size(Successors(s));
  end;
  return count;
end;

-- More than is asked for: also while the stream is not empty.
invariant "If names balance all states are done, and all transitions counted once"
  Balanced() -> finished = All & counted = Transitions();

invariant "If the stream is empty names balance, unless a message was lost"
  !lost & !Balanced() -> !Empty();

invariant "Nothing is pending in the end"
  !lost & Balanced() & Empty() ->
    forall s: State do Claimed(s) & forall k: Keeper do done[k][owner[s]] end end;

-- What these rest on --------------------------------------------------------

invariant "What is claimed is published, or its batch is still in the stream"
  !lost -> forall s: State do
    Claimed(s) & !Has(published, s) -> InStream(owner[s])
  end;

invariant "Different batches own different states"
  forall v: Worker do forall w: Worker do
    (mine[v] & mine[w]) != 0 -> batch[v] = batch[w]
  end end;

-- Mistake 1 is to show what comes of it.
invariant "A filter holds settled states only"
  forall w: Worker do forall s: State do
    Has(filter[w], s) -> Claimed(s) & done[s % Keepers][owner[s]] | Mistake = 1
  end end;

invariant "Done anywhere is done at home"
  forall k: Keeper do forall b: State do
    done[k][b] -> done[Home(b)][b]
  end end;

-- Also of what is claimed for it later, by a zombie.
invariant "What a batch that is done has claimed is recorded and published"
  forall s: State do
    Claimed(s) & owner[s] != Root & done[Home(owner[s])][owner[s]] ->
      parent[s] & Has(published, s)
  end;

-- What makes it hard --------------------------------------------------------

cover "A zombie is told to go on, and then its batch is done"
  exists w: Worker do step[w] = Publishing & DoneAtHome(w) end;

cover "A zombie with new states is about to ask home, where its batch is done"
  exists w: Worker do step[w] = Recording & mine[w] != 0 & DoneAtHome(w) end;

cover "A batch is worked on again, its children published but not reported"
  exists w: Worker do
    step[w] = Claiming & !DoneAtHome(w)
    & exists s: State do
      Has(published & left[w], s) & owner[s] = batch[w]
    end
  end;

cover "Two workers publish the same"
  exists v: Worker do exists w: Worker do
    v != w & step[v] = Publishing & step[w] = Publishing & batch[v] = batch[w]
  end end;

cover "A batch is worked on again while it is done at home and pending elsewhere"
  exists w: Worker do
    step[w] = Claiming & DoneAtHome(w)
    & exists k: Keeper do (left[w] & At(k)) != 0 & !done[k][batch[w]] end
  end;

cover "A batch that is done comes a second time, in another message"
  exists b: State do Stored(b, 1) & !Stored(b, 0) & done[Home(b)][b] end;

cover "The search has ended, and a zombie still wants to publish"
  Balanced() & (exists w: Worker do step[w] = Publishing end) & Empty();

cover "A loss is noticed"
  lost & !Balanced() & Empty();

liveness "The stream can be emptied"
  (forall w: Worker do step[w] = Idle end) & Empty();
