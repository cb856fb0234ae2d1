/// A declaration of an option with any type of value.
package protocol DeclaredOption: Sendable {
    var spec: OptionSpec { get }
}

extension OptionSpec: DeclaredOption {
    package var spec: OptionSpec { self }
}

/// An option of a command with a typed value.
///
/// A command declares the option once as a constant, lists it among its options and reads its value with
/// ``Invocation/subscript(_:)-(Option<_>)``:
///
///     static let limit = Option.integer("limit", "N", "print at most this many users", in: 1...1000)
///     let limit = invocation[limit] ?? 50
package struct Option<Value>: DeclaredOption {
    package let spec: OptionSpec
    /// Converts the values, which have passed the declared check; `nil` if the option is not given.
    let value: @Sendable ([String]?) -> Value
}

extension Option<Bool> {
    /// Returns a flag.
    package static func flag(
        _ name: String, short: Character? = nil, _ help: String, environment: OptionSpec.Variable = .derived
    ) -> Self { Self(spec: .flag(name, short: short, help, environment: environment)) { $0 != nil } }
}

extension Option<String?> {
    package static func text(
        _ name: String, short: Character? = nil, _ valueName: String, _ help: String, allowsEmpty: Bool = false,
        completion: CompletionKind = .none, environment: OptionSpec.Variable = .derived
    ) -> Self {
        Self(
            spec: .value(
                name, short: short, valueName, help, allowsEmpty: allowsEmpty, completion: completion,
                environment: environment)
        ) { $0?.last }
    }
}

extension Option<[String]> {
    /// Returns an option with a list of strings, which may be repeated.
    package static func texts(
        _ name: String, short: Character? = nil, _ valueName: String, _ help: String,
        completion: CompletionKind = .none, environment: OptionSpec.Variable = .derived
    ) -> Self {
        Self(
            spec: .value(
                name, short: short, valueName, help, repeated: true, completion: completion, environment: environment)
        ) { $0 ?? [] }
    }
}

extension Option<Int?> {
    /// Returns an option with an integer.
    package static func integer(
        _ name: String, _ valueName: String, _ help: String, in range: ClosedRange<Int>,
        environment: OptionSpec.Variable = .derived
    ) -> Self {
        Self(spec: .value(name, valueName, help, is: .integer(range), environment: environment)) {
            $0?.last.flatMap { Int($0) }
        }
    }
}

extension Option<Duration?> {
    /// Returns an option with a number of seconds, which may be a decimal fraction.
    package static func seconds(
        _ name: String, _ valueName: String, _ help: String, in range: ClosedRange<Double>
    ) -> Self {
        Self(spec: .value(name, valueName, help, is: .seconds(range))) {
            $0?.last.flatMap { Double($0) }.map { .seconds($0) }
        }
    }
}

extension Option {
    /// Returns an option with one of several words.
    package static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, short: Character? = nil, _ valueName: String, _ help: String, of type: Choice.Type,
        completion: CompletionKind = .none
    ) -> Self where Value == Choice? {
        Self(
            spec: .value(
                name, short: short, valueName, help, is: .choice(Choice.allCases.map(\.rawValue)),
                completion: completion)
        ) { $0?.last.flatMap { Choice(rawValue: $0) } }
    }
}

/// A declaration of an argument with any type of value.
package protocol DeclaredArgument: Sendable {
    var spec: ArgumentSpec { get }
}

/// An argument of a command with a typed value. A command reads it with ``Invocation/subscript(_:)-(Argument<_>)``.
package struct Argument<Value>: DeclaredArgument {
    package let spec: ArgumentSpec
    let value: @Sendable ([String]) -> Value
}

extension Argument<String> {
    /// Returns a required argument.
    package static func required(_ name: String, _ help: String, completion: CompletionKind = .none) -> Self {
        Self(spec: ArgumentSpec(name, help, completion: completion)) { $0.first ?? "" }
    }
}

extension Argument<String?> {
    /// Returns an optional argument.
    package static func optional(_ name: String, _ help: String, completion: CompletionKind = .none) -> Self {
        Self(spec: ArgumentSpec(name, help, optional: true, completion: completion)) { $0.first }
    }
}

extension Argument<[String]> {
    /// Returns an argument that takes all remaining words.
    package static func words(
        _ name: String, _ help: String, optional: Bool = false, completion: CompletionKind = .none
    ) -> Self {
        Self(spec: ArgumentSpec(name, help, optional: optional, variadic: true, completion: completion)) { $0 }
    }
}

/// The global options for output.
package struct StandardOptions: Sendable {
    package let output = Option.choice(
        "output", short: "o", "FORMAT", "output format: " + OptionSpec.list(OutputFormat.names),
        of: OutputFormat.self, completion: .format)
    package let csvRaw = Option.flag(
        "csv-raw", "with --output csv: add no apostrophe to cells that look like formulas")
    package let quiet = Option.flag("quiet", "print only results and errors")
    package let verbose = Option.flag("verbose", "print accounts, requests, waits and refreshes")
    package let debug = Option.flag("debug", "print requests and responses, without secrets")
    package let noColor = Option.flag("no-color", "print without color and bold type")
    package let noInput = Option.flag("no-input", "never prompt; fail if input is required")
    package let noPager: Option<Bool>

    /// Creates the options of a program. The pager option uses a variable of the program.
    package init(program: String) {
        noPager = .flag("no-pager", "show long tables without \(program.uppercased())_PAGER or PAGER")
    }

    package var all: [any DeclaredOption] { [output, csvRaw, quiet, verbose, debug, noColor, noInput, noPager] }
}
