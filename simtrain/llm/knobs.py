"""The knobs of every plug-in that calls a chat model: model, server, sampling, price."""

from functools import cached_property
from typing import ClassVar, Self

from pydantic import Field

from simtrain.contracts.plugin import Plugin
from simtrain.llm.client import DEFAULT_KEY_VARIABLE, ChatClient
from simtrain.llm.completion import Price
from simtrain.values.types import JsonObject, JsonValue


class ModelKnobs(Plugin):
    """A plug-in that calls a chat model on an OpenAI-compatible server."""

    trusted: ClassVar[bool] = False
    """Whether the knobs come only from the user, who may send keys anywhere, and never from a shared file."""

    model: str = Field(min_length=1, description="Name of the model, as its server knows it.")
    base_url: str | None = Field(
        None, description="Base URL of the server; OPENAI_BASE_URL, then OpenAI, when not given."
    )
    api_key_env: str = Field(
        DEFAULT_KEY_VARIABLE, description="Environment variable that holds the key; never the key."
    )
    timeout: float = Field(600.0, gt=0, description="Seconds that one call may take.")
    attempts: int = Field(5, ge=1, description="Attempts per call, the first included.")
    backoff: float = Field(1.0, ge=0, description="Seconds before the second attempt; doubled for each one after.")
    temperature: float | None = Field(None, ge=0, description="Sampling temperature; the server's own when not given.")
    top_p: float | None = Field(None, gt=0, le=1, description="Nucleus sampling; the server's own when not given.")
    max_tokens: int | None = Field(None, ge=1, description="Most tokens in one reply, thinking included.")
    extra_body: dict[str, JsonValue] = Field(default_factory=dict, description="More fields of the request body.")
    prompt_price: float = Field(0.0, ge=0, description="US dollars per million prompt tokens.")
    completion_price: float = Field(0.0, ge=0, description="US dollars per million completion tokens.")
    cached_price: float | None = Field(None, ge=0, description="US dollars per million cached prompt tokens.")

    @cached_property
    def client(self) -> ChatClient:
        """Return the client, created on first use. Raises InputError for a malformed base URL."""
        return ChatClient(
            self.model,
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            timeout=self.timeout,
            attempts=self.attempts,
            backoff=self.backoff,
            price=Price(self.prompt_price, self.completion_price, self.cached_price),
            trusted=self.trusted,
        )

    def __copy__(self) -> Self:
        # The client depends on the knobs, and a copy (`model_copy`) may have others.
        copied = super().__copy__()
        vars(copied).pop("client", None)
        return copied

    def sampling(self) -> JsonObject:
        """Return the sampling fields of the request body that are set; `extra_body` wins over the others."""
        fields = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens}
        return {**{name: value for name, value in fields.items() if value is not None}, **self.extra_body}

    async def ready(self) -> None:
        """Check that the server answers and has the model. Raises InputError."""
        await self.client.ready()

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self.client.close()
