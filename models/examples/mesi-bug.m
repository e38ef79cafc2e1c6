-- A MESI directory protocol whose home forgets about the silent upgrade
--
-- This is mesi.m (read that first: it explains the states and messages) with an
-- optimisation too many. Writing to memory is slow, and a block which was handed
-- out in state E is equal to memory. So the home remembers whether it granted E
-- or M (grantedClean), and if it was E it does not write the block to memory
-- when it comes back. But that was the whole point of E: the cache may have
-- gone to M in the meantime, without telling anybody.
--
-- The counterexample: a reads the block, gets it in E, and writes: now it is in
-- M. When b asks for the block, the home recalls it from a, ignores the data,
-- and sends b what is in memory: the old value. Now two caches share the block
-- with different contents.
--
-- The invariant about memory would already fail when the recalled block has
-- come back. It is left out here in order to see the damage and not just the
-- cause. Try next: put it back. Then repair the protocol and keep the
-- optimisation: let the answer of the cache say whether the block was modified.
--
--@ verdict: violated
--@ violation: invariant "Valid copies hold the value written last"
--@ depth: 11

const
  Caches: 3;
  Values: 2;
  QueueSize: 2;               -- messages from the home to one cache

type
  Cache: scalarset(Caches);
  Value: scalarset(Values);
  Slot: 0..QueueSize-1;

  CacheState: enum {
    I, S, E, M,
    WaitS,                    -- has sent GetS
    WaitM,                    -- has sent GetM
    Evicting,                 -- has sent PutE or PutM, still has the block
    Gone                      -- the same, but the block has been recalled
  };

  RequestKind: enum { NoRequest, GetS, GetM, PutE, PutM };
  OrderKind: enum {
    DataS, DataE, DataM,      -- your copy, in that state
    Inv,                      -- invalidate your shared copy
    RecallS,                  -- send back the block, keep a shared copy
    RecallI,                  -- send back the block, keep no copy
    PutAck                    -- your eviction is done
  };
  AnswerKind: enum {
    NoAnswer,
    InvDone,
    BlockKept,                -- the block; a shared copy stays here
    BlockGone                 -- the block; no copy stays here
  };

  Order: record
    kind: OrderKind;
    data: Value;              -- defined in DataS, DataE and DataM only
  end;

var
  cache: array [Cache] of record
    state: CacheState;
    data: Value;              -- undefined if there is no copy
  end;

  -- the network
  request: array [Cache] of record            -- cache to home
    kind: RequestKind;
    data: Value;              -- defined in PutM only
  end;
  orders: array [Cache] of record             -- home to cache: a queue
    count: 0..QueueSize;
    msg: array [Slot] of Order;
  end;
  answer: array [Cache] of record             -- cache to home
    kind: AnswerKind;
    data: Value;              -- defined in BlockKept and BlockGone only
  end;

  -- The home. Either there is an owner (E or M), or there may be sharers.
  home: record
    memory: Value;
    owner: Cache;                             -- undefined: none
    grantedClean: boolean;                    -- the owner got the block in E
    sharer: array [Cache] of boolean;
    serving: RequestKind;                     -- NoRequest: idle
    client: Cache;                            -- defined while serving
    waitFor: array [Cache] of boolean;        -- answers that are missing
  end;

  -- for checking only: the value written last
  latest: Value;

procedure SendOrder(c: Cache; kind: OrderKind);
begin
  assert orders[c].count < QueueSize "The order queue is long enough";
  orders[c].msg[orders[c].count].kind := kind;
  orders[c].count := orders[c].count + 1;
end;

procedure SendBlock(c: Cache; kind: OrderKind; data: Value);
begin
  SendOrder(c, kind);
  orders[c].msg[orders[c].count - 1].data := data;
end;

procedure PopOrder(c: Cache);
begin
  for i: Slot do
    if i + 1 < orders[c].count then
      orders[c].msg[i] := orders[c].msg[i + 1];
    end;
  end;
  orders[c].count := orders[c].count - 1;
  undefine orders[c].msg[orders[c].count];
end;

