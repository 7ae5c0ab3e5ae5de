"""The command line: parse, call one function, print what it wrote."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from argparse import SUPPRESS
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import docstring_parser
import yaml
from jsonargparse import ActionYesNo, ArgumentError, ArgumentParser, Namespace, get_loader

from tamis.errors import UsageError, WorkError, missing_extra
from tamis.names import printable
from tamis.verbs import VERBS, Report, Verb

Made = Report | Iterator[Report] | None
# The parser checks these; text that may be None is plain text to it, or it would read `null` and `#1.txt` as None.
_TYPES: dict[str, Any] = {"int": int, "int | None": int | None, "float": float, "str": str, "str | None": str}
_TYPES |= {"float | None": float | None}
_TEXT = "text (in a file, put it in quotes)"
_WORDS = {"bool": "true or false", "float": "a number", "list[str]": "a list of text", "str": _TEXT}
_WORDS |= {"list[float]": "a list of numbers", "list[str] | str": "text or a list of text"}
_WORDS |= {"float | None": "a number", "int": "a whole number"}
_WORDS |= {"int | None": "a whole number", "str | None": _TEXT, "dict": "keys and values"}


def _kinds(recipe: type) -> dict[str, str]:
    return {field.name: str(field.type) for field in fields(recipe)}


def build_parser(defaults: Mapping[str, Any] | None = None) -> ArgumentParser:
    """The parser of all verbs; every flag is a field of the verb's recipe.

    Args:
        defaults: What fields are where nobody says otherwise, in place of their own defaults.
    """
    parser = ArgumentParser(
        prog="tamis",
        description="A drum sieve for training data.",
        epilog="exit codes: 0 done, 1 the work failed, 2 the call was wrong",
        exit_on_error=False,
        allow_abbrev=False,
    )
    verbs = parser.add_subcommands(dest="verb", metavar="VERB")
    for name, verb in VERBS.items():
        about = docstring_parser.parse(verb.recipe.__doc__ or "")
        sub = ArgumentParser(description=about.short_description, exit_on_error=False, print_config=None)
        sub.add_argument("--config", action="config", help="A YAML file of these keys; a flag wins over it.")
        texts = {entry.arg_name: " ".join((entry.description or "").split()) for entry in about.params}
        for field in fields(verb.recipe):
            default = field.default if field.default_factory is MISSING else field.default_factory()
            default = (defaults or {}).get(field.name, default)
            given = {"required": True} if default is MISSING else {"default": default}
            kind = {"action": ActionYesNo} if field.type == "bool" else {"type": _TYPES.get(str(field.type))}
            sub.add_argument(f"--{field.name}", help=texts[field.name], **kind, **given)
        sub.add_argument("--format", choices=["text", "json"], default="text", help="How the result is printed.")
        sub.add_argument("--debug", action=ActionYesNo, default=False, help="Shows the traceback of an error.")
        sub.add_argument("--provenance", type=dict, default=None, help=SUPPRESS)  # a run.yaml has it
        verbs.add_subcommand(name, sub, help=verb.help)
    return parser


def main(argv: Sequence[str] | None = None, work: Callable[[Any], Made] | None = None) -> int:
    """Runs one command; 0 done, 1 the work failed, 2 the call was wrong, 130 interrupted.

    Args:
        argv: The command's arguments; those of the process, if None.
        work: Does the verb's work in its place, from its recipe; None where there is nothing to print.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        try:
            return _run(list(sys.argv[1:] if argv is None else argv), work)
        finally:
            print(end="", flush=True)
    except OSError as error:  # from printing alone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # nobody reads on, as in `| head -1`: the work is done all the same
            return 0
        print(f"tamis: the result cannot be printed: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tamis: interrupted", file=sys.stderr)
        return 130


def _run(arguments: Sequence[str], work: Callable[[Any], Made] | None) -> int:
    try:
        options = _parse(arguments)
        verb = VERBS[options.verb]
        given = options[options.verb]
        recipe = verb.recipe(**{field.name: given[field.name] for field in fields(verb.recipe)})
        reports = _reports((work or verb.run)(recipe))
        report = next(reports, None)
    except (UsageError, WorkError, ImportError, OSError) as error:
        if isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "tamis":
            raise
        if "--debug" in arguments:
            traceback.print_exc()
        shown = missing_extra("attribution", error) if isinstance(error, ImportError) else error
        print(f"tamis: {printable(' '.join(str(shown).splitlines()))}", file=sys.stderr)
        return 1 if isinstance(error, (WorkError, OSError)) else 2
    if report is not None:
        _print(report, given.format)
        sys.stdout.flush()
        next(reports, None)  # lets a verb go on that does
    return 0


def _reports(made: Made) -> Iterator[Report]:
    if isinstance(made, dict):
        yield made
    elif made is not None:
        yield from made


