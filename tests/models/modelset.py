"""The folder of test models (its README.md describes it): where it is and what its index says."""
import csv
import os

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MODELS = os.path.abspath(os.environ.get("GCC2NN_MODELS") or os.path.join(ROOT, "..", "shared", "models"))
CACHE = os.path.join(ROOT, ".cache", "models")


def absent():
    """Why there are no models, or an empty string."""
    if os.path.isfile(os.path.join(MODELS, "INDEX.csv")):
        return ""
    where = "GCC2NN_MODELS" if os.environ.get("GCC2NN_MODELS") else "../shared/models; set GCC2NN_MODELS"
    return f"no INDEX.csv in the folder of test models ({where})"


def index():
    """{name: row of INDEX.csv}, in its order."""
    with open(os.path.join(MODELS, "INDEX.csv"), encoding="utf-8", newline="") as f:
        return {row["name"]: row for row in csv.DictReader(f)}
