-- An MSI directory protocol with cache-to-cache transfers
--
-- Several caches hold copies of memory blocks. A copy is M (modified: the only
-- one, may be written), S (shared: read only) or I (invalid). A directory next
-- to memory knows who has copies and puts requests in order, but it does not
-- wait for the caches: it forwards a request to the owner, which sends the data
-- straight to the requester, and it tells the sharers to invalidate, and they
-- acknowledge to the requester as well. A cache which evicts its copy tells the
-- directory (PutS, PutM) and keeps the block until that is acknowledged,
-- because a forwarded request may already be on its way.
--
-- So while a request is being served, caches are in transient states. They are
-- named after where they come from and go to, and what they still wait for:
--   IS_D           from I to S, waits for Data
--   IM_AD, SM_AD   from I (or S) to M, waits for Acks and Data
--   IM_A, SM_A     the same, Data has come, waits for Acks
--   MI_A, SI_A     evicting, waits for the directory's Ack
--   II_A           evicting, and the copy has been given away in the meantime
-- The directory has one transient state, SD: it waits for the Data which a
-- former owner sends to memory when its copy becomes shared.
--
-- Modelled: one memory block. Requests, and responses (data and invalidation
-- acknowledgements) may overtake each other arbitrarily. Messages from the
-- directory to one cache stay in order; the protocol needs that. A message
-- which cannot be handled yet waits at the head of its queue ("stall").
-- Abstracted: other blocks (they are independent) and the processor: any cache
-- may load, store or evict at any time.
--
-- Checked: a single writer or many readers, never both; every readable copy
-- holds the value written last; so does memory whenever the directory thinks
-- it does. Assertions check that no message comes unexpectedly and no queue
-- overflows, and there is no deadlock (stalling protocols like to deadlock).
--
-- Try next:
--   --const Caches=2    the shortest way to an overview
--   --const Values=1    control only
--   --const Caches=4    more: symmetry reduction starts to pay
--   msi-bug.m           a directory which believes a late write-back
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 43720
--@ transitions: 149404
--@ depth: 28

const
  Caches: 3;
  Values: 2;
  QueueSize: 2;               -- messages from the directory to one cache

type
  Cache: scalarset(Caches);
  Value: scalarset(Values);
  Count: 0..Caches;
  Slot: 0..QueueSize-1;

  CacheState: enum {
    I, S, M,
    IS_D, IM_AD, IM_A, SM_AD, SM_A,
    MI_A, SI_A, II_A
  };
  DirState: enum { DirI, DirS, DirM, DirSD };

  RequestKind: enum { NoRequest, GetS, GetM, PutS, PutM };
  ForwardKind: enum { FwdGetS, FwdGetM, Inv, PutAck };

  Forward: record
    kind: ForwardKind;
    requester: Cache;         -- whom to answer; undefined in a PutAck
  end;

var
  -- the caches
  cache: array [Cache] of record
    state: CacheState;
    data: Value;              -- undefined if there is no copy
    wanted: Count;            -- acknowledgements announced with the data
    got: Count;               -- acknowledgements received so far
  end;

  -- the directory, and memory
  dir: record
    state: DirState;
    owner: Cache;             -- defined in DirM only
    sharer: array [Cache] of boolean;
    memory: Value;
  end;

  -- The network. A cache has at most one request of its own under way, so one
  -- slot per cache is enough for its request, and one for the data sent to it.
  -- Acknowledgements all look the same: counting them is enough.
  request: array [Cache] of record
    kind: RequestKind;
    data: Value;              -- defined in a PutM only
  end;
  forward: array [Cache] of record            -- a queue, slot 0 is its head
    count: 0..QueueSize;
    msg: array [Slot] of Forward;
  end;
  dataMsg: array [Cache] of record
    full: boolean;
    data: Value;
    acks: Count;              -- how many acknowledgements to wait for
  end;
  ackMsg: array [Cache] of Count;
  dataToDir: record
    full: boolean;
    data: Value;
  end;

  -- for checking only: the value written last
  latest: Value;

procedure SendRequest(c: Cache; kind: RequestKind);
begin
  assert request[c].kind = NoRequest "One request at a time";
  request[c].kind := kind;
end;

procedure SendForward(c: Cache; kind: ForwardKind);
begin
  assert forward[c].count < QueueSize "The forward queue is long enough";
  forward[c].msg[forward[c].count].kind := kind;
  forward[c].count := forward[c].count + 1;
end;

procedure SendForwardFor(c: Cache; kind: ForwardKind; requester: Cache);
begin
  SendForward(c, kind);
  forward[c].msg[forward[c].count - 1].requester := requester;
end;

procedure PopForward(c: Cache);
begin
  for i: Slot do
    if i + 1 < forward[c].count then
      forward[c].msg[i] := forward[c].msg[i + 1];
    end;
  end;
  forward[c].count := forward[c].count - 1;
  undefine forward[c].msg[forward[c].count];
end;

