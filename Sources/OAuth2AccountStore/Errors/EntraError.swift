/// What an error number of Microsoft Entra means: the `AADSTS` number at the beginning of its explanation says more than the
/// code of RFC 6749, which is `invalid_grant` for most of them.
struct EntraError: Sendable {
    /// The number, without `AADSTS`.
    let number: Int
    /// What is to be done.
    let disposition: ErrorDisposition
    /// What it means, for somebody who never heard of it.
    let meaning: String
    /// What to do, when there is more to say than the course says.
    let advice: String?

    private init(_ number: Int, _ disposition: ErrorDisposition, _ meaning: String, _ advice: String? = nil) {
        self.number = number
        self.disposition = disposition
        self.meaning = meaning
        self.advice = advice
    }

    /// The most digits that are read: no number has more than eight.
    private static let maximumDigits = 9

    /// The number in a text of Entra's; nil when there is none.
    static func number(in text: String?) -> Int? {
        guard let text, let name = text.firstRange(of: "AADSTS") else { return nil }
        let digits = text[name.upperBound...].prefix(maximumDigits + 1).prefix { $0.isASCII && $0.isNumber }
        return digits.count > maximumDigits ? nil : Int(digits)
    }

    /// The error of this number; nil when it is not known here.
    static func error(_ number: Int) -> EntraError? { byNumber[number] }

    private static let byNumber = Dictionary(all.map { ($0.number, $0) }) { first, _ in first }

    /// Every number that is known here, in groups by what is to be done.
    static let all: [EntraError] = over + person + configuration + administration + passing

    private static let consentAdvice = "ask an administrator of the organisation to consent to the app"

    /// The saved sign-in is over.
    private static let over: [EntraError] = [
        EntraError(70000, .signIn(.grantGone), "the saved sign-in is not valid any more, or another app's"),
        EntraError(70002, .signIn(.grantGone), "the saved sign-in could not be checked"),
        EntraError(70008, .signIn(.grantGone), "the saved sign-in has expired because it was not used for too long"),
        EntraError(70043, .signIn(.grantGone), "the organisation wants everybody to sign in again after some time"),
        EntraError(700081, .signIn(.grantGone), "the saved sign-in has reached its greatest age"),
        EntraError(700082, .signIn(.grantGone), "the saved sign-in has expired because it was not used for too long"),
        EntraError(700084, .signIn(.grantGone), "the sign-in of an app in a browser has ended after its fixed time"),
        EntraError(50173, .signIn(.grantGone), "the saved sign-in was revoked, as by a change of password"),
        EntraError(50133, .signIn(.grantGone), "the session is not valid because the password expired or was changed"),
        EntraError(50132, .signIn(.grantGone), "the session is not valid because the password expired or was changed"),
        EntraError(50013, .signIn(.grantGone), "the assertion was refused: wrong signature, issuer or time"),
        EntraError(50089, .signIn(.grantGone), "the sign-in took too long"),
        EntraError(54005, .signIn(.grantGone), "the code of the sign-in was already used"),
        EntraError(500133, .signIn(.grantGone), "the assertion is not valid at this time"),
    ]

    /// The person has to do something.
    private static let person: [EntraError] = [
        EntraError(16000, .signIn(.interactionRequired), "several accounts are signed in, and one has to be chosen"),
        EntraError(50055, .signIn(.interactionRequired), "the password has expired; it is changed while signing in"),
        EntraError(50058, .signIn(.interactionRequired), "nobody is signed in to the provider in this browser"),
        EntraError(50072, .signIn(.interactionRequired), "another factor has to be set up first"),
        EntraError(50074, .signIn(.interactionRequired), "another factor is asked for, such as a code from a phone"),
        EntraError(50076, .signIn(.interactionRequired), "another factor is asked for, such as a code from a phone"),
        EntraError(50078, .signIn(.interactionRequired), "the other factor was checked too long ago"),
        EntraError(50079, .signIn(.interactionRequired), "another factor has to be set up first"),
        EntraError(50085, .signIn(.interactionRequired), "the sign-in at the other identity provider has ended"),
        EntraError(50097, .signIn(.interactionRequired), "the organisation wants to recognise this device"),
        EntraError(50125, .signIn(.interactionRequired), "the sign-in was interrupted to reset a password"),
        EntraError(50126, .signIn(.interactionRequired), "the user name or the password is wrong"),
        EntraError(
            50140, .signIn(.interactionRequired), "the sign-in was interrupted by the question to stay signed in"),
        EntraError(50144, .signIn(.interactionRequired), "the password has expired; it must be changed"),
        EntraError(50158, .signIn(.interactionRequired), "another service has to check the person first"),
        EntraError(500121, .signIn(.interactionRequired), "the other factor was not confirmed"),
        EntraError(700003, .signIn(.interactionRequired), "the organisation does not know this device any more"),
        EntraError(65001, .signIn(.interactionRequired), "the person has not yet consented to what the app asks for"),
        EntraError(65004, .declined, "the person declined to consent to what the app asks for"),
    ]

