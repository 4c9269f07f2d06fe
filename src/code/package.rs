//! Packages: several modules that import each other, made into modules that one isolate runs.
//!
//! Each becomes a factory of the same form as a lone program, a file of its own so that its lines are
//! its author's, and `program.js` links them: it runs them in the order of their imports, for every
//! invocation anew, and gives the export that was asked for. `docs/sandbox.md` has the texts.
//!
//! An import is a constant that the imported module has filled before. Only what the exporting module
//! assigns to after its declaration is live: there each assignment tells the importers.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fmt::Write as _;

use oxc_allocator::Allocator;

use super::Options;
use super::edits::Map;
use super::interface::EXTENSIONS;
use super::linking::{Found, Package, Unit, name, quoted};
use super::position::Position;
use super::refusal::{Refusal, engine};

/// Modules of one package: the walk over their imports calls itself for each.
pub(super) const MOST_MODULES: usize = 256;

/// A package that can be loaded.
#[derive(Debug, Clone)]
pub struct PreparedPackage {
    /// `program.js`, and the modules it links.
    pub modules: Vec<PackageModule>,
    /// What can be invoked, by name.
    pub exports: Vec<Export>,
    /// What its author should know.
    pub warnings: Vec<String>,
}

/// One file of a package's isolate.
#[derive(Debug, Clone)]
pub struct PackageModule {
    /// Its name in the isolate, which stacks show: `program.js`, or `package/` and the path.
    pub name: String,
    /// Its text.
    pub text: String,
    pub(super) origin: Option<Origin>,
}

/// Where a module comes from; `program.js` comes from nowhere.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    pub(super) path: String,
    pub(super) source: String,
    pub(super) map: Map,
}

/// An export of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Its name; `default` for the default export.
    pub name: String,
    /// Whether it is a function, as far as the form of the text tells.
    pub is_function: bool,
}

/// A package that cannot be run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRefusal {
    /// The module; empty when it is none of them alone.
    pub path: String,
    /// What is wrong with it.
    pub refusal: Refusal,
}

impl fmt::Display for PackageRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            self.refusal.fmt(f)
        } else {
            write!(f, "{}: {}", self.path, self.refusal)
        }
    }
}

impl std::error::Error for PackageRefusal {}

impl PreparedPackage {
    /// Where a position of the isolate's module `name`, as V8's stacks give them, is in the package.
    #[must_use]
    pub fn position(&self, name: &str, line: u32, column: u32) -> Option<(&str, Position)> {
        let module = self.modules.iter().find(|module| module.name == name)?;
        let origin = module.origin.as_ref()?;
        let at = Position { line, column };
        Some((&origin.path, origin.map.position(&module.text, &origin.source, at)?))
    }

    /// The refusal behind what the platform says when it cannot load the isolate; `None` when that
    /// is no syntax error.
    #[must_use]
    pub fn refusal_from_engine(&self, message: &str) -> Option<PackageRefusal> {
        let said = engine(message)?;
        let place = said.place.as_ref().and_then(|(name, at)| {
            let module = self.modules.iter().find(|module| module.name == *name)?;
            let origin = module.origin.as_ref()?;
            let at = origin.map.source(at.offset(&module.text)?)?;
            Some((origin, at))
        });
        Some(match place {
            Some((origin, at)) => PackageRefusal {
                path: origin.path.clone(),
                refusal: Refusal::at(&origin.source, at, said.what),
            },
            None => {
                PackageRefusal { path: String::new(), refusal: Refusal::without_place(said.what) }
            }
        })
    }
}

