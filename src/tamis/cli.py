"""The command line: parse, call one function, print what it wrote."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import traceback
from argparse import SUPPRESS
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import docstring_parser
import yaml
from jsonargparse import ActionYesNo, ArgumentError, ArgumentParser, Namespace, get_loader

from tamis.errors import UsageError, WorkError, missing_extra
from tamis.recipe import EmbedRecipe, ExportRecipe, ReportRecipe, ScoreRecipe, SelectRecipe, VerifyRecipe

if TYPE_CHECKING:
    from tamis.gradients.store import GradientIndex

Report = dict[str, Any]
_SHOWN = 10  # the rest stands in the folder's files


@dataclass(frozen=True)
class _Verb:
    recipe: type
    run: Callable[[Any], Report]
    help: str
    positional: str | None = None  # the flag that may be left out before its value


def _embed(recipe: EmbedRecipe) -> Report:
    from tamis.gradients.embed import embed, estimate

    if recipe.dry_run:
        cost = estimate(recipe)
        return {
            "dry_run": f"{cost.rows} rows of {cost.tokens_per_row:.0f} tokens; nothing was written",
            "rows_per_second": round(cost.rows_per_second, 3),
            "seconds": round(cost.seconds, 1),
            "bytes_on_disk": cost.bytes_on_disk,
        }
    return report_embedded(embed(recipe), recipe)


def report_embedded(index: GradientIndex, recipe: EmbedRecipe) -> Report:
    """What is printed of an index that was made."""
    rows, excluded = index.rows, index.excluded.to_pylist()
    report = {
        "wrote": recipe.output_dir,
        "form": index.manifest["form"],
        "rows": len(index),
        "truncated": sum(rows["truncated"].to_pylist()),
        "modules": len(index.modules),
        "energy_kept": round(sum(rows["energy"].to_pylist()) / max(len(index), 1), 3),
        "digest": index.manifest["digest"],
        "excluded": len(excluded),
    }
    if excluded:
        report["excluded_by_reason"] = dict(Counter(row["reason"] for row in excluded).most_common(_SHOWN))
        report["excluded_rows"] = [f"{row['row_id']}: {row['reason']}" for row in excluded[:_SHOWN]]
    return report


def _score(recipe: ScoreRecipe) -> Report:
    from tamis.influence.scores import score

    scores = score(recipe)
    top = scores.table.sort_by([("order", "descending")]).slice(0, 5).to_pylist()
    return {
        "wrote": recipe.output_dir,
        "rows": len(scores.table),
        "excluded": len(scores.excluded),
        "similarity": scores.metadata["similarity"],
        **{key: scores.metadata[key] for key in ("aggregate", "topk", "contrast_rows") if key in scores.metadata},
        **({"targets": _set_lines(scores.metadata["targets"])} if "targets" in scores.metadata else {}),
        "target_rows": scores.metadata["target_rows"],
        "target_excluded": scores.metadata["target_excluded"],
        "digest": scores.metadata["digest"],
        "highest": [f"{row['row_id']}  {row['score']:.4f}" for row in top],
    }


def _set_lines(sets: Sequence[dict[str, Any]]) -> list[str]:
    return [f"{one['name']}: {one['rows']} rows, weight {one['weight']:.3g}" for one in sets]


def _select(recipe: SelectRecipe) -> Report:
    from tamis.selection import select

    facts = select(recipe).facts
    base = facts["rows_removed"] / facts["rows_sieved"]

    def table(rates: dict[str, dict[str, Any]]) -> list[str]:
        return [f"{name}: {r['removed']} of {r['rows']} ({r['rate']:.1%})" for name, r in rates.items()]

    def rows(near: Sequence[dict[str, Any]]) -> list[str]:
        return [f"{row['row_id']}  {row['score']:.4f}" for row in near]

    return {
        "wrote": recipe.output_dir,
        "removed": f"{facts['rows_removed']} of {facts['rows_sieved']} sieved rows (base rate {base:.1%})",
        "outside_the_subset": facts["rows_outside_the_subset"],
        "excluded": facts["rows_excluded"],
        "by_source": table(facts["removed_by_source"]),
        "by_language": table(facts["removed_by_language"]),
        "removed_just_above_the_cut": rows(facts["boundary"]["removed_just_above"]),
        "kept_just_below_the_cut": rows(facts["boundary"]["kept_just_below"]),
        "digest": facts["digest"],
    }


def _export(recipe: ExportRecipe) -> Report:
    from tamis.dataset_folder import export

    done = export(recipe)
    config = done.default if done.default in done.configs else "all"  # a config without rows does not exist
    return {
        "wrote": recipe.output_dir,
        "rows": done.configs["all"],
        "bytes": sum(done.files.values()),
        "configs": done.configs,
        "load": f'load_dataset("{recipe.output_dir}", "{config}")',
    }


def _report(recipe: ReportRecipe) -> Report:
    from tamis.report import PAGE, write_report

    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # what it says of its font cache is no result
    done = write_report(recipe)
    return {
        "wrote": recipe.output_dir,
        "page": str(done.folder / PAGE),
        "bytes": (done.folder / PAGE).stat().st_size,
        "removed": f"{done.facts['removed']} of {done.facts['sieved']} sieved rows",
        "figures": done.figures,
        "gaps": done.facts["gaps"],
    }


def _verify(recipe: VerifyRecipe) -> Report:
    from tamis.gradients.verify import verify

    found = verify(recipe)
    return {"verified": f"{recipe.index}: every byte and every row is what was written", **asdict(found)}


# The parser checks these; text that may be None is plain text to it, or it would read `null` and `#1.txt` as None.
_TYPES: dict[str, Any] = {"int": int, "int | None": int | None, "float": float, "str": str, "str | None": str}
_TEXT = "text (in a file, put it in quotes)"
_WORDS = {"bool": "true or false", "float": "a number", "list[str]": "a list of text", "str": _TEXT}
_WORDS |= {"list[float]": "a list of numbers", "list[str] | str": "text or a list of text"}
_WORDS |= {"int": "a whole number", "int | None": "a whole number", "str | None": _TEXT, "dict": "keys and values"}


def _kinds(recipe: type) -> dict[str, str]:
    return {field.name: str(field.type) for field in fields(recipe)}


VERBS = {
    "embed": _Verb(EmbedRecipe, _embed, "rows -> a gradient index"),
    "score": _Verb(ScoreRecipe, _score, "a gradient index and a target set -> a score for every row"),
    "select": _Verb(SelectRecipe, _select, "scores and a ratio -> rows kept and removed, each with its reason"),
    "report": _Verb(
        ReportRecipe, _report, "a selection -> a page that says what was removed, and how sure that is"
    ),
    "export": _Verb(ExportRecipe, _export, "a selection -> a folder that load_dataset reads at any ratio"),
    "verify": _Verb(VerifyRecipe, _verify, "a gradient index -> whether it is whole; writes nothing", "index"),
}


def build_parser() -> ArgumentParser:
    """The parser of all verbs; every flag is a field of the verb's recipe."""
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
            given = {"required": True} if default is MISSING else {"default": default}
            kind = {"action": ActionYesNo} if field.type == "bool" else {"type": _TYPES.get(str(field.type))}
            sub.add_argument(f"--{field.name}", help=texts[field.name], **kind, **given)
        sub.add_argument("--format", choices=["text", "json"], default="text", help="How the result is printed.")
        sub.add_argument("--debug", action=ActionYesNo, default=False, help="Shows the traceback of an error.")
        sub.add_argument("--provenance", type=dict, default=None, help=SUPPRESS)  # a run.yaml has it
        verbs.add_subcommand(name, sub, help=verb.help)
    return parser


def main(argv: Sequence[str] | None = None, work: Callable[[Any], Report | None] | None = None) -> int:
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


def _run(arguments: Sequence[str], work: Callable[[Any], Report | None] | None) -> int:
    try:
        options = _parse(arguments)
        verb = VERBS[options.verb]
        given = options[options.verb]
        report = (work or verb.run)(
            verb.recipe(**{field.name: given[field.name] for field in fields(verb.recipe)})
        )
    except (UsageError, WorkError, ImportError, OSError) as error:
        if isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "tamis":
            raise
        if "--debug" in arguments:
            traceback.print_exc()
        shown = missing_extra("attribution", error) if isinstance(error, ImportError) else error
        print(f"tamis: {' '.join(str(shown).splitlines())}", file=sys.stderr)
        return 1 if isinstance(error, (WorkError, OSError)) else 2
    if report is not None:
        _print(report, given.format)
    return 0


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


def _in_our_words(text: str, verb: _Verb | None) -> str:
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
