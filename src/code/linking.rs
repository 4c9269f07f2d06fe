//! Links the modules of a package: what each name leads to, in which order they run, their texts.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;

use oxc_allocator::Allocator;

use super::edits::{Edits, offset};
use super::erase::Erase;
use super::form::Context;
use super::guard::{Guard, Texts};
use super::interface::{Edge, Interface, Provider, Reader, Target};
use super::live::Live;
use super::names::Names;
use super::package::{MOST_MODULES, Origin, PackageModule, PackageRefusal};
use super::recover::{self, Tree};
use super::refusal::Refusal;
use super::survey::{Faults, Survey};
use super::{Options, opening};

/// What a name of a module leads to.
#[derive(Debug, Clone)]
pub(super) enum Found {
    Value {
        /// Reads it in any module.
        access: Access,
        is_function: bool,
    },
    Type,
    Missing,
    /// Two `export *` give the name different meanings.
    Ambiguous,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Access {
    Export { module: usize, name: String, live: bool },
    Namespace(usize),
    Runtime(String),
    RuntimeNamespace,
}

/// A module of the package, read.
pub(super) struct Unit<'a> {
    pub(super) path: &'a str,
    source: &'a str,
    tree: Tree<'a>,
    survey: Survey<'a>,
    interface: Interface,
    names: Names,
}

impl<'a> Unit<'a> {
    pub(super) fn read(
        allocator: &'a Allocator,
        path: &'a str,
        source: &'a str,
        index: &HashMap<&str, usize>,
        options: &Options,
    ) -> Result<Self, PackageRefusal> {
        let refuse = |refusal| PackageRefusal { path: path.to_owned(), refusal };
        let recovered = recover::module(allocator, source).map_err(refuse)?;
        let (tree, mut survey) = (recovered.tree, recovered.survey);
        let names = Names::fresh(source);
        let mut faults = std::mem::take(&mut survey.faults);
        let interface = match &tree {
            Tree::Program(program) => Reader {
                path,
                index,
                ambient: options.ambient,
                faults: &mut faults,
                survey: &survey,
                names: &names,
            }
            .read(program),
            Tree::Expression(_) => Interface::default(),
        };
        faults.check(source).map_err(refuse)?;
        Ok(Self { path, source, tree, survey, interface, names })
    }

    fn refuse(&self, at: u32, what: impl std::fmt::Display) -> PackageRefusal {
        PackageRefusal {
            path: self.path.to_owned(),
            refusal: Refusal::at(self.source, offset(at), what),
        }
    }

    /// Bindings that are assigned to after their declaration, under the names they are exported by.
    fn live(&self) -> Vec<(&str, &str)> {
        let exports = self.interface.exports.iter();
        exports
            .filter_map(|(name, target)| match target {
                Target::Local { expression, assigned: true, .. } => {
                    Some((name.as_str(), expression.as_str()))
                }
                _ => None,
            })
            .collect()
    }
}

/// Names that all modules of a package may export together, `export *` counted in each: a getter of
/// some 60 bytes for each is 2.4 MB of text. 256 modules in a chain that pass on one name each have 32,896.
const MOST_EXPORTS: usize = 40_000;

/// The modules of a package, and what their names lead to.
pub(super) struct Package<'a, 'o> {
    pub(super) units: Vec<Unit<'a>>,
    options: &'o Options<'o>,
    /// What was found before: modules that pass each other's names on have many ways to one.
    found: RefCell<HashMap<(usize, String), Found>>,
}

impl<'a, 'o> Package<'a, 'o> {
    pub(super) fn new(units: Vec<Unit<'a>>, options: &'o Options<'o>) -> Self {
        Self { units, options, found: RefCell::default() }
    }

    /// What `name` leads to in a module.
    pub(super) fn find(&self, module: usize, name: &str) -> Found {
        self.find_within(module, name, 0)
    }

