"""The English sentences that the reader knows. To teach it another wording, add a line."""

from __future__ import annotations

ASKS = {
    "rows": [
        "List all {things}.",
        "Find all {things}, leaving none out.",
        "I am preparing an overview and need all {things}.",
        "I need a complete list of the {things}.",
        "For an audit, put together the complete set of {things}.",
    ],
    "lookup": [
        "Look up the following {things}: {names}.",
        "What is known about these {things}: {names}?",
        "Here are some {things}: {names}. Find out about each of them what the table below asks for.",
    ],
    "groups": [
        "Consider the {things}, grouped by the {group}. Work out the figures below for each group.",
        "Take the {things}, and sort them into groups by the {group}. Work out the figures below for each group.",
    ],
    "top": [
        "Of all {things}, find the {count} with the {end} {term}.",
        "Of all {things}, which {count} have the {end} {term}?",
        "I want to rank the {things}. Which {count} have the {end} {term}?",
    ],
    "best": [
        "Consider the {things}, grouped by the {group}. Find the one in each group that has the {end} {term}.",
        "Take the {things}, and sort them into groups by the {group}. Which one in each group has the {end} {term}?",
    ],
    "dispute": [
        "On the {term} of some {things}, the sources {first} and {second} disagree."
        " Find all such cases and state what each of the two says.",
        "Compare two sources, {first} and {second}, on the {things}: where do they differ in the {term}?"
        " List every such case with what each says.",
    ],
    "single": [
        "There is exactly one {thing} {conditions}. Which is it?",
        "I am trying to identify a certain {thing}. All that I know is that it is the only one {conditions}."
        " What is it called?",
        "Name the only {thing} {conditions}.",
    ],
}

TABLES = [
    "Give the result as one Markdown table with these columns, in this order: {columns}.",
    "Answer with a single Markdown table. Its columns, in order: {columns}.",
    "The answer is one Markdown table; columns: {columns}.",
]

NAMES_ALONE = ["Answer with the name alone.", "The name is enough as an answer."]

REMARKS = [
    "Write dates as YYYY-MM-DD and amounts as plain numbers in the unit that the heading names."
    " Write N/A where a value does not exist. Enclose the table in a ```markdown block.",
    "Sources may disagree or be out of date; what is true today ({today}) counts, and official sources come first.",
    "If this cannot be answered because something it rests on does not exist, say so instead of guessing.",
]

BETWEEN_SENTENCES = " "

THINGS = ["{thing}", "{thing} {conditions}"]
EVER = "past and present {things}"
LISTED = "; "
COLUMNS_LISTED = ", "

SEPARATORS = [", and ", " and ", ", "]
"""What stands between two conditions."""

BEYOND = ["{first}'s {second}", "{second} of the {first}"]
"""What lies at the end of a reference: how the reference (`first`) and the attribute beyond it are put together."""

COUNTED = "number of {label}"

_OF = "[whose|where the] {term}"
CONDITIONS = {
    "equals": [f"{_OF} [is|are] {{value}}"],
    "differs": [f"{_OF} [is|are] [not|anything but] {{value}}"],
    "either": [f"{_OF} [is|are] {{value}} or {{other}}", f"{_OF} [is|are] either {{value}} or {{other}}"],
    "at_least": [f"{_OF} [is|are] at least {{value}}", f"{_OF} [is|are] {{value}} or more"],
    "at_most": [f"{_OF} [is|are] at most {{value}}", f"{_OF} [is|are] {{value}} or less"],
    "range": [f"{_OF} [is|are] between {{low}} and {{high}} (inclusive)"],
    "from_year": [f"{_OF} [is|are] in {{first}} or later", f"{_OF} [is|are] not before {{first}}"],
    "to_year": [f"{_OF} [is|are] in {{last}} or earlier", f"{_OF} [is|are] not after {{last}}"],
    "years": [
        f"{_OF} [falls|fall] in the years {{first}} to {{last}}",
        f"{_OF} [is|are] between the beginning of {{first}} and the end of {{last}}",
    ],
    "year": [f"{_OF} [falls|fall|is|are] in {{first}}"],
    "decade": [f"{_OF} [falls|fall|is|are] in the {{first}}s"],
    "more": [f"{_OF} [is|are] [later|larger] than the {{than}}"],
    "less": [f"{_OF} [is|are] [earlier|smaller] than the {{than}}"],
    "has": ["that [has|have] {noun}", f"{_OF} [has|have] {{noun}}"],
    "lacks": ["that [does|do] not have {noun}", f"{_OF} [does|do] not have {{noun}}"],
    "now": ["that [still hold|are in force] today ({day})"],
    "ended": ["that had ended by today ({day})"],
    "on": ["that were in force on {day}"],
    "only": [f"{_OF} [is|are] the only {{thing}} {{conditions}}"],
    "tied": ["that [has|have], or once had, at least one {relation} {clause}"],
    "tied_timeless": ["that [has|have] at least one {relation} {clause}"],
    "tied_now": ["that at present [has|have] at least one {relation} {clause}"],
    "untied": ["that [has|have] never had any {relation} {clause}", "that [has|have] never had any {relation}"],
    "untied_timeless": ["that [does|do] not have any {relation} {clause}", "that [does|do] not have any {relation}"],
    "untied_now": ["that at present [has|have] no {relation}"],
}

ENDS = {
    "highest": "high", "lowest": "low", "greatest": "high", "smallest": "low",
    "most": "high", "fewest": "low", "latest": "high", "earliest": "low",
}  # fmt: skip

HEADINGS = {
    "unit": "{label} ({unit})",
    "count": "Number of {things}",
    "sum": "Total {label}",
    "mean": "Average {label}",
    "site": "{label} according to {site}",
}

SINCE, UNTIL = "start date", "end date"
