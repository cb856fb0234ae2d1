import Testing

@testable import HTTPExchange

@Suite struct `Content ranges` {
    @Test(
        arguments: [
            ("bytes 5-9/10", 5, 9, 10), ("Bytes 0-0/1", 0, 0, 1), ("bytes 5-9/*", 5, 9, nil),
            ("bytes 5-9/9", nil, nil, nil),
            ("bytes 9-5/10", nil, nil, nil), ("bytes */10", nil, nil, nil), ("items 5-9/10", nil, nil, nil),
            ("bytes 5-9", nil, nil, nil), ("bytes -5-9/10", nil, nil, nil), ("bytes +5-9/10", nil, nil, nil),
            ("bytes 5-9223372036854775807/*", nil, nil, nil), ("bytes 5-99999999999999999999/*", nil, nil, nil),
        ] as [(String, Int64?, Int64?, Int64?)])
    func `Content-Range is parsed strictly`(text: String, first: Int64?, last: Int64?, total: Int64?) {
        let range = ContentRange(["Content-Range": text])
        #expect(range?.first == first && range?.last == last && range?.total == total)
    }
}
