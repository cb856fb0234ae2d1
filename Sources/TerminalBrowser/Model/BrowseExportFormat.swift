/// The format of a file with users, which the extension of its name selects.
package enum BrowseExportFormat: String, CaseIterable, Sendable {
    /// vCards, for address books.
    case vCard = "vcf"
    case csv
    case json

    /// Creates the format of a file; `nil` for another extension.
    init?(file: String) {
        let name = file.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let point = name.lastIndex(of: "."), point != name.startIndex else { return nil }
        self.init(rawValue: name[name.index(after: point)...].lowercased())
    }
}
