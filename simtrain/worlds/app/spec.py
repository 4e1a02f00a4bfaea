"""The YAML of an app world file."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from simtrain.files.file_model import FileModel
from simtrain.values.types import JsonValue
from simtrain.worlds.service.spec import Constraint, Name, TablesSpec

_PATH = re.compile(r"/|(?:/(?:[a-z0-9][a-z0-9_.-]*|\{[a-z_][a-z0-9_]*\}))+")


def _is_path(text: str) -> str:
    if not _PATH.fullmatch(text):
        raise ValueError("an address is written like /orders/{id}: lower case, parameters in braces")
    return text


AddressPattern: TypeAlias = Annotated[str, AfterValidator(_is_path)]
Roles: TypeAlias = Annotated[list[str], Field(min_length=1)]
Shown: TypeAlias = Literal["inline", "flash", "dialog", 403, 404, 409]


class RefusalRule(FileModel):
    """A precondition of a screen or a form: if `if` holds, or `unless` does not, it is refused with the error text."""

    holds: str | None = Field(default=None, alias="if")
    unless: str | None = None
    error: str
    field: Name | None = Field(default=None, description="The field of the form that the text stands at.")
    shown: Shown | None = Field(
        default=None,
        alias="as",
        description="inline (at `field`; the default with one), flash (the default), dialog, or an error page: 403, 404, 409.",
    )
    label: str | None = Field(default=None, description="The name of the rule in records.")

    @model_validator(mode="after")
    def _is_whole(self) -> RefusalRule:
        if (self.holds is None) == (self.unless is None):
            raise ValueError("a rule needs either `if` or `unless`")
        if (self.shown == "inline" and self.field is None) or (
            self.field is not None and self.shown not in (None, "inline")
        ):
            raise ValueError("`as: inline` and `field` go together")
        return self


class FieldSource(FileModel):
    """A field of a form: its type, and what it must be. Each flaw is shown at the field."""

    type: Literal["text", "integer", "number", "date", "email", "check", "list", "file"] = "text"
    label: str = Field(default="", description="How texts call the field; its name if left out.")
    required: bool = True
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = Field(default=None, ge=0)
    max_length: int | None = Field(default=None, ge=1)
    pattern: str | None = Field(default=None, description="A regular expression that the whole text must match.")
    choices: list[str] | None = None
    accept: list[str] | None = Field(default=None, description="Of a file: the endings of names that are taken.")
    error: str | None = Field(default=None, description="The text for any flaw, in place of the app's `texts`.")


class ScreenSource(FileModel):
    """A screen: the address it is at is its key in `screens`."""

    template: str = Field(description="The template, a file in the folder of templates.")
    title: str = Field(description="The title of the page, a template.")
    query: dict[Name, JsonValue] = Field(
        default_factory=dict,
        description="Parameters after the question mark, with their defaults; text or whole numbers.",
    )
    let: dict[Name, str] = Field(default_factory=dict)
    read: dict[Name, str | dict[str, JsonValue]] = Field(default_factory=dict)
    pages: dict[Name, Annotated[int, Field(ge=1, le=500)]] = Field(
        default_factory=dict,
        description="A list of `read`, and its rows a page; the parameter `page` turns the pages.",
        max_length=1,
    )
    roles: Roles | None = Field(
        default=None, alias="for", description="Who sees it; others are sent to sign in, or refused."
    )
    refuse: list[RefusalRule] = Field(default_factory=list[RefusalRule])
    fragment: bool = Field(default=False, description="A part of a page, such as suggestions: no layout, no history.")
    download: str | None = Field(default=None, description="The file name, a template: the text is saved, not shown.")


class FormSource(FileModel):
    """A form: what it takes, what it refuses, what it writes and where it leads. Its key in `forms` is the address it posts to."""

    input: dict[Name, FieldSource] = Field(default_factory=dict[str, FieldSource])
    roles: Roles | None = Field(default=None, alias="for")
    let: dict[Name, str] = Field(default_factory=dict)
    refuse: list[RefusalRule] = Field(default_factory=list[RefusalRule])
    ids: dict[Name, str] = Field(default_factory=dict)
    write: list[str] = Field(default_factory=list)
    each: Name | None = Field(
        default=None, description="A field of type list: `write` runs once for each item, as :item."
    )
    errors: dict[Constraint, str] = Field(default_factory=dict[Constraint, str])
    sign_in: str | None = Field(default=None, description="SQL: the id of the user who is signed in from now on.")
    sign_out: bool = False
    done: str | None = Field(default=None, description="The toast on the next page, a template.")
    then: str = Field(default="{{ referrer }}", description="The address of the next page, a template.")


class UsersSpec(FileModel):
    """Who can sign in."""

    read: str = Field(description="SQL: the user :id, one row with at least `id` and `role`.")
    sign_in: AddressPattern = Field(default="/login", description="The screen that asks to sign in.")


class TextsSpec(FileModel):
    """What a site says by itself, as templates.

    All may read `look`; those of a field `field`, some of them `limit`; those of rows that the database refuses `what`.
    """

    no_page: str = "This page does not exist."
    not_allowed: str = "You do not have permission to do this."
    required: str = "{{ field }} is required."
    ticked: str = "{{ field }} must be ticked."
    choose: str = Field(default="Choose at least one: {{ field | lower }}.", description="Of a list.")
    no_choice: str = "{{ field }} has a choice that does not exist."
    whole_number: str = "{{ field }} must be a whole number."
    number: str = "{{ field }} must be a number."
    minimum: str = "{{ field }} must be at least {{ limit }}."
    maximum: str = "{{ field }} must be at most {{ limit }}."
    date: str = "{{ field }} must be a date."
    email: str = "{{ field }} must be an email address."
    min_length: str = "{{ field }} must have at least {{ limit }} characters."
    max_length: str = "{{ field }} may have at most {{ limit }} characters."
    pattern: str = "{{ field }} has the wrong form."
    file: str = "Choose a file: {{ field | lower }}."
    too_large: str = "{{ field }} is too large: at most {{ limit }} MB."
    file_type: str = "{{ field }} must be a file of type {{ limit }}."
    unique: str = "A record with this {{ what }} already exists."
    check: str = "Invalid value for {{ what }}."
    not_null: str = "{{ what }} is required."
    foreign_key: str = "A referenced record does not exist."


class AppSpec(TablesSpec):
    """An app: schema, rows, screens, forms."""

    kind: Literal["app"]
    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    database: str | None = Field(
        default=None,
        description="A service world file beside this one: the app shares its tables, rows, clock and tools.",
    )
    tables: str = Field(default="", alias="schema")
    site: str = Field(
        pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$", description="The host name of the site, such as shop.example."
    )
    templates: str = Field(description="The folder of templates, beside this file.")
    layout: str = "layout.html"
    style: str | None = Field(default=None, description="A style sheet in the folder of templates.")
    users: UsersSpec | None = None
    start: AddressPattern = "/"
    looks: dict[Name, Annotated[list[str], Field(min_length=2)]] = Field(
        default_factory=dict[str, list[str]],
        description="What a scenario can vary about the pages: name to values, the first by default; templates read `look.NAME`.",
    )
    texts: TextsSpec = Field(default=TextsSpec(), description="What the site says by itself, by name, in other words.")
    downloads: str = Field(
        default="Downloads", description="The folder in the world's file store that downloads go to."
    )
    screens: dict[AddressPattern, ScreenSource] = Field(min_length=1)
    forms: dict[AddressPattern, FormSource] = Field(default_factory=dict[str, FormSource])


class AppView(FileModel):
    """The knobs of an app that a scenario sets with `world: {use: NAME, with: {...}}`."""

    actions: Literal["playwright", "browsergym"] = Field(
        default="playwright", description="The tools, and the form of pages: those of Playwright MCP, or of BrowserGym."
    )
    signed_in: JsonValue = Field(default=None, description="The id of the user who is signed in from the start.")
    start: str | None = Field(default=None, description="The address of the first page; the app's own if left out.")
    look: dict[Name, str] = Field(
        default_factory=dict[str, str], description="Values of the app's `looks`: other words, places or languages."
    )
    tools: bool = Field(default=False, description="Whether the tools of the service world are offered as well.")
