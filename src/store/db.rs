//! The database: prepared statements, one transaction a batch, errors without JavaScript.

use crate::error::{Code, Fault};
use crate::platform::d1::{Answer, Database, Prepared};
use crate::platform::thrown::Thrown;
use serde_json::{Map, Value};
use wasm_bindgen::JsValue;

/// The database could not be read or written. The text is for the log, never for an answer.
#[derive(Debug, Clone)]
pub struct StoreError(pub String);

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let message = "The database could not be read or written; nothing was run.";
        Self::new(Code::StorageUnavailable, message).caused_by(error.0)
    }
}

impl From<Thrown> for StoreError {
    fn from(thrown: Thrown) -> Self {
        Self(thrown.message)
    }
}

/// A value bound to a statement.
#[derive(Debug, Clone)]
pub enum Param {
    /// TEXT.
    Text(String),
    /// INTEGER, up to 2⁵³.
    Int(u64),
    /// NULL.
    Null,
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Param {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Param {
    fn from(number: u64) -> Self {
        Self::Int(number)
    }
}

impl<T: Into<Self>> From<Option<T>> for Param {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A statement with its values, not yet sent.
#[derive(Debug, Clone)]
pub struct Statement {
    sql: &'static str,
    params: Vec<Param>,
}

/// Makes a statement: `sql!("DELETE FROM t WHERE id = ?1", id)`.
#[macro_export]
macro_rules! sql {
    ($sql:expr $(, $param:expr)* $(,)?) => {
        $crate::store::db::Statement::new($sql, vec![$($crate::store::db::Param::from($param)),*])
    };
}

/// A row that is read: its columns by name.
#[derive(Debug)]
pub struct Row(Map<String, Value>);

impl Row {
    /// Takes a column out.
    ///
    /// # Errors
    ///
    /// When it is not there, or of another type.
    pub fn take<T: Column>(&mut self, name: &'static str) -> Result<T, StoreError> {
        let value = self.0.get_mut(name).map(Value::take);
        value.and_then(T::of).ok_or_else(|| StoreError(format!("the column {name}")))
    }
}

/// A type that a column is read into.
pub trait Column: Sized {
    /// The value, if it is of the type.
    fn of(value: Value) -> Option<Self>;
}

impl Column for String {
    fn of(value: Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }
}

impl Column for u64 {
    fn of(value: Value) -> Option<Self> {
        value.as_u64()
    }
}

impl Column for u32 {
    fn of(value: Value) -> Option<Self> {
        value.as_u64().and_then(|number| number.try_into().ok())
    }
}

impl<T: Column> Column for Option<T> {
    fn of(value: Value) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::of(value).map(Some) }
    }
}

/// A type that a row is read into; [`row!`](crate::row) makes it. Not serde's: it makes a reader for each
/// type, and that was two thirds of the code of `store/`.
pub trait FromRow: Sized {
    /// Reads the row.
    ///
    /// # Errors
    ///
    /// When a column is not there, or of another type.
    fn from_row(row: &mut Row) -> Result<Self, StoreError>;
}

/// Declares the type of a row: each field is the column of its name.
#[macro_export]
macro_rules! row {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$of_field:meta])* $of:vis $field:ident: $type:ty),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name {
            $($(#[$of_field])* $of $field: $type),*
        }

        impl $crate::store::db::FromRow for $name {
            fn from_row(
                row: &mut $crate::store::db::Row,
            ) -> Result<Self, $crate::store::db::StoreError> {
                Ok(Self { $($field: row.take(stringify!($field))?),* })
            }
        }
    };
}

impl Statement {
    /// A statement of ours with its values in order.
    #[must_use]
    pub const fn new(sql: &'static str, params: Vec<Param>) -> Self {
        Self { sql, params }
    }

    /// Bytes of text that it carries: the most a batch may weigh is bounded by it.
    #[must_use]
    pub fn weight(&self) -> usize {
        let text = |param: &Param| match param {
            Param::Text(text) => text.len(),
            Param::Int(_) | Param::Null => 8,
        };
        self.params.iter().map(text).fold(self.sql.len(), usize::saturating_add)
    }
}

/// The largest value that a row may hold here. D1 refuses a row over 2,000,000 bytes, and only in
/// production; a row of ours holds one large value and little besides.
const MAX_VALUE_BYTES: usize = 1_900_000;

/// The binding `DB`.
#[derive(Debug)]
pub struct Db {
    database: Database,
}

/// The rows of one statement of a batch, not read yet.
#[derive(Debug)]
pub struct Rows(Answer);

impl Rows {
    /// How many rows the statement changed.
    ///
    /// # Errors
    ///
    /// When the answer is of another form.
    pub fn changes(&self) -> Result<u64, StoreError> {
        changes(&self.0)
    }

    /// Reads them.
    ///
    /// # Errors
    ///
    /// When a row is not of the form `T`.
    pub fn read<T: FromRow>(&self) -> Result<Vec<T>, StoreError> {
        rows(&self.0)?.into_iter().map(|columns| T::from_row(&mut Row(columns))).collect()
    }
}

