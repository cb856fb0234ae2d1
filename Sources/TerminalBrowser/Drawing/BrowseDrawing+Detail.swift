import CommandLineKit
import DirectorySearch

// MARK: The detail

extension BrowseDrawing {
    /// The maximum number of groups shown.
    private static let maximumGroups = 500
    private static let picture = ScreenSize(columns: 16, rows: 8)

    func detailHeading(_ columns: Int) -> ScreenLine {
        guard let row = model.list.selection else { return heading("", "", columns, isActive: false) }
        let title = model.detail.showsGroups ? "Groups of \(row.name)" : row.name
        let last = detailLineCount
        let isLong = last > model.layout.detailRows
        let quiet =
            model.detail.running != nil
            ? "reading…" : isLong ? "\(min(last, model.detail.scroll + model.layout.detailRows)) of \(last) lines" : ""
        return heading(title, quiet, columns, isActive: model.focus == .detail && model.overlay == nil)
    }

    var visibleDetailLines: [ScreenLine] {
        Array(detailLines.dropFirst(model.detail.scroll).prefix(model.layout.detailRows))
    }

    var detailLineCount: Int { detailLines.count }

    private var detailLines: [ScreenLine] {
        guard let row = model.list.selection else { return [] }
        return model.detail.showsGroups
            ? groupLines(model.layout.detailColumns) : userLines(row, model.layout.detailColumns)
    }

    private func userLines(_ row: ResultList.Row, _ columns: Int) -> [ScreenLine] {
        let known = row.id.isEmpty ? nil : model.details[row.id]
        var entries = UserFields.entries(of: known?.isWhole == true ? known?.detail.user ?? row.user : row.user)
        func take(_ label: String) -> UserFields.Entry? {
            guard let position = entries.firstIndex(where: { $0.label == label }) else { return nil }
            return entries.remove(at: position)
        }
        _ = take("Name")
        // Omitted if it equals the mail address, as it usually does.
        if entries.first(where: { $0.label == "UPN" })?.values == entries.first(where: { $0.label == "Mail" })?.values {
            _ = take("UPN")
        }
        let first = ["Mail", "Phone", "Mobile", "Title", "Department", "Office"].compactMap(take)
        let id = take("Id")
        var lines = detailFailureLines(columns)
        var block = DetailBlock(columns: columns, reserved: pictureReservation)
        block.lines = lines.count
        for entry in first { lines += block.entry(entry.label, entry.values.prefix(50).map { ($0, .plain) }) }
        if let known {
            for part in partEntries(known, row) {
                // In the search line, letters change the query.
                let key = model.focus == .query ? nil : part.key
                lines += block.entry(part.label, [(part.text, part.style)], key: key)
            }
        }
        for entry in entries + (id.map { [$0] } ?? []) {
            lines += block.entry(entry.label, entry.values.prefix(50).map { ($0, .plain) })
        }
        return lines
    }

    private func detailFailureLines(_ columns: Int) -> [ScreenLine] {
        guard let failure = model.detail.failure else { return [] }
        // A network error is shown only once, above the key line.
        if failure.isNetwork, model.search.failure?.isNetwork == true { return [] }
        let isQuery = model.focus == .query
        let method =
            failure.needsSignIn
            ? "\(isQuery ? "Tab, then " : "")a signs in." : "\(isQuery ? "ctrl-r" : "R") tries again."
        return TerminalText.wrapped("\(BrowseModel.sentence(failure)) \(method)", to: columns, limit: 4)
            .map { ScreenLine($0, .failure, columns: columns) }
    }

    private struct PartEntry {
        var label: String
        var text: String
        var style: ScreenStyle = .plain
        var key: String?
    }

    /// Returns an entry for each part: manager, reports and groups.
    ///
    /// It has the value, its absence or the error, and the key that shows more.
    private func partEntries(_ known: RecentDetails.Known, _ row: ResultList.Row) -> [PartEntry] {
        let detail = known.detail
        var entries: [PartEntry] = []
        func add<Value>(
            _ label: String, _ part: UserDetail.Part<Value>, key: String, notRequested: String?,
            _ words: (Value) -> String
        ) {
            switch part {
            case .notRequested:
                if let notRequested {
                    let text = model.focus == .query ? "Tab, then \(key)" : "\(key) \(notRequested)"
                    entries.append(PartEntry(label: label, text: text, style: .dimmed))
                }
            case .value(let value): entries.append(PartEntry(label: label, text: words(value), key: key))
            case .none: entries.append(PartEntry(label: label, text: "none", style: .dimmed))
            case .notPermitted(let error):
                entries.append(PartEntry(label: label, text: BrowseModel.words(error), style: .warning, key: "a"))
            case .failed(let error):
                entries.append(PartEntry(label: label, text: BrowseModel.words(error), style: .failure, key: "R"))
            }
        }
        add("Manager", detail.manager, key: "m", notRequested: nil) { ResultList.Row($0).name }
        add("Reports", detail.reports, key: "r", notRequested: model.isOffline ? nil : "shows them") {
            model.counted($0.count, "person", "people")
        }
        add("Groups", detail.groups, key: "M", notRequested: model.isOffline ? nil : "shows them") {
            model.counted($0.count, "group", "groups")
        }
        add("Photo", detail.photo, key: "p", notRequested: nil) { photo in
            photo.width.flatMap { width in photo.height.map { "\(width)×\($0)" } } ?? "yes"
        }
        return entries
    }

