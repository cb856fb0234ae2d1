import CommandLineKit
import DirectorySearch

// MARK: Searching while typing

extension BrowseModel {
    /// Whether a search is about to be sent or its first answer is awaited.
    var isWaiting: Bool {
        search.due != nil || (search.running.map { $0.number != list.number } ?? false)
    }

    /// Whether the list is not what the text asks for: it is shown dimmed.
    var isOutdated: Bool {
        isWaiting && !hasLocalPreview || (search.failure != nil && list.text != nil && list.text != query.searchText)
    }

    /// Whether the list was found for another text than the one whose answer is awaited: whoever presses a key means somebody who is not
    /// listed yet.
    var isForOtherText: Bool { isWaiting && !hasLocalPreview && list.text != query.searchText }

    /// Whether the list is what the copy on this machine has for the text.
    private var hasLocalPreview: Bool { list.number != nil && list.number == search.localPreview?.number }

    /// Whether the text is long enough to be searched for. An ideograph or a syllable of Hangul says as much as two letters, and many a
    /// family name is one.
    var isLongEnough: Bool { TerminalText.width(TerminalText.visible(query.searchText)) >= Self.minimumLetters }

    /// Changes the text, and what is asked for with it.
    mutating func edit(_ change: (inout QueryText) -> Void) {
        let before = query
        change(&query)
        guard query.text != before.text else { return }
        guard query.searchText != before.searchText else {
            if search.due != nil { search.due = dueTime }
            return
        }
        if isVisited {
            remember(query: before)
            isVisited = false
        }
        stopJump()
        search.failure = nil
        let text = query.searchText
        if !isLongEnough {
            stopSearch()
            list = ResultList()
        } else if search.running?.text == text {
            search.due = nil
        } else if list.text == text, list.isFinal, list.number == search.live || !list.hasMore {
            stopSearch()
        } else {
            stopSearch()
            // Without an account there is nobody to ask: it is sent as soon as there is one.
            guard current != nil else { return }
            search.due = dueTime
            localPreview()
        }
    }

    private var dueTime: Duration { max(now + Self.debounce, pauseUntil ?? .zero) }

    /// Looks into the copy on this machine: that costs nobody anything, so it waits for no pause.
    private mutating func localPreview() {
        search.lastLocalPreview -= 1
        search.localPreview = (search.lastLocalPreview, query.searchText)
        want(.localPreview(search.lastLocalPreview, text: query.searchText))
    }

    /// Shows what the copy has, unless the text is another by now or the directory has spoken.
    mutating func take(_ localPreview: BrowsePage, localPreview number: Int) {
        guard let asked = search.localPreview, asked.number == number, asked.text == query.searchText else { return }
        list.replace(with: localPreview, .search(text: asked.text, number: number))
        list.isFinal = false
        forgetWaiting()
        if detail.due != nil { detail.due = now + Self.debounce }
    }

    /// What was or will be asked for is not wanted any more.
    mutating func stopSearch() {
        search.due = nil
        search.localPreview = nil
        if search.running != nil {
            search.running = nil
            // What it found so far came from the copy on this machine; no page follows.
            search.live = nil
            want(.cancelSearch)
        }
    }

    /// Asks for what the text says now, unless the directory wants a pause: then after it.
    mutating func sendSearch() {
        search.due = nil
        guard isLongEnough, current != nil else { return }
        search.failure = nil
        if let pauseUntil {
            search.due = pauseUntil
            return
        }
        let number = nextNumber()
        search.running = (number, query.searchText)
        search.live = number
        want(.search(number, text: query.searchText))
    }

    /// Tries again what failed, or reads the list anew.
    mutating func retry() {
        guard current != nil else { return offerSignIn() }
        if detail.failure != nil || known?.detail.hasFailedPart == true {
            sendDetail()
            if search.failure == nil { return }
        }
        if list.pageFailure != nil, list.number == search.live {
            list.pageFailure = nil
            return
        }
        if !isWaiting, search.failure == nil, readAroundAnew() { return }
        guard isLongEnough else { return say("Type at least two letters of a name.", .warning) }
        stopSearch()
        sendSearch()
    }

    // MARK: Answers

    mutating func take(_ page: BrowsePage, _ number: Int) {
        if page.isContinuation {
            if number == search.live { noteAccepted() }
            changeList(number) { $0.append(page) }
            return
        }
        guard let running = search.running, running.number == number else { return }
        list.replace(with: page, .search(text: running.text, number: number))
        list.isFinal = page.source == .directory || isOffline
        if page.source == .directory { noteAccepted() }
        if list.isFinal { (search.running, search.localPreview) = (nil, nil) }
        search.failure = nil
        forgetWaiting()
        // The cursor rests from now on, also where it stays on the same person.
        if detail.due != nil { detail.due = now + Self.debounce }
    }

    mutating func take(_ failure: BrowseFailure, _ number: Int) {
        if failure.needsSignIn, let current { refused.insert(current) }
        if search.running?.number == number {
            search.running = nil
            takeSearchFailure(failure)
        } else if detail.running?.number == number {
            takeDetailFailure(failure)
        } else if jump?.number == number {
            jump = nil
            takeOther(failure)
        } else if detail.groupsNumber == number {
            detail.groupsNumber = nil
            detail.showsGroups = false
            takeOther(failure)
        } else if detail.photoNumber == number {
            detail.photoNumber = nil
            detail.photoFailure = detail.target
            takeOther(failure)
        } else if case .signIn(var underWay) = overlay, underWay.number == number {
            underWay.failure = failure
            overlay = .signIn(underWay)
        } else {
            let isPaused = failure.retryAfter != nil
            changeList(number) { list in
                list.isPagePending = false
                // After a pause it is asked for by itself.
                list.pageFailure = isPaused ? nil : failure
            }
            if number == search.live, let pause = failure.retryAfter { self.pause(for: pause) }
        }
    }

    private mutating func takeSearchFailure(_ failure: BrowseFailure) {
        if let pause = failure.retryAfter {
            self.pause(for: pause)
            search.due = pauseUntil
            return
        }
        search.failure = failure
        forgetWaiting()
    }

    private mutating func takeOther(_ failure: BrowseFailure) {
        if let pause = failure.retryAfter { self.pause(for: pause) }
        say(Self.sentence(failure), .failure)
    }

    /// What happened, why and what to do, in sentences.
    static func sentence(_ failure: BrowseFailure) -> String {
        var text = failure.summary
        if let reason = failure.reason, !reason.isEmpty { text += ": " + reason }
        text = text.prefix(1).uppercased() + text.dropFirst()
        if !text.hasSuffix(".") { text += "." }
        return TerminalText.visible(text)
    }

    // MARK: Pages

    /// Asks for the next page when the cursor is near the end.
    mutating func askForMore() {
        guard list.hasMore, !isOffline, !list.isCut, list.isFinal, !list.isPagePending, list.pageFailure == nil,
            !isWaiting,
            pauseUntil == nil, let number = list.number, number == search.live,
            list.rows.count - list.selected <= max(10, layout.listRows)
        else { return }
        list.isPagePending = true
        want(.nextPage(number))
    }

    /// Changes the list of this number, which may be one that can be gone back to.
    private mutating func changeList(_ number: Int, _ change: (inout ResultList) -> Void) {
        if list.number == number { return change(&list) }
        if let position = past.lastIndex(where: { $0.list.number == number }) { return change(&past[position].list) }
        if let position = future.lastIndex(where: { $0.list.number == number }) { change(&future[position].list) }
    }
}
