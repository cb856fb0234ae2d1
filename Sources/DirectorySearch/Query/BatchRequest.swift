import StrictJSON

/// The format of batch requests.
///
/// See [JSON batching](https://learn.microsoft.com/graph/json-batching).
enum BatchRequest {
    /// The maximum number of requests in a batch.
    static let maximumItems = 20

    /// Returns one request of a batch.
    ///
    /// - Parameter target: The URL below the service's base, percent-encoded.
    static func item(id: String, target: String, isAdvanced: Bool) -> JSONValue {
        var item: JSONObject = ["id": .string(id), "method": "GET", "url": .string(ODataEscaping.batchURL(target))]
        // The header fields of the batch do not apply to its requests.
        if isAdvanced { item.append("headers", ["ConsistencyLevel": "eventual"]) }
        return .object(item)
    }

    /// Returns the content of a batch.
    static func body(_ items: [JSONValue]) -> JSONValue { ["requests": .array(items)] }
}
