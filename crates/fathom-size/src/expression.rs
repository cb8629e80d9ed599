//! Evaluates the formulas of derivations, so that a printed formula is the one that was calculated.
//!
//! Numbers, names, `+ - * / ^`, parentheses, and the functions `min`, `max`, `ceil`, `floor`,
//! `sqrt`, `ln`, `exp` and `lambert_w`.

use std::iter::Peekable;
use std::str::Chars;

/// The value of `formula` with the given names, or what is wrong with it.
///
/// # Errors
/// An unknown name or function, or text that is not a formula.
pub fn evaluate(formula: &str, value_of: &dyn Fn(&str) -> Option<f64>) -> Result<f64, String> {
    let mut parser = Parser {
        text: formula.chars().peekable(),
        value_of,
        depth: 0,
    };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(rest) => Err(format!("unexpected '{rest}' in '{formula}'")),
    }
}

/// Nesting that no formula of a person has.
const DEEPEST: usize = 64;

struct Parser<'a> {
    text: Peekable<Chars<'a>>,
    value_of: &'a dyn Fn(&str) -> Option<f64>,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<char> {
        while self.text.next_if(|c| c.is_whitespace()).is_some() {}
        self.text.peek().copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        self.peek() == Some(wanted) && self.text.next().is_some()
    }

    fn sum(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("too many nested parentheses".to_owned());
        }
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value += self.product()?;
            } else if self.take('-') {
                value -= self.product()?;
            } else {
                self.depth -= 1;
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.power()?;
        loop {
            if self.take('*') {
                value *= self.power()?;
            } else if self.take('/') {
                value /= self.power()?;
            } else {
                return Ok(value);
            }
        }
    }

    /// A minus sign binds looser than a power: `-2^2` is -4.
    fn power(&mut self) -> Result<f64, String> {
        let mut negative = false;
        while self.take('-') {
            negative = !negative;
        }
        let base = self.atom()?;
        let value = if self.take('^') {
            base.powf(self.exponent()?)
        } else {
            base
        };
        Ok(if negative { -value } else { value })
    }

    fn exponent(&mut self) -> Result<f64, String> {
        let negative = self.take('-');
        let value = self.atom()?;
        Ok(if negative { -value } else { value })
    }

    fn atom(&mut self) -> Result<f64, String> {
        match self.peek() {
            Some('(') => {
                self.text.next();
                let value = self.sum()?;
                if self.take(')') {
                    Ok(value)
                } else {
                    Err("missing ')'".to_owned())
                }
            }
            Some(c) if c.is_ascii_digit() || c == '.' => {
                let text = self.run(|c| c.is_ascii_digit() || c == '.');
                text.parse().map_err(|_| format!("invalid number '{text}'"))
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.run(|c| c.is_ascii_alphanumeric() || c == '_');
                if self.take('(') {
                    self.call(&name)
                } else {
                    (self.value_of)(&name).ok_or_else(|| format!("unknown name '{name}'"))
                }
            }
            Some(other) => Err(format!("unexpected '{other}'")),
            None => Err("the formula ends too early".to_owned()),
        }
    }

    fn run(&mut self, belongs: fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(c) = self.text.next_if(|c| belongs(*c)) {
            text.push(c);
        }
        text
    }

    fn call(&mut self, name: &str) -> Result<f64, String> {
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        if !self.take(')') {
            return Err(format!("missing ')' after {name}("));
        }
        match (name, arguments.as_slice()) {
            ("min", [_, _, ..]) => Ok(arguments.into_iter().fold(f64::INFINITY, f64::min)),
            ("max", [_, _, ..]) => Ok(arguments.into_iter().fold(f64::NEG_INFINITY, f64::max)),
            // A product such as 0.7 * 10 that should be whole is not rounded up to the next number.
            ("ceil", [x]) => Ok((x - x.abs() * 1e-12).ceil()),
            ("floor", [x]) => Ok((x + x.abs() * 1e-12).floor()),
            ("sqrt", [x]) => Ok(x.sqrt()),
            ("ln", [x]) => Ok(x.ln()),
            ("exp", [x]) => Ok(x.exp()),
            ("lambert_w", [x]) => Ok(lambert_w(*x)),
            _ => Err(format!(
                "unknown function '{name}' with {} arguments",
                arguments.len()
            )),
        }
    }
}

/// The principal branch of the Lambert function: `w` with `w e^w = x`, for x >= -1/e. Halley's
/// iteration.
fn lambert_w(x: f64) -> f64 {
    // The series around the branch point, or the logarithm far from it.
    let mut w = if x < 0.0 {
        let p = (2.0 * (std::f64::consts::E * x + 1.0)).max(0.0).sqrt();
        -1.0 + p - p * p / 3.0
    } else {
        x.ln_1p()
    };
    for _ in 0..60 {
        let e = w.exp();
        let error = w * e - x;
        let slope = e * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0);
        if slope == 0.0 || !slope.is_finite() {
            break;
        }
        let step = error / slope;
        w -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(formula: &str) -> Result<f64, String> {
        evaluate(formula, &|name| match name {
            "rpm" => Some(7200.0),
            "half" => Some(0.5),
            _ => None,
        })
    }

    #[test]
    fn formulas_have_the_precedence_of_arithmetic() {
        assert_eq!(value("1 + 2 * 3"), Ok(7.0));
        assert_eq!(value("(1 + 2) * 3 ^ 2"), Ok(27.0));
        assert_eq!(value("-2 ^ 2"), Ok(-4.0));
        assert_eq!(value("8 / 2 / 2"), Ok(2.0));
        assert_eq!(value("2 ^ -1"), Ok(0.5));
        assert_eq!(
            value("60000 / rpm * half").map(|x| (x * 1e4).round()),
            Ok(41_667.0)
        );
        assert_eq!(value("max(1, min(5, 3), ceil(0.7 * 10))"), Ok(7.0));
    }

    #[test]
    fn mistakes_are_errors() {
        for wrong in [
            "",
            "1 +",
            "rpn",
            "(1",
            "sqrt(1, 2)",
            "1 $",
            "1..2",
            "half(1)",
        ] {
            assert!(value(wrong).is_err(), "{wrong}");
        }
        assert!(value(&"(".repeat(100_000)).is_err());
    }

    /// W(1) is the omega constant; W(-1/e) = -1; w = -0.5 belongs to x = -0.5 e^-0.5.
    #[test]
    fn the_lambert_function_inverts_w_exp_w() {
        assert!((lambert_w(1.0) - 0.567_143_290_409_783_8).abs() < 1e-14);
        assert!((lambert_w(-0.5 * (-0.5f64).exp()) + 0.5).abs() < 1e-12);
        assert!((lambert_w(-(-1.0f64).exp()) + 1.0).abs() < 1e-6);
        assert!((lambert_w(0.0)).abs() < 1e-15);
    }
}
