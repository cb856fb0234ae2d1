import CommandLineKit

// MARK: Keys

extension BrowseModel {
    mutating func press(_ key: Key) {
        switch key {
        case .control("c"): return emit(.quit)
        case .control("z"): return emit(.suspend)
        case .control("l"): return emit(.redraw)
        default: break
        }
        if isTooSmall { return }
        notice = nil
        if overlay != nil { return pressOnOverlay(key) }
        switch key {
        case .control("s"): openExport()
        case .control("r"): retry()
        case .tab: turn(to: 1)
        case .backTab: turn(to: -1)
        case .paste(let text):
            focus = .query
            var isCut = false
            edit { isCut = $0.insert(text) }
            if isCut { say("The search uses only the start of the pasted text.", .warning) }
        default:
            switch focus {
            case .query: pressInQuery(key)
            case .list: pressInList(key)
            case .detail: pressInDetail(key)
            }
        }
        if focus != .query { (isVisited, list.isTouched) = (true, true) }
    }

    private mutating func turn(to step: Int) {
        guard !mustSignIn else { return }
        let panes = Pane.allCases
        let position = panes.firstIndex(of: focus) ?? 0
        focus = panes[(position + step + panes.count) % panes.count]
    }

    // MARK: The query line

    private mutating func pressInQuery(_ key: Key) {
        switch key {
        case .character("?"): overlay = .help(down: 0)
        case .enter: enterInQuery()
        // The arrows move in the list, and the text stays editable.
        case .down, .control("n"): moveSelection(by: 1)
        case .up, .control("p"): moveSelection(by: -1)
        case .pageDown: moveSelection(by: page)
        case .pageUp: moveSelection(by: -page)
        case .escape: escapeInQuery()
        default:
            var isCut = false
            edit { isCut = $0.edit(key) }
            if isCut { say("A search text has at most \(QueryText.maximumBytes) bytes.", .warning) }
        }
    }

    private mutating func moveSelection(by count: Int) {
        guard !list.rows.isEmpty else { return }
        isVisited = true
        list.move(by: count)
    }

    private mutating func enterInQuery() {
        if accounts != nil, current == nil { return offerSignIn() }
        if search.failure?.needsSignIn == true { return offerSignIn() }
        if search.failure != nil { return retry() }
        guard isLongEnough || !list.rows.isEmpty else { return say("Type at least two letters of a name.", .warning) }
        if search.due != nil { sendSearch() }
        if picker != nil { return choose() }
        focus = .list
    }

    private mutating func escapeInQuery() {
        guard !query.text.isEmpty else {
            return picker == nil ? say("ctrl-c ends the program; ? shows the keys.") : emit(.quit)
        }
        // `[` restores text that was cleared by mistake.
        if !list.rows.isEmpty { isVisited = true }
        edit {
            $0.moveToEnd()
            $0.deleteToStart()
        }
    }

    // MARK: The list and the detail

    /// Returns the number of rows that a key moves by, or `nil` if the key does not move the selection.
    private static func step(_ key: Key, page: Int) -> Int? {
        switch key {
        case .up, .character("k"): -1
        case .down, .character("j"): 1
        case .pageUp, .control("b"): -page
        case .pageDown, .control("f"): page
        case .home, .character("g"): -Int.max / 2
        case .end, .character("G"): Int.max / 2
        default: nil
        }
    }

    private mutating func pressInList(_ key: Key) {
        if key == .up, list.selected == 0 { return focus = .query }
        if let step = Self.step(key, page: page) { return list.move(by: step) }
        switch key {
        case .control("p"): list.move(by: -1)
        case .control("n"): list.move(by: 1)
        case .enter: enterInList()
        case .right: if list.selection != nil { focus = .detail }
        case .left: focus = .query
        case .escape: escapeInList()
        case .character(" "): toggleMark()
        default: pressCommand(key)
        }
    }

    private mutating func enterInList() {
        if accounts != nil, current == nil { return offerSignIn() }
        guard list.selection != nil else { return sayNoUser() }
        if picker != nil { return choose() }
        focus = .detail
        if detail.due != nil, !isWaiting { sendDetail() }
    }

    /// Goes back one step: to the list in which the manager or the reports were requested, otherwise to the query line.
    private mutating func escapeInList() {
        switch list.origin {
        case .reports where !past.isEmpty, .manager where !past.isEmpty: travel(back: true)
        default: focus = .query
        }
    }

    private mutating func pressInDetail(_ key: Key) {
        if let step = Self.step(key, page: max(1, layout.detailRows - 1)) {
            return detail.scroll = step == -Int.max / 2 ? 0 : detail.scroll + step
        }
        switch key {
        case .left: focus = .list
        case .enter where picker != nil: choose()
        case .escape: if detail.showsGroups { toggleGroups() } else { focus = .list }
        case .character(" "): toggleMark()
        default: pressCommand(key)
        }
    }

