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
    "Put everything into one Markdown table whose columns are, in this order: {columns}.",
    "I expect a Markdown table, just one, under the headings {columns}.",
    "Report what you find as a Markdown table. Use exactly these headings, in this order: {columns}.",
    "Write one Markdown table with one column for each of the following: {columns}.",
    "Your answer should be a table in Markdown with the columns {columns}.",
]

MEANINGS = [
    "To be exact: {meanings}.",
    "What the headings stand for: {meanings}.",
    "In these headings, {meanings}.",
]
MEANT = '"{heading}" is the {term}'
"""What a heading stands for, where it says less."""

NAMES_ALONE = [
    "Answer with the name alone.",
    "The name is enough as an answer.",
    "Reply with nothing but its name.",
    "All I need is the name.",
    "Just the name, please.",
    "State only the name.",
    "Your answer is the name and nothing else.",
    "A name is all that is asked for.",
]

REMARKS = [
    "Write dates as YYYY-MM-DD and amounts as plain numbers in the unit that the heading names. Write N/A"
    " where a value does not exist. Enclose the table in a ```markdown block.",
    "Dates take the form YYYY-MM-DD; amounts are plain numbers, in the unit given in the heading; N/A marks a"
    " value that does not exist. The table goes into a ```markdown block.",
    "Please put the table between ```markdown and ```. Use YYYY-MM-DD for dates, bare numbers (in the unit of"
    " the heading) for amounts, and N/A for whatever has no value.",
    "Format: a ```markdown block with the table in it, dates as YYYY-MM-DD, amounts as numbers without their"
    " unit (the heading says which), N/A where there is no value.",
    "Where something has no value, enter N/A. Dates: YYYY-MM-DD. Amounts: the number alone, converted to the"
    " unit in the heading. Wrap the table in a ```markdown block.",
    "Leave no cell empty: what does not exist is N/A. Give each date as YYYY-MM-DD and each amount as a number"
    " in the unit that its heading states. The table must stand in a ```markdown block.",
    "A cell whose value does not exist reads N/A, a date reads YYYY-MM-DD, and an amount is a plain number in"
    " the unit that stands in the heading. Fence the table with ```markdown.",
    "Inside a ```markdown block, write amounts as plain numbers (unit as in the heading) and dates as YYYY-MM-"
    "DD, and put N/A wherever a value does not exist.",
    "Sources may disagree or be out of date; what is true today ({today}) counts, and official sources come first.",
    "Today is {today}, and what holds today is what counts. Not all sources are up to date or right; trust"
    " official ones first.",
    "Give the state of affairs as of today, {today}. Some pages are old or mistaken; official sources come first.",
    "Some of what is written is outdated or wrong. What counts is what is true today ({today}); official"
    " sources take precedence.",
    "As of {today}, that is. If sources contradict each other, what is true today counts, and official sources"
    " come before others.",
    "Take care with old or contradictory pages: I want what is true today ({today}), and official sources have"
    " the first word.",
    "Everything is to be as it stands today ({today}). Sources differ in age and reliability; official ones"
    " come first.",
    "What matters is the truth as of today, {today}; where pages differ, official sources come first.",
    "If this cannot be answered at all, because something it rests on does not exist or because no page tells"
    " what it asks for, say so instead of guessing.",
    "Should the question rest on something that does not exist, or ask only for what is told nowhere, say"
    " that it cannot be answered; do not guess.",
    "If there is no answer because what I ask about does not exist or is stated on no page, tell me so rather than guess.",
    "Do not guess: where the question assumes something that is not so, or where nothing that it asks for is"
    " known, say that it has no answer.",
    "In case what this rests on does not exist, or none of it can be found, reply that it cannot be answered;"
    " a table of blanks is no answer.",
    "It may be that I am mistaken: something in this question may not exist, or nothing of it may be on"
    " record. Say so then, and give no table.",
    "Rather than guess, say that there is no answer if the question presupposes what does not exist, or if"
    " all that it asks for is unknown.",
    "Should it turn out that the question is built on something that does not exist, or that nothing it asks"
    " for is told anywhere, an answer is not wanted; say so.",
]
"""What is said of how to answer, which does not change the answer."""

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
    "site": ["{label} according to {site}", "{site}'s {label}", "{site}' {label}"],
}

SINCE, UNTIL = "start date", "end date"
