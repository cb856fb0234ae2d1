"""A Django project whose database and signing key are in $PROJECT_FOLDER and whose port is $PROJECT_PORT."""

import os

FOLDER, PORT = os.environ["PROJECT_FOLDER"], os.environ["PROJECT_PORT"]

SECRET_KEY = "a test on loopback"
ALLOWED_HOSTS = ["127.0.0.1"]
ROOT_URLCONF = "urls"
USE_TZ = True
LOGIN_URL = "/sign-in/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "oauth2_provider"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware", "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware"]
# Fast password hashes and no migrations: each makes the start one second faster.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
MIGRATION_MODULES = {name: None for name in ("auth", "contenttypes", "sessions", "oauth2_provider")}
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{FOLDER}/database.sqlite3"}}
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "OPTIONS": {"loaders": [
    ("django.template.loaders.locmem.Loader", {
        "registration/login.html": "<form method=post>{% csrf_token %}{{ form }}<button>Sign in</button></form>"}),
    "django.template.loaders.app_directories.Loader"]}}]
with open(f"{FOLDER}/key.pem", encoding="ascii") as file:
    KEY = file.read()
OAUTH2_PROVIDER = {
    "OIDC_ENABLED": True,
    "OIDC_RSA_PRIVATE_KEY": KEY,
    "SCOPES": {"openid": "Sign in", "profile": "Read your name", "read": "Read"},
    "OAUTH2_VALIDATOR_CLASS": "urls.Validator",
    "OAUTH_DEVICE_VERIFICATION_URI": f"http://127.0.0.1:{PORT}/o/device/",
    "DEVICE_FLOW_INTERVAL": 1,
    # The server then promises `iss` in redirects (RFC 9207).
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "DCR_ENABLED": True,
    "DCR_REGISTRATION_PERMISSION_CLASSES": ("oauth2_provider.dcr.AllowAllDCRPermission",),
}
