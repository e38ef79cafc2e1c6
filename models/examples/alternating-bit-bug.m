-- The alternating bit protocol, with a sender that trusts every acknowledgement
--
-- This is alternating-bit.m with one test left out: the sender takes any
-- acknowledgement for that of its current item and does not look at the bit.
-- On a channel that only loses messages this looks safe at first: why should
-- the receiver acknowledge anything else? Because of an impatient timer: the
-- item was sent more than once, so it is acknowledged more than once.
--
-- The counterexample: the first item is sent three times, and each copy is
-- acknowledged. The sender takes the three acknowledgements for those of its
-- first three items and goes on to the fourth, although it has never even sent
-- the second and the third. The bit of the fourth item is the one the receiver
-- expects with the second, so the receiver accepts the wrong item.
--
-- Only what a user of the protocol would notice is checked here: wrong data
-- handed over. Try next: add the two invariants of alternating-bit.m. They talk
-- about the inner state, fail much earlier, and so show the cause and not just
-- the effect.
--
--@ verdict: violated
--@ violation: assertion "Items arrive complete and in order"
--@ depth: 11

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
  -- The mistake: here acks.bits[0] has to be compared with sendBit.
  sendBit := 1 - sendBit;
  sendItem := (sendItem + 1) % Items;
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
