/// An action that can solve a problem, such as to sign in again. A program offers it as a command or a button.
public protocol SuggestedAction: Hashable, Sendable, CustomStringConvertible {}

/// A sentence that tells the user how to solve a problem. Actions that only the program can offer are values in it.
public struct Hint: Sendable, ExpressibleByStringInterpolation {
    private enum Part: Sendable {
        case text(String)
        case action(any SuggestedAction)
    }

    private var parts: [Part] = []

    /// Creates a hint without actions.
    public init(_ text: String) { append(.text(text)) }

    /// Creates a hint without actions.
    public init(stringLiteral text: String) { append(.text(text)) }

    /// Creates a hint from strings, values and actions.
    public init(stringInterpolation: StringInterpolation) { self = stringInterpolation.hint }

    private init(parts: [Part]) { self.parts = parts }

    /// The actions, in the order of the sentence.
    package var actions: [any SuggestedAction] {
        parts.compactMap { if case .action(let action) = $0 { action } else { nil } }
    }

    /// Returns the hint with each action replaced by the program's own text.
    package func replacingActions(_ replacement: (any SuggestedAction) -> Hint) -> Hint {
        var hint = Hint(parts: [])
        for part in parts {
            switch part {
            case .text: hint.append(part)
            case .action(let action): hint = hint + replacement(action)
            }
        }
        return hint
    }

    private mutating func append(_ part: Part) {
        if case .text(let text) = part {
            guard !text.isEmpty else { return }
            if case .text(let last)? = parts.last {
                parts[parts.count - 1] = .text(last + text)
                return
            }
        }
        parts.append(part)
    }

    /// Returns the first hint followed by the second.
    public static func + (first: Hint, second: Hint) -> Hint {
        var hint = first
        second.parts.forEach { hint.append($0) }
        return hint
    }

    /// The parts of a hint while it is built.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var hint = Hint(parts: [])

        /// Creates an empty interpolation.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// Appends a string.
        public mutating func appendLiteral(_ literal: String) { hint.append(.text(literal)) }

        /// Appends the text of a value.
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            hint.append(.text(value.description))
        }

        /// Appends an action.
        public mutating func appendInterpolation(_ action: some SuggestedAction) { hint.append(.action(action)) }

        /// Appends the parts of another hint.
        public mutating func appendInterpolation(_ other: Hint) { hint = hint + other }
    }
}

extension Hint: CustomStringConvertible {
    /// The sentence, with the name of each action.
    public var description: String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .action(let action): action.description
            }
        }.joined()
    }
}

extension Hint: Equatable {
    /// Returns whether two hints have the same text and actions.
    public static func == (first: Hint, second: Hint) -> Bool {
        first.description == second.description
            && first.actions.map { AnyHashable($0) } == second.actions.map { AnyHashable($0) }
    }
}