    /// The settings do not fit the registration of the app.
    private static let configuration: [EntraError] = [
        EntraError(
            50011, .settings, "the redirect URI is not registered for the app",
            "register redirectUri in the app's registration, or set the one that is registered"),
        EntraError(
            500112, .settings, "the redirect URI is another one than at the beginning of the sign-in",
            "register redirectUri in the app's registration, or set the one that is registered"),
        EntraError(
            50059, .settings, "the request does not say which organisation it is for",
            "name the tenant in authority, such as https://login.microsoftonline.com/contoso.com"),
        EntraError(
            50128, .settings, "the organisation's domain is not known", "correct the tenant in authority"),
        EntraError(
            50194, .settings, "the app is for one organisation only, and may not use /common",
            "name the tenant in authority, such as https://login.microsoftonline.com/contoso.com"),
        EntraError(
            50020, .signIn(.interactionRequired),
            "the account belongs to another organisation, which may not use the app"
        ),
        EntraError(
            90072, .signIn(.interactionRequired), "the account is not in the organisation; another account may be"),
        EntraError(
            90002, .settings, "there is no organisation of this name", "correct the tenant in authority"),
        EntraError(
            900023, .settings, "the tenant is neither a domain nor an identifier", "correct the tenant in authority"),
        EntraError(
            90014, .settings, "a field that is needed is missing in the request", "see tokenParameters in the settings"),
        EntraError(
            900144, .settings, "a parameter that is needed is missing in the request",
            "see clientId, scopes and the parameters in the settings"),
        EntraError(
            9002313, .settings, "the request is malformed", "see the parameters and header fields in the settings"),
        EntraError(
            9002325, .settings, "the sign-in must prove itself with PKCE",
            "correct the kind of platform in the app's registration"),
        EntraError(
            9002326, .settings, "the redirect URI is registered for an app in a browser",
            "register it in the app's registration for mobile and desktop applications"),
        EntraError(
            70001, .settings, "the app is not known or disabled here", "correct clientId, or the tenant in authority"),
        EntraError(
            70011, .settings, "a scope is not valid", "correct scopes; those of one request must belong to one service"),
        EntraError(
            500011, .settings, "the service that a scope names is not known in this organisation",
            "correct scopes, or have the service added to the organisation"),
        EntraError(
            650053, .settings, "the app asks for a scope that the service does not have", "correct scopes"),
        EntraError(
            650057, .settings, "the service is not among the permissions of the app",
            "add the permission to the app's registration"),
        EntraError(
            700016, .settings, "no app with this identifier is in the organisation",
            "correct clientId, or the tenant in authority"),
        EntraError(
            700025, .settings, "the app is a public client, and a secret was sent",
            "remove clientSecret from the settings"),
        EntraError(
            700027, .settings, "the client's signature was not accepted: its key is not registered",
            "register the certificate of clientKey for the app"),
        EntraError(700024, .clock, "the time of the client's assertion is wrong", "set this machine's clock"),
        EntraError(
            7000112, .administrator, "the app is disabled", "ask an administrator of the organisation to enable the app"
        ),
        EntraError(
            7000215, .settings, "the client secret is wrong",
            "set the secret's value, not its identifier, as clientSecret"),
        EntraError(
            7000218, .settings, "the app is not registered as a public client, and no secret was sent",
            "set clientSecret, or allow public client flows in the app's registration"),
        EntraError(
            7000222, .settings, "the client secret has expired",
            "make a new secret in the app's registration and set it as clientSecret"),
        EntraError(
            700030, .settings, "the client's certificate is not valid", "register a valid certificate for the app"),
        EntraError(
            240002, .settings, "the assertion is of a kind that cannot be exchanged for tokens",
            "use an access token for this app as the assertion"),
    ]

    /// Somebody else decides.
    private static let administration: [EntraError] = [
        EntraError(
            50034, .administrator, "there is no such account in the organisation",
            "sign in with another account, or ask an administrator to add this one"),
        EntraError(
            51004, .administrator, "there is no such account in the organisation",
            "sign in with another account, or ask an administrator to add this one"),
        EntraError(
            50057, .administrator, "the account is disabled", "ask an administrator of the organisation to enable it"),
        EntraError(
            50105, .administrator, "the account is not assigned to the app",
            "ask an administrator of the organisation to assign it"),
        EntraError(
            50014, .administrator, "the account of a guest is not ready", "ask an administrator to invite it again"),
        EntraError(
            53000, .administrator, "the organisation allows managed devices only, and this one does not comply",
            "ask an administrator how to enrol this device"),
        EntraError(
            53001, .administrator, "the organisation allows devices of its own domain only",
            "ask an administrator how to join this device"),
        EntraError(
            53002, .administrator, "the organisation allows approved apps only",
            "ask an administrator of the organisation to approve the app"),
        EntraError(
            53003, .administrator, "the organisation's conditional access policies block this sign-in",
            "ask an administrator which condition is not met: place, device or app"),
        EntraError(
            53004, .administrator, "the organisation blocks setting up another factor from here",
            "set it up from a place that the organisation knows, or ask an administrator"),
        EntraError(
            530003, .administrator, "the organisation allows managed devices only",
            "ask an administrator how to enrol this device"),
        EntraError(
            530034, .administrator, "the organisation has blocked access for the guest's own organisation",
            "ask an administrator of the organisation"),
        EntraError(90093, .administrator, "only an administrator may consent to what the app asks for", consentAdvice),
        EntraError(90094, .administrator, "only an administrator may consent to what the app asks for", consentAdvice),
        EntraError(65005, .administrator, "the app asks for a service that the organisation has not", consentAdvice),
        EntraError(
            240001, .administrator, "the account may not register devices",
            "ask an administrator of the organisation to allow it"),
    ]

    /// It passes.
    private static let passing: [EntraError] = [
        EntraError(50000, .later, "the provider could not issue a token"),
        EntraError(
            50053, .later, "the account is locked after too many attempts, or the network's address is not trusted"),
        EntraError(50196, .later, "the provider saw the same request too often in a short time"),
        EntraError(90024, .later, "the provider could not reach a part of its own"),
        EntraError(90033, .later, "the provider has a passing fault"),
        EntraError(90055, .later, "there were too many requests"),
        EntraError(900561, .settings, "the endpoint does not take this method", "set tokenRequestMethod to POST"),
    ]
}
