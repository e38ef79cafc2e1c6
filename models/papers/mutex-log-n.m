-- Mutual exclusion in about log n messages
--
-- The algorithm of Naimi and Trehel. One token exists, and who has it may enter.
-- Every node guesses who asked last (its father) and sends its own request
-- there; requests are passed on from father to father until they come to a node
-- that has no father, the last one that asked. That node remembers whom the
-- token goes to next. Whoever sees a request pass makes the asking node its
-- father, and so the tree of fathers stays flat: log n messages on average.
--
-- Modelled: a user and a server per node, which share the variables of the node.
-- The user thinks, asks, waits, enters and leaves; the server takes a request
-- from the network and then passes it on, or grants it. The network has a slot
-- per ordered pair of nodes for requests, and one per node for the token.
-- Inside, everybody writes its name into a book, which is what the token is there
-- to protect; so states that differ in the order of entries stay different.
-- Everybody enters Rounds times; then everything begins again.
--
-- Independence: nodes meet only in the slots of the network. Who sends to a slot
-- and who receives from it are never ready at once. Two requests that wait for
-- the same server are a real choice, as are the user and the server of a node
-- that both want to look at the father.
--
-- Checked: there is one token, nobody is inside without it, requests are not
-- lost (no deadlock), and a node has at most one request under way.
--
-- It stands for MULOG3 in Table 1 of "State-space caching revisited"; that model
-- is in another language, and not this one.
--
-- Try next:
--   --const Rounds=3 --search sleep-dfs --cache 500
--
--@ verdict: holds
--@ options: --deadlock stutter
--@ states: 541
--@ transitions: 1182
--@ depth: 23

const
  N: 3;                       -- number of nodes
  Rounds: 1;                  -- how often each of them enters

type
  Node: 1..N;
  Count: 0..Rounds;
  Page: 0..N*Rounds-1;
  MaybeNode: 0..N;            -- 0 is nobody
  User: enum { Thinking, Hungry, Waiting, Inside, Leaving };

var
  -- what the token protects: a book into which everybody inside writes its name
  book: array [Page] of MaybeNode;
  written: 0..N*Rounds;

  user: array [Node] of User;
  entered: array [Node] of Count;
  wants: array [Node] of boolean;       -- between asking (or entering at once) and leaving
  token: array [Node] of boolean;
  father: array [Node] of MaybeNode;    -- 0: nobody asked after this node
  next: array [Node] of MaybeNode;      -- who gets the token when this node leaves
  hand: array [Node] of MaybeNode;      -- the request that the server works on

  request: array [Node] of array [Node] of MaybeNode;   -- from, to: who asks
  arriving: array [Node] of boolean;                    -- the token, by receiver

procedure AtRest();
begin
  written := 0;
  for p: Page do
    book[p] := 0;
  end;
  for n: Node do
    user[n] := Thinking;
    entered[n] := 0;
    wants[n] := false;
    token[n] := n = 1;
    father[n] := n = 1 ? 0 : 1;
    next[n] := 0;
    hand[n] := 0;
    arriving[n] := false;
    for m: Node do
      request[n][m] := 0;
    end;
  end;
end;

startstate "The first node has the token, and all others know"
begin
  AtRest();
end;

ruleset n: Node do

  rule "User: become hungry"
    user[n] = Thinking & entered[n] < Rounds
  ==>
  begin
    user[n] := Hungry;
  end;

  rule "User: enter with the token that is still here"
    user[n] = Hungry & token[n]
  ==>
  begin
    wants[n] := true;
    user[n] := Inside;
  end;

  rule "User: receive the token and enter"
    user[n] = Waiting & arriving[n]
  ==>
  begin
    arriving[n] := false;
    token[n] := true;
    user[n] := Inside;
  end;

  rule "User: leave and keep the token"
    user[n] = Leaving & next[n] = 0
  ==>
  begin
    wants[n] := false;
    user[n] := Thinking;
  end;

end;

ruleset n: Node; p: Page do

  rule "User: write into the book"
    user[n] = Inside & written = p
  ==>
  begin
    book[p] := n;
    written := written + 1;
    entered[n] := entered[n] + 1;
    user[n] := Leaving;
  end;

end;

ruleset n: Node; m: Node do

  rule "User: ask the father"
    user[n] = Hungry & father[n] = m & request[n][m] = 0
  ==>
  begin
    request[n][m] := n;
    father[n] := 0;
    wants[n] := true;
    user[n] := Waiting;
  end;

  rule "User: leave and send the token on"
    user[n] = Leaving & next[n] = m
  ==>
  begin
    wants[n] := false;
    token[n] := false;
    next[n] := 0;
    arriving[m] := true;
    user[n] := Thinking;
  end;

  rule "Server: receive a request"
    hand[n] = 0 & request[m][n] != 0
  ==>
  begin
    hand[n] := request[m][n];
    request[m][n] := 0;
  end;

  rule "Server: pass the request on"
    hand[n] != 0 & father[n] = m & request[n][m] = 0
  ==>
  begin
    request[n][m] := hand[n];
    father[n] := hand[n];
    hand[n] := 0;
  end;

  rule "Server: the asking node is next"
    hand[n] = m & father[n] = 0 & wants[n]
  ==>
  begin
    next[n] := m;
    father[n] := m;
    hand[n] := 0;
  end;

  rule "Server: send the idle token"
    hand[n] = m & father[n] = 0 & !wants[n]
  ==>
  begin
    token[n] := false;
    arriving[m] := true;
    father[n] := m;
    hand[n] := 0;
  end;

end;

-- Without this rule the end of the last round would be reported as a deadlock.
rule "Begin again"
  forall n: Node do
    user[n] = Thinking & entered[n] = Rounds & hand[n] = 0 & !arriving[n] &
    forall m: Node do request[n][m] = 0 end
  end
==>
begin
  AtRest();
end;

invariant "There is one token"
  exists n: Node do
    (token[n] | arriving[n]) & !(token[n] & arriving[n]) &
    forall m: Node do m != n -> !token[m] & !arriving[m] end
  end;

invariant "Nothing in the book is lost"
  forall p: Page do
    (p < written) = (book[p] != 0)
  end;

invariant "Nobody is inside without the token"
  forall n: Node do
    user[n] = Inside | user[n] = Leaving -> token[n]
  end;

invariant "Who waits has asked nobody twice"
  forall n: Node do
    forall m: Node do
      request[n][m] = n -> user[n] = Waiting
    end
  end;
