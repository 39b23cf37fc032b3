//! Free places for names beside their points.

/// An occupied area of the drawing: left, top, right, bottom.
pub(super) type Taken = [f64; 4];

/// Height of a line of text.
const LINE: f64 = 13.0;

/// A free place for a name of this width: beside its point, else above or below, in so many rings further and further
/// away; taken from then on. `None` if there is none inside the bounds.
pub(super) fn place(
    (x, y): (f64, f64),
    width: f64,
    rings: u8,
    bounds: Taken,
    taken: &mut Vec<Taken>,
) -> Option<(f64, f64)> {
    let rings = (0..rings).flat_map(|ring| {
        let away = f64::from(ring) * LINE;
        [
            (x + 10.0, y + 4.0 - away),
            (x - 10.0 - width, y + 4.0 - away),
            (x + 10.0, y + 4.0 + away),
            (x - 10.0 - width, y + 4.0 + away),
            (x - width / 2.0, y - 10.0 - away),
            (x - width / 2.0, y + 18.0 + away),
        ]
    });
    let [left, least, right, greatest] = bounds;
    let fits = |[from, top, to, bottom]: Taken| from >= left && to <= right && top >= least && bottom <= greatest;
    let free = |one: Taken| {
        taken.iter().all(|other| one[0] >= other[2] || one[2] <= other[0] || one[1] >= other[3] || one[3] <= other[1])
    };
    let found = rings.into_iter().find(|at| fits(area(*at, width)) && free(area(*at, width)));
    taken.extend(found.map(|at| area(at, width)));
    found
}

/// The area of a name.
pub(super) fn area((x, y): (f64, f64), width: f64) -> Taken {
    [x - 2.0, y - LINE + 3.0, x + width + 2.0, y + 3.0]
}
