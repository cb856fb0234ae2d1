// Made from Settings/providers by the test `the built-in presets are the files`. Change the files.

extension ProviderPreset {
    /// The presets of servers that organisations run or rent.
    static let serverTexts: [String: String] = [
        "atlassian": #"""
        {
          "name": "atlassian",
          "title": "Atlassian Cloud",
          "documentation": [
            "https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/",
            "https://developer.atlassian.com/cloud/confluence/oauth-2-3lo-apps/"
          ],
          "needs": ["clientId", "clientSecret"],
          "notes": ["Refresh tokens rotate."],
          "type": {
            "authorizationEndpoint": "https://auth.atlassian.com/authorize",
            "tokenEndpoint": "https://auth.atlassian.com/oauth/token",
            "userinfoEndpoint": "https://api.atlassian.com/me",
            "clientAuthentication": "client_secret_post",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": ["read:me", "offline_access"],
            "authorizationParameters": { "audience": "api.atlassian.com", "prompt": "consent" },
            "userinfoClaims": { "sub": "account_id", "preferred_username": "email", "name": "name", "email": "email" },
            "resourceHosts": ["api.atlassian.com"]
          }
        }
        """#,
        "auth0": #"""
        {
          "name": "auth0",
          "title": "Auth0",
          "documentation": [
            "https://auth0.com/docs/get-started/applications/configure-applications-with-oidc-discovery",
            "https://auth0.com/docs/get-started/authentication-and-authorization-flow/authorization-code-flow-with-pkce"
          ],
          "placeholders": {
            "domain": { "meaning": "the tenant's domain, such as example.eu.auth0.com, or its custom domain" }
          },
          "needs": ["clientId"],
          "notes": [
            "For the access token of an API add its identifier: \"authorizationParameters\": {\"audience\": \"…\"}.",
            "The issuer ends in a slash; that slash counts."
          ],
          "type": {
            "issuer": "https://{domain}/",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": ["openid", "profile", "email", "offline_access"]
          }
        }
        """#,
        "cognito": #"""
        {
          "name": "cognito",
          "title": "Amazon Cognito: one user pool",
          "documentation": [
            "https://docs.aws.amazon.com/cognito/latest/developerguide/federation-endpoints.html",
            "https://docs.aws.amazon.com/cognito/latest/developerguide/token-endpoint.html"
          ],
          "placeholders": {
            "region": { "meaning": "the region, such as eu-central-1" },
            "userPool": { "meaning": "the identifier of the user pool, such as eu-central-1_AbCdEfGhI" }
          },
          "needs": ["clientId"],
          "notes": [
            "Of plain http, only redirect URIs on localhost can be registered.",
            "A refresh token comes without a scope for it."
          ],
          "type": {
            "issuer": "https://cognito-idp.{region}.amazonaws.com/{userPool}",
            "redirectUri": "http://localhost:8400/callback",
            "scopes": ["openid", "profile", "email"]
          }
        }
        """#,
        "gitlab": #"""
        {
          "name": "gitlab",
          "title": "GitLab",
          "documentation": [
            "https://docs.gitlab.com/integration/openid_connect_provider/",
            "https://docs.gitlab.com/api/oauth2/"
          ],
          "placeholders": {
            "host": { "meaning": "the host of the GitLab instance", "default": "gitlab.com" }
          },
          "needs": ["clientId"],
          "notes": ["Register the redirect URI exactly, with its port, and switch Confidential off."],
          "type": {
            "issuer": "https://{host}",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": ["openid", "profile", "email", "read_user"]
          }
        }
        """#,
        "glewlwyd": #"""
        {
          "name": "glewlwyd",
          "title": "Glewlwyd",
          "documentation": ["https://babelouest.github.io/glewlwyd/docs/OIDC.html"],
          "needs": ["issuer", "clientId"],
          "notes": [
            "The issuer is the one that is set in the OpenID Connect plugin, such as https://id.example/api/oidc.",
            "Registering a public client needs the member client_confidential, which is no part of RFC 7591."
          ],
          "type": {
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": ["openid"]
          },
          "registration": {
            "client_confidential": false
          }
        }
        """#,
        "keycloak": #"""
        {
          "name": "keycloak",
          "title": "Keycloak",
          "documentation": ["https://www.keycloak.org/securing-apps/oidc-layers"],
          "placeholders": {
            "host": { "meaning": "the host, with a port and a path such as /auth where there is one" },
            "realm": { "meaning": "the realm" }
          },
          "needs": ["clientId"],
          "notes": [
            "Register a public client with the redirect URI http://127.0.0.1/callback; any port is accepted."
          ],
          "type": {
            "issuer": "https://{host}/realms/{realm}",
            "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["openid", "profile", "email", "offline_access"]
          }
        }
        """#,
        "local": #"""
        {
          "name": "local",
          "title": "A local provider for tests",
          "documentation": [],
          "placeholders": {
            "port": { "meaning": "the port of the local provider", "default": "8765" }
          },
          "needs": [],
          "type": {
            "issuer": "http://127.0.0.1:{port}",
            "clientId": "lodge",
            "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
            "graphAPI": "http://127.0.0.1:{port}/"
          }
        }
        """#,
        "okta": #"""
        {
          "name": "okta",
          "title": "Okta",
          "documentation": [
            "https://developer.okta.com/docs/concepts/auth-servers/",
            "https://developer.okta.com/docs/guides/implement-grant-type/authcodepkce/main/"
          ],
          "placeholders": {
            "domain": { "meaning": "the organisation's domain, such as example.okta.com" },
            "authorizationServer": { "meaning": "the identifier of the custom authorization server", "default": "default" }
          },
          "needs": ["clientId"],
          "notes": [
            "Register a native application with the redirect URI exactly as it stands here.",
            "For the organisation's own authorization server set issuer to https:// and the domain, without a path."
          ],
          "type": {
            "issuer": "https://{domain}/oauth2/{authorizationServer}",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": ["openid", "profile", "email", "offline_access"]
          }
        }
        """#,
        "openid": #"""
        {
          "name": "openid",
          "title": "Any OpenID Connect provider",
          "documentation": ["https://openid.net/specs/openid-connect-discovery-1_0.html"],
          "needs": ["issuer", "clientId"],
          "notes": ["Where the provider wants the redirect URI with its port, set redirectUri too."],
          "type": {
            "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["openid", "profile", "offline_access"]
          }
        }
        """#,
        "salesforce": #"""
        {
          "name": "salesforce",
          "title": "Salesforce",
          "documentation": [
            "https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_endpoints.htm",
            "https://help.salesforce.com/s/articleView?id=sf.remoteaccess_using_openid_discovery_endpoint.htm"
          ],
          "placeholders": {
            "domain": {
              "meaning": "login.salesforce.com, test.salesforce.com for a sandbox, or the organisation's My Domain",
              "default": "login.salesforce.com"
            }
          },
          "needs": ["clientId"],
          "notes": [
            "The token answer has no lifetime: that of the session is a setting of the organisation.",
            "The address of the organisation stands in the member instance_url of the token answer: add its host to resourceHosts."
          ],
          "type": {
            "issuer": "https://{domain}",
            "redirectUri": "http://localhost:8400/callback",
            "scopes": ["openid", "profile", "email", "api", "refresh_token"]
          }
        }
        """#,
    ]
}
