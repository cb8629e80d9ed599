//! Places in TOML files, so that a message names the line to change.

use toml::de::{DeTable, DeValue};

/// One step from the top of a file to a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// The value of this key.
    Key(&'a str),
    /// The element of a list, from 0.
    Element(usize),
}

/// `file:line:column` of the byte `offset` of `text`, both from 1.
pub(crate) fn at(file: &str, text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|one| *one != '\n').count() + 1;
    format!("{file}:{line}:{column}")
}

/// `file:line:column` of the last of `steps` that the file has; the first line where it has none.
pub(crate) fn of(file: &str, text: &str, steps: &[Step]) -> String {
    at(file, text, offset(text, steps).unwrap_or(0))
}

fn offset(text: &str, steps: &[Step]) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut found = None;
    let mut value = DeValue::Table(root.into_inner());
    for step in steps {
        let (place, next) = match (step, value) {
            (Step::Key(name), DeValue::Table(table)) => {
                let mut all = table.into_iter();
                let Some((key, inner)) = all.find(|(key, _)| key.get_ref().as_ref() == *name)
                else {
                    break;
                };
                (key.span(), inner)
            }
            (Step::Element(index), DeValue::Array(list)) => {
                let Some(inner) = list.into_iter().nth(*index) else {
                    break;
                };
                (inner.span(), inner)
            }
            _ => break,
        };
        found = Some(place.start);
        value = next.into_inner();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_keys_and_elements() {
        let text = "a = 1\n[[d]]\nx = 1\n[[d]]\n  # ü\n  y = 3\n";
        let place = |steps: &[Step]| of("f", text, steps);
        let second = [Step::Key("d"), Step::Element(1)];
        assert_eq!(place(&[Step::Key("a")]), "f:1:1");
        assert_eq!(place(&second), "f:4:1");
        assert_eq!(place(&[second[0], second[1], Step::Key("y")]), "f:6:3");
        // What the file has not is reported at what it belongs to.
        assert_eq!(place(&[second[0], second[1], Step::Key("z")]), "f:4:1");
        assert_eq!(place(&[Step::Key("z")]), "f:1:1");
    }
}
