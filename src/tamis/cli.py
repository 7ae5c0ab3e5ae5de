"""The command line: parse, call one function, print what it wrote."""

from __future__ import annotations

import json
import os
import sys
from argparse import SUPPRESS
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from jsonargparse import ActionYesNo, ArgumentError, ArgumentParser, Namespace

from tamis.errors import UsageError, WorkError, missing_extra
from tamis.recipe import EmbedRecipe, ExportRecipe, ScoreRecipe, SelectRecipe

Report = dict[str, Any]


@dataclass(frozen=True)
class _Verb:
    recipe: type
    run: Callable[[Any], Report]
    help: str


def _embed(recipe: EmbedRecipe) -> Report:
    from tamis.gradients.embed import embed, estimate

    if recipe.dry_run:
        cost = estimate(recipe)
        return {
            "dry run": f"{cost.rows} rows of {cost.tokens_per_row:.0f} tokens; nothing was written",
            "rows_per_second": round(cost.rows_per_second, 3),
            "seconds": round(cost.seconds, 1),
            "bytes_on_disk": cost.bytes_on_disk,
        }
    index = embed(recipe)
    rows = index.rows
    return {
        "wrote": recipe.output_dir,
        "form": index.manifest["form"],
        "rows": len(index),
        "truncated": sum(rows["truncated"].to_pylist()),
        "modules": len(index.modules),
        "energy_kept": round(sum(rows["energy"].to_pylist()) / max(len(index), 1), 3),
        "digest": index.manifest["digest"],
        "excluded": [f"{row['row_id']}: {row['reason']}" for row in index.excluded.to_pylist()],
    }


def _score(recipe: ScoreRecipe) -> Report:
    from tamis.influence.scores import score

    scores = score(recipe)
    top = scores.table.sort_by([("order", "descending")]).slice(0, 5).to_pylist()
    return {
        "wrote": recipe.output_dir,
        "rows": len(scores.table),
        "excluded": len(scores.excluded),
        "similarity": scores.metadata["similarity"],
        "target_rows": scores.metadata["target_rows"],
        "target_excluded": scores.metadata["target_excluded"],
        "digest": scores.metadata["digest"],
        "highest": [f"{row['row_id']}  {row['score']:.4f}" for row in top],
    }


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
    from tamis.export import export

    done = export(recipe)
    default = f', "{done.default}"' if done.default in done.configs else ""
    return {
        "wrote": recipe.output_dir,
        "rows": done.configs["all"],
        "bytes": sum(done.files.values()),
        "configs": done.configs,
        "load": f'load_dataset("{recipe.output_dir}"{default})',
    }


VERBS = {
    "embed": _Verb(EmbedRecipe, _embed, "rows -> a gradient index"),
    "score": _Verb(ScoreRecipe, _score, "a gradient index and a target set -> a score for every row"),
    "select": _Verb(SelectRecipe, _select, "scores and a ratio -> rows kept and removed, each with its reason"),
    "export": _Verb(ExportRecipe, _export, "a selection -> a data set folder that load_dataset reads at any ratio"),
}


def build_parser() -> ArgumentParser:
    """The parser of all verbs; every flag is a field of the verb's recipe."""
    parser = ArgumentParser(
        prog="tamis",
        description="A drum sieve for training data.",
        epilog="exit codes: 0 done, 1 the work failed, 2 the call was wrong",
        exit_on_error=False,
    )
    verbs = parser.add_subcommands(dest="verb", metavar="VERB")
    for name, verb in VERBS.items():
        sub = ArgumentParser(description=(verb.recipe.__doc__ or "").partition("\n")[0], exit_on_error=False)
        sub.add_argument("--config", action="config", help="A YAML file with any of these keys; a flag wins over it.")
        switches = [field.name for field in fields(verb.recipe) if field.type == "bool"]
        sub.add_class_arguments(verb.recipe, skip=set(switches))
        for switch in switches:
            sub.add_argument(f"--{switch}", action=ActionYesNo, default=False, help=_help(verb.recipe, switch))
        sub.add_argument("--format", choices=["text", "json"], default="text", help="How the result is printed.")
        sub.add_argument("--debug", action=ActionYesNo, default=False, help="Shows the traceback of an error.")
        sub.add_argument("--provenance", type=dict, default=None, help=SUPPRESS)  # a run.yaml has it
        verbs.add_subcommand(name, sub, help=verb.help)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; 0 done, 1 the work failed, 2 the call was wrong."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    try:
        options = _parse(arguments)
        verb = VERBS[options.verb]
        given = options[options.verb]
        recipe = verb.recipe(**{field.name: given[field.name] for field in fields(verb.recipe)})
        _print(verb.run(recipe), given.format)
    except (UsageError, WorkError, ImportError) as error:
        if debug:
            raise
        if isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "tamis":
            raise
        shown = missing_extra("attribution", error) if isinstance(error, ImportError) else error
        print(f"tamis: {shown}", file=sys.stderr)
        return 1 if isinstance(error, WorkError) else 2
    return 0


def _parse(arguments: Sequence[str]) -> Namespace:
    parser = build_parser()
    if not arguments:
        parser.print_help()
        raise SystemExit(2)
    try:
        return parser.parse_args(_gathered(arguments))
    except (ArgumentError, TypeError, ValueError, KeyError) as error:
        text = " ".join(str(error).split())
        verb = VERBS.get(arguments[0])
        if verb and ("unrecognized" in text or "does not accept" in text):
            text += f"; valid: {', '.join(f'--{field.name}' for field in fields(verb.recipe))}"
        raise UsageError(text) from error


def _gathered(arguments: Sequence[str]) -> list[str]:
    """The arguments with a repeated list flag, `--source A --source B`, as the one list that the parser knows."""
    lists = {f"--{field.name}" for verb in VERBS.values() for field in fields(verb.recipe) if "list" in str(field.type)}
    found: dict[str, list[str]] = {}
    rest: list[str] = []
    items = iter(arguments)
    for item in items:
        flag, equals, value = item.partition("=")
        if flag not in lists:
            rest.append(item)
        elif equals or (value := next(items, "")):
            found.setdefault(flag, []).append(value)
        else:
            raise UsageError(f"{flag}: a value is missing")
    return [*rest, *(f"{flag}={json.dumps(values)}" for flag, values in found.items())]


def _help(recipe: type, name: str) -> str:
    lines = (recipe.__doc__ or "").splitlines()
    return next((line.strip().partition(": ")[2] for line in lines if line.strip().startswith(f"{name}: ")), "")


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
