/// The format of an export file, selected by the file name extension.
package enum BrowseExportFormat: String, CaseIterable, Sendable {
    /// vCards, for address books.
    case vCard = "vcf"
    case csv
    case json

    /// Creates the format for a file name, or returns `nil` if the extension is unknown.
    init?(file: String) {
        let name = file.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let point = name.lastIndex(of: "."), point != name.startIndex else { return nil }
        self.init(rawValue: name[name.index(after: point)...].lowercased())
    }
}
