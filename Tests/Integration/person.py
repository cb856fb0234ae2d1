#!/usr/bin/env python3
"""person.py URL: acts as the browser and the user of the local provider. $PERSON_DECISION is the button: approve or deny."""

import os
import sys

import web

if __name__ == "__main__":
    redirect = web.decide(sys.argv[1], os.environ.get("PERSON_DECISION", "approve"), os.environ.get("PERSON_NAME"))
    web.send(redirect)
