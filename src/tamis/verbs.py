"""What each verb of the command line calls, and what it reports of the result."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from tamis.errors import WorkError, missing_extra
from tamis.pii import verbs as pii
from tamis.pii.recipe import DeidAuditRecipe, RedactRecipe, RestoreRecipe, SegmentRecipe
from tamis.recipe import (
    DownloadRecipe,
    EmbedRecipe,
    ExportRecipe,
    HubRecipe,
    PublishRecipe,
    ReleaseRecipe,
    ReportRecipe,
    ScoreRecipe,
    SelectRecipe,
    VerifyRecipe,
)

if TYPE_CHECKING:
    from tamis.gradients.store import GradientIndex

Report = dict[str, Any]
_SHOWN = 10  # the rest stands in the folder's files


@dataclass(frozen=True)
class Verb:
    """A command: its recipe, the function that it calls, and the flag that may be given without its name.

    A function that goes on after its report yields it.
    """

    recipe: type
    run: Callable[[Any], Report | Iterator[Report]]
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
        **_repeated(recipe, "scores"),
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
        "link": facts["link"],
        **_repeated(recipe, "selection"),
    }


def _repeated(recipe: ScoreRecipe | SelectRecipe, name: str) -> Report:
    """Whether what came out was compared with the recipe that was to be repeated, if there was one."""
    from tamis.permalink import read

    if recipe.recipe is None:
        return {}
    checked = name in read(recipe.recipe)
    return {
        "recipe": f"repeated, as its digest of the {name} says"
        if checked
        else f"its fields; it names no {name} to check"
    }


def _export(recipe: ExportRecipe) -> Report:
    from tamis.dataset_folder import export

    done = export(recipe)
    config = done.default if done.default in done.configs else next(iter(done.configs))
    return {
        "wrote": recipe.output_dir,
        "rows": done.facts["rows"],
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


def _publish(recipe: PublishRecipe) -> Report:
    from tamis.hub.publish import publish

    done = publish(recipe)
    report: Report = {"files": done.files, "rows": done.rows}
    if done.commit is None:
        return {"dry_run": f"{done.repo_id}: nothing was sent", **report, "card": done.card.splitlines()}
    changed = done.sent or done.deleted
    return {
        "published": f"{done.repo_id}: {'released' if changed else 'nothing has changed'}",
        "commit": done.commit,
        "sent": done.sent,
        "deleted": done.deleted,
        **report,
    }


def _release(recipe: ReleaseRecipe) -> Report:
    from tamis.hub.release import release

    found = release(recipe)
    lines = [
        f"{one.repo_id}: {one.commit or 'not sent'}, {len(one.files)} files, {sum(one.files.values())} bytes"
        for one in found.published
    ]
    if found.stopped:
        raise WorkError(f"stopped before {found.stopped}; before it: {'; '.join(lines) or 'nothing'}")
    return {"dry_run" if recipe.dry_run else "released": lines}


def _download(recipe: DownloadRecipe) -> Report:
    from tamis.hub.download import download

    done = download(recipe)
    return {
        "wrote": recipe.output_dir,
        "rows": done.rows,
        "removed": f"{done.removed} of {done.sieved} sieved rows",
        "fetched": f"{done.fetched} of {done.size} bytes ({done.fetched / done.size:.1%})",
        **({"commit": done.commit} if done.commit else {}),
        "link": done.link,
        "load": f'load_dataset("{recipe.output_dir}")',
    }


def _hub(recipe: HubRecipe) -> Iterator[Report]:
    from pathlib import Path

    try:
        from tamis.hub.loopback.serve import serve
    except ImportError as error:
        raise missing_extra("hub", error) from error
    return serve(Path(recipe.root), recipe.port)


VERBS = {
    "embed": Verb(EmbedRecipe, _embed, "rows -> a gradient index"),
    "score": Verb(ScoreRecipe, _score, "a gradient index and a target set -> a score for every row"),
    "select": Verb(SelectRecipe, _select, "scores and a ratio -> rows kept and removed, each with its reason"),
    "report": Verb(
        ReportRecipe, _report, "a selection -> a page that says what was removed, and how sure that is"
    ),
    "export": Verb(ExportRecipe, _export, "a selection -> a folder that load_dataset reads at any ratio"),
    "deid-audit": Verb(
        DeidAuditRecipe, pii.deid_audit, "a redacted corpus -> what was redacted wrongly, missed, and may remain"
    ),
    "segment": Verb(SegmentRecipe, pii.segment, "tutoring sessions -> which messages are maths, and how dense"),
    "publish": Verb(PublishRecipe, _publish, "a folder -> one release on the Hub, whole or not at all", "folder"),
    "release": Verb(ReleaseRecipe, _release, "a manifest -> every release of a project, in order"),
    "download": Verb(DownloadRecipe, _download, "a published data set -> what any ratio leaves of it", "repo_id"),
    "redact": Verb(RedactRecipe, pii.redact, "sessions or text -> the same without personal data, and its spans"),
    "restore": Verb(RestoreRecipe, pii.restore, "what redact encrypted or gave surrogates -> as it was"),
    "hub": Verb(HubRecipe, _hub, "a folder -> a Hub on 127.0.0.1 that the real clients talk to"),
    "verify": Verb(VerifyRecipe, _verify, "a gradient index -> whether it is whole; writes nothing", "index"),
}
