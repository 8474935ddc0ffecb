"""What can be seen in the source of a training script."""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Tuple, Union

from .kinds import kind_of

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]

# What a finding may cost, the worst first.
BLOCKS, COSTS, MAY_COST = "blocks", "costs", "may cost"
WEIGHTS = (BLOCKS, COSTS, MAY_COST)

# Words of which a script that does not train in float32 has one.
HALF = ("autocast", "bf16", "bfloat16", "fp16", "float16", ".half(", "Accelerator")


@dataclass(frozen=True)
class Finding:
    """A place in the source, and what is wrong with it."""

    file: str
    line: int
    weight: str
    what: str
    advice: str

    def to_json(self) -> dict:
        return asdict(self)


def scan(script: Path) -> List[Finding]:
    """The findings in a script and in the modules beside it that it imports, the worst first."""
    found: Dict[Finding, None] = {}  # a set that keeps its order
    sources: List[Source] = []
    for path in files(script):
        try:
            sources.append(Source(path))
        except (OSError, SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 0
            advice = "audit it with the Python that runs it"
            found[Finding(str(path), line, MAY_COST, f"cannot be read: {error}", advice)] = None
    functions = {name: function for source in reversed(sources) for name, function in source.own().items()}
    for source in sources:
        source.known = {**functions, **source.own()}
    for source in sources:
        found.update(dict.fromkeys(source.findings()))
    return sorted(found, key=lambda f: (WEIGHTS.index(f.weight), f.file, f.line))


def files(script: Path) -> List[Path]:
    """The script, and what it imports from its own folder, directly or not."""
    todo, seen = [script.resolve()], []
    root = script.resolve().parent
    while todo:
        path = todo.pop(0)
        if path in seen:
            continue
        seen.append(path)
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError):
            continue
        for name in imported(tree):
            base = root.joinpath(*name.split("."))
            todo += [p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()]
    return seen


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if module:
                yield module
            yield from (f"{module}.{alias.name}".lstrip(".") for alias in node.names if alias.name != "*")


class Source:
    """One file."""

    def __init__(self, path: Path):
        self.path, self.text = path, path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.known: Dict[str, Tuple[Source, Function]] = {}  # functions of all files; of two with a name this one's

    def own(self) -> Dict[str, Tuple[Source, Function]]:
        """The functions and methods of this file, by name."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return {node.name: (self, node) for node in ast.walk(self.tree) if isinstance(node, kinds)}

    def findings(self) -> Iterator[Finding]:
        yield from self.every_item()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                name = dotted(node.func).rsplit(".", 1)[-1]
                if name == "DataLoader":
                    yield from self.loader(node)
                elif name.endswith("TrainingArguments"):
                    yield from self.arguments(node)
            elif isinstance(node, ast.For) and "loader" in ast.unparse(node.iter).lower():
                yield from self.loop(node)

    def found(self, node: ast.AST, weight: str, what: str, advice: str) -> Finding:
        return Finding(str(self.path), getattr(node, "lineno", 0), weight, what, advice)

    def every_item(self) -> Iterator[Finding]:
        """Slow work that is done for every item or batch again, in every epoch."""
        for function in self.per_item():
            for source, call in self.calls(function, set()):
                kind = kind_of(ast.unparse(call)[:500])
                if kind:
                    weight = BLOCKS if kind.name == "speech" else MAY_COST if kind.name == "tokens" else COSTS
                    what = f"{kind.name} in {function.name}, for every item in every epoch: {shown(call)}"
                    yield source.found(call, weight, what, kind.advice)

    def per_item(self) -> Iterator[Function]:
        """Functions that a loader calls for every item or batch."""
        passed = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                named = [k.value for k in node.keywords if k.arg == "collate_fn"]
                if isinstance(node.func, ast.Attribute) and node.func.attr in ("set_transform", "with_transform"):
                    named += node.args[:1]
                passed |= {dotted(n).rsplit(".", 1)[-1] for n in named}
            elif isinstance(node, ast.ClassDef) and any("Dataset" in dotted(base) for base in node.bases):
                passed |= {"__getitem__", "__getitems__", "__iter__"}
            elif isinstance(node, ast.ClassDef) and "collat" in node.name.lower():
                passed.add("__call__")
        for name, (_, function) in self.own().items():
            if name in passed or name == "__getitem__" or "collate" in name:
                yield function

    def calls(self, function: Function, seen: set) -> Iterator[Tuple[Source, ast.Call]]:
        """The calls in a function, and in those of the same project that it calls."""
        seen.add(function)
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            name = dotted(node.func)
            source, called = self.known.get(name.replace("self.", "", 1), (self, None))
            if called is None:
                yield self, node
            elif called not in seen:
                yield from source.calls(called, seen)

    def loader(self, call: ast.Call) -> Iterator[Finding]:
        given = keywords(call)
        if given is None:
            return
        workers = given.get("num_workers", call.args[5] if len(call.args) > 5 else None)
        if none(workers):
            yield self.found(
                call, COSTS, "DataLoader without num_workers: every batch is made while the GPU waits",
                "num_workers=os.cpu_count() // 2, or melforge.Loader on a dataset, which needs none",
            )
        elif "persistent_workers" not in given:
            yield self.found(
                call, MAY_COST, "DataLoader without persistent_workers: every epoch starts its workers anew",
                "persistent_workers=True",
            )
        if none(given.get("pin_memory")) and "cuda" in self.text:
            yield self.found(
                call, MAY_COST, "DataLoader without pin_memory: copies to the GPU wait for one more copy",
                "pin_memory=True, and .to(device, non_blocking=True)",
            )

    def arguments(self, call: ast.Call) -> Iterator[Finding]:
        given = keywords(call)
        if given is None:
            return
        if none(given.get("dataloader_num_workers")):
            yield self.found(
                call, COSTS, "no dataloader_num_workers: every batch is made while the GPU waits",
                "dataloader_num_workers=os.cpu_count() // 2",
            )
        if none(given.get("bf16")) and none(given.get("fp16")):
            yield self.found(
                call, COSTS, "neither bf16 nor fp16: the model trains in float32",
                "bf16=True on GPUs of 2020 or later, else fp16=True",
            )

    def loop(self, loop: ast.For) -> Iterator[Finding]:
        for statement in loop.body:
            for node in always(statement):
                if isinstance(node, ast.Call) and dotted(node.func).endswith(".item") and not node.args:
                    what = f"{shown(node)} in every step: the GPU has to finish before the next step begins"
                    yield self.found(node, MAY_COST, what, "do it every so many steps")
        if "backward" in ast.unparse(loop) and not any(word in self.text for word in HALF):
            yield self.found(loop, COSTS, "the model trains in float32", 'with torch.autocast("cuda", dtype=torch.bfloat16)')


def always(node: ast.AST) -> Iterator[ast.AST]:
    """What is done whenever node is: not what comes after an if, as for a log."""
    if isinstance(node, (ast.If, ast.IfExp, ast.FunctionDef, ast.Lambda)):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from always(child)


def keywords(call: ast.Call) -> Optional[Dict[str, ast.expr]]:
    """A call's arguments by name; None where some come from elsewhere."""
    if any(k.arg is None for k in call.keywords):
        return None
    return {k.arg: k.value for k in call.keywords if k.arg}


def none(value: Optional[ast.expr]) -> bool:
    """Whether an argument is missing, or 0, False or None."""
    return value is None or isinstance(value, ast.Constant) and not value.value


def dotted(node: ast.AST) -> str:
    """A name with its dots, as far as it is one."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def shown(node: ast.AST) -> str:
    """Code on one short line."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
