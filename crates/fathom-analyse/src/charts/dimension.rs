//! Quantities and labels of dimensions.

use fathom_model::Dimension;

use super::unit::Quantity;
use crate::figures::bytes;

/// How charts present a dimension.
pub(crate) trait DimensionFormat {
    /// Its quantity.
    fn quantity(self) -> Quantity;

    /// The label of a parameter's value: `32`, `4 KiB`, `70 %`.
    fn label(self, value: f64) -> String;
}

impl DimensionFormat for Dimension {
    fn quantity(self) -> Quantity {
        match self {
            Dimension::Depth | Dimension::Jobs | Dimension::Outstanding => Quantity::Plain,
            Dimension::Block | Dimension::Offset => Quantity::Bytes,
            Dimension::Mix | Dimension::Cpu => Quantity::Percent,
            Dimension::Iops | Dimension::Offered => Quantity::Rate,
            Dimension::Bandwidth | Dimension::Rate => Quantity::Bandwidth,
            Dimension::CpuPerIo | Dimension::CpuPerMib => Quantity::CpuTime,
            _ => Quantity::Latency,
        }
    }

    fn label(self, value: f64) -> String {
        match self.quantity() {
            Quantity::Bytes => bytes(value as u64),
            Quantity::Bandwidth => format!("{}/s", bytes(value as u64)),
            Quantity::Percent => format!("{value} %"),
            _ => crate::figures::rate(value),
        }
    }
}
