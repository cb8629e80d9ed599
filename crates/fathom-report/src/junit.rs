//! Latency limits as JUnit XML, which CI systems show as test cases.

/// One test case: its name, and why it passed or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestCase {
    /// Name of the case, such as `p99<=1ms`.
    pub name: String,
    /// Whether it passed.
    pub passed: bool,
    /// The figures, in a sentence.
    pub sentence: String,
}

/// JUnit XML: a test case for each limit.
#[must_use]
pub fn limits_junit(suite: &str, class: &str, cases: &[TestCase]) -> String {
    let failures = cases.iter().filter(|case| !case.passed).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" skipped=\"0\">\n",
        xml(suite),
        cases.len()
    );
    for case in cases {
        let sentence = xml(&case.sentence);
        let result = if case.passed {
            format!("<system-out>{sentence}</system-out>")
        } else {
            format!("<failure message=\"{sentence}\">{sentence}</failure>")
        };
        text += &format!(
            "  <testcase classname=\"{}\" name=\"{}\">{result}</testcase>\n",
            xml(class),
            xml(&case.name)
        );
    }
    text + "</testsuite>\n"
}

/// Text in an element or an attribute.
pub(crate) fn xml(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_exceeded_is_a_failure() {
        let case = |name: &str, passed| TestCase {
            name: name.to_owned(),
            passed,
            sentence: "p99 is \"2 ms\"".to_owned(),
        };
        let text = limits_junit(
            "fathom run",
            "a & b",
            &[case("p99<=1ms", false), case("mean<=9ms", true)],
        );
        assert!(text.contains("tests=\"2\" failures=\"1\" skipped=\"0\""));
        assert!(text.contains(
            "<testcase classname=\"a &amp; b\" name=\"p99&lt;=1ms\"><failure message=\"p99 is &quot;2 ms&quot;\">"
        ));
        assert_eq!(text.matches("</testcase>").count(), 2);
    }
}
