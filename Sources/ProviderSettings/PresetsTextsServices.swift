// Made from Settings/providers by the test `the built-in presets are the files`. Change the files.

extension ProviderPreset {
    /// The presets of public services.
    static let serviceTexts: [String: String] = [
        "discord": #"""
        {
          "name": "discord",
          "title": "Discord",
          "documentation": [
            "https://discord.com/developers/docs/topics/oauth2",
            "https://discord.com/developers/docs/resources/user#get-current-user"
          ],
          "needs": ["clientId"],
          "notes": ["Switch Public Client on in the application's settings, or add clientSecret."],
          "type": {
            "authorizationEndpoint": "https://discord.com/oauth2/authorize",
            "tokenEndpoint": "https://discord.com/api/oauth2/token",
            "revocationEndpoint": "https://discord.com/api/oauth2/token/revoke",
            "userinfoEndpoint": "https://discord.com/api/users/@me",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": ["identify", "email"],
            "userinfoClaims": { "sub": "id", "preferred_username": "username", "name": "global_name", "email": "email" },
            "resourceHosts": ["discord.com"]
          }
        }
        """#,
        "dropbox": #"""
        {
          "name": "dropbox",
          "title": "Dropbox",
          "documentation": [
            "https://developers.dropbox.com/oauth-guide",
            "https://www.dropbox.com/developers/documentation/http/documentation"
          ],
          "needs": ["clientId"],
          "notes": [
            "token_access_type=offline asks for a refresh token.",
            "Who signed in stands in the member account_id of the token answer."
          ],
          "type": {
            "authorizationEndpoint": "https://www.dropbox.com/oauth2/authorize",
            "tokenEndpoint": "https://api.dropboxapi.com/oauth2/token",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": ["account_info.read"],
            "authorizationParameters": { "token_access_type": "offline" },
            "tokenClaims": { "sub": "account_id" },
            "resourceHosts": ["api.dropboxapi.com", "content.dropboxapi.com"]
          }
        }
        """#,
        "facebook": #"""
        {
          "name": "facebook",
          "title": "Facebook",
          "documentation": [
            "https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow",
            "https://developers.facebook.com/docs/facebook-login/guides/access-tokens/get-long-lived"
          ],
          "placeholders": {
            "version": { "meaning": "the version of the Graph API", "default": "v23.0" }
          },
          "needs": ["clientId", "clientSecret"],
          "notes": [
            "There is no refresh token; the token is exchanged for one of about sixty days at once, and then the person signs in again."
          ],
          "type": {
            "authorizationEndpoint": "https://www.facebook.com/{version}/dialog/oauth",
            "tokenEndpoint": "https://graph.facebook.com/{version}/oauth/access_token",
            "userinfoEndpoint": "https://graph.facebook.com/{version}/me?fields=id,name,email",
            "clientAuthentication": "client_secret_post",
            "redirectUri": "http://localhost:8400/callback",
            "scopes": ["public_profile", "email"],
            "userinfoClaims": { "sub": "id", "preferred_username": "email", "name": "name", "email": "email" },
            "longLivedTokens": true,
            "resourceHosts": ["graph.facebook.com"]
          }
        }
        """#,
        "github": #"""
        {
          "name": "github",
          "title": "GitHub",
          "documentation": [
            "https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps",
            "https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/refreshing-user-access-tokens",
            "https://docs.github.com/en/rest/users/users#get-the-authenticated-user"
          ],
          "needs": ["clientId", "clientSecret"],
          "notes": [
            "There is no ID token; who signed in is asked at https://api.github.com/user.",
            "A token has no end and no refresh token, unless the app is a GitHub App with expiring user tokens.",
            "Tokens cannot be revoked with RFC 7009; remove the grant in the account's settings."
          ],
          "type": {
            "authorizationEndpoint": "https://github.com/login/oauth/authorize",
            "tokenEndpoint": "https://github.com/login/oauth/access_token",
            "deviceAuthorizationEndpoint": "https://github.com/login/device/code",
            "userinfoEndpoint": "https://api.github.com/user",
            "clientAuthentication": "client_secret_post",
            "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["read:user", "user:email"],
            "userinfoClaims": { "sub": "id", "preferred_username": "login", "name": "name", "email": "email" },
            "quirks": ["commaSeparatedScope"],
            "resourceHosts": ["api.github.com"]
          }
        }
        """#,
        "google": #"""
        {
          "name": "google",
          "title": "Google",
          "documentation": [
            "https://developers.google.com/identity/protocols/oauth2/native-app",
            "https://developers.google.com/identity/openid-connect/openid-connect",
            "https://developers.google.com/workspace/admin/directory/v1/guides"
          ],
          "needs": ["clientId", "clientSecret"],
          "notes": [
            "A client of the kind desktop application also has a client secret; Google does not treat it as one, and wants it sent.",
            "To look people up in a Workspace organization add the scope https://www.googleapis.com/auth/admin.directory.user.readonly; an administrator must allow it."
          ],
          "type": {
            "issuer": "https://accounts.google.com",
            "clientAuthentication": "client_secret_post",
            "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["openid", "profile", "email"],
            "authorizationParameters": { "access_type": "offline" },
            "resourceHosts": ["www.googleapis.com", "people.googleapis.com"],
            "directory": "google"
          }
        }
        """#,
        "linkedin": #"""
        {
          "name": "linkedin",
          "title": "LinkedIn",
          "documentation": [
            "https://learn.microsoft.com/en-us/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2",
            "https://learn.microsoft.com/en-us/linkedin/shared/authentication/authorization-code-flow"
          ],
          "needs": ["clientId", "clientSecret"],
          "notes": [
            "The application needs the product Sign In with LinkedIn using OpenID Connect.",
            "Refresh tokens are only given to approved partners.",
            "An ID token without the nonce that was sent is refused here, whoever issues it."
          ],
          "type": {
            "issuer": "https://www.linkedin.com/oauth",
            "clientAuthentication": "client_secret_post",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": ["openid", "profile", "email"],
            "resourceHosts": ["api.linkedin.com"]
          }
        }
        """#,
        "slack": #"""
        {
          "name": "slack",
          "title": "Slack: a person's token for the Web API",
          "documentation": [
            "https://docs.slack.dev/authentication/installing-with-oauth/",
            "https://docs.slack.dev/reference/methods/oauth.v2.access/",
            "https://docs.slack.dev/reference/methods/auth.test/"
          ],
          "needs": ["clientId", "clientSecret"],
          "notes": [
            "What the person's token may do stands in user_scope, separated by commas; scopes are those of a bot.",
            "The person's token stands in the member authed_user of the answer.",
            "Without token rotation there is no refresh token, and the token has no end."
          ],
          "type": {
            "authorizationEndpoint": "https://slack.com/oauth/v2/authorize",
            "tokenEndpoint": "https://slack.com/api/oauth.v2.access",
            "userinfoEndpoint": "https://slack.com/api/auth.test",
            "clientAuthentication": "client_secret_basic",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": [],
            "authorizationParameters": { "user_scope": "users:read" },
            "userinfoClaims": { "sub": "user_id", "preferred_username": "user" },
            "quirks": ["nestedUserToken", "commaSeparatedScope"],
            "resourceHosts": ["slack.com"]
          }
        }
        """#,
        "slack-sign-in": #"""
        {
          "name": "slack-sign-in",
          "title": "Slack: who somebody is (OpenID Connect)",
          "documentation": ["https://docs.slack.dev/authentication/sign-in-with-slack/"],
          "needs": ["clientId", "clientSecret"],
          "type": {
            "issuer": "https://slack.com",
            "clientAuthentication": "client_secret_post",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": ["openid", "profile", "email"],
            "resourceHosts": ["slack.com"]
          }
        }
        """#,
        "spotify": #"""
        {
          "name": "spotify",
          "title": "Spotify",
          "documentation": [
            "https://developer.spotify.com/documentation/web-api/tutorials/code-pkce-flow",
            "https://developer.spotify.com/documentation/web-api/concepts/redirect_uri",
            "https://developer.spotify.com/documentation/web-api/reference/get-current-users-profile"
          ],
          "needs": ["clientId"],
          "notes": ["Register http://127.0.0.1/callback, without a port; any port is accepted."],
          "type": {
            "authorizationEndpoint": "https://accounts.spotify.com/authorize",
            "tokenEndpoint": "https://accounts.spotify.com/api/token",
            "userinfoEndpoint": "https://api.spotify.com/v1/me",
            "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["user-read-private", "user-read-email"],
            "userinfoClaims": { "sub": "id", "preferred_username": "email", "name": "display_name", "email": "email" },
            "resourceHosts": ["api.spotify.com"]
          }
        }
        """#,
        "zoom": #"""
        {
          "name": "zoom",
          "title": "Zoom",
          "documentation": [
            "https://developers.zoom.us/docs/integrations/oauth/",
            "https://developers.zoom.us/docs/api/users/"
          ],
          "needs": ["clientId", "clientSecret"],
          "notes": ["The scopes are those of the app; user:read:user is needed to learn who signed in."],
          "type": {
            "authorizationEndpoint": "https://zoom.us/oauth/authorize",
            "tokenEndpoint": "https://zoom.us/oauth/token",
            "deviceAuthorizationEndpoint": "https://zoom.us/oauth/devicecode",
            "revocationEndpoint": "https://zoom.us/oauth/revoke",
            "userinfoEndpoint": "https://api.zoom.us/v2/users/me",
            "clientAuthentication": "client_secret_basic",
            "redirectUri": "http://127.0.0.1:8400/callback",
            "scopes": [],
            "userinfoClaims": { "sub": "id", "preferred_username": "email", "name": "display_name", "email": "email" },
            "resourceHosts": ["api.zoom.us"]
          }
        }
        """#,
    ]
}
