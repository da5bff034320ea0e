//! The text format of Prometheus, version 0.0.4.

use std::fmt::Write;

/// The content type of the text.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
}

/// A text of metrics, in the order in which they are added.
#[derive(Debug, Default)]
pub(crate) struct Exposition(String);

impl Exposition {
    /// Adds the head of a metric. Its samples follow.
    pub(crate) fn metric(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample.
    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(text));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// Adds a metric with one sample.
    pub(crate) fn single(&mut self, name: &str, kind: Kind, help: &str, value: f64) {
        self.metric(name, kind, help);
        self.sample(name, &[], value);
    }

    /// The whole text.
    pub(crate) fn text(self) -> String {
        self.0
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('\\', r"\\").replace('"', "\\\"");
    text.replace('\n', r"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut text = Exposition::default();
        text.metric("a_total", Kind::Counter, "Things.");
        text.sample("a_total", &[("tool", "a\"b\\c\nd"), ("x", "y")], 2.0);
        text.single("b", Kind::Gauge, "Others.", 0.5);
        let expected = concat!(
            "# HELP a_total Things.\n# TYPE a_total counter\n",
            "a_total{tool=\"a\\\"b\\\\c\\nd\",x=\"y\"} 2\n",
            "# HELP b Others.\n# TYPE b gauge\nb 0.5\n",
        );
        assert_eq!(text.text(), expected);
    }
}
