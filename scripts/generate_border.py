"""Write the Python types of what crosses between Rust and Python, from the compiled model's own schema.

    crates/py/src/border.rs --schema--> python/cxlab/border.py    results: frozen structs; jobs: dictionaries
                                        python/cxlab/_model.pyi   the functions of the compiled module

``--check`` writes nothing and fails where a file is not what it would write.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cxlab import _model

ROOT = Path(__file__).resolve().parent.parent
BORDER = ROOT / "python" / "cxlab" / "border.py"
STUB = ROOT / "python" / "cxlab" / "_model.pyi"
WIDTH = 110
SCALARS = {"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}
#: Names of structs that a union holds without a name of their own, by the union.
UNNAMED = {"StatisticValue": "StatisticDistribution"}

Schema = Mapping[str, Any]


class Types:
    """The definitions of one direction, written as they are met."""

    def __init__(self, definitions: Schema, base: str) -> None:
        """Take the definitions; ``base`` is what their classes inherit."""
        self.definitions, self.base = definitions, base

    def written(self) -> Iterator[str]:
        """A class or an alias for each definition, by name."""
        for name in sorted(self.definitions):
            yield from self._definition(name, self.definitions[name])

    def _definition(self, name: str, schema: Schema) -> Iterator[str]:
        variants = schema.get("oneOf") or schema.get("anyOf")
        if "properties" in schema:
            yield self._class(name, schema)
        elif variants and all(_constant(variant) for variant in variants):
            yield self._alias(name, _literal([c for v in variants for c in _constant(v)]), schema)
        elif variants:
            members = []
            for variant in variants:
                if "properties" in variant:
                    member = UNNAMED.get(name) or name + _camel(next(iter(variant["properties"])))
                    yield from self._with_its_fields(member, variant)
                    members.append(member)
                else:
                    members.append(self.type(variant))
            yield self._alias(name, _union(members), schema)
        else:
            yield self._alias(name, self.type(schema), schema)

    def _with_its_fields(self, name: str, schema: Schema) -> Iterator[str]:
        """A class, after the classes of those of its fields that are structs without a name."""
        properties = {}
        for field, inner in schema["properties"].items():
            if not isinstance(inner, bool) and inner.get("properties"):
                own = f"{name}Fields"
                yield self._class(own, {**inner, "description": f"Fields of {field}."})
                properties[field] = {"$ref": own}
            else:
                properties[field] = inner
        yield self._class(name, {**schema, "properties": properties})

    def _alias(self, name: str, value: str, schema: Schema) -> str:
        told = _sentence(schema, name) if "description" in schema else ""
        about = "".join(f"#: {line}\n" for line in told.splitlines())
        return f"{about}{name}: TypeAlias = {value}\n"

    def _class(self, name: str, schema: Schema) -> str:
        required = set(schema.get("required", ()))
        # A field with a default must follow all without.
        fields = sorted(schema["properties"].items(), key=lambda item: item[0] not in required)
        lines = [f"class {name}({self.base}):", f'    """{_sentence(schema, name)}"""', ""]
        for field, inner in fields if self.base.startswith("Struct") else schema["properties"].items():
            about = "" if isinstance(inner, bool) else _as_python(inner.get("description", ""))
            lines += [f"    #: {line}" for line in textwrap.wrap(about, WIDTH - 8)]
            lines.append(f"    {field}: {self._field(inner, field in required)}")
        return "\n".join(lines).rstrip() + "\n"

    def _field(self, schema: Schema | bool, required: bool) -> str:
        written = self.type(schema)
        if required:
            return written
        if self.base == "TypedDict":
            return f"NotRequired[{written}]"
        return f"{written} = None" if "None" in written.split(" | ") else f"{written} | None = None"

    def type(self, schema: Schema | bool) -> str:
        """A schema as a Python type."""
        if isinstance(schema, bool) or not set(schema) - {"description", "default", "title"}:
            return "Any"
        if "$ref" in schema:
            return str(schema["$ref"]).rpartition("/")[2]
        if constants := _constant(schema):
            return _literal(constants)
        if variants := schema.get("anyOf") or schema.get("oneOf"):
            return _union([self.type(variant) for variant in variants])
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return " | ".join(self._kind(kind, schema) for kind in kinds)

    def _kind(self, kind: str, schema: Schema) -> str:
        if kind == "array" and "prefixItems" in schema:
            return f"tuple[{', '.join(self.type(item) for item in schema['prefixItems'])}]"
        if kind == "array":
            return f"list[{self.type(schema.get('items', True))}]"
        if kind == "object":
            return f"dict[str, {self.type(schema.get('additionalProperties', True))}]"
        return SCALARS[kind]


def _union(members: list[str]) -> str:
    """Each member once, None last."""
    parts = dict.fromkeys(part for member in members for part in member.split(" | "))
    return " | ".join([part for part in parts if part != "None"] + (["None"] if "None" in parts else []))


def _constant(schema: Schema) -> list[str]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _literal(constants: list[str]) -> str:
    return f"Literal[{', '.join(json.dumps(constant) for constant in constants)}]"


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _as_python(description: str) -> str:
    """A description of Rust's without the backticks that keep rustdoc from taking a unit for a link."""
    return re.sub(r"`(\[[^`,]+\])`", r"\1", description)


