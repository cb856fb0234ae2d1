// Made from Settings/providers by the test `the built-in presets are the files`. Change the files.

extension ProviderPreset {
    /// The presets of Microsoft.
    static let microsoftTexts: [String: String] = [
        "azure-b2c": #"""
        {
          "name": "azure-b2c",
          "title": "Azure AD B2C: one user flow or custom policy",
          "documentation": [
            "https://learn.microsoft.com/en-us/azure/active-directory-b2c/openid-connect",
            "https://learn.microsoft.com/en-us/azure/active-directory-b2c/access-tokens"
          ],
          "placeholders": {
            "tenant": { "meaning": "the tenant's subdomain, without .onmicrosoft.com" },
            "policy": { "meaning": "the user flow or policy, such as B2C_1_signin" }
          },
          "needs": ["clientId"],
          "notes": [
            "An access token is only issued when a scope of an API is asked for; the client identifier stands for the application itself."
          ],
          "type": {
            "authority": "https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/{policy}",
            "redirectUri": "http://localhost/callback",
            "scopes": ["openid", "offline_access", "{clientId}"]
          }
        }
        """#,
        "entra": #"""
        {
          "name": "entra",
          "title": "Microsoft Entra: work, school and personal accounts",
          "documentation": [
            "https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc",
            "https://learn.microsoft.com/en-us/entra/identity-platform/reply-url"
          ],
          "needs": ["clientId"],
          "notes": [
            "Register the application as a mobile and desktop application with the redirect URI http://localhost/callback; any port is accepted."
          ],
          "type": {
            "authority": "https://login.microsoftonline.com/common",
            "redirectUri": "http://localhost/callback",
            "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
            "graphAPI": "https://graph.microsoft.com/"
          }
        }
        """#,
        "entra-china": #"""
        {
          "name": "entra-china",
          "title": "Microsoft Entra: China, operated by 21Vianet",
          "documentation": [
            "https://learn.microsoft.com/en-us/entra/identity-platform/authentication-national-cloud",
            "https://learn.microsoft.com/en-us/graph/deployments"
          ],
          "placeholders": {
            "tenant": { "meaning": "the tenant's identifier, or one of its domains", "default": "organizations" }
          },
          "needs": ["clientId"],
          "notes": [
            "Register the application as a mobile and desktop application with the redirect URI http://localhost/callback; any port is accepted."
          ],
          "type": {
            "authority": "https://login.chinacloudapi.cn/{tenant}",
            "redirectUri": "http://localhost/callback",
            "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
            "graphAPI": "https://microsoftgraph.chinacloudapi.cn/"
          }
        }
        """#,
        "entra-consumers": #"""
        {
          "name": "entra-consumers",
          "title": "Microsoft: personal accounts",
          "documentation": [
            "https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc",
            "https://learn.microsoft.com/en-us/entra/identity-platform/reply-url"
          ],
          "needs": ["clientId"],
          "notes": [
            "Register the application as a mobile and desktop application with the redirect URI http://localhost/callback; any port is accepted.",
            "Personal accounts have no directory to search."
          ],
          "type": {
            "authority": "https://login.microsoftonline.com/consumers",
            "redirectUri": "http://localhost/callback",
            "scopes": ["openid", "profile", "offline_access", "User.Read"],
            "graphAPI": "https://graph.microsoft.com/"
          }
        }
        """#,
        "entra-external-id": #"""
        {
          "name": "entra-external-id",
          "title": "Microsoft Entra External ID: customers of one tenant",
          "documentation": [
            "https://learn.microsoft.com/en-us/entra/external-id/customers/concept-supported-features-customers",
            "https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc"
          ],
          "placeholders": {
            "tenant": { "meaning": "the tenant's subdomain, without .onmicrosoft.com" }
          },
          "needs": ["clientId"],
          "notes": ["The issuer names the tenant by its identifier; that is expected."],
          "type": {
            "authority": "https://{tenant}.ciamlogin.com/{tenant}.onmicrosoft.com",
            "redirectUri": "http://localhost/callback",
            "scopes": ["openid", "profile", "offline_access"]
          }
        }
        """#,
        "entra-organizations": #"""
        {
          "name": "entra-organizations",
          "title": "Microsoft Entra: work and school accounts",
          "documentation": [
            "https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc",
            "https://learn.microsoft.com/en-us/entra/identity-platform/reply-url"
          ],
          "needs": ["clientId"],
          "notes": [
            "Register the application as a mobile and desktop application with the redirect URI http://localhost/callback; any port is accepted."
          ],
          "type": {
            "authority": "https://login.microsoftonline.com/organizations",
            "redirectUri": "http://localhost/callback",
            "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
            "graphAPI": "https://graph.microsoft.com/"
          }
        }
        """#,
        "entra-tenant": #"""
        {
          "name": "entra-tenant",
          "title": "Microsoft Entra: one tenant",
          "documentation": [
            "https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc",
            "https://learn.microsoft.com/en-us/entra/identity-platform/reply-url"
          ],
          "placeholders": {
            "tenant": { "meaning": "the tenant's identifier, or one of its domains" }
          },
          "needs": ["clientId"],
          "notes": [
            "Register the application as a mobile and desktop application with the redirect URI http://localhost/callback; any port is accepted."
          ],
          "type": {
            "authority": "https://login.microsoftonline.com/{tenant}",
            "redirectUri": "http://localhost/callback",
            "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
            "graphAPI": "https://graph.microsoft.com/"
          }
        }
        """#,
        "entra-us-dod": #"""
        {
          "name": "entra-us-dod",
          "title": "Microsoft Entra: US Government L5 (DoD)",
          "documentation": [
            "https://learn.microsoft.com/en-us/entra/identity-platform/authentication-national-cloud",
            "https://learn.microsoft.com/en-us/graph/deployments"
          ],
          "placeholders": {
            "tenant": { "meaning": "the tenant's identifier, or one of its domains", "default": "organizations" }
          },
          "needs": ["clientId"],
          "notes": [
            "Register the application as a mobile and desktop application with the redirect URI http://localhost/callback; any port is accepted."
          ],
          "type": {
            "authority": "https://login.microsoftonline.us/{tenant}",
            "redirectUri": "http://localhost/callback",
            "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
            "graphAPI": "https://dod-graph.microsoft.us/"
          }
        }
        """#,
        "entra-us-gov": #"""
        {
          "name": "entra-us-gov",
          "title": "Microsoft Entra: US Government L4 (GCC High)",
          "documentation": [
            "https://learn.microsoft.com/en-us/entra/identity-platform/authentication-national-cloud",
            "https://learn.microsoft.com/en-us/graph/deployments"
          ],
          "placeholders": {
            "tenant": { "meaning": "the tenant's identifier, or one of its domains", "default": "organizations" }
          },
          "needs": ["clientId"],
          "notes": [
            "Register the application as a mobile and desktop application with the redirect URI http://localhost/callback; any port is accepted."
          ],
          "type": {
            "authority": "https://login.microsoftonline.us/{tenant}",
            "redirectUri": "http://localhost/callback",
            "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
            "graphAPI": "https://graph.microsoft.us/"
          }
        }
        """#,
    ]
}
