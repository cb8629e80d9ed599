//! All sheets that are known, and which one fits a device.

use fathom_model::DeviceFacts;

use super::read::{SheetTrouble, read_sheets};
use super::sheet::Sheet;

/// Sheets, later ones replacing earlier ones of the same id.
#[derive(Clone, Debug, Default)]
pub struct Library {
    sheets: Vec<Sheet>,
    troubles: Vec<SheetTrouble>,
}

impl Library {
    /// Adds the sheets of a file.
    pub fn add(&mut self, file: &str, text: &str) {
        let (sheets, troubles) = read_sheets(file, text);
        for sheet in sheets {
            self.sheets.retain(|known| known.id != sheet.id);
            self.sheets.push(sheet);
        }
        self.troubles.extend(troubles);
    }

    /// Notes a file or folder that could not be read at all.
    pub fn miss(&mut self, file: &str, what: String) {
        self.troubles.push(SheetTrouble {
            file: crate::clean(file.as_bytes()),
            what,
        });
    }

    /// What was wrong with some of the files.
    #[must_use]
    pub fn troubles(&self) -> &[SheetTrouble] {
        &self.troubles
    }

    /// Every sheet.
    #[must_use]
    pub fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    /// The sheet of this id.
    #[must_use]
    pub fn by_id(&self, id: &str) -> Option<&Sheet> {
        self.sheets.iter().find(|sheet| sheet.id == id)
    }

    /// The sheet one of whose model beginnings is the longest that the device's own model begins with. Neither its
    /// product name nor its capacity is guessed from.
    #[must_use]
    pub fn fitting(&self, device: &DeviceFacts) -> Option<&Sheet> {
        let model = device.identity.model.as_deref()?;
        let fits = |sheet: &Sheet| {
            sheet
                .models
                .iter()
                .filter(|prefix| model.starts_with(*prefix))
                .map(String::len)
                .max()
        };
        self.sheets
            .iter()
            .filter_map(|sheet| Some((fits(sheet)?, sheet)))
            .max_by_key(|(length, _)| *length)
            .map(|(_, sheet)| sheet)
    }
}
