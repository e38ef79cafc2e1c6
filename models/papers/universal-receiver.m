-- A protocol for a universal receiver: blocks of characters, checked by counting
--
-- All decisions are the sender's, so that one simple receiver serves all sorts of
-- senders. The sender transmits blocks of characters, each followed by a trailer
-- with the number of the block. The receiver counts characters. If a trailer
-- comes with the right number after the right count, the receiver keeps the
-- block and acknowledges it; otherwise it says so once (Reject) and is deaf from
-- then on. It listens again when the sender enquires, and answers with the
-- number of the block that is due, from which the sender goes on. The sender
-- enquires after a Reject, and when nothing moves any more.
--
-- Modelled: the user who writes blocks, the sender, the receiver, the user who
-- reads blocks, and a line in each direction, first-in first-out, of LineSize
-- characters or messages, which may lose its oldest one, at most ForthLosses and
-- BackLosses times. The sender first makes the receiver ready (Start). Timers
-- run out only when both lines are empty and the receiver has answered.
-- A block has a content, which all its characters carry.
--
-- Independence: lines are rings of slots with an instance of sending and
-- receiving per slot, so both ends move on their own as long as they are at
-- different slots. What is known of a block stands in cells of that block.
--
-- Checked: blocks arrive complete, in order and without characters of others, a
-- number is never taken for another one, and there is no deadlock: when the last
-- block is acknowledged and read, everything begins again.
--
-- It stands for URP in Table 1 of "State-space caching revisited"; that model is
-- in another language, and not this one.
--
-- Try next:
--   --const Blocks=4 --const BackLosses=0 --search sleep-dfs --cache 500
--
--@ verdict: holds
--@ options: --deadlock stutter
--@ states: 4759
--@ transitions: 10123
--@ depth: 41

const
  Blocks: 2;                  -- blocks per run
  Length: 2;                  -- characters of a block
  Values: 2;                  -- different contents of a block
  Window: 2;                  -- blocks that may be under way
  LineSize: 2;                -- characters or messages in a line
  ForthLosses: 1;             -- what may be lost on the way forth
  BackLosses: 1;              -- and on the way back

type
  Block: 0..Blocks-1;
  Place: 0..Length-1;
  Value: 1..Values;
  Text: 0..Values;            -- 0 is nothing
  Number: 0..Window;
  Slot: 0..LineSize-1;
  Mode: enum { Fresh, Starting, Sending, Enquire, Enquiring };
  Task: enum { Listen, SayReady, SayAck, SayReject, SayStatus };
  Forth: enum { NoForth, Start, Char, Trailer, Enquiry };
  Back: enum { NoBack, Ready, Ack, Reject, Status };

var
  -- the user who writes
  written: 0..Blocks;
  text: array [Block] of Text;

  -- the sender
  mode: Mode;
  block: 0..Blocks;           -- the block being sent
  place: 0..Length;           -- its next character; Length stands for the trailer
  base: 0..Blocks;            -- blocks below were acknowledged
  acked: array [Block] of boolean;

  -- the receiver
  task: Task;                 -- the answer to give
  deaf: boolean;
  count: 0..Length+1;         -- characters since the last trailer; one more: too many
  letters: array [Place] of Text;
  good: 0..Blocks;            -- blocks below were kept
  page: array [Block] of Text;

  -- the user who reads
  seen: 0..Blocks;

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

procedure PutForth(s: Slot; kind: Forth; number: Number; value: Text);
begin
  forth[s].kind := kind;
  forth[s].number := number;
  forth[s].value := value;
  forthTail := (s + 1) % LineSize;
end;

procedure TakeForth(s: Slot);
begin
  forth[s].kind := NoForth;
  forth[s].number := 0;
  forth[s].value := 0;
  forthHead := (s + 1) % LineSize;
end;

procedure PutBack(s: Slot; kind: Back; number: Number);
begin
  back[s].kind := kind;
  back[s].number := number;
  backTail := (s + 1) % LineSize;
end;

procedure TakeBack(s: Slot);
begin
  back[s].kind := NoBack;
  back[s].number := 0;
  backHead := (s + 1) % LineSize;
