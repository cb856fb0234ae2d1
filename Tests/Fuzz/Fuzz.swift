import Foundation

/// A reader of bytes from outside, with the properties that hold for all input.
struct FuzzReader: Sendable {
    let name: String
    /// Reads the bytes, and stops the process if a property does not hold.
    let read: @Sendable ([UInt8]) -> Void
    /// The parts of large inputs for the scaling test: the start, the part that repeats, and the end. `%N` is the number of the
    /// repetition.
    let shapes: [Shape]

    struct Shape: Sendable {
        let head: String
        let unit: String
        let tail: String

        init(_ head: String, _ unit: String, _ tail: String = "") {
            (self.head, self.unit, self.tail) = (head, unit, tail)
        }

        /// Returns an input of about this size.
        func input(of size: Int) -> [UInt8] {
            var bytes = Array(head.utf8)
            let parts = unit.split(separator: "%N", omittingEmptySubsequences: false).map { Array($0.utf8) }
            var number = 0
            while bytes.count < size {
                bytes += parts.joined(separator: String(number).utf8)
                number += 1
            }
            return bytes + tail.utf8
        }
    }

    init(_ name: String, _ shapes: [Shape], _ read: @escaping @Sendable ([UInt8]) -> Void) {
        (self.name, self.shapes, self.read) = (name, shapes, read)
    }
}

/// Stops the process if a property of a reader does not hold.
func require(_ condition: Bool, _ property: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line) {
    if !condition { fatalError(property(), file: file, line: line) }
}

private let readers =
    jsonReaders + joseReaders + protocolReaders + settingsReaders + connectionReaders + accountReaders
    + localProviderReaders + directoryReaders + terminalReaders

/// Returns the value of an option. libFuzzer ignores options with two hyphens.
private func argument(_ name: String) -> String? {
    CommandLine.arguments.first { $0.hasPrefix("--\(name)=") }.map { String($0.dropFirst(name.count + 3)) }
}

private let selected: FuzzReader = {
    guard let name = argument("reader"), let reader = readers.first(where: { $0.name == name }) else {
        print("--reader=NAME: one of \(readers.map(\.name).joined(separator: " "))")
        exit(2)
    }
    return reader
}()

/// Lists the readers (`--list`), or runs the scaling test (`--scale`), before libFuzzer starts.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(_ count: UnsafeMutablePointer<CInt>, _ words: UnsafeMutableRawPointer) -> CInt {
    if CommandLine.arguments.contains("--list") {
        for reader in readers { print(reader.name) }
        exit(0)
    }
    if CommandLine.arguments.contains("--scale") {
        let name = argument("reader")
        exit(ScalingTest(readers: readers.filter { name == nil || $0.name == name }).run() ? 0 : 1)
    }
    _ = selected
    return 0
}

private let variantCount = argument("variants").flatMap { Int($0) } ?? 0

/// Passes an input, and `--variants` variants of it, to the reader that `--reader` names.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    selected.read(input)
    for variant in Variants(of: input, count: variantCount) { selected.read(variant) }
    return 0
}
