/// The part of the browser that decides: it takes events, returns effects and describes the screen. A test can use another one.
package protocol BrowseBehaviour: Sendable {
    /// Takes an event, with the time since the start, and returns the effects to run.
    mutating func handle(_ event: BrowseEvent, at now: Duration) -> [BrowseEffect]
    func screen() -> Screen
}

extension BrowseModel: BrowseBehaviour {
    package mutating func handle(_ event: BrowseEvent, at now: Duration) -> [BrowseEffect] {
        let effects = update(event, at: now)
        scrollIntoView()
        return effects
    }

    package func screen() -> Screen { BrowseDrawing(model: self).screen() }

    private mutating func scrollIntoView() {
        let drawing = BrowseDrawing(model: self)
        // A notice lies over the last rows, which are the list's where the detail is not below it.
        list.scrollIntoView(max(1, layout.listRows - (layout.arrangement == .below ? 0 : drawing.noticeLines.count)))
        if detail.scroll != 0 {
            detail.scroll = max(0, min(detail.scroll, drawing.detailLineCount - layout.detailRows))
        }
        limitOverlayScroll()
    }
}
