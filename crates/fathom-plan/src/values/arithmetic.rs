//! Integer arithmetic, for `$mb_memory*2` and `(4*1024)`.

/// Maximum nesting of brackets.
const MAX_DEPTH: u32 = 32;

/// Evaluates `text`: integers with the suffixes of `factor`, `+ - * / %`, brackets and blanks.
///
/// `None` when it is not a valid expression, divides by zero, or exceeds 127 bits.
pub(crate) fn evaluate(text: &str, factor: impl Fn(&str) -> Option<i128>) -> Option<i128> {
    let mut parser = Parser {
        rest: text,
        depth: 0,
        factor: &factor,
    };
    let value = parser.sum()?;
    parser.rest.trim_start().is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
    depth: u32,
    factor: &'a dyn Fn(&str) -> Option<i128>,
}

impl Parser<'_> {
    fn operator(&mut self, among: &str) -> Option<char> {
        self.rest = self.rest.trim_start();
        let next = self.rest.chars().next().filter(|c| among.contains(*c))?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator("+-") {
            let right = self.product()?;
            value = if operator == '+' {
                value.checked_add(right)?
            } else {
                value.checked_sub(right)?
            };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.atom()?;
        while let Some(operator) = self.operator("*/%") {
            let right = self.atom()?;
            value = match operator {
                '*' => value.checked_mul(right)?,
                '/' => value.checked_div(right)?,
                _ => value.checked_rem(right)?,
            };
        }
        Some(value)
    }

    fn atom(&mut self) -> Option<i128> {
        if self.depth > MAX_DEPTH {
            return None;
        }
        if self.operator("-").is_some() {
            self.depth += 1;
            let value = self.atom()?.checked_neg();
            self.depth -= 1;
            return value;
        }
        if self.operator("(").is_some() {
            self.depth += 1;
            let value = self.sum()?;
            self.depth -= 1;
            return self.operator(")").map(|_| value);
        }
        self.number()
    }

    fn number(&mut self) -> Option<i128> {
        self.rest = self.rest.trim_start();
        let digits = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let value: i128 = self.rest[..digits].parse().ok()?;
        let tail = &self.rest[digits..];
        let letters = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let factor = (self.factor)(&tail[..letters])?;
        self.rest = &tail[letters..];
        value.checked_mul(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate;

    fn bare(text: &str) -> Option<i128> {
        evaluate(text, |suffix| suffix.is_empty().then_some(1))
    }

    #[test]
    fn operators_have_the_usual_precedence() {
        assert_eq!(bare("2*24105"), Some(48_210)); // measured with fio and bc on a machine of 24105 MiB
        assert_eq!(bare("1+2*3"), Some(7));
        assert_eq!(bare("(1+2)*3"), Some(9));
        assert_eq!(bare("10/4"), Some(2));
        assert_eq!(bare("7 - 10"), Some(-3));
        assert_eq!(bare("10*10*1000*2"), Some(200_000));
    }

    #[test]
    fn invalid_expressions_have_no_value() {
        for text in [
            "",
            "1/0",
            "1+",
            "/tmp/2",
            "2x",
            "(1",
            "170141183460469231731687303715884105727*2",
            &"(".repeat(100),
        ] {
            assert_eq!(bare(text), None, "{text}");
        }
    }
}
