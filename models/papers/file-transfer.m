-- A file transfer protocol: sessions, refusals, aborts, flow control
--
-- A user wants a file sent to another machine. The session layer of the sender
-- asks the receiver, whose user accepts or refuses. The file goes block by block
-- under flow control: up to Window blocks are under way, the receiver takes the
-- one that is due and answers with the number of the next. At the end of the file
-- the session is closed, and the next one may begin. The sending user may abort
-- at any moment before that.
--
-- Modelled: a sender and a receiver, each with its session and its flow control,
-- the two users as free choices of them, and a line in each direction, first-in
-- first-out, of LineSize messages, which may lose its oldest message, at most
-- Losses times per session and direction. Timers run out when both lines are
-- empty and the receiver has answered. Sessions are told apart by a bit: a new one
-- begins only when the old one was closed, refused or aborted by both sides, and
-- so what is left in the lines is of the last session.
-- Abstracted: what is in the blocks; a message carries the number of its block,
-- of which the receiver looks at the rest modulo Window + 1 only.
--
-- Independence: lines are rings of slots with an instance of sending and
-- receiving per slot, so both ends move on their own as long as they are at
-- different slots. But sessions follow each other without end and nothing of the
-- past is remembered, and therefore many different histories lead to the same
-- state: sleep sets help less here than with the other models of this directory.
--
-- Checked: blocks arrive complete and in order, the sender is told that the file
-- has arrived only if it has, a refused file is not sent, and no deadlock.
--
-- It stands for PFTP in Table 1 of "State-space caching revisited"; that model is
-- in another language, and not this one.
--
-- Try next:
--   --const Blocks=4 --const Window=3 --const LineSize=4 --const Losses=2 --search sleep-dfs
--
--@ verdict: holds
--@ options: --deadlock stutter
--@ states: 3360
--@ transitions: 6696
--@ depth: 46

const
  Blocks: 2;                  -- blocks of the file
  Window: 1;                  -- blocks that may be under way
  LineSize: 2;                -- messages in a line
  Losses: 1;                  -- messages lost per session and direction

  -- Messages forth and back. These are numbers and not an enumeration because
  -- `--replace kind` takes a step that changes enumerations for one of control.
  NoForth: 0; Ask: 1; Data: 2; Close: 3; Abort: 4;
  NoBack: 0; Yes: 1; No: 2; Next: 3; Closed: 4; Aborted: 5;

type
  Bit: 0..1;
  Block: 0..Blocks-1;
  Count: 0..Blocks;
  Slot: 0..LineSize-1;
  Sender: enum { Idle, ToAsk, Asking, Sending, ToClose, Closing, ToAbort, Aborting };
  Receiver: enum { Free, Deciding, Taking, Refused };
  Task: enum { Listen, SayYes, SayNo, SayNext, SayClosed, SayAborted };
  Forth: NoForth..Abort;
  Back: NoBack..Aborted;

var
  -- the sender: its session, and blocks below were sent, acknowledged
  sender: Sender;
  session: Bit;
  sent: Count;
  base: Count;

  -- the receiver: its session, the answer to give, and blocks below have arrived
  receiver: Receiver;
  current: Bit;
  task: Task;
  arrived: Count;

  -- the line forth: full from head to tail
  forth: array [Slot] of record kind: Forth; session: Bit; block: Count; end;
  forthHead: Slot;
  forthTail: Slot;
  forthLost: 0..Losses;

  -- the line back; for Next the number of the block that is due
  back: array [Slot] of record kind: Back; session: Bit; block: Count; end;
  backHead: Slot;
  backTail: Slot;
  backLost: 0..Losses;

procedure PutForth(s: Slot; kind: Forth; block: Count);
begin
  forth[s].kind := kind;
  forth[s].session := session;
  forth[s].block := block;
  forthTail := (s + 1) % LineSize;
end;

procedure TakeForth(s: Slot);
begin
  forth[s].kind := NoForth;
  forth[s].session := 0;
  forth[s].block := 0;
  forthHead := (s + 1) % LineSize;
