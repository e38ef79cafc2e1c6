-- Caches that a directory keeps coherent. Nodes ask the home of a line for a copy to read or for the only copy,
-- home invalidates or recalls what others have, and stays busy with one node until that says it is
-- served. Messages overtake each other. A node may drop a copy in silence; the only copy is written back.
--
-- For measuring what is spread over many workers: the canonical form of a state is expensive, because nodes, lines
-- and values can be renamed and most states have many messages under way, so that computing successors
-- takes much longer than asking whether they are known. With Nodes = 10 it is the heavy model of
-- `cargo xtask papers --only idle`: 344,048 states, 4,013,110 transitions.
--
--@ verdict: holds
--@ options: --const Nodes=3
--@ states: 608
--@ transitions: 2139
--@ depth: 21
--@ options: --const Nodes=2 --const Values=1 --const Lines=2
--@ states: 17976
--@ transitions: 87125
--@ depth: 30
--@ options: --const Nodes=2 --symmetry off
--@ states: 533
--@ transitions: 1342
--@ depth: 15

const
  Nodes: 4;
  Lines: 1;
  Values: 2;
  Room: 2 * Nodes * Lines;   -- messages under way: a wish and an answer per node and line

type
  node: scalarset(Nodes);
  line: scalarset(Lines);
  value: scalarset(Values);
  kind: enum {
    AskRead, AskOwn, PutBack,          -- from a node to home: what it wants,
    Served, Acknowledged, Recalled,    -- and what home waits for
    Copy, Only, Invalidate, Recall, Accepted   -- from home to a node
  };
  message: record
    what: kind;
    who: node;         -- the sender or the receiver; the other one is home
    at: line;
    data: value;       -- undefined if there is none
  end;
  cache: record
    is: enum { Empty, WaitsRead, WaitsOwn, Reads, Owns, PutsBack };
    data: value;
  end;
  directory: record
    is: enum { Idle, Busy, Collects };   -- Collects: waits for acknowledgements or a copy
    for_whom: node;
    owning: boolean;                     -- that one wants the only copy
    owner: node;                         -- undefined if nobody owns it
    has: array [node] of boolean;        -- who may have a copy
    owed: array [node] of boolean;       -- who has not answered yet
    data: value;
  end;

var
  caches: array [node] of array [line] of cache;
  home: array [line] of directory;
  last: array [line] of value;           -- what was written last, for the properties
  net: multiset [Room] of message;

procedure Send(what: kind; who: node; at: line);
var m: message;
begin
  m.what := what; m.who := who; m.at := at; undefine m.data;
  multisetadd(m, net);
end;

procedure SendData(what: kind; who: node; at: line; data: value);
var m: message;
begin
  m.what := what; m.who := who; m.at := at; m.data := data;
  multisetadd(m, net);
end;

-- Everybody has answered: home serves the one that asked.
procedure Serve(l: line);
begin
  alias h: home[l] do
    h.is := Busy;
    if h.owning then
      h.owner := h.for_whom;
      SendData(Only, h.for_whom, l, h.data);
      undefine h.data;
    else
      h.has[h.for_whom] := true;
      SendData(Copy, h.for_whom, l, h.data);
    end;
  end;
end;

-- Home takes up what a node asks for.
procedure TakeUp(l: line; n: node; owning: boolean);
begin
  alias h: home[l] do
    h.is := Collects; h.for_whom := n; h.owning := owning;
    if !isundefined(h.owner) then
      h.owed[h.owner] := true;
      Send(Recall, h.owner, l);
    elsif owning then
      for m: node do
        if h.has[m] & m != n then h.owed[m] := true; Send(Invalidate, m, l); end;
        h.has[m] := false;
      end;
    end;
    if forall m: node do !h.owed[m] end then Serve(l); end;
  end;
end;

startstate "home has it all"
begin
  undefine net;
  for l: line do
    for n: node do
      caches[n][l].is := Empty; undefine caches[n][l].data;
      home[l].has[n] := false; home[l].owed[n] := false;
    end;
    home[l].is := Idle; undefine home[l].for_whom; home[l].owning := false; undefine home[l].owner;
    undefine home[l].data; undefine last[l];
  end;
end;

