-- Language tour: reading an undefined value
--
-- The same cloakroom as in undefined.m, with a new rule: guests who have lost
-- their ticket describe their coat, and get it if the attendant finds it on some
-- hook. The rule looks at a hook without asking first whether a coat is there.
-- As long as the coat is there all is well, but it may just have been fetched.
--
-- Such a mistake is neither a violated invariant nor a deadlock. It is a fault:
-- the model itself makes no sense at this point. In the counterexample a guest
-- hands in a coat, forgets about the ticket in his pocket and starts to describe
-- the coat, finds the ticket after all, and fetches the coat. Now the attendant
-- looks at an empty hook.
--
-- Try next: repair the guard of "Return a coat without a ticket" with
-- isundefined, on the left of the comparison. Then only "Give up" remains to
-- those who have already got their coat.
--
--@ verdict: violated
--@ violation: fault undefined

const
  Guests: 2;
  Hooks: 2;

type
  Guest: scalarset(Guests);
  Hook: scalarset(Hooks);

var
  coat: array [Hook] of Guest;            -- whose coat; undefined: free hook
  ticket: array [Guest] of Hook;          -- undefined: has no ticket
  searching: Guest;                       -- undefined: the attendant is idle
  place: Hook;                            -- where the attendant looks

startstate "All hooks free"
begin
  undefine coat;
  undefine ticket;
  undefine searching;
  undefine place;
end;

ruleset g: Guest; h: Hook do

  rule "Hand in a coat"
    isundefined(ticket[g]) & isundefined(coat[h])
  ==>
  begin
    coat[h] := g;
    ticket[g] := h;
  end;

  rule "Fetch the coat"
    !isundefined(ticket[g]) & ticket[g] = h
  ==>
  begin
    undefine coat[h];
    undefine ticket[g];
  end;

  rule "Describe the coat, the attendant goes to a hook where one hangs"
    !isundefined(ticket[g]) & isundefined(searching) & !isundefined(coat[h])
  ==>
  begin
    searching := g;
    place := h;
  end;

end;

-- The mistake: coat[place] was defined when the search began, but is it now?
rule "Return a coat without a ticket"
  !isundefined(searching) & coat[place] = searching
==>
begin
  undefine coat[place];
  undefine ticket[searching];
  undefine searching;
  undefine place;
end;

rule "Give up"
  !isundefined(searching)
==>
begin
  undefine searching;
  undefine place;
end;
