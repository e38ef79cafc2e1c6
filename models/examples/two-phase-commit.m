-- Two-phase commit
--
-- N participants hold parts of one transaction, which must take effect
-- everywhere or nowhere. In the first phase the coordinator asks everybody to
-- prepare, and everybody votes. Who votes Yes has promised to commit if told so,
-- and may no longer decide alone; who votes No aborts at once. In the second
-- phase the coordinator decides, commit if all votes are Yes and abort
-- otherwise, and tells everybody.
--
-- Modelled: one message slot per participant and direction; the network may
-- lose any message. The coordinator repeats its request or decision to those
-- it has not heard from, and may give up waiting for votes at any time (a
-- timeout: it then decides to abort). Participants answer repeated messages.
-- Both sides keep their state in stable storage, so a crash and a restart look
-- like a long delay, and need no rules of their own.
-- Abstracted: what the transaction does. When a transaction is over everywhere,
-- the next one begins.
--
-- Checked: nobody commits while another one aborts, nothing is committed
-- against a No vote, the coordinator's decision is obeyed, and no deadlock.
--
-- Try next:
--   --const N=2              fewer participants, far fewer states
--   --const N=4              more: symmetry reduction starts to pay
--   two-phase-commit-bug.m   participants which get impatient
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 36693
--@ transitions: 244909
--@ depth: 25

const
  N: 3;                       -- number of participants

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

invariant "Commit only what everybody has voted for"
  (exists p: Part do part[p] = Committed end) ->
    forall p: Part do votedYes[p] end;

invariant "The decision is obeyed"
  forall p: Part do
    (part[p] = Committed -> coord = DecidedCommit) &
    (finished[p] -> part[p] = Committed | part[p] = Aborted) &
    (finished[p] & coord = DecidedCommit -> part[p] = Committed)
  end;
