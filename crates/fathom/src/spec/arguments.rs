//! The words after `fathom spec`.

/// Seconds for each figure unless told otherwise.
const RUNTIME_S: u32 = 10;

/// What was asked for.
pub struct Request<'a> {
    pub path: Option<&'a str>,
    /// `--sheet=ID`.
    pub sheet: Option<&'a str>,
    /// `--specs=DIR`, each time it was given.
    pub folders: Vec<&'a str>,
    /// `--run`.
    pub run: bool,
    /// `--writes`, or a code that allows it.
    pub writes: bool,
    /// `--destroy=CODE`.
    pub codes: Vec<String>,
    /// `--runtime=SECONDS`.
    pub runtime_s: u32,
    pub json: bool,
}

impl<'a> Request<'a> {
    /// Takes the arguments apart.
    ///
    /// # Errors
    /// What is wrong with them, and what there is.
    pub fn read(arguments: &'a [String]) -> Result<Request<'a>, String> {
        let mut request = Request {
            path: None,
            sheet: None,
            folders: Vec::new(),
            run: false,
            writes: false,
            codes: Vec::new(),
            runtime_s: RUNTIME_S,
            json: false,
        };
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let (name, value) = word
                .split_once('=')
                .map_or((word, None), |(name, value)| (name, Some(value)));
            let mut value = || {
                value
                    .or_else(|| words.next())
                    .filter(|value| !value.is_empty())
                    .ok_or(format!("{name} needs a value"))
            };
            match name {
                "--sheet" => request.sheet = Some(value()?),
                "--specs" => request.folders.push(value()?),
                "--runtime" => request.runtime_s = seconds(value()?)?,
                "--destroy" => request.codes.push(value()?.to_owned()),
                "--run" => request.run = true,
                "--writes" => request.writes = true,
                "--json" => request.json = true,
                option if option.starts_with('-') => return Err(unknown(option)),
                _ if request.path.is_some() => {
                    return Err(format!(
                        "one target at a time: '{}' is the second",
                        word.escape_debug()
                    ));
                }
                _ => request.path = Some(word),
            }
        }
        request.writes |= !request.codes.is_empty();
        Ok(request)
    }
}

fn unknown(option: &str) -> String {
    const OPTIONS: [&str; 7] = [
        "--sheet",
        "--specs",
        "--runtime",
        "--destroy",
        "--run",
        "--writes",
        "--json",
    ];
    let advice = match fathom_plan::closest(option, OPTIONS.into_iter()) {
        Some(close) => format!("did you mean {close}?"),
        None => format!("there are {}", OPTIONS.join(", ")),
    };
    format!("there is no option '{}': {advice}", option.escape_debug())
}

fn seconds(text: &str) -> Result<u32, String> {
    let wrong = || {
        format!(
            "--runtime must be 1 to 86400 seconds, not '{}'",
            text.escape_debug()
        )
    };
    text.trim_end_matches('s')
        .parse()
        .ok()
        .filter(|seconds| (1..=86_400).contains(seconds))
        .ok_or_else(wrong)
}
