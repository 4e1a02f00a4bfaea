"""The web app over run folders: lists, figures, episodes, comparisons, failures and notes."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from simtrain.contracts.trajectory import SUCCESS, Trajectory
from simtrain.files.pages.templates import style
from simtrain.mcp.serve.guard import HostGuard
from simtrain.mcp.serve.ports import Listening, bind, served
from simtrain.mcp_wire.validation import ARRIVAL
from simtrain.runs.notes import MARKS, read_notes, write_note
from simtrain.runs.trajectory_files import failures
from simtrain.values.errors import InputError
from simtrain.view.addresses import PLACE, key_of, number_of, page_address, run_of_key
from simtrain.view.branches import MOST_LEAVES, branches
from simtrain.view.chosen import EpisodeChooser
from simtrain.view.episode_page import listed, neighbours, same_case
from simtrain.view.figures import GROUPS, figures, success_chart
from simtrain.view.list_page import A_PAGE, RunTotals, list_page
from simtrain.view.reference import found_reference
from simtrain.view.run_comparison import compare_runs
from simtrain.view.run_table import RunTable
from simtrain.view.shelf import RunShelf, ShelvedRun
from simtrain.view.shown_episode import shown_turns
from simtrain.view.side_by_side import side_by_side
from simtrain.view.triage import divergence, triage, triage_faultless
from simtrain.view.viewer_templates import HERE, viewer_templates

# Pages hold text of agents and worlds: no script but the viewer's own may run, and nothing may be fetched from elsewhere.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self';"
        " base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}

FIRST_TRIAGED = 200
MOST_TRIAGED = 5_000
MOST_COMPARED = 6
MOST_BODY = 100_000


class Viewer:
    """The pages of all runs on a shelf. Pages are made one at a time."""

    def __init__(self, shelf: RunShelf) -> None:
        self.shelf = shelf
        self._lock = Lock()
        self._chooser = EpisodeChooser()
        self._table = RunTable()
        self._totals = RunTotals()
        self.app = HostGuard(Starlette(routes=self._routes()))

    def close(self) -> None:
        """Stop what works in the background."""
        self._chooser.end()

    def _routes(self) -> list[Route]:
        # The name of a run may hold slashes, so it comes last.
        run = "{run:path}"
        pages = {
            "/": self._runs,
            "/count": self._count_all,
            "/compare": self._compare,
            "/runs": self._compare_runs,
            f"/run/{run}": self._run,
            f"/count/{run}": self._count,
            f"/figures/{run}": self._figures,
            f"/failures/{run}": self._failures,
            f"/episode/{run}": self._episode,
            f"/words/{run}": self._indexed,
        }
        posts = {f"/note/{run}": self._note, f"/words/{run}": self._index}
        return [
            *(Route(path, self._guarded(page), methods=["GET"]) for path, page in pages.items()),
            *(Route(path, self._guarded(page), methods=["POST"]) for path, page in posts.items()),
            Route("/style.css", _style),
            *(Route(f"/{name}", _script) for name in ("kept.js", "view.js")),
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
            return RedirectResponse(page_address("run", runs[0]), headers=HEADERS)
        rows, suites = self._table.rows(runs)
        return self._page("runs.html.jinja", rows=rows, suites=suites, known=sum(_known(run) for run in runs))

    def _count_all(self, request: Request, form: dict[str, str]) -> Response:
        runs = self.shelf.runs()
        for run in runs:
            run.index.refresh()
        return PlainTextResponse(str(sum(_known(run) for run in runs)), headers=HEADERS)

    def _run(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        q, sort = _asked(request)
        chosen = self._chooser.choose(run, q)
        offset = _whole(request.query_params.get("offset", "0"))
        shown = list_page(run, chosen, self._totals.of(run, chosen.filter), q=q, sort=sort, offset=offset)
        return self._page("run.html.jinja", run=run, chosen=chosen, list=shown, known=_known(run), page=A_PAGE)

    def _count(self, request: Request, form: dict[str, str]) -> Response:
        return PlainTextResponse(str(_known(self._of(request))), headers=HEADERS)

    def _figures(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        q, _ = _asked(request)
        chosen = self._chooser.choose(run, q)
        found = [
            (by, success_chart(groups, f"Success by {by}"), groups)
            for by in GROUPS
            if len(groups := figures(run.index, chosen.filter, by)) > 1 or (by == "scenario" and groups)
        ]
        return self._page("figures.html.jinja", run=run, q=q, chosen=chosen, found=found, known=_known(run))

    def _failures(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        most = min(_whole(request.query_params.get("most", "")) or FIRST_TRIAGED, MOST_TRIAGED)
        condition = f"reward < {SUCCESS}"
        (failed,) = run.index.select(f"select count(*) from records where {condition}")[0]
        rows = run.index.select(f"select id from records where {condition} order by id limit {most}")
        groups = triage([run.index.read(row["id"]) for row in rows], lambda one: found_reference(run.path, one)[0])
        return self._page(
            "failures.html.jinja",
            run=run,
            failed=failed,
            looked=len(rows),
            groups=groups,
            more=min(failed, MOST_TRIAGED),
            faultless=triage_faultless(_unplayed(run)),
            known=_known(run),
        )

    def _episode(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        number = number_of(run, request.query_params)
        trajectory = run.index.read(number)
        q, sort = _asked(request)
        before, after = neighbours(run, number, self._chooser.choose(run, q).filter, q, sort)
        reference, unknown = found_reference(run.path, trajectory)
        place = (trajectory.scenario, trajectory.episode, trajectory.arm, trajectory.attempt)
        others = same_case(self.shelf.runs(), run, number, trajectory)
        read = [(one, one.index.read(row["id"])) for one, row in others[:MOST_LEAVES]]
        leaves = {id(leaf): (one, leaf) for one, leaf in [(run, trajectory), *read]}
        return self._page(
            "episode.html.jinja",
            run=run,
            trajectory=trajectory,
            shown=shown_turns(trajectory, run.domain_of(trajectory.scenario)),
            up=page_address("run", run, q=q, sort=sort),
            before=before,
            after=after,
            reference=reference,
            unknown=unknown,
            divergence=divergence(trajectory, reference) if reference else None,
            note=read_notes(run.path).get(place),
            note_address=f"/note/{quote(run.name)}?{request.url.query}",
            marks=MARKS,
            own=key_of(run, dict(zip(PLACE, place, strict=True))),
            others=listed(others),
            unlisted=max(0, len(others) - len(listed(others))),
            leaves=leaves,
            branches=branches(trajectory, (leaf for _, leaf in leaves.values() if leaf is not trajectory)),
        )

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
            rows=side_by_side([(one, run.domain_of(one.scenario)) for run, one, _ in heads]),
            same_case=len({(one.scenario, one.episode) for one in trajectories}) == 1,
        )

    def _compare_runs(self, request: Request, form: dict[str, str]) -> Response:
        names = list(dict.fromkeys(request.query_params.getlist("r")))[:MOST_COMPARED]
        if len(names) < 2:
            raise InputError("two runs at least are compared", remedy="choose them in the list of runs")
        return self._page("run_comparison.html.jinja", found=compare_runs([self._named(name) for name in names]))

    def _head(self, key: str) -> tuple[ShelvedRun, Trajectory, str]:
        name, query = run_of_key(key)
        run = self._named(name)
        values = {word: found[-1] for word, found in parse_qs(query, keep_blank_values=True).items()}
        return run, run.index.read(number_of(run, values)), f"/episode/{quote(name)}?{query}"

    def _note(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        trajectory = run.index.read(number_of(run, request.query_params))
        write_note(run.path, trajectory, mark=form.get("mark", ""), note=form.get("note", ""))
        return RedirectResponse(f"/episode/{quote(run.name)}?{request.url.query}", 303, headers=HEADERS)

    def _index(self, request: Request, form: dict[str, str]) -> Response:
        run = self._of(request)
        self._chooser.index(run)
        return RedirectResponse(page_address("run", run, q=form.get("q", "")), 303, headers=HEADERS)

    def _indexed(self, request: Request, form: dict[str, str]) -> Response:
        work = self._chooser.indexing(self._of(request))
        told = {"done": work.done, "total": work.total, "running": work.running} if work else {"running": False}
        return JSONResponse(told, headers=HEADERS)


def _known(run: ShelvedRun) -> int:
    (count,) = run.index.select("select count(*) from records")[0]
    return count


def _unplayed(run: ShelvedRun) -> Iterator[Trajectory]:
    """Yield the rollouts that failed through no fault of the agent and were not played again since."""
    condition = " and ".join(f"{name} = :{name}" for name in PLACE)
    for one in failures(run.path):
        if run.index.first(condition, {name: getattr(one, name) for name in PLACE}) is None:
            yield one


def _asked(request: Request) -> tuple[str, str]:
    """Return the filter and the sorting that an address names."""
    return request.query_params.get("q", ""), request.query_params.get("sort", "")


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else 0


def _nothing(request: Request) -> Response:
    return Response(status_code=204, headers=HEADERS)


def _style(request: Request) -> Response:
    return Response(style() + (HERE / "view.css").read_text(encoding="utf-8"), media_type="text/css", headers=HEADERS)


def _script(request: Request) -> Response:
    text = (HERE / request.url.path.lstrip("/")).read_text(encoding="utf-8")
    return Response(text, media_type="text/javascript", headers=HEADERS)


@asynccontextmanager
async def viewing(shelf: RunShelf, *, port: int = 0, arrival: float = ARRIVAL) -> AsyncGenerator[str]:
    """Serve the viewer on this machine while the block runs, and yield its URL. Raises InputError for an unavailable port.

    A request that takes longer than `arrival` seconds to arrive is dropped.
    """
    viewer = Viewer(shelf)
    try:
        with bind(Listening(port=port, control_port=None)) as sockets:
            async with served(viewer.app, sockets.main, arrival):
                yield f"http://127.0.0.1:{sockets.main.getsockname()[1]}/"
    finally:
        viewer.close()
