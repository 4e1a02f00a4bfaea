"""The English months."""

from typing import Final

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
MONTH_NUMBERS: Final = {
    name.lower(): number for number, month in enumerate(MONTHS, start=1) for name in (month, month[:3])
}
"""The number of a month by its name and by the first three letters of it, in small letters."""
