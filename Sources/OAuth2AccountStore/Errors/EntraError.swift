/// The meaning of an error number of Microsoft Entra.
///
/// The `AADSTS` number at the beginning of the provider's explanation is more specific than the error code of RFC 6749,
/// which is `invalid_grant` for most numbers.
struct EntraError: Sendable {
    /// The number, without `AADSTS`.
    let number: Int
    let disposition: ErrorDisposition
    /// The meaning, for users who do not know the number.
    let meaning: String
    /// The next step, if it is more specific than the remedy of the disposition.
    let advice: String?

    /// The maximum number of digits to read. Entra's numbers have at most eight.
    private static let maximumDigits = 9

    /// Returns the number in a message from Entra, or `nil` if the message has no number.
    static func number(in text: String?) -> Int? {
        guard let text, let name = text.firstRange(of: "AADSTS") else { return nil }
        let digits = text[name.upperBound...].prefix(maximumDigits + 1).prefix { $0.isASCII && $0.isNumber }
        return digits.count > maximumDigits ? nil : Int(digits)
    }

    /// Returns the error with this number, or `nil` if it is unknown.
    static func error(_ number: Int) -> EntraError? { byNumber[number] }

    private static let byNumber = Dictionary(all.map { ($0.number, $0) }) { first, _ in first }

    /// All known errors.
    static let all = tables.flatMap { disposition, table in
        table.split(separator: "\n").compactMap { EntraError($0, disposition) }
    }

    /// Creates the error from a line with the number, the meaning and, after an arrow, the advice.
    private init?(_ line: Substring, _ disposition: ErrorDisposition) {
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let number = Int(parts[0]) else { return nil }
        let texts = parts[1].split(separator: " → ", maxSplits: 1).map(String.init)
        self.number = number
        self.disposition = disposition
        meaning = texts[0]
        advice = texts.count == 2 ? texts[1] : nil
    }

