//! Calculated numbers with the formula and the inputs that they were calculated from.

/// A calculated number: what was calculated, from what.
#[derive(Clone, Debug, PartialEq)]
pub struct Derivation {
    /// Its name in formulas that use it: `rotational_latency`.
    pub name: String,
    /// The result, in `unit`.
    pub value: f64,
    /// Unit of the result: `ms`, `1/s`, `MB/s`; empty for a plain number.
    pub unit: String,
    /// The formula, in terms of the inputs; or the method, in words, where no closed formula exists.
    pub formula: String,
    /// Whether `formula` is in words.
    pub is_method: bool,
    /// The inputs, in the order in which they were given.
    pub inputs: Vec<DerivationInput>,
}

/// One input of a formula.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivationInput {
    /// Its name in the formula.
    pub name: String,
    /// Its value, in `unit`.
    pub value: f64,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// Where the value is from: a data sheet, a standard, a measurement, the user, another formula.
    pub source: String,
    /// How it was calculated, if it was.
    pub derivation: Option<Box<Derivation>>,
}

/// A cell of a calculated table.
#[derive(Clone, Debug, PartialEq)]
pub enum DerivedCell {
    /// Text.
    Text(String),
    /// A number that was given, with its source.
    Given(DerivationInput),
    /// A number that was calculated.
    Calculated(Derivation),
}

impl DerivedCell {
    /// The number in it, if it has one.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        match self {
            DerivedCell::Text(_) => None,
            DerivedCell::Given(input) => Some(input.value),
            DerivedCell::Calculated(derivation) => Some(derivation.value),
        }
    }
}

/// A table of given and calculated numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DerivedTable {
    /// What it shows.
    pub caption: String,
    /// The columns, with the units of their numbers. The first names the row.
    pub columns: Vec<String>,
    /// As many cells each as there are columns.
    pub rows: Vec<Vec<DerivedCell>>,
}

/// A calculated answer: sentences, tables and how each number was calculated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DerivedAnswer {
    /// The question, as it was understood.
    pub question: Vec<String>,
    /// The tables.
    pub tables: Vec<DerivedTable>,
    /// The answer in words.
    pub answer: Vec<String>,
    /// Assumptions and limits of the calculation.
    pub notes: Vec<String>,
    /// Further derivations under headings, for numbers that are in no table or that tables build on.
    pub derivations: Vec<(String, Vec<Derivation>)>,
}
