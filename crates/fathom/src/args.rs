//! The words after a command, taken apart by the same rules for every command: flags, options with a value (`--a=b` or `--a b`),
//! the store's options, and what is left. Behind `--` nothing is an option.

use crate::result_store::StoreChoice;

/// What was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arg<'a> {
    /// An option without a value.
    Flag(&'a str),
    /// An option with its value.
    Value(&'a str, &'a str),
    /// Anything else.
    Operand(&'a str),
}

/// The options of a command.
pub struct ArgSpec {
    /// The command, which stands in messages.
    pub word: &'static str,
    /// Options without a value.
    pub flags: &'static [&'static str],
    /// Options with one.
    pub values: &'static [&'static str],
}

impl ArgSpec {
    /// Hands every word to `take`, in order. The store's options come back.
    ///
    /// # Errors
    /// An option that there is not, with the closest that there is; one without its value; what `take` says.
    pub fn read(
        &self,
        arguments: &[String],
        take: &mut dyn FnMut(Arg<'_>) -> Result<(), String>,
    ) -> Result<StoreChoice, String> {
        let (mut store, mut rest) = (StoreChoice::default(), arguments.iter());
        while let Some(argument) = rest.next() {
            if store.take(argument, &mut rest)? {
                continue;
            }
            let word = argument.as_str();
            let (name, value) = word
                .split_once('=')
                .map_or((word, None), |(name, value)| (name, Some(value)));
            if word == "--" {
                rest.by_ref()
                    .try_for_each(|word| take(Arg::Operand(word)))?;
            } else if self.values.contains(&name) {
                let value = value.or_else(|| rest.next().map(String::as_str));
                take(Arg::Value(
                    name,
                    value.ok_or_else(|| {
                        format!("{name} needs a value; `fathom {} --help` tells", self.word)
                    })?,
                ))?;
            } else if value.is_none() && self.flags.contains(&name) {
                take(Arg::Flag(name))?;
            } else if word.len() > 1 && word.starts_with('-') {
                return Err(self.unknown(word, name));
            } else {
                take(Arg::Operand(word))?;
            }
        }
        Ok(store)
    }

    fn unknown(&self, word: &str, name: &str) -> String {
        let close = fathom_plan::closest(name, self.flags.iter().chain(self.values).copied());
        let advice = close.map_or_else(
            || format!("; `fathom {} --help` lists them", self.word),
            |close| format!(": did you mean {close}?"),
        );
        format!("there is no option '{}'{advice}", word.escape_debug())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: ArgSpec = ArgSpec {
        word: "some",
        flags: &["--json"],
        values: &["--size", "-o"],
    };

    fn read(line: &str) -> Result<(Vec<String>, StoreChoice), String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut all = Vec::new();
        let store = SOME.read(&words, &mut |given| {
            all.push(format!("{given:?}"));
            Ok(())
        })?;
        Ok((all, store))
    }

    #[test]
    fn words_are_flags_values_and_operands() {
        let (all, store) =
            read("a --json --size=1 -o b=c --store=x --no-store - x=y -- --json").expect("words");
        let expected = [
            "Operand(\"a\")",
            "Flag(\"--json\")",
            "Value(\"--size\", \"1\")",
            "Value(\"-o\", \"b=c\")",
            "Operand(\"-\")",
            "Operand(\"x=y\")",
            "Operand(\"--json\")",
        ];
        assert_eq!(all, expected);
        assert_eq!((store.file.as_deref(), store.none), (Some("x"), true));
    }

    #[test]
    fn what_is_wrong_is_said_with_advice() {
        for (line, said) in [
            (
                "--sise=3",
                "there is no option '--sise=3': did you mean --size?",
            ),
            ("--json=3", "there is no option '--json=3'"),
            ("--what-ever", "`fathom some --help` lists them"),
            ("--size", "--size needs a value; `fathom some --help` tells"),
            ("--store", "--store: needs the name of a file"),
        ] {
            let error = read(line).expect_err(line);
            assert!(error.contains(said), "{line}: {error}");
        }
    }
}
