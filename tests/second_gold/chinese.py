"""The Chinese sentences that the reader knows. To teach it another wording, add a line."""

from __future__ import annotations

ASKS = {
    "rows": [
        "请列出全部{things}。",
        "请找出全部{things}，不要遗漏。",
        "我正在整理一份清单，需要全部{things}。",
        "请完整收集{things}，一个也不要漏掉。",
        "为了核对资料，请汇总全部{things}。",
    ],
    "lookup": ["请查找以下{things}的资料：{names}。", "关于下列{things}，请逐一查明表中所列各项：{names}。"],
    "groups": ["请把{things}按{group}分组，并给出每组的下列数字。", "请按{group}汇总{things}，统计每组的下列数字。"],
    "top": ["在全部{things}中，{term}{end}的{count}个是哪些？", "请找出全部{things}当中{term}{end}的{count}个。"],
    "best": [
        "请把{things}按{group}分组，并找出每组中{term}{end}的一个。",
        "按{group}划分，每组{things}中{term}{end}的是哪一个？",
    ],
    "dispute": [
        "在{term}一项上，{first}与{second}两个来源对某些{things}说法不一。请全部找出，并写明两处各自的说法。",
        "请就{term}一项比较{first}与{second}两个来源对{things}的说法，列出所有不一致的情况以及各自的说法。",
    ],
    "single": [
        "同时满足以下条件的{thing}只有一个：{conditions}。它是哪一个？",
        "我在寻找某个{thing}，只知道符合以下描述的仅此一例：{conditions}。它叫什么名字？",
    ],
}

TABLES = [
    "请用一个Markdown表格作答，列名依次为：{columns}。",
    "结果请整理成一个Markdown表格，表格的列依次为：{columns}。",
]

NAMES_ALONE = ["只需回答名称。", "答案只写名称即可。"]

REMARKS = [
    "日期写成YYYY-MM-DD，数值只写数字，单位以列名为准，名称和类别照网页原文书写。没有的值写N/A。请把表格放在```markdown代码块中。",
    "各来源可能互相矛盾或已过时，以今天（{today}）的实际情况为准，官方来源优先。",
    "如果问题所依据的事物并不存在，因而无法回答，请直接说明，不要猜测。",
]

BETWEEN_SENTENCES = ""

THINGS = ["{thing}", "{conditions}的{thing}"]
EVER = "{things}（包括已结束的）"
LISTED = "；"
COLUMNS_LISTED = "、"

SEPARATORS = ["，且", "，"]
BEYOND = ["{first}的{second}"]
COUNTED = "{label}"

CONDITIONS = {
    "equals": ["{term}[为|是]{value}"],
    "differs": ["{term}不是{value}"],
    "either": ["{term}为{value}或{other}"],
    "at_least": ["{term}[不少于|至少为]{value}"],
    "at_most": ["{term}[不超过|至多为]{value}"],
    "range": ["{term}在{low}到{high}之间（含两端）"],
    "from_year": ["{term}在{first}年或之后"],
    "to_year": ["{term}在{last}年或之前"],
    "years": ["{term}在{first}年至{last}年之间", "{term}不早于{first}年初且不晚于{last}年末"],
    "year": ["{term}在{first}年内"],
    "decade": ["{term}[在|处于]{first}年代"],
    "more": ["{term}[晚于|大于]{than}"],
    "less": ["{term}[早于|小于]{than}"],
    "has": ["有{noun}", "{term}有{noun}"],
    "lacks": ["没有{noun}", "{term}没有{noun}"],
    "now": ["目前（{day}）仍然有效"],
    "ended": ["截至今日（{day}）已经结束"],
    "on": ["在{day}当天有效"],
    "only": ["{term}是唯一符合以下描述的{thing}：{conditions}"],
    "tied": ["现有或曾有{clause}的{relation}"],
    "tied_timeless": ["有{clause}的{relation}"],
    "tied_now": ["目前有{clause}的{relation}"],
    "untied": ["从未有过{clause}的{relation}", "从未有过任何{relation}"],
    "untied_timeless": ["没有{clause}的{relation}", "没有任何{relation}"],
    "untied_now": ["目前没有任何{relation}"],
}

ENDS = {
    "最高": "high", "最低": "low", "最大": "high", "最小": "low",
    "最多": "high", "最少": "low", "最晚": "high", "最早": "low",
}  # fmt: skip

HEADINGS = {
    "unit": "{label}（{unit}）",
    "count": "{things}数量",
    "sum": "{label}总计",
    "mean": "{label}平均值",
    "site": "{site}所述{label}",
}

SINCE, UNTIL = "起始日期", "终止日期"
