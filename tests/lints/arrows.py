"""The rooms of the code: imports point down only, and each room keeps to its own libraries."""

import ast
from collections.abc import Collection, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# From the top down; rooms on one line are one room. A module may import its own room and those below it.
FLOORS = [
    ("grammars",),  # apart: nothing else imports it, and it imports the core alone
    ("app",),
    ("pages.frame",),
    ("pages.<section>",),
    ("pages.shared", "pages.components"),
    ("pages.learn.tour.lesson_engine", "pages.learn.build.engine"),
    ("transformer_core.__main__", "headlight.__main__", "headlight.cli"),
    ("headlight",),  # __init__.py, the table of contents
    ("headlight.notebook",),
    ("headlight.figures",),
    ("headlight.viewing",),
    ("headlight.analysis",),
    ("headlight.diagnosis", "headlight.experiments"),
    ("headlight.programs",),
    ("headlight.expressions",),
    ("headlight.corpora",),
    ("headlight.language",),
    ("transformer_core.cli",),
    ("transformer_core",),  # __init__.py, the table of contents
    ("transformer_core.training",),
    ("transformer_core.decoding",),
    ("transformer_core.corpora",),
    ("transformer_core.checkpoints",),
    ("transformer_core.instrument",),
    ("transformer_core.model",),
    ("transformer_core.text",),
    (
        "transformer_core.arguments",
        "transformer_core.hooks",
        "transformer_core.cached_property",
        "transformer_core.cancellation",
        "transformer_core.checked_fields",
        "transformer_core.config_rules",
        "transformer_core.config",
        "transformer_core.devices",
        "transformer_core.errors",
        "transformer_core.main_memory",
        "transformer_core.process",
        "transformer_core.reasons",
        "transformer_core.shipped",
    ),
]
LIBRARIES = ("headlight", "transformer_core")  # without Streamlit
ENGINES = ("pages.learn.tour.lesson_engine", "pages.learn.build.engine")  # they compute, and know no Streamlit
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# These may know plotly outside figures: one serves its JavaScript, one carries finished figures to the browser.
CARRY_PLOTLY = ("pages.shared.server", "pages.components")

# Where what a person chooses lies: everything else chooses by fields.
KEEPS_THE_SESSION = "pages.shared.view."

# Below the pages only these may translate texts into the reader's language; all others raise and return messages.
SPEAK = (
    "headlight.language",
    "headlight.cli",
    "headlight.figures",
    "headlight.notebook",
)

# Names that say nothing of what is in the file.
VAGUE_STEMS = ("util", "helper", "common", "manager", "misc")


def room_of(module: str) -> str:
    """The room of a dotted module name, "" for modules that are not ours."""
    parts = module.split(".")
    for engine in ENGINES:
        if f"{module}.".startswith(f"{engine}."):
            return engine
    if parts[0] == "pages" and len(parts) > 1:
        return f"pages.{parts[1]}" if parts[1] in ("frame", "shared", "components") else "pages.<section>"
    if parts[0] in ("app", "pages", "grammars"):
        return parts[0]
    if parts[0] in LIBRARIES:
        return ".".join(parts[:2])
    return ""


def module_of(path: Path, root: Path) -> str:
    """The dotted name under which a file is imported."""
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Every imported module, as (line, dotted name); names taken from our own packages are resolved to rooms."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".")
            up = node.level - is_package
            base = ".".join(package[: len(package) - up]) if node.level else ""
            source = ".".join(part for part in (base, node.module) if part)
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield node.lineno, inner if room_of(inner) in FLOOR_OF else source


def all_files(root: Path) -> list[Path]:
    """Return the Python files of the app, its libraries and the grammars below a root."""
    rooms = ("pages", "grammars", *LIBRARIES)
    return sorted([*root.glob("app.py"), *(path for room in rooms for path in root.glob(f"{room}/**/*.py"))])


