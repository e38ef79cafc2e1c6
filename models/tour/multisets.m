-- Language tour: multisets
--
-- A multiset (or bag) holds up to a fixed number of elements in no particular
-- order, and the same element may be in it more than once. It is the natural
-- way to model a network in which messages overtake each other: states that
-- differ only in the order of the messages are one state.
--
-- The model: clients send pings to a server, up to Window of them without an
-- answer. The server answers each ping with a pong. A client may also recall all
-- of its pings that the server has not yet seen.
--
-- Shown here:
--   multiset [n] of T                 the type; n is the capacity, and adding
--                                     to a full multiset is an error
--   MultiSetAdd(x, m)                 adds x
--   choose i: m do ... end            like ruleset, for each element m[i]
--   MultiSetRemove(i, m)              removes the element chosen
--   MultiSetCount(i: m, condition)    how many m[i] satisfy the condition?
--   MultiSetRemovePred(i: m, cond.)   removes all m[i] which satisfy it
--
-- How many states? A client has k pings and l pongs under way with k + l at
-- most Window. That is 6 possibilities for a window of 2, so 6 * 6 = 36 for two
-- clients. If the order of the messages mattered there would be many more.
--
-- Try next: --const Clients=3, with and without symmetry reduction.
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 36
--@ depth: 8

const
  Clients: 2;
  Window: 2;

type
  Client: scalarset(Clients);

  Message: record
    kind: enum { Ping, Pong };
    client: Client;
  end;

var
  net: multiset [Clients * Window] of Message;
  unanswered: array [Client] of 0..Window;

startstate "Nothing under way"
begin
  undefine net;
  for c: Client do
    unanswered[c] := 0;
  end;
end;

ruleset c: Client do

  rule "Client: send a ping"
    unanswered[c] < Window
  ==>
  var
    msg: Message;
  begin
    msg.kind := Ping;
    msg.client := c;
    MultiSetAdd(msg, net);
    unanswered[c] := unanswered[c] + 1;
  end;

  rule "Client: recall the pings the server has not seen"
    MultiSetCount(i: net, net[i].kind = Ping & net[i].client = c) > 0
  ==>
  begin
    unanswered[c] := unanswered[c]
      - MultiSetCount(i: net, net[i].kind = Ping & net[i].client = c);
    MultiSetRemovePred(i: net, net[i].kind = Ping & net[i].client = c);
  end;

end;

choose i: net do

  rule "Server: answer a ping"
    net[i].kind = Ping
  ==>
  var
    msg: Message;
  begin
    -- Make the answer before the element is removed: afterwards net[i] is gone.
    msg.kind := Pong;
    msg.client := net[i].client;
    MultiSetRemove(i, net);
    MultiSetAdd(msg, net);
  end;

  rule "Client: receive a pong"
    net[i].kind = Pong
  ==>
  var
    c: Client;
  begin
    c := net[i].client;
    MultiSetRemove(i, net);
    unanswered[c] := unanswered[c] - 1;
  end;

end;

invariant "Nothing is lost and nothing is made up"
  forall c: Client do
    MultiSetCount(i: net, net[i].client = c) = unanswered[c]
  end;