end;

procedure ForgetLetters();
begin
  count := 0;
  for p: Place do
    letters[p] := 0;
  end;
end;

procedure NewRun();
begin
  written := 0;
  mode := Fresh;
  block := 0;
  place := 0;
  base := 0;
  task := Listen;
  deaf := true;
  good := 0;
  seen := 0;
  ForgetLetters();
  for b: Block do
    text[b] := 0;
    acked[b] := false;
    page[b] := 0;
  end;
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

startstate "The receiver is deaf, and nothing is written yet"
begin
  NewRun();
end;

-- The users.

ruleset b: Block do

  ruleset v: Value do
    rule "Writer: write a block"
      written = b & (b < Window | acked[b < Window ? b : b - Window])
    ==>
    begin
      text[b] := v;
      written := b + 1;
    end;
  end;

  rule "Reader: read a block"
    seen = b & page[b] != 0
  ==>
  begin
    assert page[b] = text[b] "Blocks arrive in order and unchanged";
    seen := b + 1;
  end;

end;

-- The sender sends.

ruleset s: Slot do

  rule "Sender: make the receiver ready"
    mode = Fresh & forthTail = s & forth[s].kind = NoForth
  ==>
  begin
    PutForth(s, Start, 0, 0);
    mode := Starting;
  end;

  ruleset b: Block do

    ruleset p: Place do
      rule "Sender: send a character"
        mode = Sending & block = b & place = p & text[b] != 0 &
        forthTail = s & forth[s].kind = NoForth
      ==>
      begin
        PutForth(s, Char, 0, text[b]);
        place := p + 1;
      end;
    end;

    rule "Sender: send the trailer"
      mode = Sending & block = b & place = Length & forthTail = s & forth[s].kind = NoForth
    ==>
    begin
      PutForth(s, Trailer, b % (Window + 1), 0);
      block := b + 1;
      place := 0;
    end;

  end;

  rule "Sender: enquire"
    mode = Enquire & forthTail = s & forth[s].kind = NoForth
  ==>
  begin
    PutForth(s, Enquiry, 0, 0);
    mode := Enquiring;
  end;

end;

-- The sender receives.

ruleset s: Slot do

  rule "Sender: the receiver is ready"
    backHead = s & back[s].kind = Ready
  ==>
  begin
    if mode = Starting then
      mode := Sending;
    end;
    TakeBack(s);
  end;

  rule "Sender: a block was rejected"
    backHead = s & back[s].kind = Reject
  ==>
  begin
    if mode = Sending then
      mode := Enquire;
    end;
    TakeBack(s);
  end;

  ruleset b: 0..Blocks; k: 0..Window do

    rule "Sender: blocks are acknowledged"
      backHead = s & back[s].kind = Ack & base = b & b + k <= Blocks &
      back[s].number = (b + k) % (Window + 1)
    ==>
    begin
      for j: 0..Window-1 do
        if j < k then
          acked[b + j] := true;
        end;
      end;
      base := b + k;
      TakeBack(s);
    end;

    rule "Sender: go on from the block that is due"
      backHead = s & back[s].kind = Status & base = b & b + k <= Blocks &
      back[s].number = (b + k) % (Window + 1)
    ==>
    begin
      for j: 0..Window-1 do
        if j < k then
          acked[b + j] := true;
        end;
      end;
      base := b + k;
      block := b + k;
      place := 0;
      mode := Sending;
      TakeBack(s);
    end;

  end;

end;

-- The timers of the sender.

rule "Sender: start again"
  mode = Starting & task = Listen &
  forall s: Slot do forth[s].kind = NoForth & back[s].kind = NoBack end
==>
begin
  mode := Fresh;
end;

ruleset b: Block do
  rule "Sender: nothing moves, enquire"
    mode = Sending & base = b & block > b & place = 0 & task = Listen &
    forall s: Slot do forth[s].kind = NoForth & back[s].kind = NoBack end
  ==>
  begin
    mode := Enquire;
  end;
end;

