import CommandLineKit
import DirectorySearch

// MARK: Search while typing

extension BrowseModel {
    /// Whether a search is scheduled or its first result is pending.
    var isWaiting: Bool { search.due != nil || (search.running.map { $0.number != list.number } ?? false) }

    /// Whether the list does not match the text, and is therefore dimmed.
    var isOutdated: Bool {
        isWaiting && !hasLocalPreview || (search.failure != nil && list.text != nil && list.text != query.searchText)
    }

    /// Whether the list has the results of another text. A key that acts on a user must wait for the results.
    var isForOtherText: Bool { isWaiting && !hasLocalPreview && list.text != query.searchText }

    /// Whether the list shows the offline results for the text.
    private var hasLocalPreview: Bool { list.number != nil && list.number == search.localPreview?.number }

    /// Whether the text is long enough for a search.
    ///
    /// An ideograph or a Hangul syllable counts as two letters: many family names are one character.
    var isLongEnough: Bool { TerminalText.width(query.searchText.visible) >= Self.minimumLetters }

    /// Changes the text and schedules the search for it.
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
            // Without an account, the search is sent after the sign-in.
            guard current != nil else { return }
            search.due = dueTime
            localPreview()
        }
    }

    private var dueTime: Duration { max(now + Self.debounce, delayEnd ?? .zero) }

    /// Searches the offline copy immediately, without the debounce interval: this is cheap.
    private mutating func localPreview() {
        search.lastLocalPreview -= 1
        search.localPreview = (search.lastLocalPreview, query.searchText)
        emit(.localPreview(search.lastLocalPreview, text: query.searchText))
    }

    /// Shows the offline results, unless the text has changed or the directory has already returned results.
    mutating func take(_ localPreview: BrowsePage, localPreview number: Int) {
        guard let preview = search.localPreview, preview.number == number, preview.text == query.searchText else {
            return
        }
        list.replace(with: localPreview, .search(text: preview.text, number: number))
        list.isFinal = false
        clearWaitingNotice()
        if detail.due != nil { detail.due = now + Self.debounce }
    }

    /// Cancels the scheduled and the pending search.
    mutating func stopSearch() {
        search.due = nil
        search.localPreview = nil
        if search.running != nil {
            search.running = nil
            // The results so far come from the offline copy, which has no more pages.
            search.live = nil
            emit(.cancelSearch)
        }
    }

    /// Sends the search for the current text, after the delay if the directory requires one.
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

    /// Retries the failed requests or reloads the list.
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

    // MARK: Results

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
        // Restart the debounce interval, even if the selection stays on the same user.
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
                // After a delay, the page is requested automatically.
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

    /// Requests the next page if the cursor is near the end.
    mutating func requestNextPage() {
        guard list.hasMore, !isOffline, !list.isCut, list.isFinal, !list.isPagePending, list.pageFailure == nil,
            !isWaiting, delayEnd == nil, let number = list.number, number == search.live,
            list.rows.count - list.selected <= max(10, layout.listRows)
        else { return }
        list.isPagePending = true
        emit(.nextPage(number))
    }

    /// Changes the list with this number, which may be in the history.
    private mutating func changeList(_ number: Int, _ change: (inout ResultList) -> Void) {
        if list.number == number { return change(&list) }
        if let position = past.lastIndex(where: { $0.list.number == number }) { return change(&past[position].list) }
        if let position = future.lastIndex(where: { $0.list.number == number }) { change(&future[position].list) }
    }
}