/// Makes modules of the package whose texts are `modules`, by path.
///
/// The entry, whose exports are the package's, is the only module, or `index` or `main` at the top
/// or in `src`.
///
/// # Errors
///
/// [`PackageRefusal`] for the first module, in the order of the paths, that cannot be run; for an
/// import of something that is not there; for modules that import each other in a circle.
pub fn prepare_package(
    modules: &BTreeMap<String, String>,
    options: &Options,
) -> Result<PreparedPackage, PackageRefusal> {
    let sources = sources(modules)?;
    let allocators: Vec<Allocator> = sources.iter().map(|_| Allocator::default()).collect();
    let entry = entry(&sources)?;
    let index: HashMap<&str, usize> =
        sources.iter().enumerate().map(|(number, (path, _))| (path.as_str(), number)).collect();
    let mut units = Vec::with_capacity(sources.len());
    for (allocator, (path, source)) in allocators.iter().zip(&sources) {
        units.push(Unit::read(allocator, path, source, &index, options)?);
    }
    let package = Package::new(units, options);
    let order = package.order(entry)?;
    package.check_imports()?;

    let mut written = vec![linker(&package.units, &order, entry)];
    for (number, unit) in package.units.iter().enumerate() {
        let module = package.write(number, unit)?;
        if order.contains(&number) {
            written.push(module);
        }
    }
    let mut exports = Vec::new();
    for name in package.names(entry) {
        if let Found::Value { is_function, .. } = package.find(entry, &name) {
            exports.push(Export { name, is_function });
        }
    }
    let warnings = (0..package.units.len())
        .filter(|number| !order.contains(number))
        .filter_map(|number| package.units.get(number))
        .map(|unit| format!("{} is not imported by the entry, and never runs.", unit.path))
        .collect();
    Ok(PreparedPackage { modules: written, exports, warnings })
}

fn refuse(path: &str, what: impl fmt::Display) -> PackageRefusal {
    PackageRefusal { path: path.to_owned(), refusal: Refusal::without_place(what) }
}

/// The modules, by paths without a leading `./`.
fn sources(modules: &BTreeMap<String, String>) -> Result<Vec<(String, &str)>, PackageRefusal> {
    if modules.is_empty() {
        return Err(refuse("", "a package needs at least one module"));
    }
    if modules.len() > MOST_MODULES {
        let message =
            format!("a package has at most {MOST_MODULES} modules; this one has {}", modules.len());
        return Err(refuse("", message));
    }
    let mut sources: Vec<(String, &str)> = Vec::with_capacity(modules.len());
    for (path, source) in modules {
        let name = path.strip_prefix("./").unwrap_or(path);
        let well_formed = name.split('/').all(|part| !matches!(part, "" | "." | ".."))
            && !name.contains(['\\', '"', '\'', '?', '#', '%', ':'])
            && !name.contains(char::is_control);
        if !well_formed || !EXTENSIONS.iter().any(|extension| name.ends_with(extension)) {
            return Err(refuse(
                path,
                "a module's name is a path in the package that ends with .js, .ts, .mjs or .mts",
            ));
        }
        if sources.iter().any(|(other, _)| other == name) {
            return Err(refuse(path, "two modules have this name"));
        }
        sources.push((name.to_owned(), source.strip_prefix('\u{feff}').unwrap_or(source)));
    }
    Ok(sources)
}

/// The number of the module whose exports are the package's.
fn entry(sources: &[(String, &str)]) -> Result<usize, PackageRefusal> {
    if sources.len() == 1 {
        return Ok(0);
    }
    for stem in ["index", "main", "src/index", "src/main"] {
        for extension in EXTENSIONS {
            let name = format!("{stem}{extension}");
            if let Some(number) = sources.iter().position(|(path, _)| *path == name) {
                return Ok(number);
            }
        }
    }
    Err(refuse(
        "",
        "a package of several modules needs an entry: call it index or main (.js, .ts, .mjs or .mts)",
    ))
}

/// `program.js`: runs the modules and gives an export.
fn linker(units: &[Unit<'_>], order: &[usize], entry: usize) -> PackageModule {
    let mut text = String::new();
    let mut runs = String::new();
    for number in order {
        let Some(unit) = units.get(*number) else { continue };
        let _ = write!(text, "import f{number} from{};", quoted(&format!("./{}", name(unit.path))));
        let _ = write!(runs, "m[{number}]=await f{number}(guard,runtime,m)();");
    }
    let _ = write!(
        text,
        "\nexport default (guard,runtime)=>async(name)=>{{const m=[];{runs}\
         const value=m[{entry}].n[name??\"default\"];\
         return typeof value===\"function\"?value(runtime.params):value}}\n"
    );
    PackageModule { name: "program.js".to_owned(), text, origin: None }
}