impl Db {
    /// The database of this deployment.
    ///
    /// # Errors
    ///
    /// `configuration_invalid` when there is no binding `DB`.
    pub fn of(env: &worker::Env) -> Result<Self, Fault> {
        let database = Database::of(env).map_err(|_| {
            Fault::new(Code::ConfigurationInvalid, "DB: the binding of the D1 database is missing.")
        })?;
        Ok(Self { database })
    }

    /// Runs one statement; how many rows it changed.
    ///
    /// # Errors
    ///
    /// When D1 refuses it or cannot be reached.
    pub async fn run(&self, statement: &Statement) -> Result<u64, StoreError> {
        changes(&self.prepare(statement)?.all().await?)
    }

    /// Runs statements in one transaction; how many rows each changed.
    ///
    /// # Errors
    ///
    /// When one fails; then none has had an effect.
    pub async fn batch(&self, statements: &[Statement]) -> Result<Vec<u64>, StoreError> {
        self.ask(statements).await?.iter().map(Rows::changes).collect()
    }

    /// Runs statements in one transaction; what each answered.
    ///
    /// # Errors
    ///
    /// As [`Db::batch`].
    pub async fn ask(&self, statements: &[Statement]) -> Result<Vec<Rows>, StoreError> {
        let prepared = statements.iter().map(|statement| self.prepare(statement));
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        let answers = self.database.batch(&prepared).await?;
        Ok(answers.into_iter().map(Rows).collect())
    }

    /// The first row, if there is one.
    ///
    /// # Errors
    ///
    /// When D1 refuses it, or the row is not of the form `T`.
    pub async fn first<T: FromRow>(&self, statement: &Statement) -> Result<Option<T>, StoreError> {
        Ok(self.all(statement).await?.into_iter().next())
    }

    /// All rows. The statement bounds their number.
    ///
    /// # Errors
    ///
    /// As [`Db::first`].
    pub async fn all<T: FromRow>(&self, statement: &Statement) -> Result<Vec<T>, StoreError> {
        Rows(self.prepare(statement)?.all().await?).read()
    }

    fn prepare(&self, statement: &Statement) -> Result<Prepared, StoreError> {
        let values: Vec<JsValue> = statement.params.iter().map(to_js).collect::<Result<_, _>>()?;
        Ok(self.database.prepare(statement.sql, values.into_iter())?)
    }
}

fn rows(answer: &Answer) -> Result<Vec<Map<String, Value>>, StoreError> {
    serde_json::from_str(&answer.rows()?).map_err(|error| StoreError(format!("the rows: {error}")))
}

fn to_js(param: &Param) -> Result<JsValue, StoreError> {
    match param {
        Param::Text(text) if text.len() > MAX_VALUE_BYTES => {
            Err(StoreError(format!("a value of {} bytes does not fit a row", text.len())))
        }
        Param::Text(text) => Ok(JsValue::from_str(text)),
        Param::Int(number) => {
            #[expect(
                clippy::as_conversions,
                clippy::cast_precision_loss,
                reason = "times and counts are below 2^53; D1 takes numbers as doubles only"
            )]
            let number = *number as f64;
            Ok(JsValue::from_f64(number))
        }
        Param::Null => Ok(JsValue::NULL),
    }
}

#[expect(
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of rows"
)]
fn changes(answer: &Answer) -> Result<u64, StoreError> {
    Ok(answer.changes()? as u64)
}

#[cfg(test)]
mod tests {
    //! What a row is read into.

    use super::*;

    row! {
        /// One of each type.
        #[derive(Debug, PartialEq)]
        struct Each {
            text: String,
            number: u64,
            small: u32,
            perhaps: Option<String>,
        }
    }

    fn read(text: &str) -> Result<Each, String> {
        let columns = serde_json::from_str(text).unwrap();
        Each::from_row(&mut Row(columns)).map_err(|error| error.0)
    }

    #[test]
    fn a_row_is_read_by_the_names_of_its_columns() {
        let row = r#"{"small":7,"text":"a","number":9007199254740991,"perhaps":null,"more":1}"#;
        let (text, number) = ("a".to_owned(), 9_007_199_254_740_991);
        assert_eq!(read(row), Ok(Each { text, number, small: 7, perhaps: None }));
    }

    #[test]
    fn a_column_that_is_missing_or_of_another_type_is_named() {
        for (row, named) in [
            (r#"{"number":1,"small":1,"perhaps":null}"#, "text"),
            (r#"{"text":null,"number":1,"small":1,"perhaps":null}"#, "text"),
            (r#"{"text":"a","number":-1,"small":1,"perhaps":null}"#, "number"),
            (r#"{"text":"a","number":1,"small":4294967296,"perhaps":null}"#, "small"),
            (r#"{"text":"a","number":1,"small":1}"#, "perhaps"),
            (r#"{"text":"a","number":1,"small":1,"perhaps":2}"#, "perhaps"),
        ] {
            assert_eq!(read(row), Err(format!("the column {named}")), "{row}");
        }
    }
}
