"""`python -m provider`."""

import sys

from provider.app import main

sys.exit(main())
