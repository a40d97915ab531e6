"""What is published for registries and bundles: by the rules of its format, and true of this version."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import fsnotes
from fsnotes.cli.arguments import parser

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SERVER: dict[str, Any] = json.loads((ROOT / "docs/packaging/server.json").read_text(encoding="utf-8"))
MANIFEST: dict[str, Any] = json.loads((ROOT / "docs/packaging/manifest.json").read_text(encoding="utf-8"))
(PACKAGE,) = SERVER["packages"]

FORMATS = {"string", "number", "boolean", "filepath"}


def test_one_version_stands_everywhere() -> None:
    versions = [PROJECT["version"], SERVER["version"], PACKAGE["version"], MANIFEST["version"]]
    assert versions == [fsnotes.__version__] * 4
    assert re.fullmatch(r"\d+\.\d+\.\d+(?:[-.]\w+)?", fsnotes.__version__)


def test_the_registry_entry_has_what_its_schema_asks_for() -> None:
    """`ServerDetail` of the schema 2025-12-11: no other keys, and the lengths and patterns of these."""
    assert SERVER.keys() == {"$schema", "name", "title", "description", "version", "packages"}
    assert SERVER["$schema"] == "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", SERVER["name"])
    assert 3 <= len(SERVER["name"]) <= 200
    assert 1 <= len(SERVER["description"]) <= 100
    assert 1 <= len(SERVER["title"]) <= 100


def test_the_registry_entry_is_for_the_package_as_it_is_published() -> None:
    assert PACKAGE.keys() == {
        "registryType", "identifier", "version", "runtimeHint", "transport", "packageArguments",
        "environmentVariables",
    }  # fmt: skip
    assert PACKAGE["registryType"] == "pypi"
    assert PACKAGE["identifier"] == PROJECT["name"]
    assert PACKAGE["transport"] == {"type": "stdio"}
    # `uvx fsnotes`: the runtime starts the script that has the package's name.
    assert PACKAGE["identifier"] in PROJECT["scripts"]


def test_arguments_of_the_registry_entry_are_positional_and_taken_by_the_command_line() -> None:
    words = []
    for argument in PACKAGE["packageArguments"]:
        assert argument.keys() <= {
            "type", "value", "valueHint", "description", "format", "isRequired", "isRepeated",
        }  # fmt: skip
        assert argument["type"] == "positional"
        assert "value" in argument or "valueHint" in argument
        assert argument.get("format", "string") in FORMATS
        words += [argument["value"]] if "value" in argument else ["/a", "/b"][: 1 + argument["isRepeated"]]
    options = parser().parse_args(words)
    assert (options.run.function, options.folders) == ("serve", ["/a", "/b"])


def test_variables_of_the_registry_entry_are_ours() -> None:
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    for variable in PACKAGE["environmentVariables"]:
        assert f"`{variable['name']}`" in page
        assert variable["format"] in FORMATS


def test_a_namespace_of_somebody_is_proven_in_the_readme() -> None:
    """The registry's rule for PyPI. Nobody owns `com.example`, so nothing is claimed yet, and the page says so."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    if SERVER["name"].startswith("com.example/"):
        assert "mcp-name:" not in readme
        assert "`com.example` is nobody's" in (ROOT / "docs/packaging.md").read_text(encoding="utf-8")
    else:
        assert f"mcp-name: {SERVER['name']}" in readme


def test_the_bundle_has_what_its_schema_asks_for() -> None:
    """MCPB manifest 0.4: its required keys, and of the others only known ones."""
    assert MANIFEST["manifest_version"] == "0.4"
    assert {"name", "version", "description", "author", "server"} <= MANIFEST.keys()
    assert MANIFEST.keys() <= {
        "manifest_version", "name", "display_name", "version", "description", "author", "license", "keywords",
        "server", "user_config", "tools_generated", "compatibility",
    }  # fmt: skip
    assert MANIFEST["author"].keys() == {"name"}
    assert MANIFEST["author"]["name"] in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert MANIFEST["name"] == PROJECT["name"]
    assert MANIFEST["license"] == PROJECT["license"]
    assert MANIFEST["keywords"] == PROJECT["keywords"]
    assert MANIFEST["compatibility"]["runtimes"]["python"] == PROJECT["requires-python"]
    assert set(MANIFEST["compatibility"]["platforms"]) == {"linux", "darwin"}  # Windows is refused at start
    assert MANIFEST["description"] == SERVER["description"]


def test_the_bundle_starts_the_server_with_the_folders_that_are_chosen() -> None:
    server = MANIFEST["server"]
    assert (server["type"], server["mcp_config"]["command"]) == ("uv", "uv")
    assert (ROOT / server["entry_point"]).is_file()
    words: list[str] = []
    for word in server["mcp_config"]["args"]:
        # As the format says: a choice of several becomes several arguments.
        words += (
            ["/a b", "/c"] if word == "${user_config.folders}" else [word.replace("${__dirname}", "/bundle")]
        )
    program = words.index("fsnotes")
    assert words[:program] == ["run", "--directory", "/bundle"]
    options = parser().parse_args(words[program + 1 :])
    assert (options.run.function, options.folders) == ("serve", ["/a b", "/c"])
    (field,) = MANIFEST["user_config"].values()
    assert (field["type"], field["multiple"], field["required"]) == ("directory", True, True)
    assert field["title"].strip()
    assert field["description"].strip()


def test_the_bundle_takes_all_that_the_package_is_built_from() -> None:
    page = (ROOT / "docs/packaging.md").read_text(encoding="utf-8")
    copied = set(re.findall(r"cp -r (.*) docs/packaging/manifest.json bundle/", page)[0].split())
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"][
        "targets"
    ]
    assert copied == {
        *built["wheel"]["packages"],
        "pyproject.toml",
        PROJECT["readme"],
        *PROJECT["license-files"],
    }
