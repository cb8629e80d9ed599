//! All known data sheets, and the selection of the one for a device.

use fathom_model::DeviceFacts;

use super::read::{SheetError, SheetProblem, read_sheets};
use super::sheet::Sheet;

/// Data sheets; a later one replaces an earlier one with the same id.
#[derive(Clone, Debug, Default)]
pub struct Library {
    sheets: Vec<Sheet>,
    errors: Vec<SheetError>,
}

impl Library {
    /// Adds the sheets of a file.
    pub fn add(&mut self, file: &str, text: &str) {
        let (sheets, errors) = read_sheets(file, text);
        for sheet in sheets {
            self.sheets.retain(|known| known.id != sheet.id);
            self.sheets.push(sheet);
        }
        self.errors.extend(errors);
    }

    /// Records a file or directory that could not be read.
    pub fn add_unreadable(&mut self, file: &str, reason: String) {
        self.errors.push(SheetError {
            file: crate::clean(file.as_bytes()),
            problem: SheetProblem::Unreadable(reason),
        });
    }

    /// Errors in the files.
    #[must_use]
    pub fn errors(&self) -> &[SheetError] {
        &self.errors
    }

    /// All sheets.
    #[must_use]
    pub fn sheets(&self) -> &[Sheet] {
        &self.sheets
    }

    /// The sheet with this id.
    #[must_use]
    pub fn by_id(&self, id: &str) -> Option<&Sheet> {
        self.sheets.iter().find(|sheet| sheet.id == id)
    }

    /// The sheet for a device: the one with the longest model prefix that the device's model starts
    /// with. Product name and capacity are not used for guessing.
    #[must_use]
    pub fn for_device(&self, device: &DeviceFacts) -> Option<&Sheet> {
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