def _sentence(schema: Schema, name: str) -> str:
    """The first paragraph of a description; the name in words where there is none."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()
    text = _as_python(schema.get("description", words)).split("\n\n")[0].replace("\n", " ")
    text = textwrap.fill(text[:1].upper() + text[1:], WIDTH - 12).replace("\n", "\n    ")
    return text if text.endswith((".", ":")) else f"{text}."


def border(schema: Schema) -> str:
    """The module of types."""
    head = '''"""Types between Rust and Python. Generated by scripts/generate_border.py: do not edit.

Results of the model are frozen structs. What the model is asked to do is a dictionary with these keys.
The one definition of both is in Rust: the structs that crates/py/src/border.rs names.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from msgspec import Struct

'''
    results = Types(schema["results"], "Struct, frozen=True, omit_defaults=True")
    jobs = {name: one for name, one in schema["jobs"].items() if name not in schema["results"]}
    parts = ["# ---- results\n", *results.written(), "# ---- jobs\n", *Types(jobs, "TypedDict").written()]
    return head + "\n\n".join(parts)


def stub(functions: list[tuple[str, list[tuple[str, str]], str]]) -> str:
    """The stub of the compiled module."""
    head = '"""The compiled model. Generated by scripts/generate_border.py: do not edit."""\n\n'
    head += "from collections.abc import Callable\n\nclass CxlabError(Exception):\n"
    head += '    """An error of the model."""\n\n    code: str\n'
    lines = []
    for name, arguments, returned in functions:
        about = _as_python(getattr(_model, name).__doc__ or "").strip().splitlines()[0]
        given = ", ".join(f"{argument}: {kind}" for argument, kind in arguments)
        lines.append(f'def {name}({given}) -> {returned}:\n    """{about}"""\n')
    return head + "\n" + "\n".join(lines)


def formatted(text: str, name: str) -> str:
    """Format a text as ruff formats the repository."""
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", name, "-"]
    done = subprocess.run(command, cwd=ROOT, input=text, capture_output=True, text=True, check=True)
    return done.stdout


def main() -> int:
    """Write both files, or check them."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a file is stale")
    check = parser.parse_args().check
    schema = json.loads(_model.border_schema())
    files = {BORDER: border(schema), STUB: stub(schema["functions"])}
    stale = []
    for path, text in files.items():
        wanted = formatted(text, path.name)
        if check and (not path.is_file() or path.read_text() != wanted):
            stale.append(path)
        if not check:
            path.write_text(wanted)
    for path in stale:
        found = f"{path.relative_to(ROOT)} is not what the compiled model says"
        print(f"generate_border: {found}; run scripts/generate_border.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