    /// The same, `hops` from where the name was asked for: without circles no more than there are modules.
    fn find_within(&self, module: usize, name: &str, hops: usize) -> Found {
        let Some(unit) = self.units.get(module).filter(|_| hops <= MOST_MODULES) else {
            return Found::Missing;
        };
        let key = (module, name.to_owned());
        if let Some(found) = self.found.borrow().get(&key) {
            return found.clone();
        }
        // What leads back to itself is not there.
        self.found.borrow_mut().insert(key.clone(), Found::Missing);
        let next = hops.saturating_add(1);
        let constant = |access| Found::Value { access, is_function: false };
        let found = match unit.interface.exports.get(name) {
            Some(Target::Local { is_function, assigned, .. }) => Found::Value {
                access: Access::Export { module, name: name.to_owned(), live: *assigned },
                is_function: *is_function,
            },
            Some(Target::Other { from: Provider::Module(module), name }) => {
                self.find_within(*module, name, next)
            }
            Some(Target::Other { from: Provider::Runtime, name }) => {
                constant(Access::Runtime(name.clone()))
            }
            Some(Target::Namespace(Provider::Module(module))) => {
                constant(Access::Namespace(*module))
            }
            Some(Target::Namespace(Provider::Runtime)) => constant(Access::RuntimeNamespace),
            Some(Target::Type) => Found::Type,
            None if name == "default" => Found::Missing,
            None => self.find_star(unit, name, next),
        };
        self.found.borrow_mut().insert(key, found.clone());
        found
    }

    fn find_star(&self, unit: &Unit<'_>, name: &str, hops: usize) -> Found {
        let mut first: Option<(Access, bool)> = None;
        let mut is_type = false;
        for from in &unit.interface.stars {
            let found = match from {
                Provider::Module(module) => self.find_within(*module, name, hops),
                Provider::Runtime if self.options.ambient.contains(&name) => {
                    Found::Value { access: Access::Runtime(name.to_owned()), is_function: false }
                }
                Provider::Runtime => Found::Missing,
            };
            match found {
                Found::Value { access, is_function } => match &first {
                    Some((other, _)) if *other != access => return Found::Ambiguous,
                    _ => first = Some((access, is_function)),
                },
                Found::Ambiguous => return Found::Ambiguous,
                Found::Type => is_type = true,
                Found::Missing => {}
            }
        }
        match first {
            Some((access, is_function)) => Found::Value { access, is_function },
            None if is_type => Found::Type,
            None => Found::Missing,
        }
    }

    /// All names that a module may export.
    pub(super) fn names(&self, module: usize) -> BTreeSet<String> {
        self.names_but(module, &mut HashSet::new())
    }

