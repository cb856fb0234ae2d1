"""serve.py: creates the database, the user ada and the clients `public` and `confidential`, and serves the project."""

import os

from jwcrypto import jwk

FOLDER, PORT = os.environ["PROJECT_FOLDER"], int(os.environ["PROJECT_PORT"])
SECRET, REDIRECT = os.environ["PROJECT_SECRET"], os.environ["PROJECT_REDIRECT"]

with open(f"{FOLDER}/key.pem", "wb") as file:
    file.write(jwk.JWK.generate(kty="RSA", size=2048).export_to_pem(True, None))
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

import django  # noqa: E402
from django.core.management import call_command  # noqa: E402

django.setup()
call_command("migrate", run_syncdb=True, verbosity=0)

from django.contrib.auth.models import User  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402

User.objects.create_user("ada", password="lovelace", first_name="Ada", last_name="Lovelace")
for name, kind, grant in (("public", "public", "authorization-code"), ("confidential", "confidential", "authorization-code"),
                          ("device", "public", "urn:ietf:params:oauth:grant-type:device_code")):
    Application.objects.create(
        name=name, client_id=name, client_type=kind, client_secret=SECRET, authorization_grant_type=grant,
        redirect_uris=REDIRECT, algorithm="RS256")
call_command("runserver", f"127.0.0.1:{PORT}", "--noreload", "--skip-checks")
