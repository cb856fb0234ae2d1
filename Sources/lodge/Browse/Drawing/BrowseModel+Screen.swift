// MARK: The whole screen

extension BrowseModel {
    /// What the terminal is to show.
    func screen() -> Screen {
        var screen = Screen(size: size)
        guard size.columns > 0, size.rows > 0 else { return screen }
        guard !isTooSmall else {
            let least = BrowseLayout.smallest
            screen.rows = TerminalText.wrapped(
                "Too small: make it \(least.columns)×\(least.rows) or larger.", to: size.columns, limit: size.rows
            ).map { ScreenLine($0, .warning, columns: size.columns).pieces }
            return screen
        }
        let (line, cursor) = queryLine
        var rows = [line]
        rows += body
        for (place, notice) in noticeLines.reversed().enumerated() { rows[rows.count - 1 - place] = notice }
        rows.append(bar)
        screen.rows = rows.map(\.pieces)
        if focus == .query, cover == nil { screen.cursor = (cursor, 0) }
        screen.picture = picture
        return screen
    }

    /// The rows between the query line and the line of keys.
    private var body: [ScreenLine] {
        var lines: [ScreenLine]
        switch cover {
        case .help(let down): lines = [heading("Keys", "Esc closes", size.columns)] + helpLines(from: down)
        case .log(let up): lines = [heading("Requests", "Esc closes", size.columns)] + logLines(up: up)
        case .signIn(let underWay):
            lines = [heading("Sign in", "", size.columns)] + signInLines(underWay, size.columns)
        case .copyMenu, .accounts: lines = menuBody
        case nil: lines = panes
        }
        return fitted(lines, layout.bodyRows, size.columns)
    }

    /// So many rows, neither more nor fewer.
    func fitted(_ lines: [ScreenLine], _ rows: Int, _ columns: Int) -> [ScreenLine] {
        var lines = Array(lines.prefix(rows))
        while lines.count < rows { lines.append(ScreenLine(columns: columns)) }
        return lines
    }

    private var panes: [ScreenLine] {
        let layout = layout
        if list.rows.isEmpty { return [listHeading(size.columns)] + emptyLines(size.columns) }
        let listPart = [listHeading(layout.listColumns)] + listLines(layout.listColumns, layout.listRows)
        let detailPart = [detailHeading(layout.detailColumns)] + visibleDetailLines
        switch layout.arrangement {
        case .beside: return beside(listPart, detailPart)
        case .below: return fitted(listPart, layout.listRows + 1, size.columns) + detailPart
        case .single: return focus == .detail ? detailPart : listPart
        }
    }

    /// The menu in the place of the detail, where there is room for it; else in place of everything.
    private var menuBody: [ScreenLine] {
        let layout = layout
        guard layout.arrangement == .beside, !list.rows.isEmpty else {
            return menuLines(size.columns, layout.bodyRows)
        }
        let listPart = [listHeading(layout.listColumns)] + listLines(layout.listColumns, layout.listRows)
        return beside(listPart, menuLines(layout.detailColumns, layout.bodyRows))
    }

    private func beside(_ left: [ScreenLine], _ right: [ScreenLine]) -> [ScreenLine] {
        let layout = layout
        let left = fitted(left, layout.bodyRows, layout.listColumns)
        let right = fitted(right, layout.bodyRows, layout.detailColumns)
        return zip(left, right).map { left, right in
            var line = ScreenLine(columns: size.columns)
            line.add(left)
            line.fill(to: layout.listColumns)
            line.add(" │ ", .dimmed)
            line.add(right)
            return line
        }
    }

    /// A heading with a line behind it and, at its end, something quiet.
    func heading(_ title: String, _ quiet: String, _ columns: Int, isActive: Bool = true) -> ScreenLine {
        var line = ScreenLine(columns: columns)
        let room = TerminalText.width(quiet) + (quiet.isEmpty ? 0 : 1)
        line.add(TerminalText.truncated(title, to: max(0, columns - room - 1)), isActive ? .heading : .label)
        line.add(" ", .dimmed)
        line.fill(to: columns - room, with: "─", style: .dimmed)
        if !quiet.isEmpty { line.add(" " + quiet, .dimmed) }
        return line
    }

    // MARK: The query line

    private var queryLine: (line: ScreenLine, cursor: Int) {
        var line = ScreenLine(columns: size.columns)
        line.add("Search ", focus == .query && cover == nil ? .heading : .label)
        let start = line.width
        let account = accountName
        let accountRoom = account.isEmpty ? 0 : min(TerminalText.width(account), size.columns / 3) + 2
        // The cursor may stand behind the last letter.
        let room = max(1, size.columns - start - accountRoom - 1)
        let (shown, cursor) = queryWindow(room)
        if query.text.isEmpty {
            line.add(
                TerminalText.truncated(mustSignIn ? "" : "the beginning of a name or an address", to: room), .dimmed)
        } else {
            line.add(shown, .input)
        }
        line.fill(to: size.columns - accountRoom + 2)
        if accountRoom > 2 { line.add(shortened(account, accountRoom - 2), .label) }
        return (line, min(start + cursor, size.columns - 1))
    }

    /// The name of the account in so many columns. A type that tells it from another one of its name is cut last.
    private func shortened(_ account: String, _ columns: Int) -> String {
        let type = currentAccount.map { " (\(TerminalText.visible($0.type)))" } ?? ""
        let room = columns - TerminalText.width(type)
        guard !type.isEmpty, account.hasSuffix(type), room > 2 else {
            return TerminalText.truncated(account, to: columns)
        }
        return TerminalText.truncated(String(account.dropLast(type.count)), to: room) + type
    }

    /// Whom the searches are sent as, in words.
    var accountName: String {
        guard accounts != nil else { return "" }
        guard let account = currentAccount else { return mustSignIn ? "not signed in" : "no account chosen" }
        return TerminalText.visible(account.label)
    }

    /// The part of the text around the cursor that has room, and the cursor's column in it.
    private func queryWindow(_ room: Int) -> (text: String, cursor: Int) {
        let graphemes = query.text.map { TerminalText.visible(String($0)) }
        let widths = graphemes.map(TerminalText.width)
        var first = 0
        var before = widths[..<query.cursor].reduce(0, +)
        while before > room {
            before -= widths[first]
            first += 1
        }
        var taken = 0
        var end = first
        while end < graphemes.count, taken + widths[end] <= room {
            taken += widths[end]
            end += 1
        }
        return (graphemes[first..<end].joined(), before)
    }
}