    fn names_but(&self, module: usize, seen: &mut HashSet<usize>) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let Some(unit) = self.units.get(module).filter(|_| seen.insert(module)) else {
            return names;
        };
        names.extend(unit.interface.exports.keys().cloned());
        for from in &unit.interface.stars {
            match from {
                Provider::Module(module) => {
                    let mut others = self.names_but(*module, seen);
                    others.remove("default");
                    names.append(&mut others);
                }
                Provider::Runtime => {
                    names.extend(self.options.ambient.iter().map(|&name| name.to_owned()));
                }
            }
        }
        names
    }

    /// Refuses imports of what is not there.
    pub(super) fn check_imports(&self) -> Result<(), PackageRefusal> {
        let exports: usize = (0..self.units.len()).map(|number| self.names(number).len()).sum();
        if exports > MOST_EXPORTS {
            let refusal = Refusal::without_place(format!(
                "the modules export {exports} names, those they pass on counted again; {MOST_EXPORTS} is the most"
            ));
            return Err(PackageRefusal { path: String::new(), refusal });
        }
        for unit in &self.units {
            let imports = unit.interface.imports.iter().filter_map(|import| {
                match (import.from, &import.name) {
                    (Provider::Module(module), Some(name)) => Some((module, name, import.at)),
                    _ => None,
                }
            });
            let exports =
                unit.interface.exports.iter().filter_map(|(exported, target)| match target {
                    Target::Other { from: Provider::Module(module), name } => Some((
                        *module,
                        name,
                        unit.interface.places.get(exported).copied().unwrap_or(0),
                    )),
                    _ => None,
                });
            let mut asked: Vec<_> = imports.chain(exports).collect();
            asked.sort_by_key(|(_, _, at)| *at);
            for (module, name, at) in asked {
                let path = self.units.get(module).map_or("", |unit| unit.path);
                match self.find(module, name) {
                    Found::Value { .. } | Found::Type => {}
                    Found::Ambiguous => {
                        return Err(unit.refuse(
                            at,
                            format!("import of `{name}`: \"{path}\" has it from two modules"),
                        ));
                    }
                    Found::Missing => {
                        let has: Vec<String> = self.names(module).into_iter().collect();
                        let has =
                            if has.is_empty() { "nothing".to_owned() } else { has.join(", ") };
                        return Err(unit.refuse(
                            at,
                            format!("import of `{name}`: \"{path}\" has no such export; it exports {has}"),
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// The modules that an edge leads to when the program runs.
    fn runs(&self, edge: &Edge) -> bool {
        edge.names.is_empty()
            || edge
                .names
                .iter()
                .any(|name| name.is_empty() || !matches!(self.find(edge.module, name), Found::Type))
    }

    /// The modules that the entry needs, each after those it imports. Circles are refused among all.
    pub(super) fn order(&self, entry: usize) -> Result<Vec<usize>, PackageRefusal> {
        let mut order = Vec::new();
        let mut state = vec![Visit::New; self.units.len()];
        self.visit(entry, &mut state, &mut Vec::new(), &mut order)?;
        let needed = order.clone();
        for number in 0..self.units.len() {
            self.visit(number, &mut state, &mut Vec::new(), &mut order)?;
        }
        Ok(needed)
    }

    fn visit(
        &self,
        number: usize,
        state: &mut Vec<Visit>,
        path: &mut Vec<usize>,
        order: &mut Vec<usize>,
    ) -> Result<(), PackageRefusal> {
        let (Some(unit), Some(Visit::New)) = (self.units.get(number), state.get(number).copied())
        else {
            return Ok(());
        };
        if let Some(state) = state.get_mut(number) {
            *state = Visit::Open;
        }
        path.push(number);
        for edge in unit.interface.edges.iter().filter(|edge| self.runs(edge)) {
            if state.get(edge.module) == Some(&Visit::Open) {
                let circle = path.iter().skip_while(|at| **at != edge.module).chain([&edge.module]);
                let names: Vec<&str> =
                    circle.filter_map(|at| self.units.get(*at)).map(|unit| unit.path).collect();
                return Err(unit.refuse(
                    edge.at,
                    format!(
                        "import in a circle: {}; move what both need into a module of its own",
                        names.join(" → ")
                    ),
                ));
            }
            self.visit(edge.module, state, path, order)?;
        }
        path.pop();
        if let Some(state) = state.get_mut(number) {
            *state = Visit::Done;
        }
        order.push(number);
        Ok(())
    }

    /// Reads what a name stands for, inside of the module of `names`.
    fn read(names: &Names, access: &Access) -> String {
        let (modules, runtime) = (names.modules(), names.runtime());
        match access {
            Access::Export { module, name, .. } => {
                format!("{modules}[{module}].n[{}]", quoted(name))
            }
            Access::Namespace(module) => format!("{modules}[{module}].n"),
            Access::Runtime(name) => format!("{runtime}.{name}"),
            Access::RuntimeNamespace => format!("{{__proto__:null,...{runtime}}}"),
        }
    }

    /// The constants that a module's imports become.
    fn bindings(&self, unit: &Unit<'_>) -> String {
        let names = &unit.names;
        let mut out = String::new();
        for import in &unit.interface.imports {
            let access = match (import.from, &import.name) {
                (Provider::Runtime, Some(name)) => Access::Runtime(name.clone()),
                (Provider::Runtime, None) => Access::RuntimeNamespace,
                (Provider::Module(module), None) => Access::Namespace(module),
                (Provider::Module(module), Some(name)) => match self.find(module, name) {
                    Found::Value { access, .. } => access,
                    _ => continue,
                },
            };
            let (local, read) = (&import.local, Self::read(names, &access));
            if let Access::Export { module, name, live: true } = &access {
                let (modules, value) = (names.modules(), names.value());
                let _ = write!(
                    out,
                    "let {local}={read};{modules}[{module}].s[{}].push({value}=>{{{local}={value}}});",
                    quoted(name)
                );
            } else {
                let _ = write!(out, "const {local}={read};");
            }
        }
        out
    }

    /// Makes the text of module `number`, which is `unit`.
    pub(super) fn write(
        &self,
        number: usize,
        unit: &Unit<'a>,
    ) -> Result<PackageModule, PackageRefusal> {
        let names = &unit.names;
        let texts = Texts::new(names);
        let mut faults = Faults::default();
        let mut edits = Edits::default();
        if let Tree::Program(program) = &unit.tree {
            let mut context = Context {
                names,
                ambient: self.options.ambient,
                edits: &mut edits,
                faults: &mut faults,
            };
            context.module(program);
        }
        let live = unit.live();
        let (told, tell, value) = (names.told(), names.tell(), names.value());
        if !live.is_empty() {
            let locals = live.iter().map(|(_, local)| *local).collect();
            unit.tree.visit(&mut Live::new(&mut edits, locals, &tell));
        }
        unit.tree.visit(&mut Erase::new(unit.source, &mut edits, &mut faults));
        if self.options.guard {
            unit.tree.visit(&mut Guard::new(unit.source, &mut edits, &texts, &unit.survey.calls));
        }
        faults
            .check(unit.source)
            .map_err(|refusal| PackageRefusal { path: unit.path.to_owned(), refusal })?;

        let mut before = opening(names, self.options, Some(&names.modules()));
        before.push_str(&self.bindings(unit));
        let mut setters = "undefined".to_owned();
        if !live.is_empty() {
            let each = names.each();
            let lists: Vec<String> =
                live.iter().map(|(name, _)| format!("[{}]:[]", quoted(name))).collect();
            let _ = write!(
                before,
                "const {told}={{__proto__:null,{}}},{tell}={value}=>{{",
                lists.join(",")
            );
            for (name, local) in &live {
                let _ =
                    write!(before, "for(const {each} of {told}[{}]){each}({local});", quoted(name));
            }
            let _ = write!(before, "return {value}}};");
            setters = told;
        }
        let mut getters = String::new();
        for name in self.names(number) {
            let read = match (unit.interface.exports.get(&name), self.find(number, &name)) {
                (Some(Target::Local { expression, .. }), _) => expression.clone(),
                (_, Found::Value { access, .. }) => Self::read(names, &access),
                _ => continue,
            };
            let _ = write!(getters, ",get {}(){{return {read}}}", quoted(&name));
        }
        let after = format!("\nreturn{{n:{{__proto__:null{getters}}},s:{setters}}}}}}}");
        let (text, map) = edits.apply(unit.source, &before, &after);
        let origin = Origin { path: unit.path.to_owned(), source: unit.source.to_owned(), map };
        Ok(PackageModule { name: name(unit.path), text, origin: Some(origin) })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// What a module is called in the isolate. The platform takes text under names in `.js` only.
pub(super) fn name(path: &str) -> String {
    let suffix = if path.strip_suffix(".js").is_some() { "" } else { ".js" };
    format!("package/{path}{suffix}")
}

/// A name as text of JavaScript.
pub(super) fn quoted(name: &str) -> String {
    // What JSON escapes, JavaScript reads the same.
    serde_json::Value::from(name).to_string()
}
