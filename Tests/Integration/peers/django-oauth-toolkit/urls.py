"""The pages of the project, and the claims of its users."""

from django.contrib.auth.views import LoginView
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.urls import include, path
from oauth2_provider.models import Application
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauth2_provider.urls import metadata_urlpatterns


class Validator(OAuth2Validator):
    def get_additional_claims(self, request):
        return {"name": request.user.get_full_name(), "preferred_username": request.user.username}


@receiver(pre_save, sender=Application)
def choose_algorithm(instance, **_):
    """A registered client has no signing algorithm: without one, the server responds with status 500 to the scope openid."""
    instance.algorithm = instance.algorithm or Application.RS256_ALGORITHM


# The metadata of RFC 8414 is at the root, as the documentation of the toolkit recommends for an issuer with a path.
urlpatterns = [
    path("", include((metadata_urlpatterns, "oauth2_provider"), namespace="metadata")),
    path("sign-in/", LoginView.as_view()),
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
]
