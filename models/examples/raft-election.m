-- Leader election in Raft
--
-- N servers elect a leader. Time is divided into terms, numbered from 1. A
-- server that has not heard from a leader for a while starts a new term as a
-- candidate, votes for itself and asks the others for their votes. Every server
-- gives at most one vote per term. The candidate with the votes of a majority
-- is the leader of that term. A server that sees a higher term than its own
-- adopts it and becomes a follower.
--
-- Modelled: servers time out, crash and restart whenever they like. Term and
-- vote are in stable storage and survive a crash; the role does not. The
-- network may delay, reorder, duplicate and lose messages. All of that comes
-- for free by treating it as the set of all messages ever sent: a message may
-- be received at any later time, many times, or never.
-- Abstracted: the log (so any candidate is up to date enough to be voted for),
-- heartbeats (they only spread the term of a leader, as vote requests do) and
-- refusals. Terms are bounded by MaxTerm; when all servers have reached it, the
-- cluster is reset, because otherwise the model would run into a dead end which
-- the real protocol does not have.
--
-- Checked: election safety (at most one leader per term, at the same time or
-- one after the other), no server votes twice in one term, and terms only grow.
--
-- Try next:
--   --const MaxTerm=3       one term more: many more states
--   --const N=4             an even number: a majority is now 3 of 4
--   raft-election-bug.m     the vote is lost in a crash
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 7823
--@ transitions: 26003
--@ depth: 14

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

  -- Term and vote are read back from stable storage. (A follower has nothing
  -- else to lose, so its crash would change nothing.)
  rule "Crash and restart"
    role[s] != Follower
  ==>
  begin
    role[s] := Follower;
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

invariant "One vote per term"
  forall t: Term do
    forall v: Server do
      forall a: Server do
        forall b: Server do
          a != b -> !(voted[t][v][a] & voted[t][v][b])
        end
      end
    end
  end;
