import DirectorySearch

/// The choice of users for another program, which gets the chosen users instead of a terminal.
package struct BrowsePicker: Hashable, Sendable {
    /// Whether a user without a mail address cannot be chosen.
    package var requiresMail: Bool

    package init(requiresMail: Bool) { self.requiresMail = requiresMail }
}

// MARK: Choice

extension BrowseModel {
    /// Finishes with the marked users, or with the selected user if there are no marks.
    mutating func choose() {
        guard let picker else { return }
        if marked.isEmpty, isForOtherText { return saySearching() }
        let rows = marked.isEmpty ? list.selection.map { [$0] } ?? [] : marked
        guard !rows.isEmpty else { return sayNoUser() }
        if picker.requiresMail, let row = rows.first(where: { $0.user.mail?.isEmpty != false }) {
            return say("\(row.name) has no mail address.", .warning)
        }
        emit(.choose(rows.map(\.user)))
    }
}
