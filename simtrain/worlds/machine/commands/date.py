"""date: the time of the world, and dates by words."""

import re
from datetime import UTC, datetime, timedelta, tzinfo

from simtrain.worlds.machine.commands.date_words import NoDate, moment_of
from simtrain.worlds.machine.commands.options import parsed
from simtrain.worlds.machine.commands.setting_clocks import set_clock
from simtrain.worlds.machine.commands.zones import zone_named
from simtrain.worlds.machine.invocation import Invocation, Result

_LONG = {
    "date=": "d", "file=": "f", "iso-8601=?": "I", "reference=": "r", "rfc-email": "R", "rfc-2822": "R",
    "rfc-3339=": "rfc-3339", "set=": "s", "utc": "u", "universal": "u",
}  # fmt: skip
_DEFAULT = "%a %b %e %H:%M:%S %Z %Y"
_ISO = {
    "": "%Y-%m-%d", "date": "%Y-%m-%d", "hours": "%Y-%m-%dT%H%:z", "minutes": "%Y-%m-%dT%H:%M%:z",
    "seconds": "%Y-%m-%dT%H:%M:%S%:z", "ns": "%Y-%m-%dT%H:%M:%S,%N%:z",
}  # fmt: skip
_RFC = {"date": "%Y-%m-%d", "seconds": "%Y-%m-%d %H:%M:%S%:z", "ns": "%Y-%m-%d %H:%M:%S.%N%:z"}
_DIGITS = re.compile(r"\d{8}(\d{2}|\d{4})?(?:\.(\d{2}))?")
_FIELD = re.compile(r"%([-_0^#+]*)(\d*)(:{0,3})([A-Za-z%])")
_WIDTHS = {"d": 2, "e": 2, "H": 2, "I": 2, "j": 3, "k": 2, "l": 2, "m": 2, "M": 2, "S": 2, "U": 2, "V": 2, "W": 2, "y": 2,
           "g": 2, "C": 2, "Y": 4, "G": 4, "s": 1, "u": 1, "w": 1, "q": 1, "N": 9}  # fmt: skip
_COMPOUND = {
    "D": "%m/%d/%y", "F": "%Y-%m-%d", "R": "%H:%M", "T": "%H:%M:%S", "X": "%H:%M:%S", "x": "%m/%d/%y",
    "c": "%a %b %e %H:%M:%S %Y", "r": "%I:%M:%S %p", "h": "%b",
}  # fmt: skip


def date(call: Invocation) -> Result:
    """Print a time, by default now, in a format."""
    options = parsed(call, "d:f:I::r:Rs:u", _LONG)
    if isinstance(options, Result):
        return options
    zone = UTC if options.has("u") else zone_named(call.environment.get("TZ"))
    formats = [word[1:] for word in options.operands if word.startswith("+")]
    extra = [word for word in options.operands if not word.startswith("+")]
    if len(options.operands) > 1:
        return Result(
            stderr=f"date: extra operand '{options.operands[1]}'\nTry 'date --help' for more information.\n",
            exit_code=1,
        )
    if options.has("s") or extra:
        return _set(call, options.value("s") if options.has("s") else None, extra, zone, formats)
    form = _form(options.value("I"), options.value("rfc-3339"), options.has("R"), formats)
    if form is None:
        kind, value = (
            ("--iso-8601", options.value("I")) if options.value("I") else ("--rfc-3339", options.value("rfc-3339"))
        )
        return call.fail(f"invalid argument '{value}' for '{kind}'")
    texts = [options.value("d")] if options.has("d") else []
    if options.has("f"):
        name = options.value("f") or "-"
        source = (call.stdin or "") if name == "-" else call.files.read(call.path(name)).decode(errors="replace")
        texts = list(source.splitlines())
    if options.has("r"):
        moment = call.files.node(call.path(options.value("r") or "")).modified
        return Result(written(form, moment, zone) + "\n")
    if not texts:
        return Result(written(form, call.now, zone) + "\n")
    output, errors = "", ""
    for text in texts:
        try:
            moment = moment_of(text or "today 00:00", now=call.now, zone=zone)
            output += written(form, moment, zone) + "\n"
        except (NoDate, ValueError, OverflowError, OSError):
            errors += f"date: invalid date '{text}'\n"
    return Result(output, errors, 1 if errors else 0)