def circle(root: Path) -> list[str]:
    """Files that need each other, one after the other, also where a function imports; [] where none do."""
    modules = {module_of(path, root): path for path in all_files(root)}
    needs: dict[str, set[str]] = {}
    for module, path in modules.items():
        tree = without_types(ast.parse(path.read_text(encoding="utf-8")))
        imported = set(imported_files(tree, module, path.name == "__init__.py", modules))
        needs[module] = imported & modules.keys() - {module}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def imported_files(tree: ast.AST, module: str, is_package: bool, modules: Collection[str]) -> Iterator[str]:
    """Every imported module, by its dotted name; a package only if the name is its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".")
            base = package[: len(package) - node.level + is_package] if node.level else []
            source = ".".join(filter(None, [*base, node.module]))
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield inner if inner in modules else source


def without_types(tree: ast.Module) -> ast.Module:
    """The tree without what only the type checker reads."""

    class AtRunTime(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST:
            only_types = ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
            return ast.Pass() if only_types else self.generic_visit(node)

    return AtRunTime().visit(tree)


def runs_at_import(tree: ast.Module) -> ast.Module:
    """The tree without function bodies and without what only the type checker reads."""

    class Outermost(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
            return None

    return Outermost().visit(without_types(tree))


def faults(path: Path, root: Path) -> Iterator[str]:
    """What one file does that its room does not allow, a sentence each."""
    where = path.relative_to(root).as_posix()
    module = module_of(path, root)
    room = room_of(module)
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    imported = list(imports(tree, module, path.name == "__init__.py"))
    in_library = module.split(".")[0] in LIBRARIES
    in_cli = room in (*FLOORS[FLOOR_OF["transformer_core.cli"]], *FLOORS[FLOOR_OF["headlight.cli"]])
    is_page = room == "pages.<section>"
    may_speak = tuple(f"{name}." for name in SPEAK)

    if room not in FLOOR_OF:
        yield f"{where}: {room} is no room of the design"
        return
    if any(path.stem.startswith(stem) for stem in VAGUE_STEMS):
        yield f"{where}: name the file after what is in it"

    for line, name in imported:
        target, library = room_of(name), name.split(".")[0]
        if target and FLOOR_OF.get(target, -1) < FLOOR_OF[room]:
            yield f"{where}:{line}: {room} imports {name}, which lies above it"
        if room == "grammars" and target and not target.startswith(("grammars", "transformer_core")):
            yield f"{where}:{line}: grammars imports the core alone"
        if in_library and target == "headlight.language" and not f"{module}.".startswith(may_speak):
            yield f"{where}:{line}: {room} knows no reader; give a Message, which a page says"
        if (in_library or room in ENGINES) and library == "streamlit":
            yield f"{where}:{line}: streamlit stops above headlight, transformer_core and the engines"
        if library == "plotly" and room != "headlight.figures" and module not in CARRY_PLOTLY:
            yield f"{where}:{line}: plotly belongs in headlight/figures"
        if library == "torch" and room == "headlight.figures":
            yield f"{where}:{line}: figures take numpy arrays, not tensors"
        if library == "torch" and is_page:
            yield f"{where}:{line}: a page does no tensor arithmetic"
    if in_library and not in_cli:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                yield f"{where}:{node.lineno}: only the command line prints"
    if room.startswith("pages.") and not f"{module}.".startswith(KEEPS_THE_SESSION):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "session_state":
                yield f"{where}:{node.lineno}: what a person chooses is a Field or Kept"
    if not in_library and room not in ENGINES:
        for line, name in imports(runs_at_import(ast.parse(source)), module, path.name == "__init__.py"):
            if name.split(".")[0] in ("torch", "transformers"):
                yield f"{where}:{line}: {name} loads for seconds; import it where it is first needed"


def all_faults(root: Path) -> list[str]:
    """Every fault in app.py, pages/, headlight/ and transformer_core/ below a root."""
    return [fault for path in all_files(root) for fault in faults(path, root)]


def little_shared(root: Path) -> set[str]:
    """The modules of pages/shared that fewer than three pages use, and nothing that all pages use either."""
    users: dict[str, set[str]] = {module_of(path, root): set() for path in root.glob("pages/shared/*.py")}
    for path in [*root.glob("app.py"), *root.glob("pages/**/*.py")]:
        module, tree = module_of(path, root), ast.parse(path.read_text(encoding="utf-8"))
        is_of_page = room_of(module) == "pages.<section>"
        user = ".".join(module.split(".")[:3]) if is_of_page else "all"
        for _, name in imports(tree, module, path.name == "__init__.py"):
            if (of := ".".join(name.split(".")[:3])) in users and of != module:
                users[of].add(user)
    return {module for module, of in users.items() if "all" not in of and len(of) < 3}


def problems(root: Path = ROOT) -> Iterator[str]:
    """Yield all that the files of the app and its libraries below a root do against the design."""
    yield from all_faults(root)
    yield from (
        f"{module}: fewer than three pages use it; it belongs to them" for module in sorted(little_shared(root))
    )
    if modules := circle(root):
        yield f"files that import each other: {' -> '.join(modules)}"
    for path in root.glob("pages/*.py"):  # beside other files there, Streamlit falls back to pages without the frame
        if path.name not in ("__init__.py", "frame.py"):
            yield f"pages/{path.name}: pages lie in the folder of their section"
