//! How a field is called.

use serde::{Deserialize, Serialize};

/// How a field of the query or the mutation type is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Whether it is a field of the mutation type.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mutation: bool,
    /// The field.
    pub field: String,
    /// Its arguments: name and type as GraphQL writes it, `[ID!]!`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<(String, String)>,
    /// What is selected where the caller selects nothing, without the outer braces; empty where the
    /// field is a leaf.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub selection: String,
    /// The member of the argument that selects more; `None` where the field is a leaf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub select: Option<String>,
}
