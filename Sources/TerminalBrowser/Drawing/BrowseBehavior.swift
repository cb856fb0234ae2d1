/// The logic of the browser: handles events, returns effects and describes the screen. A test can replace it.
package protocol BrowseBehavior: Sendable {
    /// Handles an event and returns the effects to run. `now` is the time since the start.
    mutating func handle(_ event: BrowseEvent, at now: Duration) -> [BrowseEffect]
    func screen() -> Screen
}

extension BrowseModel: BrowseBehavior {
    package mutating func handle(_ event: BrowseEvent, at now: Duration) -> [BrowseEffect] {
        let effects = update(event, at: now)
        scrollIntoView()
        return effects
    }

    package func screen() -> Screen { BrowseDrawing(model: self).screen() }

    private mutating func scrollIntoView() {
        let drawing = BrowseDrawing(model: self)
        // A notice covers the last rows of the list if the detail is not below the list.
        list.scrollIntoView(max(1, layout.listRows - (layout.arrangement == .below ? 0 : drawing.noticeLines.count)))
        if detail.scroll != 0 {
            detail.scroll = max(0, min(detail.scroll, drawing.detailLineCount - layout.detailRows))
        }
        limitOverlayScroll()
    }
}
