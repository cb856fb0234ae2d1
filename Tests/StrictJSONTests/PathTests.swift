import StrictJSON
import Testing

@Test func `a path of names returns a member of nested objects`() throws {
    let value = try JSONValue(parsing: #"{"a":{"b":{"c":1}},"list":[{"b":2}],"text":"t","a.b":3,"null":null}"#)
    let object = try #require(value.object)
    #expect(value[path: "a", "b", "c"] == 1 && object[path: "a", "b", "c"] == 1)
    #expect(value[path: "a", "b"] == ["c": 1] && value[path: "a.b"] == 3)
    #expect(value[path: "null"] == .null)
}

@Test func `a path through a missing member or another type returns nil`() throws {
    let value = try JSONValue(parsing: #"{"a":{"b":1},"list":[{"b":2}],"text":"t"}"#)
    for path in [value[path: "c"], value[path: "a", "c"], value[path: "a", "b", "c"], value[path: "list", "b"]] {
        #expect(path == nil)
    }
    #expect(value[path: "text", "b"] == nil && JSONValue.array([])[path: "a"] == nil)
    #expect(try JSONValue(parsing: #"{"a":{"b":1},"a":{}}"#)[path: "a", "b"] == nil, "the last member takes precedence")
}
