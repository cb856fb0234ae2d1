import Foundation
import Testing

@testable import DirectorySearch
@testable import LocalProvider

/// A random number generator with a seed, so that a failure is reproducible.
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    /// Returns the next number of the SplitMix64 generator.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func text() -> String {
        let troublesome = Array(
            "'%+& #/?\\\"()$=;,:@!*~|<>{}[]`^\u{301}\u{202E}\u{0}\n\u{FEFF}李Ü\u{1F469}\u{200D}".unicodeScalars)
        var view = String.UnicodeScalarView("x".unicodeScalars)
        for _ in 0..<Int.random(in: 0...15, using: &self) {
            if Bool.random(using: &self) {
                view.append(troublesome[Int.random(in: 0..<troublesome.count, using: &self)])
            } else if let scalar = Unicode.Scalar(UInt32.random(in: 0...0x10FFFF, using: &self)) {
                view.append(scalar)
            }
        }
        return String(view)
    }
}

/// Returns the value of a query option in a target, decoded as a server does.
private func option(_ name: String, of target: String) -> String? {
    let options = target.split(separator: "?", maxSplits: 1).last?.split(separator: "&") ?? []
    guard let found = options.first(where: { $0.hasPrefix(name + "=") }) else { return nil }
    #expect(found.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "+") })
    return String(found.dropFirst(name.count + 1)).removingPercentEncoding
}

/// Returns the parsed filter in the format that `filter(_:depth:)` uses.
private func shape(_ filter: ODataFilter) -> [String] {
    func name(_ operand: ODataFilter.Operand) -> String {
        operand.property.rawValue + (operand.isAnyElement ? "[]" : "")
    }
    func text(_ literal: ODataLiteral) -> String {
        switch literal {
        case .string(let value): "'" + value
        case .bool(let value): "\(value)"
        case .null: "null"
        case .bare(let value): value
        }
    }
    switch filter {
    case .and(let left, let right): return ["and("] + shape(left) + shape(right) + [")"]
    case .or(let left, let right): return ["or("] + shape(left) + shape(right) + [")"]
    case .not(let inner): return ["not("] + shape(inner) + [")"]
    case .startsWith(let operand, let value): return ["startsWith", name(operand), "'" + value]
    case .endsWith(let operand, let value): return ["endsWith", name(operand), "'" + value]
    case .compare(let operand, let comparison, let literal):
        return [comparison.rawValue, name(operand), text(literal)]
    case .oneOf(let operand, let literals): return ["in", name(operand)] + literals.map(text)
    case .contains(let operand, let value): return ["contains", name(operand), "'" + value]
    case .any(let property, let inner): return inner.map(shape) ?? ["any", property.rawValue]
    }
}

/// Returns a random filter and its expected shape.
private func filter(_ random: inout Seeded, depth: Int) -> (UserFilter, [String]) {
    let text = random.text()
    switch Int.random(in: 0...(depth > 0 ? 9 : 6), using: &random) {
    case 0: return (.givenName(startsWith: text), ["startsWith", "givenName", "'" + text])
    case 1: return (.property(.mail, equals: text), ["eq", "mail", "'" + text])
    case 2: return (.property(.surname, isNot: text), ["ne", "surname", "'" + text])
    case 3: return (.property(.userPrincipalName, endsWith: text), ["endsWith", "userPrincipalName", "'" + text])
    case 4:
        let other = random.text()
        return (.property(.city, isOneOf: [.text(text), .text(other)]), ["in", "city", "'" + text, "'" + other])
    case 5: return (.property(.businessPhones, startsWith: text), ["startsWith", "businessPhones[]", "'" + text])
    case 6: return (.property(.accountEnabled, equals: true), ["eq", "accountEnabled", "true"])
    case 7:
        let (inner, shape) = filter(&random, depth: depth - 1)
        return (!inner, ["not("] + shape + [")"])
    case 8:
        let (left, right) = (filter(&random, depth: depth - 1), filter(&random, depth: depth - 1))
        return (left.0 && right.0, ["and("] + left.1 + right.1 + [")"])
    default:
        let (left, right) = (filter(&random, depth: depth - 1), filter(&random, depth: depth - 1))
        return (left.0 || right.0, ["or("] + left.1 + right.1 + [")"])
    }
}

@Test func `an independent parser reads the filter`() throws {
    var random = Seeded(state: 2026)
    for round in 0..<2000 {
        let (filter, expected) = filter(&random, depth: 4)
        let target = try UserQuery(filter, select: ["id"]).requestTarget()
        let value = try #require(option("$filter", of: target), "round \(round)")
        let read = shape(try ODataFilter(parsing: value))
        #expect(read.map { Array($0.utf8) } == expected.map { Array($0.utf8) }, "round \(round): \(value)")
    }
}

@Test func `an independent parser agrees whether a query is advanced`() throws {
    var random = Seeded(state: 7)
    for round in 0..<1000 {
        let (filter, _) = filter(&random, depth: 3)
        let written = try filter.written()
        let read = try ODataFilter(parsing: written.text)
        let needs = try read.advancedReason() != nil || read.clauseCount > 15
        #expect(!written.reasons.isEmpty == needs, "round \(round): \(written.text)")
    }
}

@Test func `an independent parser reads the search`() throws {
    var random = Seeded(state: 99)
    for round in 0..<1000 {
        let text = random.text()
        let query = UserQuery(search: .displayName(text), select: ["id"])
        let value = try #require(option("$search", of: try query.requestTarget()))
        let read = try #require(ODataSearch(parsing: value), "round \(round): \(value)")
        let expected = String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0 == "&" || $0 == "#" ? " " : $0 }))
        #expect(read.alternatives.count == 1 && read.alternatives.first?.count == 1)
        #expect(read.alternatives.first?.first?.property.rawValue == "displayName")
        #expect(
            read.alternatives.first?.first.map { Array($0.text.utf8) } == Array(expected.utf8), "round \(round)")
    }
}

@Test func `a name in a path decodes to the same name`() throws {
    var random = Seeded(state: 5)
    for _ in 0..<1000 {
        let name = random.text()
        let path = try UserPath(name).text
        #expect(path.hasPrefix("users/") && path.utf8.filter { $0 == UInt8(ascii: "/") }.count == 1)
        #expect(!path.contains("?") && !path.contains("#"))
        #expect(path.dropFirst("users/".count).removingPercentEncoding.map { Array($0.utf8) } == Array(name.utf8))
    }
}
