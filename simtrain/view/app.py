"""The web app over run folders: lists, figures, episodes, comparisons, triage and notes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.files.pages.templates import style
from simtrain.mcp.serve.guard import HostGuard
from simtrain.mcp.serve.listening import Listening, bind, served
from simtrain.mcp_wire.validation import ARRIVAL
from simtrain.runs.notes import MARKS, read_notes, write_note
from simtrain.values.errors import InputError
from simtrain.view.addresses import PLACE, key_of, number_of, row_address
from simtrain.view.branches import MOST_LEAVES, branches
from simtrain.view.figures import GroupFigures, figures, success_chart
from simtrain.view.filters import COLUMNS, Filter, order, parse
from simtrain.view.marks import with_marks
from simtrain.view.reference import found_reference
from simtrain.view.run_comparison import compare_runs
from simtrain.view.shelf import RunShelf, ShelvedRun
from simtrain.view.shown_episode import shown_turns
from simtrain.view.side_by_side import step_rows
from simtrain.view.text_search import found, index_words, indexed
from simtrain.view.triage import divergence, triage
from simtrain.view.viewer_templates import HERE, viewer_templates

# Pages hold text of agents and worlds: no script but the viewer's own may run, and nothing may be fetched from elsewhere.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}

A_PAGE = 100
FIRST_TRIAGED = 200
MOST_TRIAGED = 5_000
MOST_COMPARED = 6
MOST_BODY = 100_000

SHOWN = (
    ("episode", "episode"), ("scenario", "scenario"), ("agent", "agent"), ("arm", "arm"), ("attempt", "attempt"),
    ("reward", "reward"), ("stop", "stop"), ("turns", "turns"), ("steps", "calls"), ("errors", "errors"),
    ("perturbed", "perturbed"), ("tokens", "tokens"), ("seconds", "seconds"),
)  # fmt: skip
"""Columns of a list, and their headings."""


class Viewer:
    """The pages of all runs on a shelf. Pages are made one at a time."""

    def __init__(self, shelf: RunShelf) -> None:
        self.shelf = shelf
        self._lock = Lock()
        self.app = HostGuard(Starlette(routes=self._routes()))

    def _routes(self) -> list[Route]:
        run = "/run/{run}"
        pages = {
            "/": self._runs,
            run: self._run,
            f"{run}/count": self._count,
            f"{run}/figures": self._figures,
            f"{run}/triage": self._triage,
            f"{run}/episode": self._episode,
            "/compare": self._compare,
            "/runs": self._compare_runs,
        }
        posts = {f"{run}/note": self._note, f"{run}/words": self._words}
        return [
            *(Route(path, self._guarded(page), methods=["GET"]) for path, page in pages.items()),
            *(Route(path, self._guarded(page), methods=["POST"]) for path, page in posts.items()),
            Route("/style.css", _style),
            Route("/view.js", _script),
            # Browsers ask for it, and would report an error.
            Route("/favicon.ico", _nothing),
        ]

    def _guarded(self, page: Any) -> Any:
        """Return an endpoint that makes a page in a thread; bad input becomes a page that says so."""

        async def endpoint(request: Request) -> Response:
            body = b""
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BODY:
                    return self._trouble(413, "Too long", f"A form has at most {MOST_BODY:,} bytes.")
            form = {name: values[-1] for name, values in parse_qs(body.decode(errors="replace")).items()}
            return await run_in_threadpool(self._answer, page, request, form)

        return endpoint

    def _answer(self, page: Any, request: Request, form: dict[str, str]) -> Response:
        with self._lock:
            try:
                return page(request, form)
            except InputError as error:
                return self._trouble(400, "This cannot be shown", str(error))

    def _page(self, template: str, status: int = 200, **values: Any) -> Response:
        return HTMLResponse(viewer_templates().get_template(template).render(**values), status, headers=HEADERS)

    def _trouble(self, status: int, heading: str, words: str) -> Response:
        return self._page("trouble.html.jinja", status, heading=heading, words=words)

    def _of(self, request: Request) -> ShelvedRun:
        """Return the run that an address names, its index brought up to date. Raises InputError."""
        return self._named(request.path_params["run"])

    def _named(self, name: str) -> ShelvedRun:
        run = self.shelf.run(name)
        if run is None:
            raise InputError(f"there is no run {name!r} here")
        run.index.refresh()
        return run

    def _runs(self, request: Request, form: dict[str, str]) -> Response:
        runs = self.shelf.runs()
        if len(runs) == 1:
            return RedirectResponse(f"/run/{runs[0].name}", headers=HEADERS)
        rows = [self._run_row(run) for run in runs]
        suites = list(dict.fromkeys(suite for row in rows for suite in row["suites"]))
        return self._page("runs.html.jinja", rows=rows, suites=suites)

    def _run_row(self, run: ShelvedRun) -> dict[str, Any]:
        run.index.refresh()
        groups = figures(run.index, Filter(), "scenario")
        suites: dict[str, list[GroupFigures]] = {}
        for group in groups:
            suites.setdefault(group.name.partition("/")[0], []).append(group)
        total = next(iter(figures(run.index, Filter(), "agent")), None)
        return {
            "name": run.name,
            "agent": run.agent,
            "planned": run.facts.get("episodes", 0),
            "total": total,
            "suites": {name: _success(found) for name, found in suites.items()},
        }

    def _run(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        q, sort = request.query_params.get("q", ""), request.query_params.get("sort", "")
        offset = _whole(request.query_params.get("offset", "0"))
        chosen, error, wordless = self._chosen(run, q)
        where = f"from episodes where {chosen.condition}"
        (count,) = run.index.select(f"select count(*) {where}", chosen.values)[0]
        rows = run.index.select(
            f"select id, {', '.join(COLUMNS)} {where} order by {order(sort)} limit {A_PAGE} offset {offset}",
            chosen.values,
        )

        def here(**changed: object) -> str:
            return "?" + urlencode({"q": q, "sort": sort, "offset": offset, **changed})

        return self._page(
            "run.html.jinja",
            run=run,
            q=q,
            sort=sort,
            error=error,
            wordless=wordless,
            count=count,
            known=_known(run),
            rows=rows,
            offset=offset,
            page=A_PAGE,
            columns=SHOWN,
            here=here,
            notes=read_notes(run.path),
        )

    def _chosen(self, run: ShelvedRun, q: str) -> tuple[Filter, str, bool]:
        """Return the filter of a list, what is wrong with it, and whether words are to be found that are not indexed yet."""
        try:
            chosen = with_marks(parse(q), run.path)
        except InputError as error:
            return Filter("0"), str(error), False
        if not chosen.words:
            return chosen, "", False
        if not indexed(run.path):
            return Filter("0"), "", True
        index_words(run.index)
        # Numbers of our own, so that they may stand in the query.
        numbers = ",".join(map(str, found(run.path, chosen.words)))
        return Filter(f"{chosen.condition} and id in ({numbers})", chosen.values), "", False

    def _count(self, request: Request, form: dict[str, str]) -> Response:
        return PlainTextResponse(str(_known(self._of(request))), headers=HEADERS)

    def _figures(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        q = request.query_params.get("q", "")
        chosen, error, _ = self._chosen(run, q)
        found = [
            (by, success_chart(groups, f"Success by {by}"), groups)
            for by in ("scenario", "perturbation", "arm", "agent", "stop")
            if len(groups := figures(run.index, chosen, by)) > 1 or by == "scenario"
        ]
        return self._page("figures.html.jinja", run=run, q=q, error=error, found=found, known=_known(run))

    def _triage(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        most = min(_whole(request.query_params.get("most", "")) or FIRST_TRIAGED, MOST_TRIAGED)
        condition = f"reward < {SUCCESS}"
        (failed,) = run.index.select(f"select count(*) from episodes where {condition}")[0]
        rows = run.index.select(f"select id from episodes where {condition} order by id limit {most}")
        trajectories = [run.index.read(row["id"]) for row in rows]
        groups = triage(trajectories, lambda one: found_reference(run.path, one)[0])
        return self._page(
            "triage.html.jinja", run=run, failed=failed, looked=len(rows), groups=groups, more=min(failed, MOST_TRIAGED)
        )

    def _episode(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        number = number_of(run, request.query_params)
        trajectory = run.index.read(number)
        q, sort = request.query_params.get("q", ""), request.query_params.get("sort", "")
        before, after = self._neighbours(run, number, q, sort)
        reference, unknown = found_reference(run.path, trajectory)
        place = (trajectory.scenario, trajectory.episode, trajectory.arm, trajectory.attempt)
        others = self._others(run, number, trajectory)
        read = [(one, one.index.read(row["id"])) for one, row in others[:MOST_LEAVES]]
        leaves = {id(leaf): (one, leaf) for one, leaf in [(run, trajectory), *read]}
        return self._page(
            "episode.html.jinja",
            run=run,
            trajectory=trajectory,
            shown=shown_turns(trajectory, run.domain_of(trajectory.scenario)),
            up=f"/run/{run.name}?" + urlencode({"q": q, "sort": sort}),
            before=before,
            after=after,
            reference=reference,
            unknown=unknown,
            divergence=divergence(trajectory, reference) if reference else None,
            note=read_notes(run.path).get(place),
            note_address=f"/run/{run.name}/note?{request.url.query}",
            marks=MARKS,
            own=key_of(run, dict(zip(PLACE, place, strict=True))),
            others=[_other(one, row) for one, row in others],
            leaves=leaves,
            branches=branches(trajectory, (leaf for _, leaf in leaves.values() if leaf is not trajectory)),
        )

    def _neighbours(self, run: ShelvedRun, number: int, q: str, sort: str) -> list[str | None]:
        """Return the addresses of the episodes before and after one in the list that it was opened from."""
        chosen, _, _ = self._chosen(run, q)
        rows = run.index.select(
            f"select id from episodes where {chosen.condition} order by {order(sort)}", chosen.values
        )
        numbers = [row["id"] for row in rows]
        place = numbers.index(number) if number in numbers else None
        found = list[str | None]()
        for other in (-1, 1):
            near = None if place is None else place + other
            if near is None or not 0 <= near < len(numbers):
                found.append(None)
                continue
            row = run.index.select(f"select {', '.join(PLACE)} from episodes where id = :id", {"id": numbers[near]})[0]
            found.append(row_address(run, row, q, sort))
        return found

    def _others(self, run: ShelvedRun, number: int, trajectory: Trajectory) -> list[tuple[ShelvedRun, Any]]:
        """Return the other episodes of the same case in all runs, as rows of their indexes."""
        return [
            (other, row)
            for other in self.shelf.runs()
            for row in other.index.select(
                f"select id, agent, reward, {', '.join(PLACE)} from episodes where scenario = :scenario and episode = :episode",
                {"scenario": trajectory.scenario, "episode": trajectory.episode},
            )
            if other is not run or row["id"] != number
        ]

    def _compare(self, request: Request, form: dict[str, str]) -> Response:
        chosen = list(dict.fromkeys(request.query_params.getlist("e")))[:MOST_COMPARED]
        if len(chosen) < 2:
            raise InputError("two episodes at least are compared", remedy="choose them on the page of an episode")
        heads = [self._head(key) for key in chosen]
        trajectories = [trajectory for _, trajectory, _ in heads]
        return self._page(
            "compare.html.jinja",
            heads=heads,
            trajectories=trajectories,
            rows=step_rows(trajectories),
            same_case=len({(one.scenario, one.episode) for one in trajectories}) == 1,
        )

    def _compare_runs(self, request: Request, form: dict[str, str]) -> Response:
        names = list(dict.fromkeys(request.query_params.getlist("r")))[:MOST_COMPARED]
        if len(names) < 2:
            raise InputError("two runs at least are compared", remedy="choose them in the list of runs")
        return self._page("run_comparison.html.jinja", found=compare_runs([self._named(name) for name in names]))

    def _head(self, key: str) -> tuple[str, Trajectory, str]:
        name, _, query = key.partition("?")
        run = self._named(name)
        values = {word: found[-1] for word, found in parse_qs(query, keep_blank_values=True).items()}
        return name, run.index.read(number_of(run, values)), f"/run/{name}/episode?{query}"

    def _note(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        trajectory = run.index.read(number_of(run, request.query_params))
        write_note(run.path, trajectory, mark=form.get("mark", ""), note=form.get("note", ""))
        return RedirectResponse(f"/run/{run.name}/episode?{request.url.query}", 303, headers=HEADERS)

    def _words(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        index_words(run.index)
        return RedirectResponse(f"/run/{run.name}?" + urlencode({"q": form.get("q", "")}), 303, headers=HEADERS)


def _known(run: ShelvedRun) -> int:
    (count,) = run.index.select("select count(*) from episodes")[0]
    return count


def _success(groups: Sequence[GroupFigures]) -> float | None:
    graded = sum(group.graded for group in groups)
    return sum(group.solved for group in groups) / graded if graded else None


def _other(run: ShelvedRun, row: Any) -> tuple[str, str, str]:
    """Return an episode in words, as a key, and by address."""
    words = (run.name, row["agent"], row["arm"], f"attempt {row['attempt']}", f"reward {_reward(row['reward'])}")
    return " · ".join(word for word in words if word), key_of(run, row), row_address(run, row, "", "")


def _reward(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0


def _nothing(request: Request) -> Response:
    return Response(status_code=204, headers=HEADERS)


def _style(request: Request) -> Response:
    return Response(style() + (HERE / "view.css").read_text(encoding="utf-8"), media_type="text/css", headers=HEADERS)


def _script(request: Request) -> Response:
    return Response((HERE / "view.js").read_text(encoding="utf-8"), media_type="text/javascript", headers=HEADERS)


@asynccontextmanager
async def viewing(shelf: RunShelf, *, port: int = 0, arrival: float = ARRIVAL) -> AsyncGenerator[str]:
    """Serve the viewer on this machine while the block runs, and yield its URL. Raises InputError for an unavailable port.

    A request that takes longer than `arrival` seconds to arrive is dropped.
    """
    with bind(Listening(port=port, control_port=None)) as sockets:
        async with served(Viewer(shelf).app, sockets.main, arrival):
            yield f"http://127.0.0.1:{sockets.main.getsockname()[1]}/"
