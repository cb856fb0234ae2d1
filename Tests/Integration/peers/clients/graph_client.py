"""msgraph-sdk with credentials of azure-identity: /me, filters, pages and photos."""

import asyncio
import urllib.parse

import msal
from azure.core.credentials import AccessToken
from azure.identity.aio import ClientSecretCredential
from kiota_authentication_azure.azure_identity_authentication_provider import AzureIdentityAuthenticationProvider
from msgraph import GraphRequestAdapter, GraphServiceClient
from msgraph.generated.users.users_request_builder import UsersRequestBuilder
from msgraph_core.tasks.page_iterator import PageIterator

from script import check, confidential, provider, public

HOST = urllib.parse.urlsplit(provider["issuer"]).hostname
DEFAULT = ["https://graph.microsoft.com/.default"]


def service(credential):
    adapter = GraphRequestAdapter(AzureIdentityAuthenticationProvider(
        credential, scopes=DEFAULT, allowed_hosts=[HOST]))
    adapter.base_url = provider["graph"]
    return GraphServiceClient(request_adapter=adapter)


class SignedIn:
    """The token of a user, which MSAL acquired."""

    def __init__(self):
        app = msal.PublicClientApplication(public["id"], authority=provider["authority"], instance_discovery=False)
        self.result = app.acquire_token_by_device_flow(app.initiate_device_flow(["User.Read", "User.ReadBasic.All"]))

    async def get_token(self, *_, **__):
        return AccessToken(self.result["access_token"], 1 << 40)

    async def close(self):
        pass


def query(**parameters):
    from kiota_abstractions.base_request_configuration import RequestConfiguration
    return RequestConfiguration(query_parameters=UsersRequestBuilder.UsersRequestBuilderGetQueryParameters(**parameters))


async def refused(sentence, call, status):
    try:
        result = await call
    except Exception as error:
        check(sentence, getattr(error, "response_status_code", None) == status or str(status) in str(error), repr(error))
    else:
        check(sentence, False, result)


async def main():
    signed_in = service(SignedIn())
    me = await signed_in.me.get()
    check("/me is the user", me.user_principal_name == provider["user"] and me.display_name, me)
    names = (await signed_in.users.get(query(filter="startswith(givenName,'A')", select=["displayName", "givenName"]))).value
    check("filters by the beginning of the given name",
          len(names) > 5 and all(user.given_name.lower().startswith("a") for user in names), names)
    page = await signed_in.users.get(query(top=20))
    users = []
    await PageIterator(page, signed_in.request_adapter).iterate(lambda user: users.append(user.id) or True)
    check("the page iterator returns all users once", len(users) == len(set(users)) == 300, len(users))
    photo = await signed_in.me.photo.content.get()
    check("the photo of the user is an image", photo and photo[:2] in (b"\xff\xd8", b"\x89P"), (photo or b"")[:10])
    await refused("refused: a user who is not in the directory",
                  signed_in.users.by_user_id("nobody@nowhere.example").get(), 404)

    async with ClientSecretCredential(
            provider["tenant"], confidential["id"], confidential["secret"], authority=provider["issuer"],
            disable_instance_discovery=True) as credential:
        users = await service(credential).users.get(query(top=5))
        check("azure-identity: an application reads users", len(users.value) == 5, users)
        await refused("refused: /me for an application", service(credential).me.get(), 400)
    async with ClientSecretCredential(
            provider["tenant"], confidential["id"], "wrong", authority=provider["issuer"],
            disable_instance_discovery=True) as credential:
        await refused("refused: azure-identity with a wrong secret", service(credential).users.get(), "invalid_client")


asyncio.run(main())
