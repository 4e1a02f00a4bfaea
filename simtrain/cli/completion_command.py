"""`simtrain completion`: the script that completes commands, options and names in a shell."""

from typing import Annotated, Literal

import typer

HELP = """Print the script that completes words in bash, zsh or fish.

It completes commands, options, scenarios, packs, agents and worlds.

\b
Examples:
  simtrain completion bash >> ~/.bashrc
  simtrain completion zsh >> ~/.zshrc         # after its compinit
  simtrain completion fish > ~/.config/fish/completions/simtrain.fish
"""

VARIABLE = "_SIMTRAIN_COMPLETE"
"""The environment variable with which a shell requests completions."""


def command(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="bash, zsh or fish.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print `shell` and `script` as JSON.")] = False,
) -> None:
    """Print the script."""
    # Typer does not export it.
    from typer._completion_shared import get_completion_script

    from simtrain.cli.options import print_json

    script = get_completion_script(prog_name="simtrain", complete_var=VARIABLE, shell=shell)
    if as_json:
        print_json({"shell": shell, "script": script})
    else:
        print(script)
