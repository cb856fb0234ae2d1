import StrictJSON
import Testing

@Test func `JSONValue keeps digits and member order in a round trip`() throws {
    let text = #"{"b":[1,-2.50,1e3,12345678901234567890],"a":{"x":null,"y":true},"s":"é\"\\\n"}"#
    #expect(try JSONValue(parsing: text).text() == text)
}

@Test(arguments: [
    "", " ", "{", "[1,]", "{\"a\":1,}", "01", "+1", "1.", ".5", "NaN", "tru", "\"a", "\"\u{1}\"", "[1] [2]",
    "{\"a\" 1}",
    "// c\n1", #""\ud800""#, #""\ud800A""#, #""\x""#, "{a:1}", "'a'", "-", "1e", "[1 2]",
])
func `invalid JSON is rejected`(text: String) {
    #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
}

@Test(arguments: [
    ("[1", "list"), ("[1,[2", "list"), ("{", "object"), ("{\"a\"", "object"), ("{\"a\":1", "object"),
    ("{\"a\":1,", "object"), ("{\"a\":[1]", "object"), ("[{\"a\":1}", "list"), ("{\"a\":{\"b\":{", "object"),
])
func `the error for a truncated text names the unfinished container`(text: String, location: String) {
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    #expect(error?.reason == "the text ends inside \(location == "list" ? "a list" : "an object")")
    let sliced = #expect(throws: JSONError.self) { try JSONSlice(parsing: Array(text.utf8)) }
    #expect(sliced == error)
}

@Test func `invalid UTF-8 is rejected`() {
    #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
    #expect(throws: JSONError.self) { try JSONValue(parsing: [0x7B, 0, 0x7D, 0]) }
    #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, 0xC0, 0x80, 0x22]) }
}

@Test func `a byte order mark is skipped`() throws {
    #expect(try JSONValue(parsing: [0xEF, 0xBB, 0xBF, 0x31]) == 1)
}

@Test func `escapes and surrogate pairs are decoded`() throws {
    #expect(try JSONValue(parsing: #""\u00e9\ud83d\ude00\/\b""#).string == "é😀/\u{8}")
}

@Test func `the nesting depth is limited`() {
    let deep = String(repeating: "[", count: 100_000)
    #expect(throws: JSONError.self) { try JSONValue(parsing: deep) }
    #expect(throws: Never.self) {
        try JSONValue(parsing: String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
    }
}

@Test func `duplicate members are reported, and rejected on request`() throws {
    let text = #"{"a":1,"b":2,"a":3}"#
    let object = try #require(try JSONValue(parsing: text).object)
    #expect(object.duplicatedNames == ["a"])
    #expect(object["a"] == 3)
    #expect(throws: JSONError.self) { try JSONValue(parsing: text, options: .init(rejectsDuplicates: true)) }
}

@Test func `names are compared without Unicode normalization`() throws {
    let object = try #require(try JSONValue(parsing: "{\"e\u{301}\":1,\"é\":2}").object)
    #expect(object.duplicatedNames.isEmpty)
    #expect(object["e\u{301}"] == 1)
}

@Test func `comments are accepted only with the option for them`() throws {
    let text = "/* a */ { // b\n \"a\": 1 /**/ } // end"
    #expect(try JSONValue(parsing: text, options: .init(allowsComments: true)) == ["a": 1])
    #expect(throws: JSONError.self) { try JSONValue(parsing: "/* a", options: .init(allowsComments: true)) }
}

@Test func `zero-width characters and tags are written escaped`() throws {
    let text = "\u{200B}\u{200D}\u{2060}\u{FEFF}\u{AD}\u{180E}\u{E0041}"
    let written = JSONValue.string(text).text()
    #expect(written == #""\u200b\u200d\u2060\ufeff\u00ad\u180e\udb40\udc41""#)
    #expect(try JSONValue(parsing: written).string == text)
    #expect(try JSONSlice(parsing: Array("\"\(text)\"".utf8)).plainBytes == nil)
    #expect(JSONValue.string("ＡÂ\u{1F600}ქ").text() == "\"ＡÂ\u{1F600}ქ\"")
}

@Test func `control and bidirectional characters are written escaped`() {
    #expect(JSONValue.string("\u{1B}[2J\u{202E}\u{9B}\u{7F}é").text() == #""\u001b[2J\u202e\u009b\u007fé""#)
}

@Test func `numbers out of range do not trap`() throws {
    let value = try JSONValue(parsing: "[1e999999, -1e-999999, 99999999999999999999999]")
    let numbers = try #require(value.array)
    #expect(numbers[0].number?.double == nil)
    #expect(numbers[2].number?.int64 == nil)
    #expect(numbers[2].number?.literal == "99999999999999999999999")
}

@Test func `indented output has one element per line`() {
    let value: JSONValue = ["a": [1, 2], "b": [:], "c": []]
    #expect(value.text(.indented) == "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": []\n}")
}
