//! The house theme: colours by role, light and dark.
//!
//! The palette is that of Okabe and Ito (2008), which people with any common colour vision can tell apart, its yellow
//! left out on white and its black replaced; the dark one is the same hues, lighter.

use serde_json::{Value, json};

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// For paper and bright rooms.
    #[default]
    Light,
    /// For dark screens.
    Dark,
}

/// How many colours the palette has.
pub(crate) const PALETTE: usize = 8;

const LIGHT: [(&str, &str); 18] = [
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
    ("p6", "#5b5f66"),
    ("p7", "#7a5195"),
];

const DARK: [(&str, &str); 18] = [
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
    ("p3", "#e59ac6"),
    ("p4", "#f5bd3d"),
    ("p5", "#9bd4f5"),
    ("p6", "#b4bac1"),
    ("p7", "#b795d6"),
];

impl Theme {
    /// Colours by role, as the page's script wants them.
    pub(crate) fn roles(self) -> Value {
        let roles = match self {
            Theme::Light => LIGHT,
            Theme::Dark => DARK,
        };
        roles.into_iter().map(|(role, colour)| (role.to_owned(), json!(colour))).collect::<serde_json::Map<_, _>>().into()
    }
}

/// A colour of the theme, to be put in when the chart is drawn.
pub(crate) fn role(name: &str) -> Value {
    json!({ "$role": name })
}

/// The colour of the palette for series `number`.
pub(crate) fn palette(number: usize) -> Value {
    role(&format!("p{}", number % PALETTE))
}
