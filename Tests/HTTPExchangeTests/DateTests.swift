import Foundation
import HTTPExchange
import Testing

@Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (1_768_469_407, "Thu, 15 Jan 2026 09:30:07 GMT"),
    (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
])
func `HTTPDate formats dates as IMF-fixdate`(seconds: Int, text: String) {
    #expect(HTTPDate.text(seconds) == text)
    #expect(HTTPDate.parse(text)?.timeIntervalSince1970 == Double(seconds))
}

@Test func `a date before 1970 is formatted as the epoch`() {
    #expect(HTTPDate.text(-1) == "Thu, 01 Jan 1970 00:00:00 GMT")
}