def _parse(arguments: Sequence[str]) -> Namespace:
    parser = build_parser()
    if not arguments:
        parser.print_help()
        raise SystemExit(2)
    verb = VERBS.get(arguments[0])
    lists: dict[str, list[Any]] = {}
    if verb:
        if verb.positional and arguments[1:] and not arguments[1].startswith("-"):
            arguments = [arguments[0], f"--{verb.positional}={arguments[1]}", *arguments[2:]]
        arguments, lists = _arranged(arguments, verb.recipe)
    try:
        options = parser.parse_args(arguments)
        if (link := options[options.verb].get("recipe")) is not None:
            from tamis import permalink

            block = permalink.read(link)
            options = build_parser(permalink.defaults(VERBS[options.verb].recipe, block)).parse_args(arguments)
            options[options.verb].recipe = permalink.query(block)
    except UsageError:
        raise
    except (ArgumentError, TypeError, ValueError, KeyError) as error:
        raise UsageError(_in_our_words(" ".join(str(error).split()), verb)) from error
    given = options[options.verb]
    for name, kind in _kinds(VERBS[options.verb].recipe).items():
        given[name] = lists.get(name, given[name])
        if given[name] is None and "None" not in kind:
            raise UsageError(f"--{name}: a value is missing")
    return options


def _arranged(arguments: Sequence[str], recipe: type) -> tuple[list[str], dict[str, list[Any]]]:
    """The arguments with --config first, so that a flag wins wherever it stands; and the values of list flags."""
    kinds = _kinds(recipe)
    lists = {f"--{name}": name for name, kind in kinds.items() if kind.startswith("list[")}
    found: dict[str, list[str]] = {}
    configs: list[str] = []
    rest: list[str] = []
    items = iter(arguments[1:])
    for item in items:
        flag, equals, value = item.partition("=")
        if flag not in lists and flag != "--config":
            rest.append(item)
            continue
        if not equals:
            value = next(items, "--")
            if value.startswith("--"):
                raise UsageError(f"{flag}: a value is missing")
        if flag == "--config":
            _check_file(value, recipe)
            configs.append(f"--config={value}")
        else:
            found.setdefault(lists[flag], []).append(value)
    # What is required is asked of the parser, which never sees the others.
    rest += [f"--{name}={values[0]}" for name, values in found.items() if kinds[name] == "list[str] | str"]
    numbers = {name: _numbers(name, texts) for name, texts in found.items() if kinds[name] == "list[float]"}
    return [arguments[0], *configs, *rest], {**found, **numbers}


def _numbers(name: str, texts: Sequence[str]) -> list[float]:
    for text in texts:
        try:
            float(text)
        except ValueError as error:
            raise UsageError(f"--{name} {text}: not a number") from error
    return [float(text) for text in texts]


def _check_file(path: str, recipe: type) -> None:
    """Refuses, by its name, a file that is not a YAML mapping of the recipe's keys."""
    try:
        content = get_loader("yaml")(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--config {path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"--config {path}: not YAML: {' '.join(str(error).split())}") from error
    kinds = {**_kinds(recipe), "provenance": "dict"}
    valid = f"valid: {', '.join(_kinds(recipe))}"
    if not isinstance(content, dict):
        raise UsageError(f"--config {path}: no keys and values in it; {valid}")
    for key, value in content.items():
        if key not in kinds:
            raise UsageError(f"--config {path}: unknown key {key!r}; {valid}")
        if not _fits(value, kinds[key]):
            raise UsageError(f"--config {path}: {key} {value!r}: not {_WORDS[kinds[key]]}")


def _fits(value: Any, kind: str) -> bool:
    """Whether a file's value is of a kind that the parser does not check."""
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "list[str] | str" and (isinstance(value, str) or value == []):
        return isinstance(value, str)
    if kind.startswith("list["):
        types = (str,) if "str" in kind else (int, float)
        return isinstance(value, list) and all(type(item) in types for item in value)
    return True


def _in_our_words(text: str, verb: Verb | None) -> str:
    """The parser's message with flags as they are typed, and the valid ones where one is unknown."""
    if verb and (bad := re.match(r'Parser key "(\w+)": .*value: ?(.*)', text)):
        return f"--{bad[1]} {bad[2]}: not {_WORDS[_kinds(verb.recipe).get(bad[1], 'dict')]}"
    if "arguments are required" in text:
        return re.sub(r"\b(?:" + "|".join(VERBS) + r")\.", "--", text)
    if "unrecognized" in text:
        valid = [f"--{name}" for name in _kinds(verb.recipe)] if verb else VERBS
        return f"{text}; valid: {', '.join(valid)}"
    return text


def _print(report: Report, style: str) -> None:
    if style == "json":
        print(json.dumps(report, ensure_ascii=False))
        return
    for key, value in report.items():
        name = key.replace("_", " ")
        if isinstance(value, dict):
            value = [f"{inner}: {count}" for inner, count in value.items()]
        if isinstance(value, list):
            print(f"{name}: {'' if value else 'none'}")
            for line in value:
                print(f"  {line}")
        else:
            print(f"{name}: {value}")


if __name__ == "__main__":
    raise SystemExit(main())
