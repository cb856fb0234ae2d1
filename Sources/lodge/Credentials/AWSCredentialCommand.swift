import CommandLineKit
import HTTPExchange
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

/// `credential aws`: a `credential_process` of AWS. Exchanges the ID token for temporary keys of a role.
///
/// [AssumeRoleWithWebIdentity](https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html)
@MainActor struct AWSCredentialCommand: CommandHandler {
    enum Input {
        static let role = Argument.required("ROLE", "ARN of the role")
        static let duration = Option.integer(
            "duration", "SECONDS", "how long the keys are valid (3600)", in: 900...43200)
    }

    nonisolated static let command = Command(
        "aws", "Act as a credential process of AWS.",
        discussion: """
            To set it up: lodge help cloud. It sends the ID token of the active account or of --account and --type to AWS STS \
            (AssumeRoleWithWebIdentity), and prints the temporary keys of the role. The account type must have the host of STS in \
            resourceHosts: sts.REGION.amazonaws.com with AWS_REGION or AWS_DEFAULT_REGION, otherwise sts.amazonaws.com. \
            AWS_ENDPOINT_URL_STS selects another one. AWS_ROLE_SESSION_NAME names the session, by default after the user.
            """,
        examples: ["lodge credential aws arn:aws:iam::123456789012:role/reader --type work"],
        arguments: [Input.role], options: [Input.duration], formats: OutputFormat.ofText
    ) { try await AWSCredentialCommand(context: $0).run() }

    let context: CommandContext

    static let endpointVariable = "AWS_ENDPOINT_URL_STS"
    static let regionVariables = ["AWS_REGION", "AWS_DEFAULT_REGION"]
    static let sessionVariable = "AWS_ROLE_SESSION_NAME"
    /// The maximum size of a response in bytes. A session token has at most 4096 characters.
    private static let maximumResponse = 64 * 1024
    /// The maximum number of characters of a session name, and of an error message that is printed.
    private static let (maximumName, maximumMessage) = (64, 300)