end;

procedure PutBack(s: Slot; kind: Back; block: Count);
begin
  back[s].kind := kind;
  back[s].session := current;
  back[s].block := block;
  backTail := (s + 1) % LineSize;
end;

procedure TakeBack(s: Slot);
begin
  back[s].kind := NoBack;
  back[s].session := 0;
  back[s].block := 0;
  backHead := (s + 1) % LineSize;
end;

procedure EndOfSession();
begin
  sender := Idle;
  sent := 0;
  base := 0;
end;

startstate "No session yet"
begin
  EndOfSession();
  session := 0;
  receiver := Free;
  current := 0;
  task := Listen;
  arrived := 0;
  for s: Slot do
    TakeForth(s);
    TakeBack(s);
  end;
  forthHead := 0;
  forthTail := 0;
  forthLost := 0;
  backHead := 0;
  backTail := 0;
  backLost := 0;
end;

-- The sending user.

rule "User: send a file"
  sender = Idle
==>
begin
  session := 1 - session;
  forthLost := 0;
  backLost := 0;
  sender := ToAsk;
end;

rule "User: abort"
  sender = Asking | sender = Sending
==>
begin
  sent := 0;
  base := 0;
  sender := ToAbort;
end;

-- The sender sends.

ruleset s: Slot do

  rule "Sender: ask"
    sender = ToAsk & forthTail = s & forth[s].kind = NoForth
  ==>
  begin
    PutForth(s, Ask, 0);
    sender := Asking;
  end;

  ruleset b: Block do
    rule "Sender: send a block"
      sender = Sending & sent = b & b < base + Window & forthTail = s & forth[s].kind = NoForth
    ==>
    begin
      PutForth(s, Data, b);
      sent := b + 1;
    end;
  end;

  rule "Sender: close the session"
    sender = ToClose & forthTail = s & forth[s].kind = NoForth
  ==>
  begin
    PutForth(s, Close, 0);
    sender := Closing;
  end;

  rule "Sender: abort the session"
    sender = ToAbort & forthTail = s & forth[s].kind = NoForth
  ==>
  begin
    PutForth(s, Abort, 0);
    sender := Aborting;
  end;

end;

rule "Sender: end of file"
  sender = Sending & base = Blocks
==>
begin
  sender := ToClose;
end;

-- The timers of the sender.

ruleset b: Block do
  rule "Sender: go back to the oldest block"
    sender = Sending & base = b & sent > b & task = Listen & receiver != Deciding &
    forall s: Slot do forth[s].kind = NoForth & back[s].kind = NoBack end
  ==>
  begin
    sent := b;
  end;
end;

rule "Sender: say it again"
  (sender = Asking | sender = Closing | sender = Aborting) & task = Listen &
  receiver != Deciding &
  forall s: Slot do forth[s].kind = NoForth & back[s].kind = NoBack end
==>
begin
  switch sender
    case Asking: sender := ToAsk;
    case Closing: sender := ToClose;
    case Aborting: sender := ToAbort;
  end;
end;

-- The sender receives.

ruleset s: Slot do

  rule "Sender: the file is wanted"
    backHead = s & back[s].kind = Yes
  ==>
  begin
    if sender = Asking & back[s].session = session then
      sender := Sending;
    end;
    TakeBack(s);
  end;

  rule "Sender: the file is not wanted"
    backHead = s & back[s].kind = No
  ==>
  begin
    if back[s].session = session & (sender = Asking | sender = ToAbort | sender = Aborting) then
      EndOfSession();
    end;
    TakeBack(s);
  end;

  rule "Sender: blocks are acknowledged"
    backHead = s & back[s].kind = Next
  ==>
  begin
    if sender = Sending & back[s].session = session then
      for k: 1..Window do
        if base + k <= Blocks & back[s].block % (Window + 1) = (base + k) % (Window + 1) then
          assert back[s].block = base + k "Numbers are never mistaken";
          base := back[s].block;
          if sent < base then
            sent := base;
          end;
        end;
      end;
    end;
    TakeBack(s);
  end;

  rule "Sender: the session is closed"
    backHead = s & (back[s].kind = Closed | back[s].kind = Aborted)
  ==>
  begin
    if back[s].session = session & (sender = Closing | sender = Aborting) then
      EndOfSession();
    end;
    TakeBack(s);
  end;

