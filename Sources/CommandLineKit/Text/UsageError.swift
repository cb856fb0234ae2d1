/// A command line that was not understood. Ends the program with status 2.
package struct UsageError: Error, Sendable, Equatable {
    /// What is wrong: `unknown option --ouput`.
    package var message: String
    /// Why, or what was meant: `did you mean --output?`.
    package var reason: String?
    /// The next command to type: `lodge help search`.
    package var hint: String

    /// A word that was typed, fit to stand in a message: visible, in quotes and short, since a
    /// token that was pasted in the wrong place must not come out whole.
    package static func quoted(_ word: String) -> String {
        "\"" + TerminalText.truncated(String(word.prefix(64)).visible, to: 24) + "\""
    }
}
