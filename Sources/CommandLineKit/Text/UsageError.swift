/// A usage error. The program ends with status 2.
package struct UsageError: Error, Sendable, Equatable {
    /// The error: `unknown option --ouput`.
    package var message: String
    /// The reason or a suggestion: `did you mean --output?`.
    package var reason: String?
    /// The next command: `lodge help search`.
    package var hint: String

    /// Returns a word of the command line for a message: escaped, quoted and shortened.
    ///
    /// A token that was pasted by mistake must not appear in full.
    package static func quoted(_ word: String) -> String {
        "\"" + TerminalText.truncated(String(word.prefix(64)).visible, to: 24) + "\""
    }
}