end;

-- The receiver receives.

ruleset s: Slot do

  rule "Receiver: a session is asked for"
    task = Listen & forthHead = s & forth[s].kind = Ask & receiver != Deciding
  ==>
  begin
    if forth[s].session != current then
      current := forth[s].session;
      receiver := Deciding;
      arrived := 0;
    elsif receiver = Taking then
      task := SayYes;
    elsif receiver = Refused then
      task := SayNo;
    end;
    TakeForth(s);
  end;

  rule "Receiver: a block"
    task = Listen & forthHead = s & forth[s].kind = Data & receiver != Deciding
  ==>
  begin
    if forth[s].session = current & receiver = Taking then
      if arrived < Blocks & forth[s].block % (Window + 1) = arrived % (Window + 1) then
        assert forth[s].block = arrived "Blocks arrive complete and in order";
        arrived := arrived + 1;
      end;
      task := SayNext;
    end;
    TakeForth(s);
  end;

  rule "Receiver: the session is closed"
    task = Listen & forthHead = s & forth[s].kind = Close & receiver != Deciding
  ==>
  begin
    if forth[s].session = current then
      assert arrived = Blocks "A session is closed at the end of the file";
      receiver := Free;
      task := SayClosed;
    end;
    TakeForth(s);
  end;

  rule "Receiver: the session is aborted"
    task = Listen & forthHead = s & forth[s].kind = Abort & receiver != Deciding
  ==>
  begin
    -- The session may be one whose question was lost.
    current := forth[s].session;
    receiver := Free;
    arrived := 0;
    task := SayAborted;
    TakeForth(s);
  end;

end;

-- The receiving user.

rule "User: take the file"
  receiver = Deciding
==>
begin
  receiver := Taking;
  task := SayYes;
end;

rule "User: refuse the file"
  receiver = Deciding
==>
begin
  receiver := Refused;
  task := SayNo;
end;

-- The receiver answers.

ruleset s: Slot do

  rule "Receiver: yes"
    task = SayYes & backTail = s & back[s].kind = NoBack
  ==>
  begin
    PutBack(s, Yes, 0);
    task := Listen;
  end;

  rule "Receiver: no"
    task = SayNo & backTail = s & back[s].kind = NoBack
  ==>
  begin
    PutBack(s, No, 0);
    task := Listen;
  end;

  rule "Receiver: the next block, please"
    task = SayNext & backTail = s & back[s].kind = NoBack
  ==>
  begin
    PutBack(s, Next, arrived);
    task := Listen;
  end;

  rule "Receiver: closed"
    task = SayClosed & backTail = s & back[s].kind = NoBack
  ==>
  begin
    PutBack(s, Closed, 0);
    task := Listen;
  end;

  rule "Receiver: aborted"
    task = SayAborted & backTail = s & back[s].kind = NoBack
  ==>
  begin
    PutBack(s, Aborted, 0);
    task := Listen;
  end;

end;

-- The lines.

ruleset s: Slot do

  rule "Lose a message on the way forth"
    forthLost < Losses & forthHead = s & forth[s].kind != NoForth
  ==>
  begin
    TakeForth(s);
    forthLost := forthLost + 1;
  end;

  rule "Lose a message on the way back"
    backLost < Losses & backHead = s & back[s].kind != NoBack
  ==>
  begin
    TakeBack(s);
    backLost := backLost + 1;
  end;

end;

invariant "The window is kept"
  base <= sent & sent <= base + Window;

invariant "What is acknowledged has arrived"
  sender = Sending -> base <= arrived;

invariant "The file has arrived when the sender is told so"
  sender = ToClose | sender = Closing -> arrived = Blocks;

invariant "A refused file is not sent"
  sender = Sending -> receiver = Taking & current = session;
