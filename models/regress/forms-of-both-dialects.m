-- One of everything that the two dialects write differently.
--@ verdict: holds
--@ states: 2
--@ transitions: 8

const ONE, UNO: 1

type
  bit: 0..UNO;
  colour: enum { red, green, };

var
  a: array [bit] of array [bit] of bit;
  x, y: bit; ;
  c: colour

function other(v: bit): bit begin return ONE − v; end;

procedure flip(var v: bit; w: bit;); v := other(w); endprocedure;

startstate "Nothing set" const K: 0; var l: bit; begin
  l := K;
  for i: bit; j := 0 to 1 by 1 : a[i][j] := l end;
  x := l; y := l; c := red;
endstartstate

rule 5 "Doubled operators" (x = 0 || x == 1) && x ≤ 1 ∧ ¬(x ≠ x) ==> begin
  flip(x, x);; assert "both orders" x ≤ 1; assert x >= +0 "both orders";
end

alias z: x; do
  rule 5 "Alias" z = z ==> begin z := 1 - z end;
end

ruleset i: bit do
  rule 5 "Colon for do" forall j: bit; k: bit : a[j][k] = 0 endforall ==> begin
    switch i case 0, 1: x := 2 × x ÷ 2; else endswitch;
    while false : endwhile; if false then elsif false then else endif;
    x := 1 - x;
  end;
end

invariant "Short" x < 2 -> ∀ i: bit do a[i][i] = 0 end;
