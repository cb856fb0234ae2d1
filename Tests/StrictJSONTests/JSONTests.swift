import StrictJSON
import Testing

@Test func `what is read is written again, digits and order kept`() throws {
    let text = #"{"b":[1,-2.50,1e3,12345678901234567890],"a":{"x":null,"y":true},"s":"é\"\\\n"}"#
    #expect(try JSONValue(parsing: text).text() == text)
}

@Test(arguments: [
    "", " ", "{", "[1,]", "{\"a\":1,}", "01", "+1", "1.", ".5", "NaN", "tru", "\"a", "\"\u{1}\"", "[1] [2]",
    "{\"a\" 1}",
    "// c\n1", #""\ud800""#, #""\ud800A""#, #""\x""#, "{a:1}", "'a'", "-", "1e", "[1 2]",
])
func `a text that is not JSON is refused`(text: String) {
    #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
}

@Test(arguments: [
    ("[1", "list"), ("[1,[2", "list"), ("{", "object"), ("{\"a\"", "object"), ("{\"a\":1", "object"),
    ("{\"a\":1,", "object"), ("{\"a\":[1]", "object"), ("[{\"a\":1}", "list"), ("{\"a\":{\"b\":{", "object"),
])
func `a text that ends too early says in what it ends`(text: String, location: String) {
    let error = #expect(throws: JSONError.self) { try JSONValue(parsing: text) }
    #expect(error?.reason == "the text ends inside \(location == "list" ? "a list" : "an object")")
    let sliced = #expect(throws: JSONError.self) { try JSONSlice(parsing: Array(text.utf8)) }
    #expect(sliced == error)
}

@Test func `only UTF-8 is read`() {
    #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, 0xFF, 0x22]) }
    #expect(throws: JSONError.self) { try JSONValue(parsing: [0x7B, 0, 0x7D, 0]) }
    #expect(throws: JSONError.self) { try JSONValue(parsing: [0x22, 0xC0, 0x80, 0x22]) }
}

@Test func `a byte order mark is skipped`() throws {
    #expect(try JSONValue(parsing: [0xEF, 0xBB, 0xBF, 0x31]) == 1)
}

@Test func `escapes and surrogate pairs are read`() throws {
    #expect(try JSONValue(parsing: #""\u00e9\ud83d\ude00\/\b""#).string == "é😀/\u{8}")
}

@Test func `nesting has a limit`() {
    let deep = String(repeating: "[", count: 100_000)
    #expect(throws: JSONError.self) { try JSONValue(parsing: deep) }
    #expect(throws: Never.self) {
        try JSONValue(parsing: String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
    }
}

@Test func `duplicate members are told, and refused when asked`() throws {
    let text = #"{"a":1,"b":2,"a":3}"#
    let object = try #require(try JSONValue(parsing: text).object)
    #expect(object.duplicatedNames == ["a"])
    #expect(object["a"] == 3)
    #expect(throws: JSONError.self) { try JSONValue(parsing: text, options: .init(rejectsDuplicates: true)) }
}

@Test func `names are compared without Unicode normalisation`() throws {
    let object = try #require(try JSONValue(parsing: "{\"e\u{301}\":1,\"é\":2}").object)
    #expect(object.duplicatedNames.isEmpty)
    #expect(object["e\u{301}"] == 1)
}

@Test func `comments are read where they are allowed`() throws {
    let text = "/* a */ { // b\n \"a\": 1 /**/ } // end"
    #expect(try JSONValue(parsing: text, options: .init(allowsComments: true)) == ["a": 1])
    #expect(throws: JSONError.self) { try JSONValue(parsing: "/* a", options: .init(allowsComments: true)) }
}

@Test func `zero-width characters and tags leave escaped`() throws {
    let text = "\u{200B}\u{200D}\u{2060}\u{FEFF}\u{AD}\u{180E}\u{E0041}"
    let written = JSONValue.string(text).text()
    #expect(written == #""\u200b\u200d\u2060\ufeff\u00ad\u180e\udb40\udc41""#)
    #expect(try JSONValue(parsing: written).string == text)
    #expect(try JSONSlice(parsing: Array("\"\(text)\"".utf8)).plainBytes == nil)
    #expect(JSONValue.string("ＡÂ\u{1F600}ქ").text() == "\"ＡÂ\u{1F600}ქ\"")
}

@Test func `characters that steer a terminal leave escaped`() {
    #expect(JSONValue.string("\u{1B}[2J\u{202E}\u{9B}\u{7F}é").text() == #""\u001b[2J\u202e\u009b\u007fé""#)
}

@Test func `numbers outside every range do not trap`() throws {
    let value = try JSONValue(parsing: "[1e999999, -1e-999999, 99999999999999999999999]")
    let numbers = try #require(value.array)
    #expect(numbers[0].number?.double == nil)
    #expect(numbers[2].number?.int64 == nil)
    #expect(numbers[2].number?.literal == "99999999999999999999999")
}

@Test func `indented text is readable`() {
    let value: JSONValue = ["a": [1, 2], "b": [:], "c": []]
    #expect(value.text(.indented) == "{\n  \"a\": [\n    1,\n    2\n  ],\n  \"b\": {},\n  \"c\": []\n}")
}
