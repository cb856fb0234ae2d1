"""scim2-client: discovery, a search with a filter, pages and one user."""

import ssl

import httpx2
import msal
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_models import SearchRequest

from script import check, confidential, provider

TLS = ssl.create_default_context(cafile=provider["caFile"])


def client(token):
    return SyncSCIMClient(httpx2.Client(
        base_url=provider["scim"], headers={"Authorization": f"Bearer {token}"}, verify=TLS))


app = msal.ConfidentialClientApplication(
    confidential["id"], client_credential=confidential["secret"], authority=provider["authority"],
    instance_discovery=False)
scim = client(app.acquire_token_for_client(["User.Read.All"])["access_token"])
scim.discover()
User = scim.get_resource_model("User")
check("discovers schemas, resource types and the configuration",
      User is not None and [kind.name for kind in scim.provider.resource_types] == ["User"]
      and scim.provider.config.filter.supported, scim.provider)
ada = next(iter(scim.query(User, query_parameters=SearchRequest(
    filter=f'userName eq "{provider["user"]}"')).resources or []), None)
check("a filter finds one user by name", ada and ada.user_name == provider["user"] and ada.emails[0].value, ada)
check("reads the enterprise extension", ada and any(
    "enterprise" in schema for schema in ada.schemas) and ada.model_dump(), ada)
again = scim.query(User, ada.id)
check("retrieves the user by ID", again.id == ada.id and again.name.given_name == "Ada", again)
page = scim.query(User, query_parameters=SearchRequest(start_index=11, count=10))
check("returns a page of the list", page.total_results == 300 and page.start_index == 11 and len(page.resources) == 10, page)
missing = scim.query(User, "00000000-0000-0000-0000-000000000000", raise_scim_errors=False)
check("refused: a user who is not in the directory", str(missing.status) == "404", missing)
wrong = scim.query(User, query_parameters=SearchRequest(filter="shoeSize gt 40"), raise_scim_errors=False)
check("refused: a filter with an unknown attribute", str(wrong.status) == "400" and wrong.scim_type == "invalidFilter", wrong)
stranger = client("wrong")
stranger.discover()
wrong = stranger.query(stranger.get_resource_model("User"), ada.id, raise_scim_errors=False)
check("refused: a wrong token", str(wrong.status) == "401", wrong)