    func run() async throws -> ExitStatus {
        let role = invocation[Input.role]
        guard role.utf8.count <= 2048,
            role.wholeMatch(of: /arn:aws[a-z0-9-]*:iam::[0-9]{12}:role\/[A-Za-z0-9_+=,.@\/-]+/) != nil
        else {
            throw CommandError(
                .usage, "\(UsageError.quoted(role)) is not a role", reason: "expected the ARN of a role",
                hint: "lodge credential aws arn:aws:iam::123456789012:role/reader")
        }
        let url = try endpoint()
        guard let found = try await context.hostAccount(for: url.absoluteString) else {
            throw CommandError(
                .settings, "no account type has the host of \(url.absoluteString.debugDescription)",
                reason: "lodge passes a token only to hosts in the settings",
                hint: "lodge help settings resourceHosts")
        }
        let session = try sessionName(of: found.account)
        let token = try await context.idToken(of: found)
        var form = [
            ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role),
            ("RoleSessionName", session), ("WebIdentityToken", token.secret.value),
        ]
        if let seconds = invocation[Input.duration] { form.append(("DurationSeconds", "\(seconds)")) }
        var request = HTTPRequest(.post, url, form: form.map { (name: $0.0, value: $0.1) })
        request.maximumResponseSize = Self.maximumResponse
        let response = try await transport(found).send(request)
        try context.writeCredential(try Self.credential(in: response, hiding: token.secret))
        return .done
    }

    private func transport(_ found: HostAccount) throws -> any HTTPTransport {
        guard let type = try found.store.settings.type(named: found.account.type) else {
            throw CommandError(unknownType: found.account.type, in: found.store.settings)
        }
        return found.store.dependencies.transport(for: type)
    }

    // MARK: Request

    /// Returns the URL of STS.
    private func endpoint() throws(CommandError) -> URL {
        let world = context.world
        if let address = world.variable(Self.endpointVariable) {
            guard address.contains("://"), CommandContext.tokenHost(address) != nil, let url = URL(string: address),
                url.query(percentEncoded: true) == nil, url.fragment(percentEncoded: true) == nil
            else {
                throw CommandError(
                    .settings, "wrong value of \(Self.endpointVariable)",
                    reason: "expected an https URL, or an http URL of this machine",
                    hint: "correct the variable, or unset it")
            }
            return url
        }
        var host = "sts.amazonaws.com"
        if let name = Self.regionVariables.first(where: { world.variable($0) != nil }),
            let region = world.variable(name)
        {
            guard region.wholeMatch(of: /[a-z]{2}[a-z0-9-]{1,30}/) != nil else {
                throw CommandError(
                    .settings, "wrong value of \(name)", reason: "expected the name of a region",
                    hint: "\(name)=eu-central-1")
            }
            host = "sts.\(region).amazonaws.com" + (region.hasPrefix("cn-") ? ".cn" : "")
        }
        guard let url = URL(string: "https://\(host)/") else { throw CommandError(.settings, "no URL of STS") }
        return url
    }

    /// Returns the name of the session, which AWS writes to its logs: the variable of the AWS tools, or the user name.
    private func sessionName(of account: Account) throws(CommandError) -> String {
        if let name = context.world.variable(Self.sessionVariable) {
            guard name.wholeMatch(of: /[A-Za-z0-9_+=,.@-]{2,64}/) != nil else {
                throw CommandError(
                    .settings, "wrong value of \(Self.sessionVariable)",
                    reason: "expected 2 to 64 letters, digits and characters of _+=,.@-",
                    hint: "correct the variable, or unset it")
            }
            return name
        }
        let characters = (account.userName ?? "").filter {
            $0.isASCII && ($0.isLetter || $0.isNumber || "_+=,.@-".contains($0))
        }
        return characters.count < 2 ? Program.name : String(characters.prefix(Self.maximumName))
    }

    // MARK: Response

    /// Returns the credential for the AWS tools.
    private static func credential(in response: HTTPResponse, hiding token: Secret) throws(CommandError) -> JSONObject {
        let elements = XMLTexts([UInt8](response.body))
        guard response.status == 200 else { throw rejection(response, elements, hiding: token) }
        let path = "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/"
        func text(_ name: String) -> String? {
            elements?[path + name].flatMap { $0.isEmpty || !$0.utf8.allSatisfy { 0x21...0x7E ~= $0 } ? nil : $0 }
        }
        guard let key = text("AccessKeyId"), let secret = text("SecretAccessKey"), let session = text("SessionToken"),
            let expiration = text("Expiration"),
            expiration.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z/) != nil
        else {
            throw CommandError(
                .failed, "cannot read the response of AWS STS", reason: "expected the keys and their expiry as XML")
        }
        return [
            "Version": 1, "AccessKeyId": .string(key), "SecretAccessKey": .string(secret),
            "SessionToken": .string(session), "Expiration": .string(expiration),
        ]
    }

    /// Returns the error of STS as one line, because the AWS tools print it.
    private static func rejection(_ response: HTTPResponse, _ elements: XMLTexts?, hiding token: Secret) -> CommandError
    {
        guard let code = elements?["ErrorResponse/Error/Code"], code.wholeMatch(of: /[A-Za-z0-9.]{1,64}/) != nil else {
            return CommandError(
                response.status >= 500 || response.status == 429 ? .unavailable : .failed,
                "AWS STS rejected the request", reason: "HTTP status \(response.status)")
        }
        // A message never has the token, but a proxy in between could repeat the request.
        let message = (elements?["ErrorResponse/Error/Message"] ?? "").replacing(token.value, with: "…")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ").prefix(maximumMessage)
        let status: ExitStatus =
            switch code {
            case "AccessDenied", "InvalidIdentityToken", "ExpiredTokenException", "IDPRejectedClaim",
                "RegionDisabledException":
                .notPermitted
            case "IDPCommunicationError", "Throttling", "ThrottlingException", "ServiceUnavailable": .unavailable
            default: response.status >= 500 || response.status == 429 ? .unavailable : .failed
            }
        return CommandError(
            status, "AWS STS rejected the request", reason: message.isEmpty ? code : "\(code): \(message)")
    }
}
