import Foundation
@testable import ProviderSettings
import StrictJSON

let settingsReaders = [
    FuzzReader(
        "settings",
        [
            .init("", "<"), .init("<plist>", "<dict><key>a</key>"), .init("<plist><dict>", "<key>a</key><true/>"),
            .init("<!--", "-"), .init("<plist>", "<!-- </dict> --><dict><key>a</key>"), .init("<", "a"),
            .init("<plist><array>", "<string><![CDATA[</dict>]]></string>"), .init("<string>", "&amp;"),
            .init("<dict a=\"", "<"), .init("<?", "?"), .init("<!DOCTYPE", " "), .init("<string>", "<![CDATA["),
            .init("<dict>", "<key>a</key><string>b</string>", "</dict>"), .init("<array>", "<integer>1</integer>"),
            .init("{\"types\":{", "\"a\":{},", "\"b\":{}}}"),
            .init("{\"types\":{\"a\":{", "\"clientid\":1,", "\"b\":1}}}"),
            .init("{", "\"a\":", "1}"), .init("{\"clientId\":\"", "a", "\"}"), .init("", "/**/"),
            .init("{\"types\":{", "\"a%N\":{},", "\"b\":{}}}"),
            .init("{\"types\":{\"a\":{", "\"clientid%N\":1,", "\"b\":1}}}"),
            .init("<dict>", "<key>a%N</key><string>b</string>", "</dict>"),
            .init("{\"clientId\":\"a\",\"scopes\":\"", "a ", "\"}"),
            .init("{\"types\":{\"a\":{\"scopes\":[", "\"a\",", "\"b\"]}}}"),
            .init("{\"types\":{\"a\":{\"resourceHosts\":[", "\"a.example\",", "\"b\"]}}}"),
        ], readSettings)
]

private func readSettings(_ bytes: [UInt8]) {
    do throws(SettingsError) {
        let settings = try Settings(bytes: bytes, source: "s")
        require(settings.typeNames.contains(settings.defaultType), "the default type exists")
        for type in settings.unusableTypes { require(settings[type.name] == nil, "a type is usable or not") }
    } catch {
        require(!error.expected.isEmpty && !error.found.isEmpty, "an error has its reason")
        require("\(error)".utf8.count < 4096 + 2 * bytes.count, "an error does not grow")
    }
    if let edited = try? SettingsEdit.adding("added", ["clientId": "a"], to: bytes, file: "s") {
        require((try? SettingsEdit.removing("added", from: edited, file: "s")) != nil, "an added type can be removed")
    }
    guard PropertyList.isPropertyList(bytes), bytes.count <= 4096, let value = try? PropertyList.value(of: bytes) else {
        return
    }
    require(value.depth <= PropertyList.maximumDepth + 1, "the depth has a limit")
    require(value.count <= PropertyList.maximumValues, "the number of values has a limit")
    // Foundation's parser accepts more texts, and reads the accepted ones in the same way.
    guard let other = try? PropertyListSerialization.propertyList(from: Data(bytes), format: nil) else { return }
    if let text = other as? String { require(value.string == text, "both parsers read the same string") }
    if let list = other as? [Any] { require(value.array?.count == list.count, "both parsers read the same list") }
    if let members = other as? [String: Any] {
        require(Set(value.object?.members.map(\.name) ?? []) == Set(members.keys), "both parsers read the same keys")
        for (name, member) in members {
            if let text = member as? String {
                require(value.object?[name]?.string == text, "both parsers read the same string")
            }
        }
    }
}

extension JSONValue {
    fileprivate var elements: [JSONValue] { array ?? object?.members.map(\.value) ?? [] }
    fileprivate var depth: Int { 1 + (elements.map(\.depth).max() ?? 0) }
    fileprivate var count: Int { 1 + elements.reduce(0) { $0 + $1.count } }
}
