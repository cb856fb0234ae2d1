import CommandLineKit
import DirectorySearch

struct DetailPane: Sendable {
    var target: String?
    var due: Duration?
    /// The pending request for the user.
    var running: (number: Int, id: String)?
    var failure: BrowseFailure?
    var scroll = 0
    var showsGroups = false
    /// The pending request for the groups.
    var groupsNumber: Int?
    var showsPhoto = false
    var photoNumber: Int?
    var photoFailure: String?
}

// MARK: The detail follows the cursor

extension BrowseModel {
    var known: RecentDetails.Known? { detail.target.flatMap { details[$0] } }

    /// Shows the selected user in the pane, and requests the details after the debounce interval.
    mutating func followSelection() {
        let id = list.selection.flatMap { $0.id.isEmpty ? nil : $0.id }
        if id != detail.target {
            stopDetail()
            stopJump()
            detail = DetailPane(target: id, showsPhoto: detail.showsPhoto)
            if let id {
                details.touch(id)
                if details[id]?.isWhole != true { detail.due = now + Self.debounce }
            }
        }
        requestPhoto()
    }

    /// Cancels the requests for the user in the pane.
    mutating func stopDetail() {
        for number in [detail.running?.number, detail.groupsNumber, detail.photoNumber] {
            if let number { emit(.cancel(number)) }
        }
        (detail.running, detail.groupsNumber, detail.photoNumber, detail.due) = (nil, nil, nil, nil)
    }

    /// Requests the details of the user in the pane immediately.
    mutating func sendDetail() {
        detail.due = nil
        guard let id = detail.target, detail.running == nil, current != nil else { return }
        if let delayEnd {
            detail.due = delayEnd
            return
        }
        let number = nextNumber()
        detail.running = (number, id)
        detail.failure = nil
        emit(.detail(number, id: id))
    }

    /// Handles a result about a user: the details, the reports or the groups.
    mutating func take(_ result: UserDetail, _ number: Int) {
        if let running = detail.running, running.number == number {
            detail.running = nil
            if !isOffline { noteAccepted() }
            details.save(result, for: running.id, isWhole: true)
            if let jump, jump.kind == .manager, jump.number == nil { finishJump() }
        } else if let jump, jump.number == number {
            details.save(result, for: jump.id, isWhole: jump.kind == .manager)
            finishJump()
        } else if detail.groupsNumber == number, let id = detail.target {
            detail.groupsNumber = nil
            details.save(result, for: id, isWhole: false)
        }
    }

    mutating func takeDetailFailure(_ failure: BrowseFailure) {
        detail.running = nil
        // A separate request gets its own result.
        let wasJump = jump.map { $0.number == nil } ?? false
        if wasJump { jump = nil }
        if let delay = failure.retryAfter {
            self.delay(for: delay)
            detail.due = delayEnd
            return
        }
        detail.failure = failure
        if wasJump { say(Self.sentence(failure), .failure) }
    }

    // MARK: Groups

    mutating func toggleGroups() {
        guard let row = list.selection, !row.id.isEmpty else { return sayNoUser() }
        detail.showsGroups.toggle()
        detail.scroll = 0
        guard detail.showsGroups, details[row.id]?.detail.groups.isKnown != true, detail.groupsNumber == nil else {
            return
        }
        let number = nextNumber()
        detail.groupsNumber = number
        emit(.groups(number, id: row.id))
    }

    // MARK: Photos

    mutating func togglePhoto() {
        if isOffline { return say("Photos are not kept offline.") }
        guard let row = list.selection, !row.id.isEmpty else { return sayNoUser() }
        detail.showsPhoto.toggle()
        detail.photoFailure = nil
        guard detail.showsPhoto else {
            if let number = detail.photoNumber { emit(.cancel(number)) }
            detail.photoNumber = nil
            return say("Photos are hidden; p shows them.")
        }
        if hasNoPhoto(row.id) { say("\(row.name) has no photo.") }
    }

    private func hasNoPhoto(_ id: String) -> Bool {
        if let photo = photos[id], photo == nil { return true }
        return details[id]?.detail.photo == UserDetail.Part.none
    }

    private mutating func requestPhoto() {
        guard detail.showsPhoto, let id = detail.target, let known, known.isWhole, detail.photoNumber == nil,
            photos[id] == nil, !hasNoPhoto(id), detail.photoFailure != id, delayEnd == nil
        else { return }
        if known.detail.photo == .notRequested, isOffline { return }
        let number = nextNumber()
        detail.photoNumber = number
        emit(.photo(number, id: id))
    }

    mutating func take(_ photo: UserPhoto?, _ number: Int) {
        guard detail.photoNumber == number, let id = detail.target else { return }
        detail.photoNumber = nil
        photos.save(photo, for: id)
        if photo == nil, !showsPictures, let name = list.selection?.name { say("\(name) has no photo.") }
    }

    mutating func sayNoUser() {
        if list.rows.isEmpty, isWaiting { return saySearching() }
        say(
            list.rows.isEmpty ? "The list is empty: / goes to the search line." : "This row does not identify a user.",
            .warning)
    }

    /// Shows that the search is still in progress.
    mutating func saySearching() {
        say("Still searching for \(query.searchText.visible).", .warning)
        notice?.isUntilResult = true
    }
}

extension UserDetail {
    /// Whether a part shown in the detail failed to load.
    var hasFailedPart: Bool { manager.hasFailed || photo.hasFailed }
}

extension UserDetail.Part {
    /// Whether the directory's result is final, so that an immediate retry would not change it.
    var isKnown: Bool {
        switch self {
        case .value, .none, .notPermitted: true
        case .notRequested, .failed: false
        }
    }

    var hasFailed: Bool { if case .failed = self { true } else { false } }
}
