"""boto3 with `lodge credential aws` as its credential process, and moto as AWS, both used without changes.

aws_client.py PROFILE: prints the identity that AWS sees, as JSON."""

import json
import sys

import boto3
from botocore.exceptions import CredentialRetrievalError

session = boto3.Session(profile_name=sys.argv[1])
try:
    keys = session.get_credentials().get_frozen_credentials()
    seen = session.client("sts").get_caller_identity()
    print(json.dumps({"key": keys.access_key, "session": bool(keys.token), "role": seen["Arn"]}))
except CredentialRetrievalError as error:
    print(json.dumps({"error": str(error)}))
