-- Ranges beyond 32 bits: in variables, records, aliases, loops with computed bounds, and rulesets.
--@ verdict: holds
--@ states: 8
--@ transitions: 32

const
  TOP: 0x7fffffffffffff;
  LOW: -TOP - 1;

type
  wide: LOW..TOP;

var
  cell: record
    before: boolean;
    value: wide;
    behind: boolean;
  end;

startstate
  cell.before := true;
  cell.value := TOP;
  cell.behind := false;
end;

ruleset far: TOP - 1..TOP do
  rule "Jump" begin
    alias twice: cell.value + cell.value do
      assert twice / 2 = cell.value;
    end;
    for i := cell.value - 1 to cell.value do
      assert i <= cell.value & i + 1 >= cell.value;
    end;
    cell.value := far = TOP ? TOP : LOW;
  end;
end;

rule "Before" begin cell.before := !cell.before; end;
rule "Behind" begin cell.behind := !cell.behind; end;

invariant cell.value = TOP | cell.value = LOW;