    // MARK: Groups

    private func groupLines(_ columns: Int) -> [ScreenLine] {
        func line(_ text: String, _ style: ScreenStyle) -> [ScreenLine] {
            TerminalText.wrapped(text, to: columns, limit: 4).map { ScreenLine($0, style, columns: columns) }
        }
        switch model.known?.detail.groups ?? .notRequested {
        case .notRequested:
            return line(model.detail.groupsNumber == nil ? "Not known here." : "Asking for the groups…", .dimmed)
        case .none: return line("In no group.", .dimmed)
        case .notPermitted(let error): return line("Groups: \(BrowseModel.words(error)). a signs in.", .warning)
        case .failed(let error): return line("Groups: \(BrowseModel.words(error)). M twice tries again.", .failure)
        case .value(let groups):
            var lines = groups.prefix(Self.maximumGroups).map { group in
                var line = ScreenLine(columns: columns)
                line.add(TerminalText.cell(group.displayName ?? group.id ?? "?"))
                if let kind = group.kind, kind != "group" { line.add("  " + TerminalText.cell(kind), .dimmed) }
                if let words = group.objectDescription { line.add("  " + TerminalText.cell(words), .dimmed) }
                return line
            }
            if groups.count > Self.maximumGroups {
                lines += line("and \(BrowseModel.grouped(groups.count - Self.maximumGroups)) more", .dimmed)
            }
            return lines
        }
    }

    // MARK: The photo

    /// The columns and rows at the right of the first lines that are reserved for the photo.
    private var pictureReservation: ScreenSize? {
        guard model.detail.showsPhoto, let id = model.detail.target, let photo = model.photos[id], photo != nil,
            model.layout.detailColumns >= Self.picture.columns * 2 + 8, model.layout.detailRows >= Self.picture.rows
        else { return nil }
        return Self.picture
    }

    /// The photo and its area at the right end of the detail's first lines.
    var picture: ScreenPicture? {
        guard pictureReservation != nil, model.overlay == nil, !model.detail.showsGroups, model.detail.scroll == 0,
            !model.list.rows.isEmpty, let id = model.detail.target, case .some(.some(let photo)) = model.photos[id]
        else { return nil }
        let layout = model.layout
        if layout.arrangement == .single, model.focus != .detail { return nil }
        // Below the query line and the pane's heading. If the panes are stacked, also below the list and its heading.
        let row = layout.arrangement == .below ? 1 + layout.listRows + 1 + 1 : 2
        // A notice at the bottom takes precedence over the photo.
        guard row + Self.picture.rows <= 1 + layout.bodyRows - noticeLines.count else { return nil }
        return ScreenPicture(
            name: id, bytes: photo.bytes,
            area: ScreenArea(
                column: model.size.columns - Self.picture.columns, row: row, columns: Self.picture.columns,
                rows: Self.picture.rows))
    }
}

/// Lines of labels and values, with space for a picture at the right of the first lines.
private struct DetailBlock {
    /// The column in which values start.
    static let labelColumns = 12

    let columns: Int
    let reserved: ScreenSize?
    /// The number of lines so far.
    var lines = 0

    private var room: Int { reserved.map { lines < $0.rows ? columns - $0.columns - 2 : columns } ?? columns }

    /// Returns the lines of an entry. Escapes invisible characters.
    mutating func entry(_ label: String, _ values: [(text: String, style: ScreenStyle)], key: String? = nil)
        -> [ScreenLine]
    {
        var result: [ScreenLine] = []
        let indent = columns < 34 ? 8 : Self.labelColumns
        let label = TerminalText.truncated(label.visible, to: indent - 1)
        for value in values {
            let room = room
            let keyWidth = key.map { TerminalText.width($0) + 2 } ?? 0
            let parts = TerminalText.wrapped(TerminalText.cell(value.text), to: room - indent - keyWidth, limit: 6)
            for (position, part) in parts.enumerated() {
                var line = ScreenLine(columns: room)
                if result.isEmpty { line.add(label, .label) }
                line.fill(to: indent)
                line.add(part, value.style)
                if let key, position == parts.count - 1 { line.add("  " + key, .key) }
                result.append(line)
            }
        }
        lines += result.count
        return result
    }
}
