"""What the plans of an app's families meet: every screen, and of every form a success and two different refusals."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

import pytest
from shipped_apps import APPS, ShippedApp

from simtrain import load_scenario, rollout
from simtrain.scenarios.find import shipped_scenarios
from simtrain.worlds.app.web.exchange import SiteRequest, SiteResponse
from simtrain.worlds.app.world import AppState

CASES = 3
WITHOUT_REFUSALS = {"/logout", "/transfer/{id}/drop", "/pages/{id}/watch", "/series/{id}/cancel"}
"""Forms of a single button that refuse nobody, or only those who come too late."""


@dataclass
class Met:
    """The patterns of screens that answered, of forms that succeeded, and the rules by which each form refused."""

    screens: set[str] = field(default_factory=set[str])
    done: set[str] = field(default_factory=set[str])
    refused: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def met_by_plans(name: str, monkeypatch: pytest.MonkeyPatch) -> Met:
    """Play the reference and the wrong plan of some cases of every family of an app."""
    met = Met()
    respond = AppState.respond

    def noting(state: AppState, request: SiteRequest) -> SiteResponse:
        response = respond(state, request)
        site = state.world.site
        if request.method == "POST":
            form = site.forms.find(request.address.path)
            if form is not None and response.rule is None:
                met.done.add(form[0].pattern)
            elif form is not None:
                met.refused[form[0].pattern].add(str(response.rule))
        else:
            screen = site.screens.find(request.address.path)
            if screen is not None and response.status == 200:
                met.screens.add(screen[0].pattern)
        return response

    monkeypatch.setattr(AppState, "respond", noting)
    for family in shipped_scenarios():
        if family.startswith(f"{name}/"):
            scenario = load_scenario(family)
            for agent in ("oracle", "wrong") if scenario.spec.wrong else ("oracle",):
                for case in range(CASES):
                    asyncio.run(rollout(scenario, agent, case=case))
    return met


@pytest.mark.full
@pytest.mark.parametrize("app", APPS, ids=lambda app: app.name)
def test_plans_meet_every_screen_and_a_success_and_two_refusals_of_every_form(
    app: ShippedApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = app.built()
    met = met_by_plans(app.name, monkeypatch)
    assert sorted(set(world.site.screens.patterns) - met.screens) == []
    assert sorted(set(world.site.forms.patterns) - met.done) == []
    few = {form: sorted(met.refused[form]) for form in world.site.forms.patterns if len(met.refused[form]) < 2}
    assert {form: rules for form, rules in few.items() if form not in WITHOUT_REFUSALS} == {}