procedure SendAnswer(c: Cache; kind: AnswerKind);
begin
  assert answer[c].kind = NoAnswer "One answer at a time";
  answer[c].kind := kind;
end;

function IsOwner(c: Cache): boolean;
begin
  return !isundefined(home.owner) & home.owner = c;
end;

function Valid(c: Cache): boolean;
begin
  return cache[c].state = S | cache[c].state = E | cache[c].state = M;
end;

ruleset v: Value do
  startstate "No cache has a copy"
  begin
    undefine cache;
    undefine request;
    undefine orders;
    undefine answer;
    undefine home;
    for c: Cache do
      cache[c].state := I;
      request[c].kind := NoRequest;
      orders[c].count := 0;
      answer[c].kind := NoAnswer;
      home.sharer[c] := false;
      home.waitFor[c] := false;
    end;
    home.serving := NoRequest;
    home.grantedClean := false;
    home.memory := v;
    latest := v;
  end;
end;

----------------------------------------------------------------------------
-- The processor

ruleset c: Cache do

  rule "Load misses"
    cache[c].state = I
  ==>
  begin
    request[c].kind := GetS;
    cache[c].state := WaitS;
  end;

  rule "Store misses, or needs an upgrade"
    cache[c].state = I | cache[c].state = S
  ==>
  begin
    request[c].kind := GetM;
    cache[c].state := WaitM;
    undefine cache[c].data;
  end;

  rule "Evict a shared copy, silently"
    cache[c].state = S
  ==>
  begin
    cache[c].state := I;
    undefine cache[c].data;
  end;

  rule "Evict an exclusive copy"
    cache[c].state = E
  ==>
  begin
    request[c].kind := PutE;
    cache[c].state := Evicting;
  end;

  rule "Evict a modified copy"
    cache[c].state = M
  ==>
  begin
    request[c].kind := PutM;
    request[c].data := cache[c].data;
    cache[c].state := Evicting;
  end;

end;

ruleset c: Cache; v: Value do
  -- From E this is the silent upgrade: nobody is told.
  rule "Store hits"
    cache[c].state = E | cache[c].state = M
  ==>
  begin
    cache[c].state := M;
    cache[c].data := v;
    latest := v;
  end;
end;

----------------------------------------------------------------------------
-- The cache: messages from the home

ruleset c: Cache do
  alias
    me: cache[c];
    head: orders[c].msg[0]
  do

    rule "Cache: data arrives"
      orders[c].count > 0 &
      (head.kind = DataS | head.kind = DataE | head.kind = DataM)
    ==>
    begin
      assert head.kind = DataM & me.state = WaitM |
             head.kind != DataM & me.state = WaitS "Unexpected data";
      switch head.kind
        case DataS: me.state := S;
        case DataE: me.state := E;
        case DataM: me.state := M;
      end;
      me.data := head.data;
      PopOrder(c);
    end;

    -- The copy may have been evicted silently. Then there is nothing to do, but
    -- the home still waits for the answer.
    rule "Cache: Inv"
      orders[c].count > 0 & head.kind = Inv & answer[c].kind = NoAnswer
    ==>
    begin
      assert me.state = S | me.state = I | me.state = WaitS | me.state = WaitM
        "Unexpected Inv";
      if me.state = S then
        me.state := I;
        undefine me.data;
      end;
      SendAnswer(c, InvDone);
      PopOrder(c);
    end;

    rule "Cache: RecallS"
      orders[c].count > 0 & head.kind = RecallS & answer[c].kind = NoAnswer
    ==>
    begin
      assert me.state = E | me.state = M | me.state = Evicting "Unexpected RecallS";
      answer[c].data := me.data;
      if me.state = Evicting then
        SendAnswer(c, BlockGone);
        me.state := Gone;
        undefine me.data;
      else
        SendAnswer(c, BlockKept);
        me.state := S;
      end;
      PopOrder(c);
    end;

    rule "Cache: RecallI"
      orders[c].count > 0 & head.kind = RecallI & answer[c].kind = NoAnswer
    ==>
    begin
      assert me.state = E | me.state = M | me.state = Evicting "Unexpected RecallI";
      answer[c].data := me.data;
      SendAnswer(c, BlockGone);
      if me.state = Evicting then
        me.state := Gone;
      else
        me.state := I;
      end;
      undefine me.data;
      PopOrder(c);
    end;

    rule "Cache: PutAck"
      orders[c].count > 0 & head.kind = PutAck
    ==>
    begin
      assert me.state = Evicting | me.state = Gone "Unexpected PutAck";
      me.state := I;
      undefine me.data;
      PopOrder(c);
    end;

  end;
