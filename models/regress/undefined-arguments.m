-- To pass an undefined variable is no fault, not even with --strict; to assign it is, then.
--@ verdict: holds
--@ states: 2
--@ transitions: 2
--@ options: --strict
--@ options: --strict --const ASSIGN=1
--@ verdict: violated
--@ violation: fault empty is undefined
--@ states: 1
--@ transitions: 0
--@ options: --const ASSIGN=1

const ASSIGN: 0;

type
  small: 0..3;

var
  flag: boolean;
  empty, copy: small;

function missing(v: small): boolean;
begin
  return isundefined(v);
end;

startstate
  flag := true;
end;

rule "Ask, then copy" begin
  assert missing(empty);
  if ASSIGN = 1 then
    copy := empty;
  end;
  flag := !flag;
end;