procedure SendData(c: Cache; data: Value; acks: Count);
begin
  assert !dataMsg[c].full "One data message at a time";
  dataMsg[c].full := true;
  dataMsg[c].data := data;
  dataMsg[c].acks := acks;
end;

procedure SendDataToDir(data: Value);
begin
  assert !dataToDir.full "One data message at a time";
  dataToDir.full := true;
  dataToDir.data := data;
end;

procedure SendAck(c: Cache);
begin
  ackMsg[c] := ackMsg[c] + 1;
end;

-- Data and acknowledgements come in any order. When all are there the cache
-- has write permission.
procedure EnterMIfComplete(c: Cache);
begin
  if (cache[c].state = IM_A | cache[c].state = SM_A) &
     cache[c].got = cache[c].wanted then
    cache[c].state := M;
    cache[c].got := 0;
    cache[c].wanted := 0;
  end;
end;

procedure DropCopy(c: Cache; next: CacheState);
begin
  cache[c].state := next;
  undefine cache[c].data;
end;

function Readable(c: Cache): boolean;
begin
  return cache[c].state = S | cache[c].state = M |
         cache[c].state = SM_AD | cache[c].state = SM_A;
end;

function SharersOtherThan(c: Cache): Count;
var
  count: Count;
begin
  count := 0;
  for k: Cache do
    if k != c & dir.sharer[k] then
      count := count + 1;
    end;
  end;
  return count;
end;

ruleset v: Value do
  startstate "No cache has a copy"
  begin
    undefine cache;
    undefine request;
    undefine forward;
    undefine dataMsg;
    undefine dataToDir;
    for c: Cache do
      cache[c].state := I;
      cache[c].wanted := 0;
      cache[c].got := 0;
      request[c].kind := NoRequest;
      forward[c].count := 0;
      dataMsg[c].full := false;
      ackMsg[c] := 0;
      dir.sharer[c] := false;
    end;
    dataToDir.full := false;
    dir.state := DirI;
    undefine dir.owner;
    dir.memory := v;
    latest := v;
  end;
end;

----------------------------------------------------------------------------
-- The processor: loads that miss, stores, evictions. A load that hits changes
-- nothing, so it needs no rule: the invariant on readable copies checks it.

ruleset c: Cache do

  rule "Load misses"
    cache[c].state = I
  ==>
  begin
    SendRequest(c, GetS);
    cache[c].state := IS_D;
  end;

  rule "Store misses"
    cache[c].state = I
  ==>
  begin
    SendRequest(c, GetM);
    cache[c].state := IM_AD;
  end;

  rule "Store needs an upgrade"
    cache[c].state = S
  ==>
  begin
    SendRequest(c, GetM);
    cache[c].state := SM_AD;
  end;

  rule "Evict a shared copy"
    cache[c].state = S
  ==>
  begin
    SendRequest(c, PutS);
    cache[c].state := SI_A;
  end;

  rule "Evict a modified copy"
    cache[c].state = M
  ==>
  begin
    SendRequest(c, PutM);
    request[c].data := cache[c].data;
    cache[c].state := MI_A;
  end;

end;

ruleset c: Cache; v: Value do
  rule "Store hits"
    cache[c].state = M
  ==>
  begin
    cache[c].data := v;
    latest := v;
  end;
end;

----------------------------------------------------------------------------
-- The cache: messages from the directory, at the head of its queue

ruleset c: Cache do
  alias
    me: cache[c];
    head: forward[c].msg[0]
  do

    -- Somebody wants to read what we own: send it there, and to memory too.
    rule "Cache: FwdGetS"
      forward[c].count > 0 & head.kind = FwdGetS & (me.state = M | me.state = MI_A)
    ==>
    begin
      SendData(head.requester, me.data, 0);
      SendDataToDir(me.data);
      if me.state = M then
        me.state := S;
      else
        me.state := SI_A;     -- still waiting for the PutAck
      end;
      PopForward(c);
    end;

    rule "Cache: FwdGetM"
      forward[c].count > 0 & head.kind = FwdGetM & (me.state = M | me.state = MI_A)
    ==>
    begin
      SendData(head.requester, me.data, 0);
      if me.state = M then
        DropCopy(c, I);
      else
        DropCopy(c, II_A);    -- still waiting for the PutAck
      end;
      PopForward(c);
    end;

    -- In IS_D an Inv stalls: it is meant for the copy whose data is on its way.
    -- In SM_AD it is meant for the copy we have; our own request comes later.
    rule "Cache: Inv"
      forward[c].count > 0 & head.kind = Inv & me.state != IS_D
    ==>
    begin
      SendAck(head.requester);
      switch me.state
        case S:     DropCopy(c, I);
        case SM_AD: DropCopy(c, IM_AD);
        case SI_A:  DropCopy(c, II_A);
        else        error "Unexpected Inv";
      end;
      PopForward(c);
    end;

    rule "Cache: PutAck"
      forward[c].count > 0 & head.kind = PutAck
    ==>
    begin
      assert me.state = MI_A | me.state = SI_A | me.state = II_A "Unexpected PutAck";
      DropCopy(c, I);
      PopForward(c);
    end;

    -- Forwarded requests in IM_AD, IM_A, SM_AD and SM_A stall: we are going to
    -- be the owner. Anywhere else they are a mistake.
    rule "Cache: a forwarded request out of place"
      forward[c].count > 0 & (head.kind = FwdGetS | head.kind = FwdGetM) &
      (me.state = I | me.state = S | me.state = IS_D |
       me.state = SI_A | me.state = II_A)
    ==>
    begin
      error "Unexpected forwarded request";
    end;

  end;
