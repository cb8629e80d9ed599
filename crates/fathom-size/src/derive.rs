//! Builds derivations: the value is calculated from the text of the formula.

use fathom_model::{Derivation, DerivationInput, DerivedCell};

use crate::expression::evaluate;

/// An input with its source.
#[must_use]
pub fn input(name: &str, value: f64, unit: &str, source: impl Into<String>) -> DerivationInput {
    DerivationInput {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        source: source.into(),
        derivation: None,
    }
}

/// Calculates `formula` from the inputs.
///
/// # Panics
/// When the formula, which is part of the program, is not one or names a missing input.
#[must_use]
pub fn calculate(
    name: &str,
    unit: &str,
    formula: &str,
    inputs: Vec<DerivationInput>,
) -> Derivation {
    let value_of = |wanted: &str| {
        inputs
            .iter()
            .find(|input| input.name == wanted)
            .map(|input| input.value)
    };
    let value = evaluate(formula, &value_of)
        .unwrap_or_else(|error| panic!("formula of {name}, '{formula}': {error}"));
    Derivation {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        formula: formula.to_owned(),
        is_method: false,
        inputs,
    }
}

/// A number that a method in words gives, such as a numerical solution.
#[must_use]
pub fn by_method(
    name: &str,
    (value, unit): (f64, &str),
    method: &str,
    inputs: Vec<DerivationInput>,
) -> Derivation {
    Derivation {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        formula: method.to_owned(),
        is_method: true,
        inputs,
    }
}

/// The result of a formula as the input of another.
#[must_use]
pub fn from(derivation: &Derivation) -> DerivationInput {
    DerivationInput {
        name: derivation.name.clone(),
        value: derivation.value,
        unit: derivation.unit.clone(),
        source: "calculated".to_owned(),
        derivation: Some(Box::new(derivation.clone())),
    }
}

/// The same under another name, which its formula there uses.
#[must_use]
pub fn named(name: &str, derivation: &Derivation) -> DerivationInput {
    DerivationInput {
        name: name.to_owned(),
        ..from(derivation)
    }
}

/// A cell of text.
pub(crate) fn text(text: impl Into<String>) -> DerivedCell {
    DerivedCell::Text(text.into())
}
