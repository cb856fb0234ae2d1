import CommandLineKit

// MARK: Menus, the log and the help

extension BrowseDrawing {
    /// Returns the open menu with its heading, scrolled to the selected row.
    func menuLines(_ columns: Int, _ rows: Int) -> [ScreenLine] {
        let title: String
        let selected: Int
        let choices: [ScreenLine]
        switch model.overlay {
        case .copyMenu(let all, let position):
            title = "Copy"
            selected = position
            choices = all.enumerated().map { copyLine($1, $0, isSelected: $0 == position, columns) }
        case .accounts(let position):
            title = "Accounts"
            selected = position
            choices = accountLines(position, columns)
        default: return []
        }
        let room = max(1, rows - 1)
        let top = max(0, min(selected - room / 2, choices.count - room))
        return [heading(title, "Esc closes", columns)] + choices.dropFirst(top).prefix(room)
    }

    private func copyLine(_ choice: CopyChoice, _ position: Int, isSelected: Bool, _ columns: Int) -> ScreenLine {
        menuLine(isSelected: isSelected, columns) { line in
            line.add(position < 9 ? " \(position + 1) " : "   ", .key)
            line.add(choice.label, .label)
            line.fill(to: 19)
            line.add(choice.summary ?? choice.text.visible)
        }
    }

    private func menuLine(isSelected: Bool, _ columns: Int, _ add: (inout ScreenLine) -> Void) -> ScreenLine {
        var line = ScreenLine(columns: columns)
        line.add(isSelected ? ">" : " ")
        add(&line)
        line.fill()
        return isSelected ? line.all(.selected) : line
    }

    private func accountLines(_ selected: Int, _ columns: Int) -> [ScreenLine] {
        let accounts = model.accounts ?? []
        let accountLines = accounts.enumerated().map { position, account in
            menuLine(isSelected: position == selected, columns) { line in
                line.add(account.id == model.current ? "* " : "  ", .good)
                line.add(account.label.visible)
                let type = account.type.visible
                if !account.label.hasSuffix(" (\(type))") { line.add("  " + type, .dimmed) }
                if model.needsSignIn(account) { line.add("  needs a sign-in", .warning) }
            }
        }
        let signInLines = model.signIns.enumerated().map { position, target in
            menuLine(isSelected: position + accounts.count == selected, columns) { line in
                line.add("  Sign in to another account")
                if case .another(let type?) = target { line.add(": " + type.visible) }
            }
        }
        return accountLines + signInLines
    }

    // MARK: The sign-in

    func signInLines(_ underWay: SignInUnderWay, _ columns: Int) -> [ScreenLine] {
        var lines = model.layout.bodyRows < 8 ? [] : [ScreenLine(columns: columns)]
        func add(_ text: String, _ style: ScreenStyle = .plain) {
            for part in TerminalText.wrapped(text.visible, to: columns - 4) {
                lines.append(ScreenLine("  " + part, style, columns: columns))
            }
        }
        if let failure = underWay.failure {
            add(BrowseModel.sentence(failure), .failure)
            if let hint = failure.hint { add("What helps: \(hint)", .dimmed) }
            add("Enter tries again, Esc goes back.", .key)
            return lines
        }
        switch underWay.progress {
        case .browser(let address):
            add("Your browser shows the sign-in page. Finish there; this screen then continues.")
            add("If it did not open, go to this address (c copies it):", .dimmed)
            add(address, .dimmed)
        case .code(let code, let address) where model.layout.bodyRows < 6:
            add("Code " + code, .heading)
            add("at " + address, .key)
        case .code(let code, let address):
            add("On any device, open this address (c copies it):")
            add(address, .key)
            add("and enter this code:")
            add(code, .heading)
            add("This screen continues when you are done.", .dimmed)
        default: add("Preparing the sign-in…", .dimmed)
        }
        return lines
    }

    // MARK: Log and help

    func logLines(up: Int) -> [ScreenLine] {
        let rows = max(1, model.layout.bodyRows - 1)
        guard !model.log.isEmpty else {
            return [ScreenLine("No request was sent yet.", .dimmed, columns: model.size.columns)]
        }
        return model.log.dropLast(up).suffix(rows).map { ScreenLine($0, columns: model.size.columns) }
    }

    func helpLines(from down: Int) -> [ScreenLine] {
        Array(KeyHelp.lines(model.size.columns).dropFirst(down).prefix(max(1, model.layout.bodyRows - 1)))
    }
}
