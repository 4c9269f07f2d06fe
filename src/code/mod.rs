//! From what an agent wrote to a module that the sandbox can run.
//!
//! [`prepare`] finds the program in the text, parses it, erases its types, gives it the form that
//! `docs/sandbox.md` describes and puts the guard into it. All of it is edits to the author's own
//! text ([`edits`]): no line moves, and every position leads back. Nothing is loaded or run here.

mod counting;
mod edits;
mod erase;
mod form;
mod guard;
mod interface;
mod linking;
mod live;
mod names;
mod nesting;
mod package;
mod position;
mod recover;
mod refusal;
mod result;
mod scan;
mod spine;
mod survey;

use oxc_allocator::Allocator;

use edits::{Edits, Map};
use erase::Erase;
use form::Context;
use guard::{Guard, Texts};
use names::Names;
pub use package::{Export, PackageModule, PackageRefusal, PreparedPackage, prepare_package};
pub use position::Position;
pub use refusal::Refusal;
use refusal::engine;
use survey::{Faults, Survey};

/// How to prepare a program.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Whether to put in the guard, which ends what runs for ever where the platform does not.
    pub guard: bool,
    /// The names that the runtime has: all of them are visible to the program without an import.
    pub ambient: &'a [&'a str],
}

/// A program that can be loaded.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The text of `program.js`.
    pub module: String,
    /// What its author should know.
    pub warnings: Vec<String>,
    source: String,
    map: Map,
}

/// Makes a module of the program in `source`.
///
/// # Errors
///
/// [`Refusal`] when the text holds no program, or one that no sandbox runs.
pub fn prepare(source: &str, options: &Options) -> Result<Prepared, Refusal> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let allocator = Allocator::default();
    let recovered = recover::recover(&allocator, source)?;
    let text = recovered.text;
    let names = Names::fresh(text);
    let texts = Texts::new(&names);
    let mut edits = Edits::default();
    let Survey { mut faults, calls, .. } = recovered.survey;

    let mut context =
        Context { names: &names, ambient: options.ambient, edits: &mut edits, faults: &mut faults };
    let form = context.form(&recovered.tree);
    faults.check(source)?;
    let mut faults = Faults::default();
    recovered.tree.visit(&mut Erase::new(text, &mut edits, &mut faults));
    if options.guard {
        recovered.tree.visit(&mut Guard::new(text, &mut edits, &texts, &calls));
    }
    faults.check(source)?;

    let before = opening(&names, options, None) + &form.before;
    // The line end ends a comment that the program may end with.
    let after = format!("\n{}}}}}", form.after);
    let (module, map) = edits.apply(text, &before, &after);
    Ok(Prepared { module, warnings: form.warnings, source: source.to_owned(), map })
}

/// Where the program in `source` returns a function, as far as that can be seen without running it:
/// such a result is refused when the program ends, however long it took. `None` also for a text that
/// is refused as a whole.
#[must_use]
pub fn returned_function(source: &str) -> Option<Position> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let allocator = Allocator::default();
    let recovered = recover::recover(&allocator, source).ok()?;
    let at = result::returned_function(&recovered.tree)?;
    Some(Position::of(source, at))
}

/// What stands before a text, on its first line. `modules` is a third parameter.
fn opening(names: &Names, options: &Options, modules: Option<&str>) -> String {
    let (guard, parameter, runtime) = (names.guard(), names.guard_parameter(), names.runtime());
    // A constant: V8 reads it faster than a parameter.
    let guard = if options.guard { format!("const {guard}={parameter};") } else { String::new() };
    let ambient = if options.ambient.is_empty() {
        String::new()
    } else {
        format!("const {{{}}}={runtime};", options.ambient.join(","))
    };
    let modules = modules.map(|modules| format!(",{modules}")).unwrap_or_default();
    format!("export default ({parameter},{runtime}{modules})=>{{{guard}{ambient}return async()=>{{")
}

impl Prepared {
    /// Where a position of `program.js`, as V8's stacks give them, is in the text as it was sent.
    ///
    /// `None` for what stands before or after the program.
    #[must_use]
    pub fn position(&self, line: u32, column: u32) -> Option<Position> {
        self.map.position(&self.module, &self.source, Position { line, column })
    }

    /// The refusal behind what the platform says when it cannot load the module, at its place in
    /// the author's text; `None` when that is no syntax error.
    ///
    /// The parser leaves some errors to the engine, such as a name that is declared twice.
    #[must_use]
    pub fn refusal_from_engine(&self, message: &str) -> Option<Refusal> {
        let said = engine(message)?;
        let place = said.place.and_then(|(_, at)| self.map.source(at.offset(&self.module)?));
        Some(match place {
            Some(at) => Refusal::at(&self.source, at, said.what),
            None => Refusal::without_place(said.what),
        })
    }
}
