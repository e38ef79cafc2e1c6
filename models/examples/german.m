-- German's cache coherence protocol
--
-- A small directory protocol with a central home node, posed by Steven German
-- as a challenge for verification with any number of caches. It has become a
-- common yardstick for such methods. A cache asks the home for a shared or an
-- exclusive copy. The home serves one request at a time: it tells those caches
-- that stand in the way to invalidate their copies, waits for the answers, and
-- then grants the request.
--
-- Modelled: three channels between home and each cache, each with room for one
-- message: requests to the home, grants and invalidations to the cache, answers
-- to the home. Messages in different channels may overtake each other.
-- Data is modelled too: caches with an exclusive copy write to it, and a dirty
-- copy travels back to memory with the answer to the invalidation.
-- Abstracted: there is one memory location, with Values possible contents.
--
-- Checked: an exclusive copy is the only copy (control), and every copy holds
-- the value written last (data). The latter compares with "latest", a variable
-- which is not part of the protocol and remembers the last write.
--
-- Try next:
--   --const Caches=4    more caches; they are a scalarset, so symmetry
--                       reduction has up to 4*3*2*1 equivalent states to merge
--   --const Values=1    control only: far fewer states
-- or break something: in "Home: grant shared", forget the test of
-- exclusiveGranted; in "Home: receive an answer", forget to update memory.
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 58104
--@ transitions: 235872
--@ depth: 26

const
  Caches: 3;
  Values: 2;

type
  Cache: scalarset(Caches);
  Value: scalarset(Values);

  CopyState: enum { Invalid, Shared, Exclusive };
  Request: enum { NoRequest, WantShared, WantExclusive };
  Order: enum { NoOrder, Invalidate, GrantShared, GrantExclusive };

var
  -- the caches
  copy: array [Cache] of record
    state: CopyState;
    data: Value;              -- undefined while Invalid
  end;

  -- the channels
  request: array [Cache] of Request;          -- cache to home
  order: array [Cache] of record              -- home to cache
    kind: Order;
    data: Value;              -- defined in grants only
  end;
  answer: array [Cache] of record             -- cache to home
    full: boolean;
    data: Value;              -- defined if the copy was exclusive
  end;

  -- the home node
  memory: Value;
  exclusiveGranted: boolean;
  sharer: array [Cache] of boolean;           -- caches that may have a copy
  toInvalidate: array [Cache] of boolean;     -- caches still to be told
  current: Request;                           -- the request being served ...
  client: Cache;                              -- ... and who made it

  -- for checking only: the value written last
  latest: Value;

ruleset v: Value do
  startstate "All copies invalid"
  begin
    for c: Cache do
      copy[c].state := Invalid;
      undefine copy[c].data;
      request[c] := NoRequest;
      order[c].kind := NoOrder;
      undefine order[c].data;
      answer[c].full := false;
      undefine answer[c].data;
      sharer[c] := false;
      toInvalidate[c] := false;
    end;
    exclusiveGranted := false;
    current := NoRequest;
    undefine client;
    memory := v;
    latest := v;
  end;
end;

-- What a cache does

ruleset c: Cache do

  rule "Cache: request a shared copy"
    copy[c].state = Invalid & request[c] = NoRequest
  ==>
  begin
    request[c] := WantShared;
  end;

  rule "Cache: request an exclusive copy"
    copy[c].state != Exclusive & request[c] = NoRequest
  ==>
  begin
    request[c] := WantExclusive;
  end;

  rule "Cache: invalidate the copy and answer"
    order[c].kind = Invalidate & !answer[c].full
  ==>
  begin
    order[c].kind := NoOrder;
    answer[c].full := true;
    if copy[c].state = Exclusive then
      answer[c].data := copy[c].data;
    end;
    copy[c].state := Invalid;
    undefine copy[c].data;
  end;

  rule "Cache: receive a shared copy"
    order[c].kind = GrantShared
  ==>
  begin
    copy[c].state := Shared;
    copy[c].data := order[c].data;
    order[c].kind := NoOrder;
    undefine order[c].data;
  end;

  rule "Cache: receive an exclusive copy"
    order[c].kind = GrantExclusive
  ==>
  begin
    copy[c].state := Exclusive;
    copy[c].data := order[c].data;
    order[c].kind := NoOrder;
    undefine order[c].data;
  end;

end;

ruleset c: Cache; v: Value do
  rule "Cache: write"
    copy[c].state = Exclusive
  ==>
  begin
    copy[c].data := v;
    latest := v;
  end;
end;

-- What the home node does

ruleset c: Cache do

  rule "Home: accept a request"
    current = NoRequest & request[c] != NoRequest
  ==>
  begin
    current := request[c];
    client := c;
    request[c] := NoRequest;
    for k: Cache do
      toInvalidate[k] := sharer[k];
    end;
  end;

  -- An exclusive copy stands in the way of any request, shared copies stand in
  -- the way of a request for an exclusive one.
  rule "Home: tell a cache to invalidate"
    toInvalidate[c] & order[c].kind = NoOrder &
    (current = WantExclusive | current = WantShared & exclusiveGranted)
  ==>
  begin
    order[c].kind := Invalidate;
    toInvalidate[c] := false;
  end;

  rule "Home: receive an answer"
    current != NoRequest & answer[c].full
  ==>
  begin
    sharer[c] := false;
    if exclusiveGranted then
      exclusiveGranted := false;
      memory := answer[c].data;
    end;
    answer[c].full := false;
    undefine answer[c].data;
  end;

end;

rule "Home: grant shared"
  current = WantShared & !exclusiveGranted & order[client].kind = NoOrder
==>
begin
  order[client].kind := GrantShared;
  order[client].data := memory;
  sharer[client] := true;
  current := NoRequest;
  undefine client;
end;

rule "Home: grant exclusive"
  current = WantExclusive & !exclusiveGranted & order[client].kind = NoOrder &
  forall c: Cache do !sharer[c] end
==>
begin
  order[client].kind := GrantExclusive;
  order[client].data := memory;
  sharer[client] := true;
  exclusiveGranted := true;
  current := NoRequest;
  undefine client;
end;

invariant "An exclusive copy is the only copy"
  forall a: Cache do
    forall b: Cache do
      a != b & copy[a].state = Exclusive -> copy[b].state = Invalid
    end
  end;

invariant "Every copy holds the value written last"
  forall c: Cache do
    copy[c].state != Invalid -> copy[c].data = latest
  end;

invariant "Memory is up to date unless a copy is exclusive"
  !exclusiveGranted -> memory = latest;
