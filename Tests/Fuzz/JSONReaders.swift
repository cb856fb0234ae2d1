@testable import StrictJSON

let jsonReaders = [
    FuzzReader(
        "json",
        [
            .init("[", "[],", "0]"), .init("[", "1.5e3,", "0]"), .init("{", "\"a\":1,", "\"b\":2}"),
            .init("\"", "\\u00e9", "\""), .init("\"", "\u{E9}", "\""), .init("", "["), .init("", "{\"a\":"),
            .init("", " "), .init("/*", "*"), .init("", "//\n"), .init("[\"", "\\\\", "\"]"), .init("", "9"),
        ], readJSON)
]

private func readJSON(_ bytes: [UInt8]) {
    let value = try? JSONValue(parsing: bytes)
    let slice = try? JSONSlice(parsing: bytes)
    require((value == nil) == (slice == nil), "the reader and the slice accept the same texts")
    let list = Result { () throws(JSONError) in try JSONListText(parsing: bytes, list: "value") }
    let isListAccepted = if case .success = list { true } else { false }
    require(isListAccepted == (value != nil), "the reader and the list accept the same texts")
    if let value {
        for layout in [JSONLayout.compact, .indented] {
            let text = value.serialized(layout)
            require((try? JSONValue(parsing: text)) == value, "a written value is read unchanged")
            require(!text.contains(0x7F), "a written value has no control characters")
        }
        if let slice { require(slice.value == value, "the slice has the value") }
        if let object = value.object, let text = try? list.get() {
            require(text.elements == nil || object.members.contains { $0.name == "value" }, "the list is a member")
        }
    }
    let options = JSONReadingOptions(allowsComments: true, rejectsDuplicates: true, maximumDepth: 16)
    if let value = try? JSONValue(parsing: bytes, options: options), let object = value.object {
        let layout = try? JSONObjectLayout(bytes)
        require(layout?.members.map(\.name) == object.members.map(\.name), "the layout has the members")
        require(object.duplicatedNames.isEmpty, "no member is a duplicate")
    }
}
