//! The headers of a request.

use std::collections::BTreeMap;

/// Request headers: names in lower case, values without spaces and tabs around them.
///
/// A header that is sent twice is joined with `, `, as the Fetch API does. For a list such as
/// `Accept` that is its meaning; a routing header sent twice then equals nothing it is compared
/// with, so "the first one wins" cannot happen.
#[derive(Debug, Clone, Default)]
pub struct Headers {
    fields: BTreeMap<String, String>,
}

impl Headers {
    /// The value of `name`, which is given in lower case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }
}

impl<N: AsRef<str>, V: AsRef<str>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut fields = BTreeMap::<String, String>::new();
        for (name, value) in pairs {
            let value = value.as_ref().trim_matches([' ', '\t']);
            fields
                .entry(name.as_ref().to_ascii_lowercase())
                .and_modify(|joined| {
                    joined.push_str(", ");
                    joined.push_str(value);
                })
                .or_insert_with(|| value.to_owned());
        }
        Self { fields }
    }
}
