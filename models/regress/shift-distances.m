-- A shift by a negative distance goes the other way, and 64 bits leave nothing, as in rumur.
--@ verdict: holds
--@ states: 5
--@ transitions: 5

var
  distance: -70..70;
  value: -64..64;

procedure check(shifted: -64..64; back: -64..64);
begin
  assert (8 << distance) = shifted "left";
  assert (8 >> distance) = back "right";
end;

startstate
  distance := -70;
  value := -3;
end;

rule "Next distance" begin
  assert (value >> 1) = -2 & (value << 1) = -6 & (value >> -2) = -12;
  assert (value >> 64) = 0 & (value << -64) = 0;
  switch distance
    case -70: check(0, 0); distance := -2;
    case -2: check(2, 32); distance := 0;
    case 0: check(8, 8); distance := 2;
    case 2: check(32, 2); distance := 64;
    else check(0, 0); distance := -70;
  end;
end;
