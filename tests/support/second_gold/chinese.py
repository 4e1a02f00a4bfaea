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
    "请只给出一个Markdown表格，从左到右各列为：{columns}。",
    "请把结果写进一个Markdown表格，列名及顺序如下：{columns}。",
    "答案应为一个Markdown表格，包含以下各列：{columns}。",
    "请以Markdown表格汇报，严格使用这些列名：{columns}。",
    "所有内容请放进同一个Markdown表格，表头为：{columns}。",
    "我需要一个Markdown表格，其各列分别是：{columns}。",
]

MEANINGS = [
    "列名含义：{meanings}。",
    "其中，{meanings}。",
    "具体而言，{meanings}。",
]
MEANT = "“{heading}”指{term}"
"""What a heading stands for, where it says less."""

NAMES_ALONE = [
    "只需回答名称。",
    "答案只写名称即可。",
    "请只回复它的名称。",
    "我只需要名称。",
    "给出名称就够了。",
    "除名称外不必写别的。",
    "回答仅限名称。",
    "请直接写出名称。",
]

REMARKS = [
    "日期写成YYYY-MM-DD，数值只写数字，单位以列名为准，名称和类别照网页原文书写。没有的值写N/A。请把表格放在```markdown代码块中。",
    "日期格式为YYYY-MM-DD；数值按列名所示单位只写数字；名称和类别保留网页原文；不存在的值写N/A。表格置于```markdown代码块内。",
    "请用```markdown代码块包住表格。日期用YYYY-MM-DD，数值换算成列名中的单位后只写数字，没有值的地方写N/A，名称与类别用网页原文。",
    "格式要求：表格放入```markdown代码块，日期为YYYY-MM-DD，数值不带单位（单位见列名），缺少的值记为N/A，名称和类别与网页一致。",
    "凡是没有值的单元格都写N/A。日期：YYYY-MM-DD。数值：只写数字，单位依列名。名称和类别按网页原文。表格写在```markdown代码块里。",
    "不要留空：不存在的值写N/A。每个日期写作YYYY-MM-DD，每个数值以列名注明的单位写成数字，名称和类别抄录网页原文。表格须放在```markdown代码块中。",
    "值不存在时填N/A，日期填YYYY-MM-DD，数值填数字（单位以列名为准），名称、类别沿用网页原文。整个表格用```markdown代码块括起。",
    "在```markdown代码块中书写表格：数值只写数字，单位同列名；日期写YYYY-MM-DD；无值处写N/A；名称和类别照录网页原文。",
    "各来源可能互相矛盾或已过时，以今天（{today}）的实际情况为准，官方来源优先。",
    "今天是{today}，请以今天的实际情况为准。有些来源未更新或有误，应优先采信官方来源。",
    "请给出截至今天（{today}）的情况。部分网页陈旧或有错，官方来源优先。",
    "网上有些说法已经过时或不正确，请以今天（{today}）属实的为准，并以官方来源为先。",
    "时间以{today}为准。来源互相矛盾时，以今天的实际情况为准，官方来源优先于其他来源。",
    "请留意过时或互相矛盾的网页：我要的是今天（{today}）的真实情况，官方来源优先。",
    "一切以今天（{today}）的情况为准。各来源新旧和可靠程度不一，官方来源优先。",
    "重要的是截至今天（{today}）的事实；网页说法不一时，官方来源优先。",
    "如果问题所依据的事物并不存在，或没有任何网页载有所问的内容，因而完全无法回答，请直接说明，不要猜测。",
    "若问题以不存在的事物为前提，或所问的内容全无记载，请说明无法回答，切勿猜测。",
    "如果因为所问的事物不存在，或没有网页写明所问的内容而没有答案，请如实告知，不要编造。",
    "请不要猜测：如果问题假定了并不成立的事，或所问的内容无一可知，请说明没有答案。",
    "倘若问题所依据的事物不存在，或所问的内容一项也查不到，请答复无法回答，不要交一张空表。",
    "也可能是我弄错了：问题中的某样事物并不存在，或所问的内容全无记录。那样的话请直接指出，不必给出表格。",
    "如果问题的前提不成立，或所问的一切都无从得知，请说明没有答案，而不要猜。",
    "若发现问题建立在不存在的事物之上，或所问的内容无处可查，则不需要答案，请直接说明。",
]
"""What is said of how to answer, which does not change the answer."""

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
    "site": ["{site}所述{label}", "{site}的{label}"],
}

SINCE, UNTIL = "起始日期", "终止日期"
