/// A page of help about another topic: `lodge help environment`.
package struct HelpPage: Sendable {
    package var name: String
    package var summary: String
    /// Returns the lines below the summary.
    package var body: @Sendable (HelpText) -> [String]
    /// The names with their own help: `lodge help settings clientId`.
    package var entries: [Entry]
    /// Whether it describes the use with other programs. Guides have a manual page in section 7.
    package var isGuide: Bool

    /// A documented name of a page.
    package struct Entry: Sendable {
        package var name: String
        /// Other spellings of the name.
        package var aliases: [String]
        /// A phrase without a full stop.
        package var meaning: String
        /// Labels and values of the description.
        package var facts: [(label: String, value: String)]

        package init(
            _ name: String, aliases: [String] = [], _ meaning: String, _ facts: [(label: String, value: String)]
        ) {
            self.aliases = aliases
            self.name = name
            self.meaning = meaning
            self.facts = facts
        }
    }

    package init(
        name: String, summary: String, entries: [Entry] = [], isGuide: Bool = false,
        body: @escaping @Sendable (HelpText) -> [String]
    ) {
        self.name = name
        self.summary = summary
        self.entries = entries
        self.isGuide = isGuide
        self.body = body
    }

    /// The title of the page in the documentation: its summary without the full stop.
    package var title: String { String(summary.dropLast()) }

    func documentName(_ program: String) -> String { program + "-help-" + name }
}

/// Additional content of the help and the manual pages of a program.
package struct ProgramReference: Sendable {
    package var version = ""
    package var pages: [HelpPage] = []
    /// The line below the help of a command that points to the global options.
    package var optionsNote = ""
    package var helpExamples: [CommandExample] = []
    /// The title of the group that contains `help`.
    package var helpGroup = ""
    /// The environment variables without an option, with their meanings.
    package var variables: [(name: String, meaning: String)] = []
    /// The files that the program reads and writes, with their meanings.
    package var files: [(name: String, meaning: String)] = []

    package init(
        version: String = "", pages: [HelpPage] = [], optionsNote: String = "", helpExamples: [CommandExample] = [],
        helpGroup: String = "",
        variables: [(name: String, meaning: String)] = [], files: [(name: String, meaning: String)] = []
    ) {
        self.version = version
        self.pages = pages
        self.optionsNote = optionsNote
        self.helpExamples = helpExamples
        self.helpGroup = helpGroup
        self.variables = variables
        self.files = files
    }
}
