//! The `format` files of tracefs: where each field of an event is.

/// One field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, such as `sector`.
    pub name: String,
    /// Bytes from the start of the event.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// Whether it is a signed number.
    pub signed: bool,
}

/// The layout of one event, as `events/SYSTEM/EVENT/format` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFormat {
    /// The event's name.
    pub name: String,
    /// The number in `common_type` of each event.
    pub id: u16,
    /// All fields, those common to all events first.
    pub fields: Vec<Field>,
}

impl EventFormat {
    /// Reads a `format` file.
    ///
    /// # Errors
    /// What is missing or wrong, as a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut name = None;
        let mut id = None;
        for line in text.lines() {
            if let Some(value) = line.strip_prefix("name:") {
                name = Some(value.trim().to_owned());
            } else if let Some(value) = line.strip_prefix("ID:") {
                let value = value.trim();
                id = Some(
                    value
                        .parse()
                        .map_err(|_| format!("invalid event number '{value}'"))?,
                );
            }
        }
        Ok(Self {
            name: name.ok_or("no line 'name:'")?,
            id: id.ok_or("no line 'ID:'")?,
            fields: parse_fields(text)?,
        })
    }

    /// The field with this name, where the kernel has it.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// The lines `field:` of a `format` or `header_page` file.
pub(crate) fn parse_fields(text: &str) -> Result<Vec<Field>, String> {
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix("field:"))
        .map(parse_field)
        .collect()
}

/// `unsigned int nr_sector; offset:24; size:4; signed:0;`, with tabs after the semicolons.
fn parse_field(line: &str) -> Result<Field, String> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next().unwrap_or_default();
    let last = declaration.rsplit([' ', '*']).next().unwrap_or_default();
    let name = last.split('[').next().unwrap_or_default();
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.parse().ok(),
            Some(("size", value)) => size = value.parse().ok(),
            Some(("signed", value)) => signed = value == "1",
            _ => {}
        }
    }
    match (name.is_empty(), offset, size) {
        (false, Some(offset), Some(size)) => Ok(Field {
            name: name.to_owned(),
            offset,
            size,
            signed,
        }),
        _ => Err(format!("invalid field '{}'", line.trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `block_split` of Linux 6.18 on x86-64, as the kernel prints it.
    const SPLIT: &str = "name: block_split\nID: 2092\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t new_sector;\toffset:24;\tsize:8;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:32;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d,%d %s %llu\", REC->dev\n";

    #[test]
    fn fields_are_found_by_name() {
        let format = EventFormat::parse(SPLIT).unwrap();
        assert_eq!((format.name.as_str(), format.id), ("block_split", 2092));
        let rwbs = format.field("rwbs").unwrap();
        assert_eq!((rwbs.offset, rwbs.size, rwbs.signed), (32, 10, false));
        let pid = format.field("common_pid").unwrap();
        assert_eq!((pid.offset, pid.size, pid.signed), (4, 4, true));
        assert_eq!(format.field("cmd").unwrap().offset, 60);
        assert_eq!(format.field("comm"), None);
    }

    #[test]
    fn damaged_formats_are_errors() {
        for (text, problem) in [
            ("", "no line 'name:'"),
            ("name: a\n", "no line 'ID:'"),
            ("name: a\nID: x\n", "invalid event number 'x'"),
            (
                "name: a\nID: 1\n\tfield:int b;\tsize:4;\n",
                "invalid field 'int b;\tsize:4;'",
            ),
        ] {
            assert_eq!(EventFormat::parse(text).unwrap_err(), problem);
        }
    }
}
