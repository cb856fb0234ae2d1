#!/usr/bin/env python3
"""Creates the certificates of the tests in this folder. Needs the Python package cryptography and openssl with its legacy provider.

The keys are public: use them only for tests. The password of the encrypted files is PASSWORD.
"""
import datetime, json, pathlib, subprocess
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat, pkcs12)
from cryptography.x509.oid import NameOID

PASSWORD = "open sesame"
folder = pathlib.Path(__file__).resolve().parent
year = lambda number: datetime.datetime(number, 1, 1, tzinfo=datetime.timezone.utc)


def name(common):
    return x509.Name([
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Contoso"), x509.NameAttribute(NameOID.COMMON_NAME, common)])


def certificate(common, key, issuer=None, start=2026, end=2126, is_authority=False):
    issuer_name, issuer_key = (issuer[0].subject, issuer[1]) if issuer else (name(common), key)
    return x509.CertificateBuilder().subject_name(name(common)).issuer_name(issuer_name).public_key(
        key.public_key()).serial_number(x509.random_serial_number()).not_valid_before(year(start)).not_valid_after(
        year(end)).add_extension(x509.BasicConstraints(is_authority, None), critical=True).sign(
        issuer_key, hashes.SHA256())


def key(bits=2048):
    return rsa.generate_private_key(65537, bits)


def pem(*values):
    texts = [value if isinstance(value, bytes) else value.public_bytes(Encoding.PEM) for value in values]
    return b"".join(texts)


def private(key, form=PrivateFormat.PKCS8, encryption=NoEncryption()):
    return key.private_bytes(Encoding.PEM, form, encryption)


def pfx(certificate, key, others, password):
    encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return pkcs12.serialize_key_and_certificates(b"app", key, certificate, others, encryption)


def main():
    for file in [*folder.glob("*.pem"), *folder.glob("*.pfx")]:
        file.unlink()
    files = {}
    app_key = key()
    app = certificate("app", app_key)
    encrypted = private(app_key, encryption=BestAvailableEncryption(PASSWORD.encode()))
    files["app.pem"] = pem(app, private(app_key))
    files["app-key-first.pem"] = pem(private(app_key, PrivateFormat.TraditionalOpenSSL), app)
    files["app-encrypted.pem"] = pem(app, encrypted)
    files["app-certificate.pem"] = pem(app)
    files["app-key.pem"] = private(app_key, PrivateFormat.TraditionalOpenSSL)
    files["app.pfx"] = pfx(app, app_key, None, PASSWORD)
    files["app-no-password.pfx"] = pfx(app, app_key, None, "")

    root_key, middle_key, leaf_key = key(), key(), key()
    root = certificate("root", root_key, is_authority=True)
    middle = certificate("intermediate", middle_key, (root, root_key), is_authority=True)
    leaf = certificate("chained", leaf_key, (middle, middle_key))
    files["root.pem"] = pem(root)
    files["chain.pem"] = pem(leaf, private(leaf_key), middle)
    files["chain.pfx"] = pfx(leaf, leaf_key, [root, middle], PASSWORD)
    files["unlinked.pem"] = pem(leaf, private(leaf_key), app)

    short = certificate("short-lived", middle_key, (root, root_key), end=2030, is_authority=True)
    short_leaf_key = key()
    short_leaf = certificate("app", short_leaf_key, (short, middle_key))
    files["chain-short.pem"] = pem(short_leaf, private(short_leaf_key), short)

    weak_key, curve_key, other_key = key(1024), ec.generate_private_key(ec.SECP256R1()), key()
    files["expired.pem"] = pem(certificate("expired", other_key, start=2020, end=2021), private(other_key))
    files["future.pem"] = pem(certificate("future", other_key, start=2090, end=2100), private(other_key))
    files["weak.pem"] = pem(certificate("weak", weak_key), private(weak_key))
    files["ec.pem"] = pem(certificate("ec", curve_key), private(curve_key))
    files["foreign-key.pem"] = pem(app, private(other_key))
    for file, content in files.items():
        (folder / file).write_bytes(content)
    # The default of Windows and OpenSSL 1.1 until 2021.
    subprocess.run(
        ["openssl", "pkcs12", "-export", "-legacy", "-in", folder / "app.pem", "-out", folder / "app-rc2.pfx",
         "-passout", f"pass:{PASSWORD}"], check=True)
    thumbprints = {}
    for file in ["app.pem", "chain.pem"]:
        thumbprints[file] = {
            digest: subprocess.run(
                ["openssl", "x509", "-in", folder / file, "-noout", "-fingerprint", f"-{digest}"], check=True,
                stdout=subprocess.PIPE, text=True).stdout.strip().split("=")[1].replace(":", "")
            for digest in ["sha1", "sha256"]}
    (folder / "thumbprints.json").write_text(json.dumps(thumbprints, indent=2) + "\n")


main()
