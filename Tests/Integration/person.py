#!/usr/bin/env python3
"""person.py URL: a browser with a person, for the local provider. They press the button named in $PERSON_DECISION (approve)."""

import os
import sys

import web

if __name__ == "__main__":
    redirect = web.decide(sys.argv[1], os.environ.get("PERSON_DECISION", "approve"), os.environ.get("PERSON_NAME"))
    web.send(redirect)
