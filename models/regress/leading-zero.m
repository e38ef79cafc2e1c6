-- A leading zero does not make a number octal: this follows CMurphi, and is warned about.
--@ verdict: holds
--@ states: 11

var x: 0..010;

startstate x := 0; end;

rule "Up" x < 10 ==> x := x + 1; end;
rule "Over" x = 010 ==> x := 00; end;

invariant 010 = 10 & 0x10 = 16;
