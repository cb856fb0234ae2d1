import Foundation
import StrictJSON
import Synchronization
import Testing

@testable import ProviderSettings

struct PropertyListTests {
    private func value(_ text: String) -> JSONValue? { try? PropertyList.value(of: [UInt8](text.utf8)) }

    private func failure(_ bytes: [UInt8]) -> String? {
        do throws(SettingsError) {
            _ = try Settings(bytes: bytes, source: "s.plist")
            return nil
        } catch { return error.found }
    }

    @Test func `XML and binary property lists have the values that Foundation writes`() throws {
        let list: [String: Any] = [
            "text": "a<b>&\"'\u{E9}\u{1F600}\r\n", "empty": "", "yes": true, "no": false, "number": -7,
            "large": Int64.max,
            "real": 1.5, "list": ["a", ["b": [Any]()], [String: Any]()] as [Any],
            "long": String(repeating: "x", count: 300), "many": Array(0..<300),
        ]
        let expected = try JSONValue(
            parsing: JSONSerialization.data(withJSONObject: list, options: [.sortedKeys]))
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
            #expect(try PropertyList.value(of: [UInt8](data)) == expected)
        }
    }

    @Test func `comments, CDATA sections, references and processing instructions are read as XML defines them`() throws
    {
        let text = """
            \u{FEFF}<?xml version="1.0" encoding="UTF-8"?> <!-- </plist> -->
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version='1.0' ><!-- <dict> --><dict >
              <key>a</key><string><![CDATA[</string></dict>]]>&lt;&#65;&#x42;</string ><?x <dict> ?>
              <key>b</key><integer> -0x1F </integer><key>c</key><true></true><key/><array><false/></array>
            </dict></plist><!-- after -->

            """
        #expect(value(text) == ["": [false], "a": "</string></dict><AB", "b": -31, "c": true])
        #expect(value("<array><real>1e3</real></array>") == [.number(JSONNumber(1000))])
    }

    @Test(arguments: [
        "<dict>", "<dict></array>", "<dict><key>a</key></dict>", "<dict><string>a</string></dict>", "<dict/><dict/>",
        "<plist/>", "<plist></plist>", "<plist><dict/>", "<!-- <dict/>", "<string><![CDATA[</string>",
        "<string>&a;</string>",
        "<string>&#0;</string>", "<string>&#xD800;</string>", "<string>&#+65;</string>", "<string>&amp</string>",
        "<string><b/></string>", "<string>\u{1}</string>", "<integer>0x</integer>", "<integer>--1</integer>",
        "<integer/>", "<integer>9223372036854775808</integer>", "<real>nan</real>", "<date>2026-01-01T00:00:00Z</date>",
        "<data>AAAA</data>", "<dict<key>", "<true/ >", "</dict>", "text", "<dict a></dict>", "<dict a=\"></dict>",
        "<dict><key>a</key><true/><key>a</key><true/></dict>", "<?xml encoding='UTF-16'?><dict/>",
        "<!DOCTYPE a [<!ENTITY b 'c'>]><dict/>",
    ])
    func `a property list that is not well-formed is an error`(text: String) {
        #expect(value(text) == nil)
    }

    /// Returns a file of these objects, with offsets of two bytes.
    private static func binary(_ objects: [[UInt8]]) -> [UInt8] {
        var bytes = [UInt8]("bplist00".utf8)
        var table: [UInt8] = []
        for object in objects {
            table += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
            bytes += object
        }
        func number(_ value: Int) -> [UInt8] { (0..<8).map { UInt8(value >> (56 - 8 * $0) & 0xFF) } }
        return bytes + table + [0, 0, 0, 0, 0, 0, 2, 1] + number(objects.count) + number(0) + number(bytes.count)
    }

    @Test func `a binary property list with repeated references is rejected at the limit`() {
        // Each of 20 arrays contains the next one twice: a million values in 144 bytes.
        let doubled = Self.binary((1...20).map { [0xA2, UInt8($0), UInt8($0)] } + [[0x09]])
        #expect(doubled.count < 160)
        #expect(failure(doubled)?.hasPrefix("more than 100000 values") == true)
        let itself = Self.binary([[0xA1, 0]])
        #expect(failure(itself)?.hasPrefix("more than 32 dictionaries and lists") == true)
        // The array contains a string of 60,000 bytes 255 times.
        let text: [UInt8] = [0x5F, 0x11, 0xEA, 0x60] + Array(repeating: 0x61, count: 60_000)
        let repeated = Self.binary([[0xAF, 0x10, 0xFF] + Array(repeating: 1, count: 255), text])
        #expect(failure(repeated)?.hasPrefix("more than 1048576 bytes of text") == true)
    }

    @Test func `damage to a binary property list is an error or results in a different list`() throws {
        let list: [String: Any] = [
            "a": [1, 2.5, true, "text", "\u{1F600}"], "b": ["c": String(repeating: "d", count: 20)],
        ]
        let data = [UInt8](try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0))
        var rejected = 0
        for index in data.indices {
            for bit in 0..<8 {
                var damaged = data
                damaged[index] ^= 1 << UInt8(bit)
                if (try? PropertyList.value(of: damaged)) == nil { rejected += 1 }
            }
            #expect((try? PropertyList.value(of: Array(data[..<index]))) == nil)
        }
        #expect(rejected > data.count)
    }

    private static let hidden = ["<!-- </dict> -->", "<string><![CDATA[</dict>]]></string>"]

    @Test(arguments: hidden)
    func `nested dictionaries behind hidden end tags are rejected on a small stack`(hidden: String) throws {
        for depth in [700, 10_000] {
            let nested = String(repeating: "<dict><key>a</key>\(hidden)", count: depth)
            let result = try onStack(of: 512 << 10) { failure([UInt8]("<plist>\(nested)".utf8)) }
            #expect(result != nil)
            let plain = String(repeating: "<dict><key>a</key>", count: depth)
            let deep = try onStack(of: 512 << 10) { failure([UInt8]("<plist>\(plain)".utf8)) }
            #expect(deep?.hasPrefix("more than 32 dictionaries and lists in each other") == true)
        }
        let arrays = [UInt8](String(repeating: "[", count: 100_000).utf8)
        #expect(try onStack(of: 512 << 10) { failure(arrays) } == "nested deeper than 64 on line 1")
        let objects = [UInt8](String(repeating: "{\"a\":", count: 100_000).utf8)
        #expect(try onStack(of: 512 << 10) { failure(objects) } == "nested deeper than 64 on line 1")
    }

    private func onStack(of size: Int, _ body: @escaping @Sendable () -> String?) throws -> String? {
        let result = Box()
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            result.value.withLock { $0 = .some(body()) }
            done.signal()
        }
        thread.stackSize = size
        thread.start()
        done.wait()
        return try #require(result.value.withLock { $0 })
    }

    private final class Box: Sendable {
        let value = Mutex<String??>(nil)
    }
}
