//! The theme: colours by role, light and dark.
//!
//! The palette is that of Okabe and Ito (2008), which is distinguishable with any common colour vision, without its
//! yellow on white and with its black replaced. The dark theme has lighter versions of the same hues. Any two colours
//! are more than 10 apart in CIELAB, also for people without red or green cones (Machado, Oliveira and Fernandes 2009).
//! Quantities with an order use a scale of rising lightness (plasma of matplotlib, by van der Walt and Smith, public domain).

#[cfg(feature = "draw")]
use serde_json::{Value, json};

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// For print and bright screens.
    #[default]
    Light,
    /// For dark screens.
    Dark,
}

#[cfg(feature = "draw")]
/// Number of palette colours.
pub(crate) const PALETTE: usize = 8;
#[cfg(feature = "draw")]
/// Number of colours on the ordered scale.
pub(crate) const ORDERED: usize = 7;

#[cfg(feature = "draw")]
const LIGHT: [(&str, &str); 25] = [
    ("background", "#ffffff"),
    ("text", "#1b1f24"),
    ("muted", "#59636e"),
    ("grid", "#e4e7eb"),
    ("floor", "#f4f5f7"),
    ("axis", "#8b949e"),
    ("mark", "#b3261e"),
    ("strip0", "#8ab4d8"),
    ("strip1", "#e69f00"),
    ("strip2", "#b3261e"),
    ("p0", "#0072b2"),
    ("p1", "#d55e00"),
    ("p2", "#009e73"),
    ("p3", "#b8578f"),
    ("p4", "#e69f00"),
    ("p5", "#56b4e9"),
    ("p6", "#4e4f50"),
    ("p7", "#452879"),
    ("o0", "#0d0887"),
    ("o1", "#4a039f"),
    ("o2", "#7a06a6"),
    ("o3", "#a52097"),
    ("o4", "#c8437b"),
    ("o5", "#e26760"),
    ("o6", "#f58e45"),
];

#[cfg(feature = "draw")]
const DARK: [(&str, &str); 25] = [
    ("background", "#14181d"),
    ("text", "#e8ebee"),
    ("muted", "#a2acb6"),
    ("grid", "#2a3138"),
    ("floor", "#1b2027"),
    ("axis", "#6b7680"),
    ("mark", "#ff8a80"),
    ("strip0", "#3f6c92"),
    ("strip1", "#c98a00"),
    ("strip2", "#d9534a"),
    ("p0", "#4aa8e0"),
    ("p1", "#ff8c3f"),
    ("p2", "#2cc79b"),
    ("p3", "#ad44a5"),
    ("p4", "#f5bd3d"),
    ("p5", "#9bd4f5"),
    ("p6", "#f5f7fa"),
    ("p7", "#ac9abc"),
    ("o0", "#a31e98"),
    ("o1", "#c33d80"),
    ("o2", "#db5c68"),
    ("o3", "#ef7e50"),
    ("o4", "#fba139"),
    ("o5", "#fccb26"),
    ("o6", "#f0f921"),
];

#[cfg(feature = "draw")]
impl Theme {
    /// Colours by role, for the script.
    pub(crate) fn roles(self) -> Value {
        let roles = match self {
            Theme::Light => LIGHT,
            Theme::Dark => DARK,
        };
        roles
            .into_iter()
            .map(|(role, colour)| (role.to_owned(), json!(colour)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

#[cfg(feature = "draw")]
/// A reference to a theme colour, resolved when the chart is drawn.
pub(crate) fn role(name: &str) -> Value {
    json!({ "$role": name })
}

#[cfg(feature = "draw")]
/// The colour of the palette for series `number`.
pub(crate) fn palette(number: usize) -> Value {
    role(&format!("p{}", number % PALETTE))
}

#[cfg(feature = "draw")]
/// The colour of the ordered scale at a position from 0 to 1.
pub(crate) fn ordered(position: f64) -> Value {
    let step = position.clamp(0.0, 1.0) * (ORDERED - 1) as f64;
    role(&format!("o{}", step.round() as usize))
}

#[cfg(all(test, feature = "draw"))]
mod tests {
    use super::{DARK, LIGHT, ORDERED, PALETTE};

    /// How people with all cones, without green cones and without red cones see linear RGB (Machado and others 2009, severity 1).
    const COLOUR_VISION: [[[f64; 3]; 3]; 3] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ];
    /// Linear sRGB to XYZ, relative to its white.
    const XYZ: [[f64; 3]; 3] = [
        [0.433_9, 0.376_2, 0.189_9],
        [0.212_6, 0.715_2, 0.072_2],
        [0.017_7, 0.109_5, 0.872_8],
    ];

    fn times(matrix: &[[f64; 3]; 3], vector: [f64; 3]) -> [f64; 3] {
        matrix.map(|row| row.iter().zip(vector).map(|(a, b)| a * b).sum())
    }

    /// CIELAB of a colour for one kind of colour vision.
    fn lab(hex: &str, vision: &[[f64; 3]; 3]) -> [f64; 3] {
        let part = |at: usize| {
            f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("a colour")) / 255.0
        };
        let linear = |c: f64| {
            if c <= 0.040_45 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        };
        let seen = times(vision, [1, 3, 5].map(|at| linear(part(at)))).map(|c| c.clamp(0.0, 1.0));
        let [x, y, z] = times(&XYZ, seen).map(|t| {
            if t > 0.008_856 {
                t.cbrt()
            } else {
                7.787 * t + 16.0 / 116.0
            }
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// Regression 0650: a queue depth had any colour of the palette. On an ordered scale the lightness
    /// (L* of CIELAB) rises with each step, in greyscale and with any colour vision.
    #[test]
    fn regression_0650_the_ordered_scale_becomes_lighter_with_each_step() {
        for roles in [LIGHT, DARK] {
            let scale: Vec<&str> = roles
                .iter()
                .filter(|(role, _)| role.starts_with('o'))
                .map(|(_, colour)| *colour)
                .collect();
            assert_eq!(scale.len(), ORDERED);
            for vision in &COLOUR_VISION {
                let seen: Vec<f64> = scale.iter().map(|hex| lab(hex, vision)[0]).collect();
                assert!(seen.windows(2).all(|two| two[0] + 2.0 < two[1]), "{seen:?}");
            }
        }
    }

    #[test]
    fn colours_are_distinguishable_with_any_colour_vision() {
        for roles in [LIGHT, DARK] {
            let palette: Vec<&str> = roles
                .iter()
                .filter(|(role, _)| role.starts_with('p'))
                .map(|(_, colour)| *colour)
                .collect();
            assert_eq!(palette.len(), PALETTE);
            for vision in &COLOUR_VISION {
                let seen: Vec<[f64; 3]> = palette.iter().map(|hex| lab(hex, vision)).collect();
                for (n, a) in seen.iter().enumerate() {
                    for (m, b) in seen.iter().enumerate().skip(n + 1) {
                        let apart = a
                            .iter()
                            .zip(b)
                            .map(|(a, b)| (a - b).powi(2))
                            .sum::<f64>()
                            .sqrt();
                        assert!(
                            apart > 10.0,
                            "{} and {} are {apart:.1} apart",
                            palette[n],
                            palette[m]
                        );
                    }
                }
            }
        }
    }
}
