"""``python -m anka_flow``."""

from .cli import main

main()
