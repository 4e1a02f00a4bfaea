"""All formats of calls. The format of a template is found by reading back a call that it wrote."""

from simtrain.llm.call_formats.channels import Atem, Harmony
from simtrain.llm.call_formats.function_calls import FunctionCalls
from simtrain.llm.call_formats.gemma import Gemma
from simtrain.llm.call_formats.json_calls import BareJson, TaggedJson
from simtrain.llm.call_formats.reading import CallFormat
from simtrain.llm.call_formats.tagged_values import GLM, QWEN

# BareJson comes last: it opens with a brace, which other formats contain too.
FORMATS: tuple[CallFormat, ...] = (
    TaggedJson(), QWEN, GLM, Gemma(), FunctionCalls(escaped=True), FunctionCalls(escaped=False), Harmony(), Atem(), BareJson(),
)  # fmt: skip
