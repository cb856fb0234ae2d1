import CommandLineKit

// MARK: Notices and the key line

extension BrowseDrawing {
    /// The notice, and below it the countdown. With only one row for both, the countdown is short.
    var noticeLines: [ScreenLine] {
        let columns = model.size.columns
        let limit = max(1, min(3, model.layout.bodyRows / 3))
        var (text, style) = said
        var below: [String] = []
        if let seconds = model.delaySeconds, let countdown = model.countdown {
            below = TerminalText.wrapped(countdown, to: columns)
            if below.count > (text.isEmpty ? limit : 1) { below = ["Pause: \(seconds) s."] }
            if !text.isEmpty, limit == 1 {
                let short = " · pause \(seconds) s"
                text = TerminalText.truncated(text, to: max(0, columns - TerminalText.width(short))) + short
                below = []
            }
        }
        let above = text.isEmpty ? [] : TerminalText.wrapped(text, to: columns, limit: limit - below.count)
        return (above.map { ($0, style) } + below.map { ($0, .warning) }).map { part, style in
            var line = ScreenLine(part, style, columns: columns)
            line.fill()
            return line
        }
    }

    private var said: (String, ScreenStyle) {
        if let notice = model.notice { return (notice.text, notice.style) }
        guard model.overlay == nil else { return ("", .plain) }
        if let failure = model.search.failure, !model.list.rows.isEmpty {
            return ("\(BrowseModel.sentence(failure)) \(remedy(failure))", .failure)
        }
        if let failure = model.list.pageFailure, model.list.rows.count - model.list.selected <= model.layout.listRows {
            return ("Could not load more users: \(BrowseModel.sentence(failure)) ctrl-r tries again.", .failure)
        }
        return ("", .plain)
    }

    /// Returns the hint with the key that helps after a failed search.
    func remedy(_ failure: BrowseFailure) -> String {
        let isQuery = model.focus == .query
        return failure.needsSignIn ? "\(isQuery ? "Enter" : "a") signs in." : "\(isQuery ? "Enter" : "R") tries again."
    }

    /// The keys that are available now. The last two are always shown, the others if there is room.
    var bar: ScreenLine {
        var line = ScreenLine(columns: model.size.columns)
        let candidates = barKeys
        let always = candidates.suffix(2)
        func width(_ hint: (key: String, words: String)) -> Int {
            TerminalText.width(hint.key) + TerminalText.width(hint.words) + 3
        }
        var room = model.size.columns - always.reduce(0) { $0 + width($1) }
        var shown: [(key: String, words: String)] = []
        for hint in candidates.dropLast(2) {
            guard width(hint) <= room else { break }
            room -= width(hint)
            shown.append(hint)
        }
        for hint in shown + always {
            line.add(line.width == 0 ? "" : "  ", .bar)
            line.add(hint.key, .key)
            line.add(" " + hint.words, .bar)
        }
        line.fill(style: .bar)
        return line
    }

    private var barKeys: [(key: String, words: String)] {
        switch model.overlay {
        case .copyMenu: return [("j k", "choose"), ("Enter", "copy"), ("Esc", "back")]
        case .accounts: return [("j k", "choose"), ("s", "sign in again"), ("Enter", "use"), ("Esc", "back")]
        case .signIn(let underWay):
            if underWay.failure != nil { return [("Enter", "try again"), ("Esc", "back")] }
            guard underWay.progress != nil else { return [("Esc", "give up"), ("ctrl-c", "end")] }
            return [("c", "copy the address"), ("Esc", "give up"), ("ctrl-c", "end")]
        case .log, .help: return [("j k", "scroll"), ("Esc", "back"), ("ctrl-c", "end")]
        case .export: return [(".vcf .csv .json", "format"), ("Enter", "write"), ("Esc", "back")]
        case nil: break
        }
        let help = ("?", "help")
        let quit = ("q", "quit")
        let isPicker = model.picker != nil
        switch model.focus {
        case .query:
            let end = ("ctrl-c", "end")
            if model.mustSignIn { return [help, ("Enter", "sign in"), end] }
            if model.accounts != nil, model.current == nil { return [("Enter", "choose an account"), help, end] }
            if let failure = model.search.failure {
                return [("Enter", failure.needsSignIn ? "sign in" : "try again"), ("Tab", "pane"), help, end]
            }
            return [
                ("Enter", isPicker ? "choose" : "list"), ("Up Down", "move"), ("Tab", "pane"), ("Esc", "clear"), help,
                end,
            ]
        case .list:
            if model.list.rows.isEmpty { return [("/", "search"), ("a", "account"), ("[", "back"), help, quit] }
            var keys = [
                ("Enter", isPicker ? "choose" : "detail"), ("/", "search"), ("c", "copy mail"), ("m", "manager"),
                ("r", "reports"),
                ("y", "copy menu"), ("space", "mark"), ("M", "groups"), ("a", "account"), ("[", "back"),
            ]
            if isPicker { keys.insert(("space", "mark"), at: 1) }
            if !model.marked.isEmpty { keys.insert(("ctrl-s", "export"), at: 2) }
            return usable(keys) + [help, quit]
        case .detail:
            return (isPicker ? [("Enter", "choose")] : [])
                + usable([
                    ("Esc", "list"), ("/", "search"), ("c", "copy mail"), ("m", "manager"), ("r", "reports"),
                    ("y", "copy menu"), ("M", "groups"), ("p", "photo"), ("a", "account"), help, quit,
                ])
        }
    }

    /// Returns the keys that work here: the offline copy has no managers, reports or groups.
    private func usable(_ keys: [(key: String, words: String)]) -> [(key: String, words: String)] {
        model.isOffline ? keys.filter { !["m", "r", "M", "p"].contains($0.key) } : keys
    }
}
