import StrictJSON

/// Several questions in one request.
///
/// [JSON batching](https://learn.microsoft.com/graph/json-batching)
enum BatchRequest {
    /// The most questions of one request.
    static let maximumItems = 20

    /// One question.
    ///
    /// - Parameter target: the address below the service's base, percent-encoded.
    static func item(id: String, target: String, isAdvanced: Bool) -> JSONValue {
        var item: JSONObject = ["id": .string(id), "method": "GET", "url": .string(ODataEscaping.batchAddress(target))]
        // The fields of the request around it are not those of the questions.
        if isAdvanced { item.append("headers", ["ConsistencyLevel": "eventual"]) }
        return .object(item)
    }

    /// The body of the request.
    static func body(_ items: [JSONValue]) -> JSONValue { ["requests": .array(items)] }
}
