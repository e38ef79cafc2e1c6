-- The protocol of Ergodic's fleet, with batches that are acknowledged too early
--
-- This is fleet.m with one mistake, and without what does not matter for it. A
-- worker acknowledges its batch when home has told it to go on, before it
-- publishes the children. It looks harmless: all new states are claimed, and the
-- worker has them in its hands.
--
-- The counterexample: both batches are acknowledged and the broker is empty. The
-- coordinator would take that for the end, while a worker is about to publish
-- three states. If that worker crashes now they are lost.
--
--@ verdict: violated
--@ violation: invariant "When the stream is empty all states are done"
--@ depth: 7
--@ options: --deadlock off

const
  Workers: 2;
  Keepers: 2;
  States: 5;
  Piece: 2;                    -- states in a batch, at most
  Mishaps: 1;                  -- crashes
  All: (1 << States) - 1;      -- the set of all states
  Root: States;                -- the batch that the initial states come from

type
  Worker: scalarset(Workers);
  Keeper: 0..Keepers-1;
  State: 0..States-1;
  Set: 0..All;                 -- of states, one bit each
  Batch: 0..States;            -- named by the first of its states
  Step: enum {
    Idle, Claiming, Asking, Publishing, Reporting, Spreading, Acking
  };

var
  -- the broker
  content: array [State] of Set;          -- of batches ever published
  message: array [State] of enum { Ready, Held, Gone };
  -- the keepers
  owner: array [State] of Batch;          -- undefined: not claimed
  done: array [Keeper] of array [Batch] of boolean;
  -- each worker
  step: array [Worker] of Step;
  batch: array [Worker] of State;
  left: array [Worker] of Set;            -- what this step has not dealt with yet
  mine: array [Worker] of Set;            -- what its batch owns
  told: array [Worker] of array [Keeper] of boolean;
  filter: array [Worker] of Set;
  -- for checking
  mishaps: 0..Mishaps;
  published: Set;                         -- states in batches ever published
  finished: Set;                          -- states in batches that are done

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

function NextPiece(set: Set): Set;
var
  piece: Set;
  size: 0..Piece;
begin
  piece := 0;
  size := 0;
  for s: State do
    if Has(set, s) & size < Piece then
      piece := piece | One(s);
      size := size + 1;
    end;
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

-- What is searched; 0 and 1 are the initial states.
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

function Home(b: State): Keeper;
begin
  return content[b] * 5 / 4 % Keepers;
end;

function Empty(): boolean;
begin
  return forall b: State do isundefined(message[b]) | message[b] = Gone end;
end;

procedure Store(child: Set);
begin
  if isundefined(content[First(child)]) then
    assert "A state is in one batch" (child & published) = 0;
    published := published | child;
    content[First(child)] := child;
    message[First(child)] := Ready;
  else
    assert "A state is in one batch" child = content[First(child)];
  end;
end;

procedure Rest(w: Worker);
begin
  step[w] := Idle;
  undefine batch[w];
  left[w] := 0;
  mine[w] := 0;
  for k: Keeper do told[w][k] := false; end;
end;

procedure WhenClaimed(w: Worker);
begin
  if left[w] = 0 then step[w] := Asking; end;
end;

procedure WhenPublished(w: Worker);
begin
  if left[w] = 0 then step[w] := Reporting; end;
end;

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
    message[b] := Ready;
    owner[b] := Root;
  end;
  for k: Keeper do
    for b: Batch do done[k][b] := b = Root; end;
  end;
  for w: Worker do
    Rest(w);
    filter[w] := 0;
  end;
  mishaps := 0;
  published := One(0) | One(1);
  finished := 0;
end;

ruleset w: Worker do

  ruleset b: State do
    rule "Take a batch and expand it"
      step[w] = Idle & !isundefined(message[b]) & message[b] = Ready
    ==>
    begin
      message[b] := Held;
      batch[w] := b;
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
        for s: State do
          if Has(left[w] & At(k), s) then
            if isundefined(owner[s]) then owner[s] := batch[w]; end;
            if owner[s] = batch[w] then
              mine[w] := mine[w] | One(s);
            elsif done[k][owner[s]] then
              filter[w] := filter[w] | One(s);
            end;
          end;
        end;
        left[w] := Without(left[w], At(k));
        WhenClaimed(w);
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

  rule "Ask home whether to go on"
    step[w] = Asking
  ==>
  begin
    if done[Home(batch[w])][batch[w]] then
      Skip(w);
    else
      -- The mistake: it is too early for this.
      message[batch[w]] := Gone;
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

  rule "Report at home"
    step[w] = Reporting
  ==>
  begin
    done[Home(batch[w])][batch[w]] := true;
    finished := finished | content[batch[w]];
    told[w][Home(batch[w])] := true;
    step[w] := Spreading;
  end;

  rule "Acknowledge"
    step[w] = Acking
  ==>
  begin
    message[batch[w]] := Gone;
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

ruleset b: State do

  rule "Deliver again what nobody works on"
    !isundefined(message[b]) & message[b] = Held
    & forall w: Worker do step[w] = Idle | batch[w] != b end
  ==>
  begin
    message[b] := Ready;
  end;

end;

invariant "When the stream is empty all states are done"
  Empty() -> finished = All;