end;

----------------------------------------------------------------------------
-- The cache: responses

ruleset c: Cache do

  rule "Cache: Data"
    dataMsg[c].full
  ==>
  begin
    cache[c].data := dataMsg[c].data;
    switch cache[c].state
      case IS_D:
        cache[c].state := S;
      case IM_AD:
        cache[c].wanted := dataMsg[c].acks;
        cache[c].state := IM_A;
      case SM_AD:
        cache[c].wanted := dataMsg[c].acks;
        cache[c].state := SM_A;
      else
        error "Unexpected data";
    end;
    dataMsg[c].full := false;
    undefine dataMsg[c].data;
    undefine dataMsg[c].acks;
    EnterMIfComplete(c);
  end;

  rule "Cache: InvAck"
    ackMsg[c] > 0
  ==>
  begin
    assert cache[c].state = IM_AD | cache[c].state = IM_A |
           cache[c].state = SM_AD | cache[c].state = SM_A "Unexpected InvAck";
    ackMsg[c] := ackMsg[c] - 1;
    cache[c].got := cache[c].got + 1;
    EnterMIfComplete(c);
  end;

end;

----------------------------------------------------------------------------
-- The directory. In DirSD, GetS and GetM stall until the data has come.

ruleset c: Cache do

  rule "Directory: GetS"
    request[c].kind = GetS & dir.state != DirSD
  ==>
  begin
    request[c].kind := NoRequest;
    if dir.state = DirM then
      SendForwardFor(dir.owner, FwdGetS, c);
      dir.sharer[dir.owner] := true;
      undefine dir.owner;
      dir.state := DirSD;
    else
      SendData(c, dir.memory, 0);
      dir.state := DirS;
    end;
    dir.sharer[c] := true;
  end;

  rule "Directory: GetM"
    request[c].kind = GetM & dir.state != DirSD
  ==>
  begin
    request[c].kind := NoRequest;
    if dir.state = DirM then
      SendForwardFor(dir.owner, FwdGetM, c);
    else
      SendData(c, dir.memory, SharersOtherThan(c));
      for k: Cache do
        if k != c & dir.sharer[k] then
          SendForwardFor(k, Inv, c);
        end;
        dir.sharer[k] := false;
      end;
    end;
    dir.owner := c;
    dir.state := DirM;
  end;

  -- A cache may no longer be a sharer, or no longer be the owner, when its
  -- PutS or PutM arrives. It is waiting for an answer all the same.
  rule "Directory: PutS"
    request[c].kind = PutS
  ==>
  begin
    request[c].kind := NoRequest;
    dir.sharer[c] := false;
    if dir.state = DirS & SharersOtherThan(c) = 0 then
      dir.state := DirI;
    end;
    SendForward(c, PutAck);
  end;

  rule "Directory: PutM"
    request[c].kind = PutM
  ==>
  begin
    if dir.state = DirM & dir.owner = c then
      dir.memory := request[c].data;
      undefine dir.owner;
      dir.state := DirI;
    else
      dir.sharer[c] := false;
      if dir.state = DirS & SharersOtherThan(c) = 0 then
        dir.state := DirI;
      end;
    end;
    request[c].kind := NoRequest;
    undefine request[c].data;
    SendForward(c, PutAck);
  end;

end;

rule "Directory: Data"
  dataToDir.full
==>
begin
  assert dir.state = DirSD "Unexpected data at the directory";
  dir.memory := dataToDir.data;
  dataToDir.full := false;
  undefine dataToDir.data;
  if exists c: Cache do dir.sharer[c] end then
    dir.state := DirS;
  else
    dir.state := DirI;
  end;
end;

----------------------------------------------------------------------------

invariant "Single writer or many readers"
  forall a: Cache do
    forall b: Cache do
      a != b & cache[a].state = M -> !Readable(b)
    end
  end;

invariant "Readable copies hold the value written last"
  forall c: Cache do
    Readable(c) -> cache[c].data = latest
  end;

invariant "Memory is up to date when nobody owns the block"
  dir.state = DirI | dir.state = DirS -> dir.memory = latest;

invariant "A reader unknown to the directory has an Inv coming"
  forall c: Cache do
    cache[c].state = S & !dir.sharer[c] ->
      exists i: Slot do
        i < forward[c].count & forward[c].msg[i].kind = Inv
      end
  end;