end;

----------------------------------------------------------------------------
-- The home node

ruleset c: Cache do

  rule "Home: accept a GetS"
    home.serving = NoRequest & request[c].kind = GetS
  ==>
  begin
    home.serving := GetS;
    home.client := c;
    request[c].kind := NoRequest;
    if !isundefined(home.owner) then
      SendOrder(home.owner, RecallS);
      home.waitFor[home.owner] := true;
    end;
  end;

  rule "Home: accept a GetM"
    home.serving = NoRequest & request[c].kind = GetM
  ==>
  begin
    home.serving := GetM;
    home.client := c;
    request[c].kind := NoRequest;
    if !isundefined(home.owner) then
      SendOrder(home.owner, RecallI);
      home.waitFor[home.owner] := true;
    else
      for k: Cache do
        if home.sharer[k] & k != c then
          SendOrder(k, Inv);
          home.waitFor[k] := true;
        end;
      end;
    end;
  end;

  rule "Home: receive an answer"
    answer[c].kind != NoAnswer
  ==>
  begin
    assert home.waitFor[c] "Unexpected answer";
    if answer[c].kind != InvDone then
      assert IsOwner(c) "Only the owner has the block";
      -- The mistake: clean when granted does not mean clean now.
      if !home.grantedClean then
        home.memory := answer[c].data;
      end;
      undefine home.owner;
      home.grantedClean := false;
    end;
    home.sharer[c] := (answer[c].kind = BlockKept);
    home.waitFor[c] := false;
    answer[c].kind := NoAnswer;
    undefine answer[c].data;
  end;

  -- If the sender is no longer the owner, its block has been recalled in the
  -- meantime, and what the message says is out of date. It is waiting for the
  -- acknowledgement all the same.
  rule "Home: an eviction"
    home.serving = NoRequest & (request[c].kind = PutE | request[c].kind = PutM)
  ==>
  begin
    if IsOwner(c) then
      if request[c].kind = PutM then
        home.memory := request[c].data;
      end;
      undefine home.owner;
      home.grantedClean := false;
    end;
    request[c].kind := NoRequest;
    undefine request[c].data;
    SendOrder(c, PutAck);
  end;

end;

rule "Home: grant the request"
  home.serving != NoRequest & forall c: Cache do !home.waitFor[c] end
==>
begin
  if home.serving = GetM then
    SendBlock(home.client, DataM, home.memory);
    home.owner := home.client;
    home.sharer[home.client] := false;
  elsif exists c: Cache do c != home.client & home.sharer[c] end then
    SendBlock(home.client, DataS, home.memory);
    home.sharer[home.client] := true;
  else
    SendBlock(home.client, DataE, home.memory);
    home.grantedClean := true;
    home.owner := home.client;
    home.sharer[home.client] := false;
  end;
  home.serving := NoRequest;
  undefine home.client;
end;

----------------------------------------------------------------------------

invariant "Single writer or many readers"
  forall a: Cache do
    forall b: Cache do
      a != b & (cache[a].state = M | cache[a].state = E) -> !Valid(b)
    end
  end;

invariant "Valid copies hold the value written last"
  forall c: Cache do
    Valid(c) -> cache[c].data = latest
  end;

invariant "An exclusive copy equals memory"
  forall c: Cache do
    cache[c].state = E -> cache[c].data = home.memory
  end;

invariant "An owner excludes sharers"
  !isundefined(home.owner) -> forall c: Cache do !home.sharer[c] end;
