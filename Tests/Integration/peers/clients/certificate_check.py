"""Checks a client assertion with the Python package cryptography.

certificate_check.py FILE: reads an assertion and the PEM of a certificate from a JSON file. Exits with 0 if the signature is valid."""

import base64
import json
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


with open(sys.argv[1], encoding="utf-8") as file:
    given = json.load(file)
header, claims, signature = given["assertion"].split(".")
certificate = x509.load_pem_x509_certificate(given["certificate"].encode())
algorithm = json.loads(decode(header))["alg"]
form = {"PS256": padding.PSS(padding.MGF1(hashes.SHA256()), hashes.SHA256().digest_size), "RS256": padding.PKCS1v15()}[algorithm]
certificate.public_key().verify(decode(signature), f"{header}.{claims}".encode(), form, hashes.SHA256())
print(certificate.fingerprint(hashes.SHA256()).hex().upper())
