-- Two-phase commit, with participants that get impatient
--
-- This is two-phase-commit.m with one rule more. A participant that has voted
-- Yes is at the mercy of the coordinator: until the decision comes it holds its
-- locks and can do nothing but wait. Implementations are tempted to put a
-- timeout there: no news for so long, so the coordinator must have failed, so
-- the transaction will be aborted, so abort. But the promise was given.
--
-- The counterexample: everybody votes Yes and the coordinator decides to commit.
-- One participant gets the decision and commits. Another one loses patience
-- before the decision arrives, and aborts: half a transaction has been done.
--
-- It is not a matter of a longer timeout. That participants may have to wait
-- is the price of this protocol, and protocols with more phases or with
-- replicated coordinators exist to avoid it.
--
-- Try next: find the new rule, "Participant: lose patience". Let it fire only
-- for participants that have not promised anything, and the property holds.
--
--@ verdict: violated
--@ violation: invariant "All or nothing"
--@ depth: 10

const
  N: 2;                       -- number of participants

type
  Part: scalarset(N);

  CoordState: enum { Collecting, DecidedCommit, DecidedAbort };
  PartState: enum { Working, Prepared, Committed, Aborted };

  -- coordinator to participant
  OrderMsg: enum { NoOrder, Prepare, DoCommit, DoAbort };
  -- participant to coordinator
  ReplyMsg: enum { NoReply, VoteYes, VoteNo, Done };

var
  -- the coordinator
  coord: CoordState;
  votedYes: array [Part] of boolean;
  finished: array [Part] of boolean;   -- has acknowledged the decision

  -- the participants
  part: array [Part] of PartState;

  -- the network
  order: array [Part] of OrderMsg;
  reply: array [Part] of ReplyMsg;

procedure NewTransaction();
begin
  coord := Collecting;
  for p: Part do
    votedYes[p] := false;
    finished[p] := false;
    part[p] := Working;
    order[p] := NoOrder;
    reply[p] := NoReply;
  end;
end;

startstate "A transaction has been worked on everywhere"
begin
  NewTransaction();
end;

ruleset p: Part do

  -- First phase, and its repetition after a timeout.
  rule "Coordinator: ask to prepare"
    coord = Collecting & !votedYes[p] & order[p] = NoOrder
  ==>
  begin
    order[p] := Prepare;
  end;

  rule "Participant: vote Yes"
    order[p] = Prepare & reply[p] = NoReply & (part[p] = Working | part[p] = Prepared)
  ==>
  begin
    order[p] := NoOrder;
    part[p] := Prepared;
    reply[p] := VoteYes;
  end;

  rule "Participant: vote No and abort"
    order[p] = Prepare & reply[p] = NoReply & (part[p] = Working | part[p] = Aborted)
  ==>
  begin
    order[p] := NoOrder;
    part[p] := Aborted;
    reply[p] := VoteNo;
  end;

  -- Before it has promised anything a participant may abort on its own.
  rule "Participant: abort while working"
    part[p] = Working
  ==>
  begin
    part[p] := Aborted;
  end;

  -- The mistake: a prepared participant must wait for the decision.
  rule "Participant: lose patience"
    part[p] = Prepared & order[p] = NoOrder
  ==>
  begin
    part[p] := Aborted;
  end;

  rule "Coordinator: receive a Yes"
    reply[p] = VoteYes
  ==>
  begin
    reply[p] := NoReply;
    if coord = Collecting then
      votedYes[p] := true;
    end;
  end;

  rule "Coordinator: receive a No"
    reply[p] = VoteNo
  ==>
  begin
    reply[p] := NoReply;
    if coord = Collecting then
      coord := DecidedAbort;
    end;
  end;

  -- Second phase, and its repetition until the participant has answered.
  rule "Coordinator: send the decision"
    coord != Collecting & !finished[p] & order[p] = NoOrder
  ==>
  begin
    if coord = DecidedCommit then
      order[p] := DoCommit;
    else
      order[p] := DoAbort;
    end;
  end;

  rule "Participant: commit"
    order[p] = DoCommit & reply[p] = NoReply
  ==>
  begin
    order[p] := NoOrder;
    part[p] := Committed;
    reply[p] := Done;
  end;

  rule "Participant: abort"
    order[p] = DoAbort & reply[p] = NoReply
  ==>
  begin
    order[p] := NoOrder;
    part[p] := Aborted;
    reply[p] := Done;
  end;

  rule "Coordinator: one more has finished"
    reply[p] = Done
  ==>
  begin
    reply[p] := NoReply;
    finished[p] := true;
  end;

  rule "Lose an order"
    order[p] != NoOrder
  ==>
  begin
    order[p] := NoOrder;
  end;

  rule "Lose a reply"
    reply[p] != NoReply
  ==>
  begin
    reply[p] := NoReply;
  end;

end;

rule "Coordinator: decide to commit"
  coord = Collecting & forall p: Part do votedYes[p] end
==>
begin
  coord := DecidedCommit;
end;

rule "Coordinator: give up waiting, decide to abort"
  coord = Collecting
==>
begin
  coord := DecidedAbort;
end;

-- Without this rule a finished transaction would be the end of all activity,
-- and be reported as a deadlock. (New transactions have new numbers, so an old
-- message cannot be taken for a new one. Here the network is empty by then.)
rule "Begin the next transaction"
  forall p: Part do
    finished[p] & order[p] = NoOrder & reply[p] = NoReply
  end
==>
begin
  NewTransaction();
end;

invariant "All or nothing"
  forall p: Part do
    forall q: Part do
      !(part[p] = Committed & part[q] = Aborted)
    end
  end;
