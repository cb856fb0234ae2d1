import LodgePlatform
import HTTPExchange
import LoopbackHTTP
import StrictJSON

/// The directory as SCIM 2.0 (RFC 7644), read-only.
struct SCIMEndpoint {
    let provider: ProviderState
    static let path = "/scim/v2"
    private static let listSchema = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
    private static let errorSchema = "urn:ietf:params:scim:api:messages:2.0:Error"
    private static let pageLimit = 200

    private var base: String { provider.origin + Self.path }

    func response(to request: LoopbackRequest, _ note: inout RequestNote) -> LoopbackResponse {
        // RFC 7644 section 4: discovery needs no token.
        if request.method == .get || request.method == .head, let object = description(request) {
            // RFC 7644 section 4: reject filters of these resources, so that no client relies on them.
            guard request.options?["filter"] == nil else {
                return Self.error(SCIMFailure(status: 403, detail: "The descriptions of the service have no filter."))
            }
            return Self.json(object)
        }
        return provider.listResponse(
            to: request, &note,
            error: { status, message in
                var response = Self.error(SCIMFailure(status: status, detail: message))
                if status == 403 {
                    response.fields["WWW-Authenticate"] =
                        "Bearer realm=\"local provider\", error=\"insufficient_scope\", scope=\"User.Read.All\""
                }
                return response
            },
            respond: {
                do throws(SCIMFailure) {
                    return Self.json(try users(request))
                } catch {
                    return Self.error(error)
                }
            })
    }

    private static func json(_ object: JSONObject, status: Int = 200) -> LoopbackResponse {
        .json(object, status: status, type: "application/scim+json")
    }

    private static func error(_ failure: SCIMFailure) -> LoopbackResponse {
        var object: JSONObject = ["schemas": [.string(errorSchema)]]
        object.append("scimType", text: failure.type)
        object.append("detail", .string(failure.detail))
        object.append("status", .string(String(failure.status)))
        return json(object, status: failure.status)
    }

    // MARK: Users

    private func users(_ request: LoopbackRequest) throws(SCIMFailure) -> JSONObject {
        guard let parts = request.segments(after: Self.path), parts.first?.lowercased() == "users" else {
            throw SCIMFailure(
                status: 404, detail: "There is no endpoint \(request.path.dropFirst(Self.path.count)).")
        }
        if parts.count == 2, parts[1].lowercased() == ".search" {
            guard request.method == .post else { throw SCIMFailure(status: 405, detail: "A search is sent with POST.") }
            return try list(try searchRequest(request))
        }
        guard request.method == .get || request.method == .head else {
            throw SCIMFailure(status: 501, detail: "This directory is for reading only.")
        }
        guard let query = request.options else {
            throw SCIMFailure(type: "invalidValue", detail: "The query is not percent-encoded UTF-8.")
        }
        let options = Dictionary(query.fields.map { ($0.name.lowercased(), $0.value) }) { $1 }
        guard parts.count > 1 else { return try list(options) }
        let contents = provider.contents
        guard parts.count == 2, let index = contents.index(of: parts[1]), contents[index].id == parts[1] else {
            throw SCIMFailure(status: 404, detail: "Resource \(parts[1]) not found.")
        }
        return SCIMUser.selected(
            SCIMUser.json(contents[index], base: base), Self.names(options["attributes"]),
            excluding: Self.names(options["excludedattributes"]))
    }

    /// Returns the options of a POST to `.search`. See RFC 7644 section 3.4.3.
    private func searchRequest(_ request: LoopbackRequest) throws(SCIMFailure) -> [String: String] {
        guard let body = try? JSONValue(parsing: request.body), let object = body.object else {
            throw SCIMFailure(type: "invalidSyntax", detail: "The request is not a JSON object.")
        }
        var options: [String: String] = [:]
        for member in object.members {
            switch member.value {
            case .string(let text): options[member.name.lowercased()] = text
            case .number(let number): options[member.name.lowercased()] = number.literal
            case .array(let values):
                options[member.name.lowercased()] = values.compactMap(\.string).joined(separator: ",")
            default: break
            }
        }
        return options
    }

