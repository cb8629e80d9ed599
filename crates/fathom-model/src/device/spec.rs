//! Comparison of a data sheet with measurements, for `fathom spec`.

/// Comparison of one target with one sheet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpecReport {
    /// Target, as named.
    pub target: String,
    /// The device below it, with model and firmware.
    pub device: String,
    /// Id of the sheet.
    pub sheet: String,
    /// Maker and product.
    pub product: String,
    /// How sure its figures are: `maker`, `secondary`, `partial`.
    pub confidence: &'static str,
    /// File it was read from.
    pub file: String,
    /// Why this sheet was chosen: the matching start of the model name, or the user named it.
    pub chosen: String,
    /// Further facts: name and text.
    pub facts: Vec<(String, String)>,
    /// Why nothing can be compared, if the sheet has no performance figures.
    pub no_figures: Option<String>,
    /// Pages the figures come from.
    pub source: Vec<String>,
    /// One for each figure.
    pub lines: Vec<SpecLine>,
}

/// One figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpecLine {
    /// `random read, 600000 IOPS`.
    pub figure: String,
    /// `4 KiB, depth 32, 4 threads`, with the values that the sheet omits marked.
    pub conditions: String,
    /// Promised, in I/Os per second, bytes per second or nanoseconds.
    pub promised: f64,
    /// Measured, in the same unit; `None` if not measured.
    pub measured: Option<f64>,
    /// The same as text.
    pub measured_text: Option<String>,
    /// 1 is as promised, less is worse.
    pub ratio: Option<f64>,
    /// Tolerance: how far from 1 still counts as `kept`.
    pub tolerance: f64,
    /// `kept`, `below`, `above`, `not comparable`, `not measured`.
    pub judgement: &'static str,
    /// Why.
    pub reasons: Vec<String>,
    /// Remark of the sheet.
    pub note: Option<String>,
}
