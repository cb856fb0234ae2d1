import StrictJSON
import Testing

/// The texts for which all readers must agree.
private let texts: [[UInt8]] =
    [
        "", " ", "{", "[1,]", "{\"a\":1,}", "01", "+1", "1.", ".5", "NaN", "tru", "\"a", "\"\u{1}\"", "[1] [2]",
        "{\"a\" 1}", "// c\n1", #""\ud800""#, #""\ud800A""#, #""\x""#, "{a:1}", "'a'", "-", "1e", "[1 2]", "null",
        "true",
        #""\u00e9\ud83d\ude00\/\b""#, #""\udc00""#, #""\ud83d\u0041""#, "-0", "-0.0e+10", "1E5", "[]", "{}", " [ ] ",
        #"{"a":{"b":[1,{"c":null}]},"a":2}"#, "\"\t\"", "\"é李😀\u{7F}\u{85}\u{2028}\"", "{\"\\u0061\":1}", "[[[[", "]",
        #"{"a":1"#, #"{"a""#, #"{"#, "\u{FEFF}1", "\"12345678\u{0}\"", "\"1234567\\\"8\"", "12345678901234567890.5e-3",
    ].map { Array($0.utf8) } + [
        [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
        [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22],
        [0x22, 0xE0, 0x80, 0x80, 0x22], [0x22, 0xF0, 0x80, 0x80, 0x80, 0x22], [0x22, 0xC3, 0x22], [0x22, 0x80, 0x22],
        [0x22, 0xE2, 0x82, 0x22], [0x7B, 0, 0x7D, 0], [0x22, 0xEF, 0xBF, 0xBF, 0x22],
        [0x22, 0xF5, 0x80, 0x80, 0x80, 0x22],
    ]

@Test func `JSONSlice accepts the same texts as JSONValue`() {
    for text in texts {
        let value = try? JSONValue(parsing: text)
        let slice = try? JSONSlice(parsing: text)
        #expect(slice?.value == value, "\(String(decoding: text, as: UTF8.self).debugDescription)")
    }
}

@Test func `the readers agree on randomly changed texts`() {
    let sample = Array(
        #"{"@odata.count":3,"value":[{"id":"a\"\u00e9","n":-1.5e3,"t":true,"x":[null,{}],"李":"é😀"},{}],"z":"end"}"#.utf8
    )
    var state: UInt64 = 42
    func next(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }
    var good = 0
    for _ in 0..<20_000 {
        var text = sample
        for _ in 0...next(2) {
            switch next(3) {
            case 0: text[next(text.count)] = UInt8(next(256))
            case 1: text.remove(at: next(text.count))
            default: text.insert(Array("\"\\,:{}[]0".utf8)[next(9)], at: next(text.count))
            }
        }
        let value = try? JSONValue(parsing: text)
        #expect((try? JSONSlice(parsing: text))?.value == value)
        let list = try? JSONListText(parsing: text, list: "value")
        #expect((list != nil) == (value?.object != nil))
        if value != nil { good += 1 }
        guard let object = value?.object, let list, object.duplicatedNames.isEmpty else { continue }
        #expect(list.elements?.map(\.value) == object["value"]?.array)
        #expect(list.members.members.count == object.members.count - (object["value"]?.array == nil ? 0 : 1))
    }
    #expect(good > 1000, "some of them must be JSON")
}

@Test func `the nesting depth of slices is limited`() {
    let deep = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
    #expect(throws: JSONError.self) { try JSONSlice(parsing: deep.utf8) }
    #expect(throws: Never.self) { try JSONSlice(parsing: deep.utf8.dropFirst().dropLast()) }
}

@Test func `members of a slice are found as in a value`() throws {
    let slice = try JSONSlice(parsing: #" {"a":1,"\u0062":"x\n","a":{"c":[true]},"":null} "#.utf8)
    #expect(slice["a"]?["c"]?.value == [true])
    #expect(slice["b"]?.string == "x\n")
    #expect(slice[""]?.isNull == true)
    #expect(slice["z"] == nil && slice["a"]?["z"] == nil && slice["b"]?["z"] == nil)
}

@Test func `plainBytes is nil if the writer would change the bytes`() throws {
    func plain(_ text: String) throws -> Bool { try JSONSlice(parsing: text.utf8).plainBytes != nil }
    #expect(try plain(#"{"a":[1,"é\u202e"]}"#))
    #expect(try !plain(#"{"a": 1}"#))
    for scalar in ["\u{7F}", "\u{80}", "\u{9F}", "\u{61C}", "\u{200E}", "\u{2028}", "\u{202E}", "\u{2066}", "\u{2069}"]
    {
        #expect(try !plain("[\"\(scalar)\"]"), "\(scalar.unicodeScalars)")
    }
    #expect(try JSONSlice(parsing: #"{"a":{"@odata.type":1}}"#.utf8).hasAnnotations)
    #expect(try !JSONSlice(parsing: #"{"a@b":1}"#.utf8).hasAnnotations)
}
