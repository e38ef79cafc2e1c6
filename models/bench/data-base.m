-- A distributed data base (K. Jensen, Coloured Petri nets and the invariant-method, 1981). Each of N managers
-- holds a copy. One at a time changes its copy, sends a message to every other one and waits until all have
-- acknowledged theirs. A manager that receives a message performs the change on its own copy first.
--
-- For measuring symmetry reduction and stores: the counts are known. One manager waits, and each of the others
-- has not received its message, performs the change or has acknowledged it; or nobody waits. So there are
-- N * 3^(N-1) + 1 states and 2N * (1 + (N-1) * 3^(N-2)) transitions, and depth is 2N - 1. Reduced by symmetry
-- only the numbers of managers count: N * (N+1) / 2 + 1 states.
--
--@ verdict: holds
--@ options: --symmetry off
--@ states: 17497
--@ transitions: 81664
--@ depth: 15
--@ options: --symmetry off --const N=4
--@ states: 109
--@ transitions: 224
--@ depth: 7
--@ options: --symmetry exact
--@ states: 37
--@ transitions: 177
--@ depth: 15

const N: 8;   -- 59,050 states and 314,946 transitions with N = 9
type manager: scalarset(N);
var is: array [manager] of enum { Inactive, Waiting, Performing };
    -- From a sender to a receiver; nobody sends to itself.
    message: array [manager] of array [manager] of enum { Unused, Sent, Received, Acknowledged };
    active: boolean;   -- a change is on its way

startstate "all are inactive" begin
  for s: manager do
    is[s] := Inactive;
    for r: manager do if s != r then message[s][r] := Unused; end; end;
  end;
  active := false;
end;

ruleset s: manager do
  rule "change the copy and send messages" is[s] = Inactive & !active ==> begin
    is[s] := Waiting; active := true;
    for r: manager do if s != r then message[s][r] := Sent; end; end;
  end;
  rule "receive all acknowledgements"
    is[s] = Waiting & forall r: manager do s = r | message[s][r] = Acknowledged end
  ==> begin
    is[s] := Inactive; active := false;
    for r: manager do if s != r then message[s][r] := Unused; end; end;
  end;
end;

ruleset s: manager; r: manager do
  rule "receive a message" s != r & is[r] = Inactive & message[s][r] = Sent ==> begin
    is[r] := Performing; message[s][r] := Received;
  end;
  rule "send an acknowledgement" s != r & is[r] = Performing & message[s][r] = Received ==> begin
    is[r] := Inactive; message[s][r] := Acknowledged;
  end;
end;

invariant "one waits while a change is on its way, and all messages are from that one"
  forall s: manager do is[s] = Waiting -> active & forall r: manager do is[r] = Waiting -> r = s end end
  & (active -> exists s: manager do is[s] = Waiting end)
  & forall s: manager do forall r: manager do s = r | is[s] = Waiting | message[s][r] = Unused end end;
invariant "a message is performed while it is received"
  forall r: manager do
    (is[r] = Performing) = (exists s: manager do s != r & message[s][r] = Received end)
  end;
