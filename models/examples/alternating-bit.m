-- The alternating bit protocol
--
-- A sender transmits a sequence of data items to a receiver over a channel
-- which may lose messages. Every message carries a bit. The sender repeats the
-- current item with its bit until an acknowledgement with the same bit comes
-- back, then it goes on to the next item with the other bit. The receiver
-- acknowledges everything it gets with the bit it came with, but hands over an
-- item only if the bit is the one it expects, so repetitions are harmless.
--
-- Modelled: one channel in each direction, first-in first-out, of at most
-- ChannelSize messages, which may lose its oldest message at any time. The
-- sender may repeat its message whenever there is room (its timer may run out
-- early, so there are plenty of duplicates).
-- Abstracted: the data. Item number n is just n modulo Items, which is enough
-- to notice that an item was lost, repeated or swapped with its neighbour.
--
-- Checked: the receiver hands over exactly the items sent, in order (an
-- assertion at the place where it happens), the sender is never more than one
-- item ahead (an invariant), and there is no deadlock.
--
-- Try next:
--   --const ChannelSize=4    longer channels
--   alternating-bit-bug.m    a sender which does not look at the bit
--
--@ verdict: holds
--@ options: --deadlock stutter
--@ states: 402
--@ transitions: 1476
--@ depth: 27

const
  ChannelSize: 3;             -- messages in flight, per direction
  Items: 3;                   -- data items are numbered modulo this; at least 3

type
  Bit: 0..1;
  Item: 0..Items-1;
  Slot: 0..ChannelSize-1;

  -- A queue: slots 0 .. count-1 are in use, slot 0 is the oldest. Free slots
  -- are kept undefined. If they kept their old contents, states that differ
  -- only in such rubbish would be explored as different states.
  DataChannel: record
    count: 0..ChannelSize;
    bits: array [Slot] of Bit;
    items: array [Slot] of Item;
  end;
  AckChannel: record
    count: 0..ChannelSize;
    bits: array [Slot] of Bit;
  end;

var
  data: DataChannel;          -- sender to receiver
  acks: AckChannel;           -- receiver to sender

  sendBit: Bit;               -- bit of the item being sent
  sendItem: Item;             -- the item being sent
  expectBit: Bit;             -- bit of the next new item
  expectItem: Item;           -- for checking only: the next item due

procedure PopData(var ch: DataChannel);
begin
  for i: Slot do
    if i + 1 < ch.count then
      ch.bits[i] := ch.bits[i + 1];
      ch.items[i] := ch.items[i + 1];
    end;
  end;
  ch.count := ch.count - 1;
  undefine ch.bits[ch.count];
  undefine ch.items[ch.count];
end;

procedure PopAck(var ch: AckChannel);
begin
  for i: Slot do
    if i + 1 < ch.count then
      ch.bits[i] := ch.bits[i + 1];
    end;
  end;
  ch.count := ch.count - 1;
  undefine ch.bits[ch.count];
end;

startstate "Nothing sent yet"
begin
  undefine data;
  undefine acks;
  data.count := 0;
  acks.count := 0;
  sendBit := 0;
  sendItem := 0;
  expectBit := 0;
  expectItem := 0;
end;

rule "Send or repeat the item"
  data.count < ChannelSize
==>
begin
  data.bits[data.count] := sendBit;
  data.items[data.count] := sendItem;
  data.count := data.count + 1;
end;

rule "Receive an item and acknowledge it"
  data.count > 0 & acks.count < ChannelSize
==>
begin
  if data.bits[0] = expectBit then
    assert data.items[0] = expectItem "Items arrive complete and in order";
    expectBit := 1 - expectBit;
    expectItem := (expectItem + 1) % Items;
  end;
  acks.bits[acks.count] := data.bits[0];
  acks.count := acks.count + 1;
  PopData(data);
end;

rule "Receive an acknowledgement"
  acks.count > 0
==>
begin
  if acks.bits[0] = sendBit then
    sendBit := 1 - sendBit;
    sendItem := (sendItem + 1) % Items;
  end;
  PopAck(acks);
end;

rule "Lose an item"
  data.count > 0
==>
begin
  PopData(data);
end;

rule "Lose an acknowledgement"
  acks.count > 0
==>
begin
  PopAck(acks);
end;

-- Either the receiver still waits for the item being sent, or it has it and
-- the acknowledgement is on its way.
invariant "The sender is at most one item ahead"
  expectItem = sendItem | expectItem = (sendItem + 1) % Items;

invariant "The bits agree with the items"
  (expectBit = sendBit) = (expectItem = sendItem);