    private static let tables: [(ErrorDisposition, String)] = [
        (
            .signIn(.grantGone),
            """
            70000 the saved sign-in is no longer valid, or another app's
            70002 the saved sign-in could not be checked
            70008 the saved sign-in has expired because it was not used for too long
            70043 the organization requires a new sign-in after some time
            700081 the saved sign-in has reached its maximum age
            700082 the saved sign-in has expired because it was not used for too long
            700084 the sign-in of an app in a browser has ended after its fixed time
            50173 the saved sign-in was revoked, as by a change of password
            50133 the session is not valid because the password expired or was changed
            50132 the session is not valid because the password expired or was changed
            50013 the assertion was refused: wrong signature, issuer or time
            50089 the sign-in took too long
            54005 the code of the sign-in was already used
            500133 the assertion is not valid at this time
            """
        ),
        (
            .signIn(.interactionRequired),
            """
            16000 several accounts are signed in, and one has to be chosen
            50055 the password has expired; it is changed while signing in
            50058 no user is signed in to the provider in this browser
            50072 another factor has to be set up first
            50074 another factor is required, such as a code from a phone
            50076 another factor is required, such as a code from a phone
            50078 the other factor was checked too long ago
            50079 another factor has to be set up first
            50085 the sign-in at the other identity provider has ended
            50097 the organization wants to recognize this device
            50125 the sign-in was interrupted to reset a password
            50126 the user name or the password is wrong
            50140 the prompt to stay signed in interrupted the sign-in
            50144 the password has expired; it must be changed
            50158 another service must verify the user first
            500121 the other factor was not confirmed
            700003 the organization does not know this device any more
            65001 the user has not consented to the permissions of the app
            50020 the account belongs to another organization, which may not use the app
            90072 the account is not in the organization; another account may be
            """
        ),
        (
            .declined,
            """
            65004 the user declined to consent to the permissions of the app
            """
        ),
        (
            .settings,
            """
            50011 the redirect URI is not registered for the app \
            → register redirectUri in the app's registration, or set redirectUri to a registered URI
            500112 the redirect URI differs from the URI at the start of the sign-in \
            → register redirectUri in the app's registration, or set redirectUri to a registered URI
            50059 the request does not say which organization it is for \
            → name the tenant in authority, such as https://login.microsoftonline.com/contoso.com
            50128 the organization's domain is unknown → correct the tenant in authority
            50194 the app is for one organization only, and may not use /common \
            → name the tenant in authority, such as https://login.microsoftonline.com/contoso.com
            90002 there is no organization of this name → correct the tenant in authority
            900023 the tenant is neither a domain nor an identifier → correct the tenant in authority
            90014 a required field is missing in the request → check tokenParameters in the settings
            900144 a required parameter is missing in the request \
            → check clientId, scopes and the parameters in the settings
            9002313 the request is malformed → check the parameters and header fields in the settings
            9002325 the sign-in must prove itself with PKCE → correct the kind of platform in the app's registration
            9002326 the redirect URI is registered for an app in a browser \
            → register it in the app's registration for mobile and desktop applications
            70001 the app is unknown or disabled in this organization → correct clientId, or the tenant in authority
            70011 a scope is not valid → correct scopes; all scopes of a request must belong to one service
            500011 a scope names a service that is unknown in this organization \
            → correct scopes, or have the service added to the organization
            650053 the app requests a scope that the service does not have → correct scopes
            650057 the service is not among the permissions of the app → add the permission to the app's registration
            700016 no app with this identifier is in the organization → correct clientId, or the tenant in authority
            700025 the app is a public client, and a secret was sent → remove clientSecret from the settings
            50012 the client's secret or assertion is not valid \
            → check clientSecret and clientAssertion, and the credentials in the app's registration
            50027 the client's assertion is not valid, as without the thumbprint of a certificate \
            → set clientAssertion to a certificate, in place of clientKey
            700021 the client's assertion is of another app → correct clientId
            700023 the client's assertion is for another provider → remove clientAssertionAudience from the settings
            700027 the client's certificate is not registered for the app, or its signature is wrong \
            → upload the certificate of clientAssertion or clientKey to the app's registration; with subject name and issuer, set chain to true
            700211 the app has no federated credential for the issuer of the assertion \
            → correct the issuer of the federated credential in the app's registration
            700212 the app has no federated credential for the audience of the assertion \
            → correct the audience of the federated credential in the app's registration, or request its audience
            700213 the app has no federated credential for the subject of the assertion \
            → correct the subject of the federated credential in the app's registration
            7002138 the subject of the federated credential differs from the assertion's in upper and lower case only \
            → correct the subject of the federated credential in the app's registration
            70021 the app has no federated credential for the issuer, subject and audience of the assertion \
            → correct the federated credential in the app's registration; a new one takes some minutes
            1002012 the scope of an application must be all permissions of one service \
            → set scopes to one scope that ends in /.default, such as https://graph.microsoft.com/.default
            7000215 the client secret is wrong → set the secret's value, not its identifier, as clientSecret
            7000218 the app is not registered as a public client, and no secret was sent \
            → set clientSecret, or allow public client flows in the app's registration
            7000222 the client secret has expired \
            → create a new secret in the app's registration and set it as clientSecret
            700030 the client's certificate is not valid → register a valid certificate for the app
            240002 the assertion is of a kind that cannot be exchanged for tokens \
            → use an access token for this app as the assertion
            900561 the endpoint does not take this method → set tokenRequestMethod to POST
            """
        ),
        (
            .clock,
            """
            700024 the client's assertion is not valid now \
            → set this machine's clock; if it is right, the source of the assertion returns expired ones
            """
        ),
        (
            .administrator,
            """
            7000112 the app is disabled → ask an administrator of the organization to enable the app
            50034 there is no such account in the organization \
            → sign in with another account, or ask an administrator to add this one
            51004 there is no such account in the organization \
            → sign in with another account, or ask an administrator to add this one
            50057 the account is disabled → ask an administrator of the organization to enable it
            50105 the account is not assigned to the app → ask an administrator of the organization to assign it
            50014 the account of the guest is not ready → ask an administrator to invite the guest again
            53000 the organization allows managed devices only, and this one does not comply \
            → ask an administrator how to enroll this device
            53001 the organization allows only devices of its domain \
            → ask an administrator how to join this device
            53002 the organization allows approved apps only \
            → ask an administrator of the organization to approve the app
            53003 the organization's conditional access policies block this sign-in \
            → ask an administrator which condition is not met: location, device or app
            53004 the organization blocks setting up another factor from here \
            → set it up from a location that the organization knows, or ask an administrator
            530003 the organization allows managed devices only → ask an administrator how to enroll this device
            530034 the organization blocks the guest's organization \
            → ask an administrator of the organization
            90093 only an administrator may consent to the permissions of the app \
            → ask an administrator of the organization to consent to the app
            90094 only an administrator may consent to the permissions of the app \
            → ask an administrator of the organization to consent to the app
            65005 the app requests a service that the organization does not have \
            → ask an administrator of the organization to consent to the app
            240001 the account may not register devices → ask an administrator of the organization to allow it
            """
        ),
        (
            .later,
            """
            50000 the provider could not issue a token
            50053 the account is locked after too many attempts, or the network's address is not trusted
            50196 the provider saw the same request too often in a short time
            90024 the provider could not reach one of its services
            90033 the provider has a transient error
            90055 there were too many requests
            """
        ),
    ]
}
