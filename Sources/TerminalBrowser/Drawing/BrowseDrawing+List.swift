import CommandLineKit
import DirectorySearch

// MARK: The list

extension BrowseDrawing {
    private enum Column: Hashable { case name, mail, title, phone }

    private static let gap = 2

    /// Returns the columns that fit, with their widths.
    ///
    /// The widths depend only on the pane, so columns do not move while results load.
    private func listGrid(_ columns: Int) -> [(Column, Int)] {
        let room = columns - Self.gap
        func shares(_ parts: [(Column, Int)]) -> [(Column, Int)] {
            let whole = room - Self.gap * (parts.count - 1)
            let sum = parts.reduce(0) { $0 + $1.1 }
            var left = whole
            return parts.enumerated().map { position, part in
                let width = position == parts.count - 1 ? left : whole * part.1 / sum
                left -= width
                return (part.0, width)
            }
        }
        switch columns {
        case ..<34: return [(.name, room)]
        case ..<72: return shares([(.name, 11), (.title, 9)])
        case ..<104: return shares([(.name, 10), (.mail, 12), (.title, 9)])
        default: return shares([(.name, 10), (.mail, 12), (.title, 9), (.phone, 7)])
        }
    }

    func listHeading(_ columns: Int) -> ScreenLine {
        let title =
            switch model.list.origin {
            case .nothing: "People"
            case .search(let text, _): "People · \(text.visible)"
            case .reports(let name, _): "Reports of \(name)"
            case .manager(let name, _): "Manager of \(name)"
            }
        return heading(title, listCount, columns, isActive: model.focus == .list && model.overlay == nil)
    }

    /// The number of results and their state, in short.
    private var listCount: String {
        var parts: [String] = []
        if !model.marked.isEmpty { parts.append("\(BrowseModel.grouped(model.marked.count)) marked") }
        if !model.list.rows.isEmpty {
            let all = BrowseModel.grouped(model.list.rows.count) + (model.list.hasMore ? "+" : "")
            parts.append("\(BrowseModel.grouped(model.list.selected + 1)) of \(all)")
            if model.list.source == .offline { parts.append(model.list.isPartial ? "incomplete copy" : "offline copy") }
        }
        if model.search.running != nil || (model.search.due != nil && model.delayEnd == nil) {
            parts.append("searching…")
        } else if model.list.isPagePending {
            parts.append("more…")
        }
        return parts.joined(separator: " · ")
    }

    /// Returns the visible rows. The cost does not depend on the length of the list.
    func listLines(_ columns: Int, _ rows: Int) -> [ScreenLine] {
        let grid = listGrid(columns)
        let needles = model.list.text.map(MatchHighlighter.init)
        var lines = model.list.rows[min(model.list.top, model.list.rows.count)...].prefix(rows).enumerated().map {
            position, row in listLine(row, model.list.top + position, grid, needles, columns)
        }
        // The offline copy has no pages: to find more users, type more letters.
        let isAllThereIs = model.list.isCut || (model.list.hasMore && model.isOffline)
        if lines.count < rows, isAllThereIs || (model.list.hasMore && model.list.number != model.search.live) {
            let words =
                isAllThereIs
                ? "There are more: type more letters of the name." : "There are more: R reloads the list."
            lines.append(ScreenLine("  " + words, .dimmed, columns: columns))
        }
        if lines.count < rows, model.list.isPartial {
            lines.append(ScreenLine("  " + model.incompleteNote, .dimmed, columns: columns))
        }
        return lines
    }

    private func listLine(
        _ row: ResultList.Row, _ position: Int, _ grid: [(Column, Int)], _ needles: MatchHighlighter?, _ columns: Int
    ) -> ScreenLine {
        let isSelected = position == model.list.selected
        let isMarked = model.markedIDs.contains(row.id)
        let style: ScreenStyle =
            isSelected
            ? (model.focus == .list && model.overlay == nil ? .selected : .selectedElsewhere)
            : model.isOutdated ? .dimmed : isMarked ? .marked : .plain
        var line = ScreenLine(columns: columns)
        line.add((isSelected ? ">" : " ") + (isMarked ? "*" : " "), style)
        var end = Self.gap
        for (column, width) in grid {
            end += width
            let text = TerminalText.truncated(TerminalText.cell(cell(column, row)), to: width)
            if style == .plain, let needles, column != .title, column != .phone {
                for piece in needles.parted(text) { line.add(piece.text, piece.style) }
            } else {
                line.add(text, style == .plain && column != .name ? .dimmed : style)
            }
            end += Self.gap
            line.fill(to: end, style: style)
        }
        line.fill(style: style)
        return line
    }

    private func cell(_ column: Column, _ row: ResultList.Row) -> String {
        switch column {
        case .name: row.user.listName
        case .mail: row.user.mail ?? row.user.userPrincipalName ?? ""
        case .title: row.user.jobTitle ?? ""
        case .phone: row.user.businessPhones.first ?? row.user.mobilePhone ?? ""
        }
    }

    // MARK: The empty list

    /// Returns the text shown instead of a list: the next step, the progress, or the search without results.
    func emptyLines(_ columns: Int) -> [ScreenLine] {
        var lines = [ScreenLine(columns: columns)]
        if model.layout.bodyRows < 6 { lines = [] }
        for paragraph in emptyParagraphs {
            for part in TerminalText.wrapped(paragraph.text, to: columns - 4, limit: 6) {
                lines.append(ScreenLine("  " + part, paragraph.style, columns: columns))
            }
        }
        return lines
    }

    private var emptyParagraphs: [ScreenText] {
        func plain(_ text: String) -> ScreenText { ScreenText(text: text, style: .plain) }
        func quiet(_ text: String) -> ScreenText { ScreenText(text: text, style: .dimmed) }
        guard model.accounts != nil else { return [quiet("Opening the accounts…")] }
        if model.mustSignIn {
            // On a small screen, show what to do first.
            if model.layout.bodyRows < 6 { return [ScreenText(text: "Enter signs in.", style: .key)] }
            return [
                plain("Welcome. You are not signed in yet."), ScreenText(text: "Enter signs in.", style: .key),
                quiet("Then type the beginning of a name, and people appear here."),
            ]
        }
        guard model.current != nil else {
            return [plain("No account is chosen."), ScreenText(text: "Enter shows the accounts.", style: .key)]
        }
        if let failure = model.search.failure {
            return [ScreenText(text: BrowseModel.sentence(failure), style: .failure)]
                + (failure.hint.map { [quiet("What helps: " + $0.visible)] } ?? [])
                + [ScreenText(text: remedy(failure), style: .key)]
        }
        let text = model.query.searchText.visible
        if model.isWaiting {
            return [
                quiet(
                    model.delayEnd == nil ? "Searching for \(text)…" : "The search for \(text) starts after the delay.")
            ]
        }
        guard model.isLongEnough else {
            return [
                plain(
                    "Type at least \(BrowseModel.minimumLetters) letters of a name, a mail address or a sign-in name."),
                quiet("Users appear while you type. Up and Down move in the list, Enter goes to it, ? shows all keys."),
            ]
        }
        let isCopy = model.list.source == .offline
        let position = isCopy ? "the offline copy" : "the directory of \(accountName)"
        return [
            plain("No user has a name or address that starts with \"\(text)\"."),
            quiet(
                "Searched in \(position): given names, surnames, display names, mail addresses and user names that start with "
                    + (text.contains(" ") ? "the text or with each word." : "it.")),
            plain(
                "Try fewer letters, another spelling or only the surname"
                    + (model.accounts.map { $0.count > 1 } == true ? ", or another account (a in the list)." : ".")),
        ]
    }
}