    private static func names(_ text: String?) -> [String]? {
        guard let text, !text.isEmpty else { return nil }
        return text.split(separator: ",").map { $0.filter { $0 != " " } }
    }

    private func list(_ options: [String: String]) throws(SCIMFailure) -> JSONObject {
        let filter: ODataFilter? =
            if let text = options["filter"] { try SCIMFilterReader.filter(text) } else { nil }
        func number(_ name: String, _ defaultValue: Int) throws(SCIMFailure) -> Int {
            guard let text = options[name] else { return defaultValue }
            guard let number = Int(text) else {
                throw SCIMFailure(type: "invalidValue", detail: "\(name) is a whole number.")
            }
            return number
        }
        // RFC 7644 section 3.4.2.4: a start below 1 means 1, and a negative count means 0.
        let start = max(1, try number("startindex", 1))
        let count = min(max(0, try number("count", 100)), Self.pageLimit)
        var order: [UserSelection.Order] = []
        if let name = options["sortby"], !name.isEmpty {
            guard let property = SCIMAttribute.property(name) else {
                throw SCIMFailure(type: "invalidPath", detail: "There is no attribute '\(name)' to sort by.")
            }
            order = [(property, options["sortorder"]?.lowercased() == "descending")]
        }
        let contents = provider.contents
        let selection = UserSelection(contents, filter: filter, search: nil)
        let found = selection.found(skipping: start - 1, count: count, order: order)
        let (attributes, excluded) = (Self.names(options["attributes"]), Self.names(options["excludedattributes"]))
        return Self.list(
            found.map {
                .object(SCIMUser.selected(SCIMUser.json(contents[$0], base: base), attributes, excluding: excluded))
            }, total: selection.count(), start: start)
    }

    private static func list(_ items: [JSONValue], total: Int, start: Int) -> JSONObject {
        [
            "schemas": [.string(listSchema)], "totalResults": .integer(total),
            "startIndex": .integer(start), "itemsPerPage": .integer(items.count),
            "Resources": .array(items),
        ]
    }

    // MARK: Discovery

    private func description(_ request: LoopbackRequest) -> JSONObject? {
        guard let parts = request.segments(after: Self.path), (1...2).contains(parts.count) else { return nil }
        let type: JSONObject = [
            "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"], "id": "User", "name": "User",
            "endpoint": "/Users", "schema": .string(SCIMUser.schema),
            "schemaExtensions": [["schema": .string(SCIMUser.enterpriseSchema), "required": false]],
            "meta": ["resourceType": "ResourceType", "location": .string("\(base)/ResourceTypes/User")],
        ]
        switch "/" + parts.joined(separator: "/") {
        case "/ServiceProviderConfig":
            return [
                "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
                "patch": ["supported": false],
                "bulk": ["supported": false, "maxOperations": 0, "maxPayloadSize": 0],
                "filter": ["supported": true, "maxResults": .integer(Self.pageLimit)],
                "changePassword": ["supported": false], "sort": ["supported": true], "etag": ["supported": false],
                "authenticationSchemes": [
                    [
                        "type": "oauthbearertoken", "name": "OAuth Bearer Token",
                        "description": "A token of this provider with User.ReadBasic.All.", "primary": true,
                    ]
                ],
                "meta": [
                    "resourceType": "ServiceProviderConfig", "location": .string("\(base)/ServiceProviderConfig"),
                ],
            ]
        case "/ResourceTypes": return Self.list([.object(type)], total: 1, start: 1)
        case "/ResourceTypes/User": return type
        case SCIMSchemas.path:
            let schemas = SCIMSchemas.all(base: base)
            return Self.list(schemas.map { .object($0) }, total: schemas.count, start: 1)
        default:
            return parts[0] == "Schemas"
                ? SCIMSchemas.all(base: base).first { $0["id"]?.string == parts.last } : nil
        }
    }
}
