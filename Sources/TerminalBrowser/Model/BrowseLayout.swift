/// Where the panes are on a screen of some size.
struct BrowseLayout: Hashable, Sendable {
    enum Arrangement: Hashable, Sendable {
        /// The detail is at the right of the list.
        case beside
        /// The detail is below the list.
        case below
        /// There is room for one of them: the one that has the keys.
        case single
    }

    /// From so many columns on the detail stands beside the list.
    static let columnsForBoth = 100
    /// On smaller screens nothing can be shown.
    static let smallest = ScreenSize(columns: 20, rows: 5)

    var arrangement: Arrangement
    /// The rows between the query line and the line of keys.
    var bodyRows: Int
    var listRows: Int
    var listColumns: Int
    var detailRows: Int
    var detailColumns: Int

    init(_ size: ScreenSize) {
        bodyRows = max(1, size.rows - 2)
        listColumns = size.columns
        detailColumns = size.columns
        if size.columns >= Self.columnsForBoth {
            arrangement = .beside
            listColumns = min(120, size.columns * 12 / 25)
            detailColumns = size.columns - listColumns - 3
            listRows = max(1, bodyRows - 1)
            detailRows = listRows
        } else if bodyRows >= 6 {
            arrangement = .below
            // What the two headings leave; the list gets a little less than half.
            let rows = bodyRows - 2
            listRows = rows < 12 ? (rows + 1) / 2 : rows * 9 / 20
            detailRows = rows - listRows
        } else {
            arrangement = .single
            listRows = max(1, bodyRows - 1)
            detailRows = listRows
        }
    }
}