    /// Handles the letters that mean the same in the list and in the detail.
    private mutating func pressCommand(_ key: Key) {
        switch key {
        case .character("/"): focus = .query
        case .character("m"): goTo(.manager)
        case .character("r"): goTo(.reports)
        case .character("M"): toggleGroups()
        case .character("["): travel(back: true)
        case .character("]"): travel(back: false)
        case .character("a"): openAccounts()
        case .character("c"): copyMail()
        case .character("y"): openCopyMenu()
        case .character("p"): togglePhoto()
        case .character("R"): retry()
        case .character("L"): overlay = .log(up: 0)
        case .character("?"): overlay = .help(down: 0)
        case .character("q"): emit(.quit)
        case .character(let character):
            let shown = String(character).visible
            say("\(shown) has no function here: / goes to the search line, ? shows the keys.")
        default: break
        }
    }

    private var page: Int { max(1, layout.listRows - 1) }

    // MARK: Overlays

    private mutating func pressOnOverlay(_ key: Key) {
        switch overlay {
        case .copyMenu(let choices, let selected): pressInCopyMenu(key, choices, selected)
        case .accounts(let selected): pressInAccounts(key, selected)
        case .signIn(let underWay): pressInSignIn(key, underWay)
        case .log(let up): pressInText(key, up, grows: true)
        case .help(let down): pressInText(key, down, grows: false)
        case .export(let file): pressInExport(key, file)
        case nil: break
        }
    }

    /// Returns the menu row that a key selects, or `nil` if the key does not move the selection.
    private func row(_ key: Key, _ selected: Int, of count: Int) -> Int? {
        let step = key == .tab ? 1 : key == .backTab ? -1 : Self.step(key, page: count)
        return step.map { max(0, min(count - 1, selected + $0)) }
    }

    private mutating func pressInCopyMenu(_ key: Key, _ choices: [CopyChoice], _ selected: Int) {
        if let row = row(key, selected, of: choices.count) { return overlay = .copyMenu(choices, selected: row) }
        switch key {
        case .enter, .character("y"), .character("c"):
            overlay = nil
            copy(choices[min(selected, choices.count - 1)])
        case .character(let digit):
            if let number = digit.wholeNumberValue, choices.indices.contains(number - 1) {
                overlay = nil
                copy(choices[number - 1])
            } else if digit == "q" {
                overlay = nil
            }
        case .escape, .left: overlay = nil
        default: break
        }
    }

    private mutating func pressInAccounts(_ key: Key, _ selected: Int) {
        let accounts = accounts ?? []
        if let row = row(key, selected, of: accounts.count + signIns.count) {
            return overlay = .accounts(selected: row)
        }
        switch key {
        case .enter: chooseAccount(selected)
        case .character("s"): signIn(signInTarget(selected))
        case .character("+"): signIn(.another(type: nil))
        case .escape, .left, .character("a"), .character("q"): overlay = nil
        default: break
        }
    }

    private mutating func pressInSignIn(_ key: Key, _ underWay: SignInUnderWay) {
        switch key {
        case .enter where underWay.failure != nil: signIn(underWay.target)
        case .character("c"), .character("y"):
            switch underWay.progress {
            case .browser(let address), .code(_, let address):
                copy(CopyChoice(label: "Address", text: address, summary: "the address"))
            default: break
            }
        case .escape, .character("q"):
            if underWay.failure == nil {
                emit(.cancel(underWay.number))
                say("You cancelled the sign-in.")
            }
            overlay = nil
        default: break
        }
    }

    /// Handles keys of the log, which opens at its end, and of the help, which opens at its start.
    private mutating func pressInText(_ key: Key, _ position: Int, grows: Bool) {
        let page = max(1, layout.bodyRows - 2)
        let step: Int
        switch key {
        case .character("b"): step = -page
        case .character(" "): step = page
        case .escape, .left, .character("q"), .character("?"), .character("L"), .enter: return overlay = nil
        default:
            guard let other = Self.step(key, page: page) else { return }
            step = other
        }
        overlay = grows ? .log(up: position - step) : .help(down: position + step)
    }

    /// Limits the scroll position to the length of the text.
    mutating func limitOverlayScroll() {
        let rows = max(1, layout.bodyRows - 1)
        switch overlay {
        case .log(let up): overlay = .log(up: max(0, min(up, log.count - rows)))
        case .help(let down): overlay = .help(down: max(0, min(down, KeyHelp.lines(size.columns).count - rows)))
        default: break
        }
    }
}
