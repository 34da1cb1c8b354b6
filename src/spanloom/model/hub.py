"""A model folder, passed on through the Hugging Face Hub."""

from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from spanloom.atomic_io import MANIFEST, verify_folder
from spanloom.errors import ModelError
from spanloom.model import serialization


def push_to_hub(
    place: str | Path, repo: str, *, private: bool = False, token: str | None = None
) -> str:
    """Upload the model in a folder to ``repo`` ("me/protocols"), and return its address.

    ``spanloom.load(repo)`` loads it from there. The repository is made where there is none, then
    ``private`` or not; ``token`` is the one that ``hf auth login`` keeps if none is said. The model
    is loaded first, so none that is damaged goes out; nothing but its own files is uploaded. Raises
    ``ModelError`` for such a folder, and for what the hub refuses.
    """
    home = Path(place)
    serialization.load(home, device="cpu", precision="fp32")
    files = [*verify_folder(home), MANIFEST]
    api = HfApi(token=token)
    try:
        made = api.create_repo(repo, private=private, exist_ok=True)
        api.upload_folder(
            repo_id=made.repo_id,
            folder_path=home,
            allow_patterns=files,
            commit_message="A model of Spanloom",
        )
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"{repo}: the hub did not take {home}: {first}") from error
    return str(made)
