"""Commands of ours as one types them."""

from pathlib import Path

from videopred.typed_commands import resume_command, typed_command


def test_what_the_shell_would_take_apart_is_quoted():
    assert typed_command(("runs", "my models")) == "videopred runs 'my models'"
    assert resume_command(Path("models/two")) == "videopred train --resume models/two"
    told = resume_command(Path("my models/two"), "--logger", "wandb", "mlflow")
    assert told == "videopred train --resume 'my models/two' --logger wandb mlflow"