def _set(call: Invocation, text: str | None, extra: list[str], zone: tzinfo, formats: list[str]) -> Result:
    """Set the clock of the machine to a time by words, or by digits (MMDDhhmm[[CC]YY][.ss])."""
    wanted = extra[0] if text is None else text
    try:
        moment = _by_digits(wanted, call.now, zone) if text is None else moment_of(wanted, now=call.now, zone=zone)
    except (NoDate, ValueError, OverflowError, OSError):
        return call.fail(f"invalid date '{wanted}'")
    shown = written(formats[0] if formats else _DEFAULT, moment, zone) + "\n"
    if call.user.uid != 0:
        return Result(shown, "date: cannot set date: Operation not permitted\n", 1)
    set_clock(call, moment - call.moment, synchronized=False)
    return Result(shown)


def _by_digits(text: str, now: float, zone: tzinfo) -> float:
    """Return the time of MMDDhhmm[[CC]YY][.ss]. Raises ValueError."""
    found = _DIGITS.fullmatch(text)
    if found is None:
        raise ValueError("not the digits of a date")
    month, day, hour, minute = (int(text[at : at + 2]) for at in (0, 2, 4, 6))
    years = found[1] or ""
    year = datetime.fromtimestamp(now, zone).year if not years else int(years)
    if len(years) == 2:
        year += 2000 if year < 69 else 1900
    return datetime(year, month, day, hour, minute, int(found[2] or 0), tzinfo=zone).timestamp()


def _form(iso: str | None, rfc: str | None, mail: bool, formats: list[str]) -> str | None:
    if iso is not None:
        return _ISO.get(iso)
    if rfc is not None:
        return _RFC.get(rfc)
    if mail:
        return "%a, %d %b %Y %H:%M:%S %z"
    return formats[0] if formats else _DEFAULT


def written(form: str, seconds: float, zone: tzinfo) -> str:
    """Return a Unix time in a format of `date`."""
    moment = datetime.fromtimestamp(int(seconds // 1), zone)
    # Seconds are held as floats, which are exact to a microsecond.
    nanoseconds = round(seconds % 1 * 1e6) * 1000

    def put(found: re.Match[str]) -> str:
        flags, width, colons, letter = found[1], found[2], found[3], found[4]
        if letter in _COMPOUND:
            text = written(_COMPOUND[letter], seconds, zone)
        else:
            text = _field(letter, moment, nanoseconds, seconds, len(colons))
        if text is None:
            return found[0]
        if letter in _WIDTHS:
            text = _padded(text, letter, flags, int(width) if width else _WIDTHS[letter])
        elif width:
            text = text.rjust(int(width), "0" if "0" in flags else " ")
        if "^" in flags:
            return text.upper()
        return text.swapcase() if "#" in flags else text

    return _FIELD.sub(put, form)


def _padded(text: str, letter: str, flags: str, width: int) -> str:
    if letter == "N":
        return text if "-" not in flags else text.rstrip("0") or "0"
    digits = text.lstrip("0 ") or "0"
    if "-" in flags:
        return digits
    blank = "_" in flags or (letter in "ekl" and "0" not in flags)
    return digits.rjust(width, " " if blank else "0")


def _field(letter: str, moment: datetime, nanoseconds: int, seconds: float, colons: int) -> str | None:
    if letter in "aAbBdHIjmMpSUuVwWyYGg":
        return (
            moment.strftime(f"%{letter}")
            if letter not in "YG"
            else str(moment.year if letter == "Y" else moment.isocalendar()[0])
        )
    simple = {
        "%": "%", "n": "\n", "t": "\t", "e": str(moment.day), "k": str(moment.hour), "l": str(moment.hour % 12 or 12),
        "C": str(moment.year // 100), "P": moment.strftime("%p").lower(), "N": f"{nanoseconds:09d}",
        "s": str(int(seconds // 1)), "q": str((moment.month - 1) // 3 + 1), "Z": moment.tzname() or "UTC",
    }  # fmt: skip
    if letter == "z":
        return _offset(moment.utcoffset() or timedelta(), colons)
    return simple.get(letter)


def _offset(amount: timedelta, colons: int) -> str:
    total = int(amount.total_seconds())
    sign, total = ("-", -total) if total < 0 else ("+", total)
    hours, minutes, rest = total // 3600, total // 60 % 60, total % 60
    if colons == 0:
        return f"{sign}{hours:02}{minutes:02}"
    if colons == 1:
        return f"{sign}{hours:02}:{minutes:02}"
    if colons == 2:
        return f"{sign}{hours:02}:{minutes:02}:{rest:02}"
    return f"{sign}{hours:02}" + (f":{minutes:02}" if minutes or rest else "")
