"""Values read from the text of a page."""

from simtrain.files.page_outlines import table_rows, without_refs

PAGE = """\
- table [ref=e1]:
  - rowgroup [ref=e2]:
    - row [ref=e3]:
      - columnheader "Order" [ref=e4]
      - columnheader "Total" [ref=e5]
    - row [ref=e6]:
      - cell [ref=e7]:
        - link "SO-1" [ref=e8] [cursor=pointer]:
          - /url: /orders/SO-1
      - cell "say \\"hi\\": 5" [ref=e9]
    - row [ref=e10]:
      - cell: SO-2
- paragraph [active] [ref=e11]: After"""


def test_refs_and_marks_of_the_moment_are_left_out() -> None:
    assert without_refs(PAGE).endswith("- paragraph: After")


def test_cells_are_read_row_by_row() -> None:
    assert table_rows(PAGE) == [["Order", "Total"], ["SO-1", 'say "hi": 5'], ["SO-2"]]


def test_cells_that_yaml_needs_in_quotes_are_read_as_well() -> None:
    assert table_rows(
        "- row:\n  - 'cell \"It''s part: one\" [ref=e3]'\n  - 'cell \"a: b\" [ref=e4]':\n    - text: c"
    ) == [["It's part: one", "a: b"]]
