cat > in.scad <<'S'
$fn = 24;
difference() { minkowski() { cube([10, 10, 4]); sphere(1); } translate([5, 5, -2]) cylinder(r = 3, h = 12); }
linear_extrude(2) text("fuse");
S
"$P" -o out.stl in.scad 2>&1 | grep -v -i 'rendering time'
# In which order the facets come differs from run to run.
LC_ALL=C sort out.stl > facets
rm out.stl
