"""`python -m redline`."""

from redline.cli.main import main

main()
