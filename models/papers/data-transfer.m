-- A data transfer protocol: connect, go-back-n, disconnect
--
-- A user hands items to a sender, which transmits them to a receiver over a line
-- that loses messages; the receiver hands them to another user. The sender opens
-- a connection, sends up to Window items before it must wait for an
-- acknowledgement, and closes the connection when everything was acknowledged.
-- Items carry numbers modulo Window + 1. The receiver takes only the item that
-- is due and answers everything with the number of the next one; the sender,
-- when nothing is under way any more, goes back to the oldest item that was not
-- acknowledged.
--
-- Modelled: four processes (user, sender, receiver, user) and a line in each
-- direction, first-in first-out, of LineSize messages, which may lose its oldest
-- message, at most Losses times per direction. Timers run out only when both
-- lines are empty and the receiver has answered, as `timeout` does in Promela.
-- Items have values, chosen by the user; all that was sent is remembered, so that
-- what arrives can be compared with it.
--
-- Independence: a line is a ring of slots, and there is an instance of sending
-- and receiving per slot. Both ends move on their own, as long as they are at
-- different slots; at the same slot one of them has to wait. What the users, the
-- sender and the receiver know of an item stands in a cell per item, for the
-- same reason. Loss and receipt of a message are a real choice.
--
-- Checked: items arrive complete, in order and unchanged, numbers are never
-- mistaken, and there is no deadlock: when both users are content and the
-- connection is closed the next transfer begins.
--
-- It stands for DTP in Table 1 of "State-space caching revisited"; that model is
-- in another language, and not this one.
--
-- Try next:
--   --const Items=8 --const Window=3 --const BackLosses=0 --search sleep-dfs --cache 500
--
--@ verdict: holds
--@ options: --deadlock stutter
--@ states: 1745
--@ transitions: 3547
--@ depth: 27

const
  Items: 2;                   -- items per transfer
  Values: 2;                  -- different contents of an item
  Window: 2;                  -- items that may be under way
  LineSize: 2;                -- messages in a line
  ForthLosses: 1;             -- messages that may be lost on the way forth
  BackLosses: 1;              -- and on the way back

type
  Item: 0..Items-1;
  Value: 1..Values;
  Text: 0..Values;            -- 0 is no value
  Number: 0..Window;
  Slot: 0..LineSize-1;
  Phase: enum { Closed, Opening, Open, Closing, Over };
  Task: enum { Listen, Confirm, Acknowledge, SayGoodbye };
  Forth: enum { NoForth, Connect, Data, Disconnect };
  Back: enum { NoBack, Confirmed, Ack, Goodbye };

var
  -- the user who sends
  given: 0..Items;
  text: array [Item] of Text;

  -- the sender
  phase: Phase;
  sent: 0..Items;             -- items below were sent
  base: 0..Items;             -- items below were acknowledged
  acked: array [Item] of boolean;

  -- the receiver
  task: Task;                 -- the answer to give
  expected: 0..Items;         -- items below have arrived
  inbox: array [Item] of Text;

  -- the user who receives
  taken: 0..Items;

  -- the line forth: full from head to tail
  forth: array [Slot] of record kind: Forth; number: Number; value: Text; end;
  forthHead: Slot;
  forthTail: Slot;
  forthLost: 0..ForthLosses;

  -- the line back
  back: array [Slot] of record kind: Back; number: Number; end;
  backHead: Slot;
  backTail: Slot;
  backLost: 0..BackLosses;

procedure ClearForth(s: Slot);
begin
  forth[s].kind := NoForth;
  forth[s].number := 0;
  forth[s].value := 0;
end;

procedure ClearBack(s: Slot);
begin
  back[s].kind := NoBack;
  back[s].number := 0;
end;

procedure NewTransfer();
begin
  given := 0;
  sent := 0;
  base := 0;
  expected := 0;
  taken := 0;
  phase := Closed;
  task := Listen;
  for i: Item do
    text[i] := 0;
    inbox[i] := 0;
    acked[i] := false;
  end;
  for s: Slot do
    ClearForth(s);
    ClearBack(s);
  end;
  forthHead := 0;
  forthTail := 0;
  forthLost := 0;
  backHead := 0;
  backTail := 0;
  backLost := 0;
end;

startstate "Nothing sent yet"
begin
  NewTransfer();
end;

-- The users.

ruleset i: Item do

  ruleset v: Value do
    rule "User: hand over an item"
      given = i & (i < Window | acked[i < Window ? i : i - Window])
    ==>
    begin
      text[i] := v;
      given := i + 1;
    end;
  end;

  rule "User: take an item"
    taken = i & inbox[i] != 0
  ==>
  begin
    assert inbox[i] = text[i] "Items arrive in order and unchanged";
    taken := i + 1;
  end;

end;

-- The sender sends.

ruleset s: Slot do

  rule "Sender: connect"
    phase = Closed & forthTail = s & forth[s].kind = NoForth
  ==>
  begin
    forth[s].kind := Connect;
    forthTail := (s + 1) % LineSize;
    phase := Opening;
  end;

  ruleset i: Item do
    rule "Sender: send an item"
      phase = Open & sent = i & text[i] != 0 & forthTail = s & forth[s].kind = NoForth
    ==>
    begin
      forth[s].kind := Data;
      forth[s].number := i % (Window + 1);
      forth[s].value := text[i];
      forthTail := (s + 1) % LineSize;
      sent := i + 1;
    end;
  end;

  rule "Sender: disconnect"
    phase = Open & base = Items & forthTail = s & forth[s].kind = NoForth
  ==>
  begin
    forth[s].kind := Disconnect;
    forthTail := (s + 1) % LineSize;
    phase := Closing;
  end;

