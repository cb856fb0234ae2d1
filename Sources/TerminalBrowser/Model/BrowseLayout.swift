/// The arrangement of the panes for a screen size.
struct BrowseLayout: Hashable, Sendable {
    enum Arrangement: Hashable, Sendable {
        /// The detail is to the right of the list.
        case beside
        /// The detail is below the list.
        case below
        /// Only one pane fits: the focused one.
        case single
    }

    /// The minimum number of columns for showing the detail next to the list.
    static let columnsForBoth = 100
    /// The minimum screen size.
    static let smallest = ScreenSize(columns: 20, rows: 5)

    var arrangement: Arrangement
    /// The number of rows between the query line and the key line.
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
            // The two headings take two rows. The list gets slightly less than half of the others.
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
