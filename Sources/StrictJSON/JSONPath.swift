extension JSONObject {
    /// The value at a path of member names: `object[path: "error", "code"]`; `nil` if it is absent.
    public subscript(path names: String...) -> JSONValue? { JSONValue.object(self).value(at: names) }
}

extension JSONValue {
    /// The value at a path of member names: `value[path: "error", "code"]`; `nil` if it is absent.
    public subscript(path names: String...) -> JSONValue? { value(at: names) }

    fileprivate func value(at names: [String]) -> JSONValue? {
        names.reduce(self) { value, name in value?.object?[name] }
    }
}
