//! The codec's host side (placeholder until the harness branch lands).

/// plain
pub fn plain(tagged: &str) -> Result<(String, Vec<String>), String> {
    Ok((tagged.to_owned(), Vec::new()))
}
/// bytes
pub fn bytes(_bytes: &[u8]) -> serde_json::Value {
    serde_json::Value::Null
}
/// as bytes
pub fn as_bytes(_value: &serde_json::Value) -> Option<Vec<u8>> {
    None
}

/// tagged
pub fn tagged(plain: &str) -> Result<String, String> {
    let value: serde_json::Value = serde_json::from_str(plain).map_err(|e| e.to_string())?;
    Ok(value.to_string())
}
