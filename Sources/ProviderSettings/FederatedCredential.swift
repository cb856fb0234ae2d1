import LodgePlatform
import HTTPExchange
import StrictJSON

/// The source of JWTs of another issuer, which authenticate the client (workload identity federation).
///
/// The settings name the source, never a JWT: the client fetches one for each token request, and does not save it.
public enum FederatedCredential: Sendable, Equatable {
    /// A file, which another program replaces: the projected token of a Kubernetes service account, a JWT-SVID.
    case file(String)
    /// The file that an environment variable names.
    case fileNamed(environment: String)
    /// An environment variable, such as an `id_tokens` variable of GitLab.
    case environment(String)
    /// The standard output of a program. The words are the program and its arguments; no shell parses them.
    case command([String])
    /// The response of a server.
    case request(AssertionRequest)
    /// GitHub Actions, for a job with the permission `id-token: write`.
    case githubActions(audience: String)
    /// Azure Pipelines, for a service connection with workload identity federation.
    case azurePipelines(serviceConnection: String)

    /// The audience that Microsoft Entra recommends.
    public static let entraAudience = "api://AzureADTokenExchange"

    /// Whether the source is a file or a variable: it needs neither the network nor a program.
    package var isLocal: Bool {
        switch self {
        case .file, .fileNamed, .environment: true
        case .command, .request, .githubActions, .azurePipelines: false
        }
    }

    /// The request for a JWT; `nil` if the source is not a server.
    package var request: AssertionRequest? {
        switch self {
        case .request(let request): return request
        case .githubActions(let audience):
            var request = AssertionRequest(.environment("ACTIONS_ID_TOKEN_REQUEST_URL"))
            request.query = ["audience": audience]
            request.headers = ["Accept": "application/json; api-version=2.0"]
            request.bearer = .environment("ACTIONS_ID_TOKEN_REQUEST_TOKEN")
            request.member = "value"
            return request
        case .azurePipelines(let connection):
            var request = AssertionRequest(.environment("SYSTEM_OIDCREQUESTURI"))
            request.method = .post
            request.query = ["api-version": "7.1", "serviceConnectionId": connection]
            request.headers = ["Content-Type": "application/json", "X-TFS-FedAuthRedirect": "Suppress"]
            request.bearer = .environment("SYSTEM_ACCESSTOKEN")
            request.member = "oidcToken"
            return request
        case .file, .fileNamed, .environment, .command: return nil
        }
    }
}

extension FederatedCredential: CustomStringConvertible {
    /// The name of the source for messages.
    public var description: String {
        switch self {
        case .file(let path): path
        case .fileNamed(let variable): "the file of \(variable)"
        case .environment(let variable): "the variable \(variable)"
        case .command(let words): "the command \(words.first ?? "")"
        case .request(let request): "\(request.address)"
        case .githubActions: "GitHub Actions"
        case .azurePipelines: "Azure Pipelines"
        }
    }
}

/// The request for a JWT from a server, such as the token service of a cloud or of a CI system.
public struct AssertionRequest: Sendable, Equatable {
    /// The location of the URL.
    public enum Address: Sendable, Equatable, CustomStringConvertible {
        /// The URL itself.
        case url(URL)
        /// An environment variable with the URL, which can have a query.
        case environment(String)

        /// The URL without its query, or the name of the variable.
        public var description: String {
            switch self {
            case .url(let url): url.addressWithoutQuery
            case .environment(let name): "the URL of \(name)"
            }
        }
    }

    /// The location of the URL. It must be https; http only for loopback and the metadata service of a cloud.
    public var address: Address
    /// The HTTP method: GET or POST.
    public var method = HTTPMethod.get
    /// The parameters that are added to the query. The JWT must have the value of `audience`.
    public var query: [String: String] = [:]
    /// The header fields.
    public var headers: [String: String] = [:]
    /// The source of a token for the field `Authorization`.
    public var bearer: AccountType.SecretSource?
    /// The member of the JSON response that has the JWT, with a dot between at most two names; `nil` if the body is the JWT.
    public var member: String?

    /// Creates a GET request.
    public init(_ address: Address) { self.address = address }
}

extension AssertionRequest: Redacted {
    /// The address, without header fields, whose values may be secrets.
    public var description: String { "request to \(address)" }
}

extension FederatedCredential {
    typealias Reader = @Sendable (MemberDecoder) throws(SettingsError) -> AccountType.ClientAssertion

