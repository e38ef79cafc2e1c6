-- Leader election in Raft, with a vote that does not survive a crash
--
-- This is raft-election.m with one mistake: the vote is kept in memory only.
-- A server that crashes and restarts still knows the term, but not that it has
-- already voted in it. The mistake is an easy one to make, since writing to
-- disk before answering every request is slow and seems not to be needed.
--
-- The counterexample: two servers become candidates in the same term. The third
-- one votes for the first candidate, which is thus elected. It then crashes,
-- restarts, and has a second vote, for the second candidate: two leaders in
-- the same term, each of which will accept and acknowledge its clients' data.
--
-- The invariant "One vote per term" of raft-election.m would fail earlier. It
-- is left out here in order to see the damage and not just the cause. Try next:
-- put it back; or restore the rule, which should not touch votedFor.
--
--@ verdict: violated
--@ violation: invariant "Election safety"
--@ depth: 8

const
  N: 3;                       -- number of servers
  MaxTerm: 2;                 -- terms run from 1 to this; 0 is the time before

type
  Server: scalarset(N);
  Term: 1..MaxTerm;
  TermOrZero: 0..MaxTerm;
  Role: enum { Follower, Candidate, Leader };

var
  role: array [Server] of Role;
  term: array [Server] of TermOrZero;
  votedFor: array [Server] of Server;     -- in this term; undefined: nobody yet

  -- the network: messages ever sent
  requested: array [Term] of array [Server] of boolean;
  -- voted[t][v][c]: in term t, voter v has granted its vote to candidate c
  voted: array [Term] of array [Server] of array [Server] of boolean;

  -- for checking only: who has been elected, in which term
  elected: array [Term] of array [Server] of boolean;

function Votes(c: Server; t: Term): 0..N;
var
  count: 0..N;
begin
  count := 0;
  for v: Server do
    if voted[t][v][c] then
      count := count + 1;
    end;
  end;
  return count;
end;

procedure Reset();
begin
  for s: Server do
    role[s] := Follower;
    term[s] := 0;
    undefine votedFor[s];
  end;
  for t: Term do
    for c: Server do
      requested[t][c] := false;
      elected[t][c] := false;
      for v: Server do
        voted[t][v][c] := false;
      end;
    end;
  end;
end;

-- Every server does this whenever it meets a higher term than its own.
procedure AdoptTerm(s: Server; t: Term);
begin
  assert t > term[s] "Terms only grow";
  term[s] := t;
  role[s] := Follower;
  undefine votedFor[s];
end;

startstate "Before the first election"
begin
  Reset();
end;

ruleset s: Server do

  rule "Time out and become a candidate"
    role[s] != Leader & term[s] < MaxTerm
  ==>
  begin
    AdoptTerm(s, term[s] + 1);
    role[s] := Candidate;
    votedFor[s] := s;
    voted[term[s]][s][s] := true;
    requested[term[s]][s] := true;
  end;

  -- Votes arrive one by one, but nothing happens until a majority is there.
  rule "Win the election"
    role[s] = Candidate & 2 * Votes(s, term[s]) > N
  ==>
  begin
    elected[term[s]][s] := true;
    role[s] := Leader;
  end;

  -- The mistake: votedFor has to be read back from stable storage, like term.
  rule "Crash and restart"
    role[s] != Follower | !isundefined(votedFor[s])
  ==>
  begin
    role[s] := Follower;
    undefine votedFor[s];
  end;

end;

-- Voter v receives the request of candidate c from term t.
ruleset t: Term; c: Server; v: Server do

  rule "Receive a request from a higher term"
    requested[t][c] & t > term[v]
  ==>
  begin
    AdoptTerm(v, t);
  end;

  rule "Grant the vote"
    requested[t][c] & t = term[v] & isundefined(votedFor[v])
  ==>
  begin
    votedFor[v] := c;
    voted[t][v][c] := true;
  end;

end;

rule "Terms are used up: start again"
  forall s: Server do term[s] = MaxTerm end
==>
begin
  Reset();
end;

invariant "Election safety"
  forall t: Term do
    forall a: Server do
      forall b: Server do
        a != b -> !(elected[t][a] & elected[t][b])
      end
    end
  end;
