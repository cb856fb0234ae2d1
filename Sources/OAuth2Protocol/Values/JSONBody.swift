import Platform
import HTTPExchange
import StrictJSON

/// The body of an answer that must be a JSON object.
enum JSONBody {
    /// The object, whatever the content type says.
    ///
    /// - Parameter what: names the answer in errors.
    /// - Throws: ``OAuth2Error/invalidResponse(member:reason:)``
    static func object(_ response: HTTPResponse, what: String) throws(OAuth2Error) -> JSONObject {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: response.body)
        } catch {
            throw .invalidResponse(member: "not_json", reason: "\(what) is not JSON: \(error)")
        }
        guard let object = value.object else {
            throw .invalidResponse(member: "not_object", reason: "\(what) is \(value.kind), expected an object")
        }
        return object
    }

    /// Refuses an object in which one of these members stands twice.
    static func refuseDuplicates(
        _ object: JSONObject, of names: Set<String>, what: String
    ) throws(OAuth2Error) {
        for name in object.duplicatedNames where names.contains(name) {
            throw .invalidResponse(member: name, reason: "\(what) has \(name) twice")
        }
    }

    /// A text that goes into header fields or addresses: printable ASCII without space; nil when missing, null or empty.
    ///
    /// A space or a line break would let the provider write fields of its own.
    static func token(_ name: String, _ object: JSONObject) throws(OAuth2Error) -> Secret? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.string else {
            throw .invalidResponse(member: name, reason: "its \(name) is \(value.kind), expected a string")
        }
        if text.isEmpty { return nil }
        // In one piece, so that the compiler can look at many bytes at once.
        let isPrintable = text.utf8.withContiguousStorageIfAvailable { $0.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
        guard isPrintable ?? text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw .invalidResponse(member: name, reason: "its \(name) has characters that no token may have")
        }
        return Secret(text)
    }
}
