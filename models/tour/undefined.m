-- Language tour: undefined values
--
-- A variable that has not been assigned a value is undefined, and "undefine"
-- makes it so again. Undefined is not a value of the type: reading it in any
-- expression is an error, and only "isundefined" may ask. It is the natural way
-- to say that something does not exist at the moment, and it keeps the number
-- of states small: leftovers of the past that nobody will read should not make
-- two states different.
--
-- The model: a cloakroom with a few hooks. Guests hand in their coat and get a
-- ticket, which is the hook; they come back with it and get the coat. A guest
-- has at most one coat.
--
-- Shown here:
--   undefine x            also for whole arrays and records
--   isundefined(x)
--   & | ->                do not look at their right side if the left side
--                         decides; so test isundefined first
--   scalarset             guests and hooks are interchangeable
--
-- Try next: undefined-fault.m, which reads too early. Or delete the line which
-- undefines the ticket: what is found?
--
--@ verdict: holds
--@ options: --symmetry off --deadlock stutter
--@ states: 13
--@ transitions: 36
--@ depth: 2

const
  Guests: 3;
  Hooks: 2;

type
  Guest: scalarset(Guests);
  Hook: scalarset(Hooks);

var
  coat: array [Hook] of Guest;            -- whose coat; undefined: free hook
  ticket: array [Guest] of Hook;          -- undefined: has no ticket

startstate "All hooks free"
begin
  undefine coat;
  undefine ticket;
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
    assert coat[h] = g "The right coat";
    undefine coat[h];
    undefine ticket[g];
  end;

end;

-- Without isundefined on the left, "ticket[g]" would be read in states where it
-- has no value, and the run would end with an error.
invariant "Tickets and coats agree"
  forall g: Guest do
    forall h: Hook do
      (!isundefined(ticket[g]) & ticket[g] = h) = (!isundefined(coat[h]) & coat[h] = g)
    end
  end;