rule "Sender: no answer, enquire again"
  mode = Enquiring & task = Listen &
  forall s: Slot do forth[s].kind = NoForth & back[s].kind = NoBack end
==>
begin
  mode := Enquire;
end;

-- The receiver receives.

ruleset s: Slot do

  rule "Receiver: get ready"
    task = Listen & forthHead = s & forth[s].kind = Start
  ==>
  begin
    deaf := false;
    task := SayReady;
    TakeForth(s);
  end;

  ruleset p: Place do
    rule "Receiver: keep a character"
      task = Listen & forthHead = s & forth[s].kind = Char & !deaf & count = p
    ==>
    begin
      letters[p] := forth[s].value;
      count := p + 1;
      TakeForth(s);
    end;
  end;

  rule "Receiver: a character too many"
    task = Listen & forthHead = s & forth[s].kind = Char & !deaf & count >= Length
  ==>
  begin
    count := Length + 1;
    TakeForth(s);
  end;

  ruleset g: Block do
    rule "Receiver: keep a block"
      task = Listen & forthHead = s & forth[s].kind = Trailer & !deaf & good = g &
      count = Length & forth[s].number = g % (Window + 1)
    ==>
    begin
      assert forall p: Place do letters[p] = letters[0] end "A block is of one piece";
      page[g] := letters[0];
      good := g + 1;
      ForgetLetters();
      task := SayAck;
      TakeForth(s);
    end;
  end;

  ruleset g: 0..Blocks do
    rule "Receiver: reject a block"
      task = Listen & forthHead = s & forth[s].kind = Trailer & !deaf & good = g &
      (count != Length | forth[s].number != g % (Window + 1))
    ==>
    begin
      ForgetLetters();
      deaf := true;
      task := SayReject;
      TakeForth(s);
    end;
  end;

  rule "Receiver: do not hear"
    task = Listen & forthHead = s & (forth[s].kind = Char | forth[s].kind = Trailer) & deaf
  ==>
  begin
    TakeForth(s);
  end;

  rule "Receiver: hear an enquiry"
    task = Listen & forthHead = s & forth[s].kind = Enquiry
  ==>
  begin
    ForgetLetters();
    deaf := false;
    task := SayStatus;
    TakeForth(s);
  end;

end;

-- The receiver answers.

ruleset s: Slot do

  rule "Receiver: say that it is ready"
    task = SayReady & backTail = s & back[s].kind = NoBack
  ==>
  begin
    PutBack(s, Ready, 0);
    task := Listen;
  end;

  rule "Receiver: say that a block was rejected"
    task = SayReject & backTail = s & back[s].kind = NoBack
  ==>
  begin
    PutBack(s, Reject, 0);
    task := Listen;
  end;

  ruleset g: 0..Blocks do

    rule "Receiver: acknowledge"
      task = SayAck & good = g & backTail = s & back[s].kind = NoBack
    ==>
    begin
      PutBack(s, Ack, g % (Window + 1));
      task := Listen;
    end;

    rule "Receiver: say which block is due"
      task = SayStatus & good = g & backTail = s & back[s].kind = NoBack
    ==>
    begin
      PutBack(s, Status, g % (Window + 1));
      task := Listen;
    end;

  end;

end;

-- The lines.

ruleset s: Slot do

  rule "Lose something on the way forth"
    forthLost < ForthLosses & forthHead = s & forth[s].kind != NoForth
  ==>
  begin
    TakeForth(s);
    forthLost := forthLost + 1;
  end;

  rule "Lose a message on the way back"
    backLost < BackLosses & backHead = s & back[s].kind != NoBack
  ==>
  begin
    TakeBack(s);
    backLost := backLost + 1;
  end;

end;

-- Without this rule the end of a run would be reported as a deadlock.
rule "Begin again"
  base = Blocks & seen = Blocks & mode = Sending & task = Listen &
  forall s: Slot do forth[s].kind = NoForth & back[s].kind = NoBack end
==>
begin
  NewRun();
end;

invariant "What is acknowledged was kept, and what was kept was written"
  base <= good & good <= written & seen <= good;

invariant "The window is kept"
  written <= base + Window & block <= written;
