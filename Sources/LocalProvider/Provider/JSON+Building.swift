import StrictJSON

extension JSONValue {
    static func integer(_ value: Int) -> JSONValue { .number(JSONNumber(Int64(value))) }
}

extension JSONObject {
    mutating func append(_ name: String, text: String?) {
        if let text { append(name, .string(text)) }
    }

    static func + (left: JSONObject, right: JSONObject) -> JSONObject { JSONObject(left.members + right.members) }
}