-- Which value home has at first does not matter.
ruleset l: line; v: value do
  rule "a line has a value" isundefined(last[l]) ==> begin
    home[l].data := v; last[l] := v;
  end;
end;

ruleset n: node; l: line do
  alias c: caches[n][l] do
    rule "asks for a copy" c.is = Empty & !isundefined(last[l]) ==> begin
      c.is := WaitsRead; Send(AskRead, n, l);
    end;
    rule "asks for the only copy" (c.is = Empty | c.is = Reads) & !isundefined(last[l]) ==> begin
      c.is := WaitsOwn; undefine c.data; Send(AskOwn, n, l);
    end;
    rule "drops a copy" c.is = Reads ==> begin
      c.is := Empty; undefine c.data;
    end;
    rule "puts the only copy back" c.is = Owns ==> begin
      SendData(PutBack, n, l, c.data);
      c.is := PutsBack; undefine c.data;
    end;
  end;
end;

ruleset n: node; l: line; v: value do
  rule "writes" caches[n][l].is = Owns & caches[n][l].data != v ==> begin
    caches[n][l].data := v; last[l] := v;
  end;
end;

-- What arrives at home.
choose i: net do
  alias m: net[i]; h: home[m.at] do
    rule "home hears a wish" (m.what = AskRead | m.what = AskOwn) & h.is = Idle ==>
    var n: node; l: line; owning: boolean;
    begin
      n := m.who; l := m.at; owning := m.what = AskOwn;
      multisetremove(i, net);
      TakeUp(l, n, owning);
    end;
    rule "home gets the only copy back" m.what = PutBack & h.is = Idle ==>
    var n: node; l: line;
    begin
      n := m.who; l := m.at;
      h.data := m.data; undefine h.owner;
      multisetremove(i, net);
      Send(Accepted, n, l);
    end;
    -- A copy that was put back when home recalled it is the answer to that, and the other way round.
    rule "home hears an answer"
      (m.what = Acknowledged | m.what = Recalled | m.what = PutBack) & h.owed[m.who] ==>
    var l: line;
    begin
      l := m.at;
      h.owed[m.who] := false;
      if m.what != Acknowledged then h.data := m.data; undefine h.owner; end;
      multisetremove(i, net);
      if forall n: node do !home[l].owed[n] end then Serve(l); end;
    end;
    rule "home is done" m.what = Served ==> begin
      h.is := Idle; undefine h.for_whom; h.owning := false;
      multisetremove(i, net);
    end;
  end;
end;

-- What arrives at a node.
choose i: net do
  alias m: net[i]; c: caches[m.who][m.at] do
    rule "is served" (m.what = Copy & c.is = WaitsRead) | (m.what = Only & c.is = WaitsOwn) ==>
    var n: node; l: line;
    begin
      n := m.who; l := m.at;
      if m.what = Copy then c.is := Reads; else c.is := Owns; end;
      c.data := m.data;
      multisetremove(i, net);
      Send(Served, n, l);
    end;
    rule "drops what is invalidated" m.what = Invalidate ==>
    var n: node; l: line;
    begin
      n := m.who; l := m.at;
      -- A copy that was dropped, or is asked for again, is not there any more.
      if c.is = Reads then c.is := Empty; undefine c.data; end;
      multisetremove(i, net);
      Send(Acknowledged, n, l);
    end;
    rule "gives up what is recalled" m.what = Recall & c.is = Owns ==>
    var n: node; l: line;
    begin
      n := m.who; l := m.at;
      SendData(Recalled, n, l, c.data);
      c.is := Empty; undefine c.data;
      multisetremove(i, net);
    end;
    rule "has put it back" (m.what = Accepted | m.what = Recall) & c.is = PutsBack ==> begin
      c.is := Empty;
      multisetremove(i, net);
    end;
  end;
end;

invariant "one owner, and then no reader"
  forall l: line do forall n: node do
    caches[n][l].is = Owns -> forall m: node do m = n | (caches[m][l].is != Owns & caches[m][l].is != Reads) end
  end end;
invariant "who reads has what was written last"
  forall l: line do forall n: node do
    caches[n][l].is = Reads | caches[n][l].is = Owns -> caches[n][l].data = last[l]
  end end;
