import CommandLineKit

// MARK: The whole screen

/// Draws a model. The screen depends only on the model.
struct BrowseDrawing {
    let model: BrowseModel

    func screen() -> Screen {
        var screen = Screen(size: model.size)
        guard model.size.columns > 0, model.size.rows > 0 else { return screen }
        guard !model.isTooSmall else {
            let smallest = BrowseLayout.smallest
            screen.rows = TerminalText.wrapped(
                "Too small: make it \(smallest.columns)×\(smallest.rows) or larger.", to: model.size.columns,
                limit: model.size.rows
            ).map { ScreenLine($0, .warning, columns: model.size.columns).pieces }
            return screen
        }
        let (line, cursor) = queryLine
        var rows = [line]
        rows += body
        var above = noticeLines
        let prompt = exportPrompt
        if let prompt { above = above.suffix(max(0, rows.count - 2)) + [prompt.line] }
        for (position, notice) in above.reversed().enumerated() { rows[rows.count - 1 - position] = notice }
        rows.append(bar)
        screen.rows = rows.map(\.pieces)
        if model.focus == .query, model.overlay == nil { screen.cursor = ScreenPosition(column: cursor, row: 0) }
        if let prompt { screen.cursor = ScreenPosition(column: prompt.cursor, row: rows.count - 2) }
        screen.picture = picture
        return screen
    }

    /// The rows between the query line and the key line.
    private var body: [ScreenLine] {
        var lines: [ScreenLine]
        switch model.overlay {
        case .help(let down): lines = [heading("Keys", "Esc closes", model.size.columns)] + helpLines(from: down)
        case .log(let up): lines = [heading("Requests", "Esc closes", model.size.columns)] + logLines(up: up)
        case .signIn(let underWay):
            lines = [heading("Sign in", "", model.size.columns)] + signInLines(underWay, model.size.columns)
        case .copyMenu, .accounts: lines = menuBody
        case .export, nil: lines = panes
        }
        return fitted(lines, model.layout.bodyRows, model.size.columns)
    }

    /// Returns exactly the given number of rows, cut or filled.
    func fitted(_ lines: [ScreenLine], _ rows: Int, _ columns: Int) -> [ScreenLine] {
        var lines = Array(lines.prefix(rows))
        while lines.count < rows { lines.append(ScreenLine(columns: columns)) }
        return lines
    }

    private var panes: [ScreenLine] {
        let layout = model.layout
        if model.list.rows.isEmpty { return [listHeading(model.size.columns)] + emptyLines(model.size.columns) }
        let listPart = [listHeading(layout.listColumns)] + listLines(layout.listColumns, layout.listRows)
        let detailPart = [detailHeading(layout.detailColumns)] + visibleDetailLines
        switch layout.arrangement {
        case .beside: return beside(listPart, detailPart)
        case .below: return fitted(listPart, layout.listRows + 1, model.size.columns) + detailPart
        case .single: return model.focus == .detail ? detailPart : listPart
        }
    }

    /// The menu instead of the detail if it fits there, otherwise instead of both panes.
    private var menuBody: [ScreenLine] {
        let layout = model.layout
        guard layout.arrangement == .beside, !model.list.rows.isEmpty else {
            return menuLines(model.size.columns, layout.bodyRows)
        }
        let listPart = [listHeading(layout.listColumns)] + listLines(layout.listColumns, layout.listRows)
        return beside(listPart, menuLines(layout.detailColumns, layout.bodyRows))
    }

    private func beside(_ left: [ScreenLine], _ right: [ScreenLine]) -> [ScreenLine] {
        let layout = model.layout
        let left = fitted(left, layout.bodyRows, layout.listColumns)
        let right = fitted(right, layout.bodyRows, layout.detailColumns)
        return zip(left, right).map { left, right in
            var line = ScreenLine(columns: model.size.columns)
            line.add(left)
            line.fill(to: layout.listColumns)
            line.add(" │ ", .dimmed)
            line.add(right)
            return line
        }
    }

    /// Returns a heading followed by a rule, with a dimmed text at its end.
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
        var line = ScreenLine(columns: model.size.columns)
        line.add("Search ", model.focus == .query && model.overlay == nil ? .heading : .label)
        let start = line.width
        let account = accountName
        let accountRoom = account.isEmpty ? 0 : min(TerminalText.width(account), model.size.columns / 3) + 2
        // The cursor can be after the last letter.
        let room = max(1, model.size.columns - start - accountRoom - 1)
        let (shown, cursor) = window(of: model.query, room)
        if model.query.text.isEmpty {
            line.add(
                TerminalText.truncated(model.mustSignIn ? "" : "the beginning of a name or an address", to: room),
                .dimmed)
        } else {
            line.add(shown, .input)
        }
        line.fill(to: model.size.columns - accountRoom + 2)
        if accountRoom > 2 { line.add(shortened(account, accountRoom - 2), .label) }
        return (line, min(start + cursor, model.size.columns - 1))
    }

    /// Returns the account name, shortened to the given width.
    ///
    /// A type that distinguishes accounts of the same name is cut last.
    private func shortened(_ account: String, _ columns: Int) -> String {
        let type = model.currentAccount.map { " (\($0.type.visible))" } ?? ""
        let room = columns - TerminalText.width(type)
        guard !type.isEmpty, account.hasSuffix(type), room > 2 else {
            return TerminalText.truncated(account, to: columns)
        }
        return TerminalText.truncated(String(account.dropLast(type.count)), to: room) + type
    }

    /// The prompt for the name of the export file, above the key line, and the column of its cursor.
    private var exportPrompt: (line: ScreenLine, cursor: Int)? {
        guard case .export(let file) = model.overlay else { return nil }
        var line = ScreenLine(columns: model.size.columns)
        line.add("Export to ", .heading)
        let start = line.width
        let (shown, cursor) = window(of: file, max(1, model.size.columns - start - 1))
        line.add(shown, .input)
        line.fill()
        return (line, min(start + cursor, model.size.columns - 1))
    }

    /// The name of the account that sends the searches.
    var accountName: String {
        guard model.accounts != nil else { return "" }
        guard let account = model.currentAccount else {
            return model.mustSignIn ? "not signed in" : "no account chosen"
        }
        return account.label.visible
    }

    /// Returns the part of the text around the cursor that fits, and the cursor's column in it.
    private func window(of text: QueryText, _ room: Int) -> (text: String, cursor: Int) {
        let graphemes = text.text.map { String($0).visible }
        let widths = graphemes.map(TerminalText.width)
        var first = 0
        var before = widths[..<text.cursor].reduce(0, +)
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
