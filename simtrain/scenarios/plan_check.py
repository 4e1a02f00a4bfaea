"""Check a scenario's plans before anything is played: names, calls and bindings."""

from collections.abc import Callable, Sequence

from simtrain.agents.typist import step_tool, types
from simtrain.contracts.plan import AnyStep, CallStep, EachStep, Plan, ReadStep, SetStep
from simtrain.contracts.tool_globs import matches
from simtrain.contracts.world import World
from simtrain.files.templates import Value, expression
from simtrain.files.yaml_files import Document, Place
from simtrain.values.errors import nearest
from simtrain.values.types import JsonValue, ToolSpec


class PlanCheck:
    """A plan may use only names that the prompt states or earlier steps bind, nothing else of the case."""

    def __init__(
        self,
        document: Document,
        key: str,
        world: World,
        stated: frozenset[str],
        case: frozenset[str],
        globs: Sequence[str],
        asking: tuple[ToolSpec, ...],
    ) -> None:
        self.document = document
        self.key = key
        offered = [tool for tool in world.tools if matches(tool.name, tuple(globs))]
        steps = (step_tool(),) if types(offered) else ()
        self.tools = {tool.name: tool for tool in (*offered, *asking, *steps)}
        self.hidden = case - stated
        self.bound = set(stated)

    def check(self, plan: Plan) -> None:
        """Raise InputError for a plan that uses forbidden names or calls unknown tools."""
        self._steps(plan.steps, (self.key, "steps"))
        if plan.answer is not None and plan.abstain is not None:
            raise self.document.error((self.key,), "a plan ends with `answer` or with `abstain`, not both")
        for name, source in (("answer", plan.answer), ("abstain", plan.abstain)):
            if source is not None:
                self._names(Value, source, (self.key, name))

    def _steps(self, steps: Sequence[AnyStep], place: Place) -> None:
        for index, step in enumerate(steps):
            here: Place = (*place, index)
            if step.when is not None:
                self._names(expression, step.when, (*here, "if"))
            if isinstance(step, CallStep):
                self._call(step, here)
            elif isinstance(step, EachStep):
                self._names(expression, step.items, (*here, "in"))
                self.bound.add(step.item)
                self._steps(step.steps, (*here, "do"))
            elif isinstance(step, SetStep):
                for name, source in step.values.items():
                    self._names(Value, source, (*here, "set", name))
                    self.bound.add(name)
            elif isinstance(step, ReadStep):
                self._names(expression, step.read, (*here, "read"))
                self.bound.add(step.bind)
            else:
                self._names(Value, step.abstain, (*here, "abstain"))

    def _call(self, step: CallStep, here: Place) -> None:
        tool = self.tools.get(step.call)
        if tool is None:
            raise self.document.error(
                (*here, "call"),
                f"the plan calls {step.call!r}, which the agent is not given",
                nearest(step.call, self.tools),
            )
        properties = tool.input_schema.get("properties", {})
        for name, source in step.arguments.items():
            # A schema without properties accepts any argument.
            if properties and name not in properties:
                raise self.document.error(
                    (*here, "with", name), f"{step.call} has no argument {name!r}", nearest(name, properties)
                )
            self._names(Value, source, (*here, "with", name))
        for name in tool.input_schema.get("required", []):
            if name not in step.arguments:
                raise self.document.error((*here, "with"), f"{step.call} needs the argument {name!r}")
        self.bound |= {name for name in (step.bind, step.into) if name}

    def _names(self, compile_source: Callable[[str], Value] | type[Value], source: JsonValue, place: Place) -> None:
        with self.document.locating(place):
            value = compile_source(source)
        for name in sorted(value.names - self.bound):
            if name in self.hidden:
                raise self.document.error(
                    place,
                    f"the plan uses the case parameter {name!r}, which the prompt does not state",
                    "look it up with a tool",
                )
            raise self.document.error(
                place, f"the plan names {name!r}, which nothing binds before", nearest(name, self.bound)
            )
