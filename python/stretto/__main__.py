"""``python -m stretto``: the same as the `stretto` command."""

from stretto.cli import main

raise SystemExit(main())