    /// The members of `clientAssertion` that are sources of JWTs of other issuers.
    static let readers: [(name: String, read: Reader)] = [
        ("file", { member throws(SettingsError) in .federated(try member.tokenFile()) }),
        ("environment", { member throws(SettingsError) in .federated(.environment(try member.variable())) }),
        ("command", { member throws(SettingsError) in .federated(.command(try member.words())) }),
        (
            "url",
            { member throws(SettingsError) in .federated(.request(AssertionRequest(try member.requestAddress()))) }
        ),
        (
            "githubActions",
            { member throws(SettingsError) in
                try member.requireKeys(["audience"])
                return .federated(.githubActions(audience: try member.optionalText("audience") ?? entraAudience))
            }
        ),
        (
            "azurePipelines",
            { member throws(SettingsError) in
                try member.requireKeys(["serviceConnection"])
                return .federated(.azurePipelines(serviceConnection: try member.text("serviceConnection")))
            }
        ),
    ]

    /// The members in addition to `url`.
    static let requestKeys = ["method", "query", "headers", "bearer", "member"]
}

extension MemberDecoder {
    fileprivate func tokenFile() throws(SettingsError) -> FederatedCredential {
        if let path = value.string, !path.isEmpty { return .file(path) }
        guard let name = object["environment"]?.string, !name.isEmpty, object.members.count == 1 else {
            throw mismatch("a path, or {\"environment\": NAME} of a variable with the path")
        }
        return .fileNamed(environment: name)
    }

    fileprivate func variable() throws(SettingsError) -> String {
        guard let name = value.string, !name.isEmpty else { throw mismatch("the name of a variable") }
        return name
    }

    fileprivate func words() throws(SettingsError) -> [String] {
        let words = value.array?.compactMap(\.string) ?? []
        guard let program = words.first, !program.isEmpty, words.count == value.array?.count,
            words.allSatisfy({ !$0.utf8.contains(0) })
        else { throw mismatch("a list of strings: the program and its arguments") }
        return words
    }

    fileprivate func requestAddress() throws(SettingsError) -> AssertionRequest.Address {
        if let name = object["environment"]?.string, !name.isEmpty, object.members.count == 1 {
            return .environment(name)
        }
        guard let text = value.string, let url = URL(string: text, encodingInvalidCharacters: false) else {
            throw mismatch("a URL, or {\"environment\": NAME} of a variable with the URL")
        }
        guard AssertionRequest.isAllowed(url) else {
            throw mismatch(AssertionRequest.allowedAddresses, url.addressWithoutQuery)
        }
        return .url(url)
    }
}

extension AssertionRequest {
    package static let allowedAddresses =
        "an https URL, or http for this machine or the metadata service 169.254.169.254"

    /// Returns whether a source of assertions may have this URL.
    package static func isAllowed(_ url: URL) -> Bool {
        guard let host = url.host(percentEncoded: false), !host.isEmpty, url.user == nil else { return false }
        switch url.scheme?.lowercased() {
        case "https": return true
        case "http": return url.isLoopback || host == "169.254.169.254"
        default: return false
        }
    }

    /// Creates a request from the members in addition to `url`.
    init(_ address: Address, readingFrom decoder: some DictionaryDecoder) throws(SettingsError) {
        self.init(address)
        let method = try decoder.optionalText("method") ?? "GET"
        guard ["GET", "POST"].contains(method) else {
            throw decoder.error("method", "\"GET\" or \"POST\"", method.debugDescription)
        }
        self.method = method == "GET" ? .get : .post
        query = try decoder.dictionary("query")
        headers = try decoder.dictionary("headers")
        for (name, value) in headers
        where name.isEmpty || !(name + value).utf8.allSatisfy({ (0x20...0x7E).contains($0) }) || name.contains(" ") {
            throw decoder.error("headers", "header fields of printable ASCII", name.debugDescription)
        }
        if let value = decoder.object["bearer"] {
            bearer = try decoder.source(value, "bearer", "{\"environment\": NAME} or {\"file\": PATH}")
        }
        member = try decoder.optionalText("member")
        if let member {
            let names = member.split(separator: ".", omittingEmptySubsequences: false)
            guard names.count <= 2, names.allSatisfy({ !$0.isEmpty }) else {
                throw decoder.error("member", "at most two names with a dot between them", member.debugDescription)
            }
        }
    }
}