end;

-- The sender receives.

ruleset s: Slot do

  rule "Sender: the connection is open"
    backHead = s & back[s].kind = Confirmed
  ==>
  begin
    if phase = Opening then
      phase := Open;
    end;
    ClearBack(s);
    backHead := (s + 1) % LineSize;
  end;

  ruleset b: 0..Items; k: 0..Window do
    rule "Sender: items are acknowledged"
      backHead = s & back[s].kind = Ack & base = b & b + k <= Items &
      back[s].number = (b + k) % (Window + 1)
    ==>
    begin
      for j: 0..Window-1 do
        if j < k then
          acked[b + j] := true;
        end;
      end;
      base := b + k;
      ClearBack(s);
      backHead := (s + 1) % LineSize;
    end;
  end;

  rule "Sender: the connection is closed"
    backHead = s & back[s].kind = Goodbye
  ==>
  begin
    phase := Over;
    ClearBack(s);
    backHead := (s + 1) % LineSize;
  end;

end;

-- The timers of the sender.

ruleset b: 0..Items do
  rule "Sender: go back to the oldest item"
    phase = Open & base = b & sent > b & task = Listen &
    forall s: Slot do forth[s].kind = NoForth & back[s].kind = NoBack end
  ==>
  begin
    sent := b;
  end;
end;

rule "Sender: connect again"
  phase = Opening & task = Listen &
  forall s: Slot do forth[s].kind = NoForth & back[s].kind = NoBack end
==>
begin
  phase := Closed;
end;

rule "Sender: disconnect again"
  phase = Closing & task = Listen &
  forall s: Slot do forth[s].kind = NoForth & back[s].kind = NoBack end
==>
begin
  phase := Open;
end;

-- The receiver receives.

ruleset s: Slot do

  rule "Receiver: somebody connects"
    task = Listen & forthHead = s & forth[s].kind = Connect
  ==>
  begin
    ClearForth(s);
    forthHead := (s + 1) % LineSize;
    task := Confirm;
  end;

  ruleset e: Item do
    rule "Receiver: the item that is due"
      task = Listen & forthHead = s & forth[s].kind = Data & expected = e &
      forth[s].number = e % (Window + 1)
    ==>
    begin
      inbox[e] := forth[s].value;
      expected := e + 1;
      ClearForth(s);
      forthHead := (s + 1) % LineSize;
      task := Acknowledge;
    end;
  end;

  ruleset e: 0..Items do
    rule "Receiver: another item than the one that is due"
      task = Listen & forthHead = s & forth[s].kind = Data & expected = e &
      forth[s].number != e % (Window + 1)
    ==>
    begin
      ClearForth(s);
      forthHead := (s + 1) % LineSize;
      task := Acknowledge;
    end;
  end;

  rule "Receiver: the sender disconnects"
    task = Listen & forthHead = s & forth[s].kind = Disconnect
  ==>
  begin
    ClearForth(s);
    forthHead := (s + 1) % LineSize;
    task := SayGoodbye;
  end;

end;

-- The receiver answers.

ruleset s: Slot do

  rule "Receiver: confirm"
    task = Confirm & backTail = s & back[s].kind = NoBack
  ==>
  begin
    back[s].kind := Confirmed;
    backTail := (s + 1) % LineSize;
    task := Listen;
  end;

  ruleset e: 0..Items do
    rule "Receiver: acknowledge"
      task = Acknowledge & expected = e & backTail = s & back[s].kind = NoBack
    ==>
    begin
      back[s].kind := Ack;
      back[s].number := e % (Window + 1);
      backTail := (s + 1) % LineSize;
      task := Listen;
    end;
  end;

  rule "Receiver: say goodbye"
    task = SayGoodbye & backTail = s & back[s].kind = NoBack
  ==>
  begin
    back[s].kind := Goodbye;
    backTail := (s + 1) % LineSize;
    task := Listen;
  end;

end;

-- The lines.

ruleset s: Slot do

  rule "Lose a message on the way forth"
    forthLost < ForthLosses & forthHead = s & forth[s].kind != NoForth
  ==>
  begin
    ClearForth(s);
    forthHead := (s + 1) % LineSize;
    forthLost := forthLost + 1;
  end;

  rule "Lose a message on the way back"
    backLost < BackLosses & backHead = s & back[s].kind != NoBack
  ==>
  begin
    ClearBack(s);
    backHead := (s + 1) % LineSize;
    backLost := backLost + 1;
  end;

end;

-- Without this rule the end of a transfer would be reported as a deadlock.
rule "Begin the next transfer"
  phase = Over & taken = Items
==>
begin
  NewTransfer();
end;

invariant "Nothing is acknowledged that was not sent, nothing arrives before it"
  base <= expected & base <= sent & taken <= expected & expected <= given;

invariant "The window is kept"
  given <= base + Window & sent <= given;

invariant "Everything has arrived when the connection is closed"
  phase = Closing | phase = Over -> expected = Items;
