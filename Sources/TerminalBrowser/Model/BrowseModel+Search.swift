import CommandLineKit
import DirectorySearch

// MARK: Searching while typing

extension BrowseModel {
    /// Whether a search is about to be sent or its first answer is awaited.
    var isWaiting: Bool { search.due != nil || (search.running.map { $0.number != list.number } ?? false) }

    /// Whether the list is not what the text asks for: it is shown dimmed.
    var isOutdated: Bool {
        isWaiting && !hasLocalPreview || (search.failure != nil && list.text != nil && list.text != query.searchText)
    }

    /// Whether the list has the results of another text: a key that acts on a user must wait for the results.
    var isForOtherText: Bool { isWaiting && !hasLocalPreview && list.text != query.searchText }

    /// Whether the list is what the copy on this machine has for the text.
    private var hasLocalPreview: Bool { list.number != nil && list.number == search.localPreview?.number }

    /// Whether the text is long enough for a search. An ideograph or a Hangul syllable counts as two letters: many family names are one.
    var isLongEnough: Bool { TerminalText.width(query.searchText.visible) >= Self.minimumLetters }

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

    private var dueTime: Duration { max(now + Self.debounce, delayEnd ?? .zero) }

    /// Looks into the copy on this machine: that costs nobody anything, so it waits for no pause.
    private mutating func localPreview() {
        search.lastLocalPreview -= 1
        search.localPreview = (search.lastLocalPreview, query.searchText)
        emit(.localPreview(search.lastLocalPreview, text: query.searchText))
    }

    /// Shows what the copy has, unless the text is another by now or the directory has spoken.
    mutating func take(_ localPreview: BrowsePage, localPreview number: Int) {
        guard let preview = search.localPreview, preview.number == number, preview.text == query.searchText else {
            return
        }
        list.replace(with: localPreview, .search(text: preview.text, number: number))
        list.isFinal = false
        clearWaitingNotice()
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
            emit(.cancelSearch)
        }
    }

    /// Asks for what the text says now, unless the directory wants a pause: then after it.
    mutating func sendSearch() {
        search.due = nil
        guard isLongEnough, current != nil else { return }
        search.failure = nil
        if let delayEnd {
            search.due = delayEnd
            return
        }
        let number = nextNumber()
        search.running = (number, query.searchText)
        search.live = number
        emit(.search(number, text: query.searchText))
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
        if !isWaiting, search.failure == nil, reloadRelations() { return }
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
        clearWaitingNotice()
        // The cursor rests from now on, also where it stays on the same person.
        if detail.due != nil { detail.due = now + Self.debounce }
    }

    mutating func take(_ failure: BrowseFailure, _ number: Int) {
        if failure.needsSignIn, let current { rejectedAccounts.insert(current) }
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
        } else {
            let isDelayed = failure.retryAfter != nil
            changeList(number) { list in
                list.isPagePending = false
                // After a pause it is asked for by itself.
                list.pageFailure = isDelayed ? nil : failure
            }
            if number == search.live, let delay = failure.retryAfter { self.delay(for: delay) }
        }
    }

    private mutating func takeSearchFailure(_ failure: BrowseFailure) {
        if let delay = failure.retryAfter {
            self.delay(for: delay)
            search.due = delayEnd
            return
        }
        search.failure = failure
        clearWaitingNotice()
    }

    private mutating func takeOther(_ failure: BrowseFailure) {
        if let delay = failure.retryAfter { self.delay(for: delay) }
        say(Self.sentence(failure), .failure)
    }

    static func sentence(_ failure: BrowseFailure) -> String {
        var text = failure.summary
        if let reason = failure.reason, !reason.isEmpty { text += ": " + reason }
        text = text.prefix(1).uppercased() + text.dropFirst()
        if !text.hasSuffix(".") { text += "." }
        return text.visible
    }

    // MARK: Pages

    /// Asks for the next page when the cursor is near the end.
    mutating func requestNextPage() {
        guard list.hasMore, !isOffline, !list.isCut, list.isFinal, !list.isPagePending, list.pageFailure == nil,
            !isWaiting, delayEnd == nil, let number = list.number, number == search.live,
            list.rows.count - list.selected <= max(10, layout.listRows)
        else { return }
        list.isPagePending = true
        emit(.nextPage(number))
    }

    /// Changes the list of this number, which may be one that can be gone back to.
    private mutating func changeList(_ number: Int, _ change: (inout ResultList) -> Void) {
        if list.number == number { return change(&list) }
        if let position = past.lastIndex(where: { $0.list.number == number }) { return change(&past[position].list) }
        if let position = future.lastIndex(where: { $0.list.number == number }) { change(&future[position].list) }
    }
}
