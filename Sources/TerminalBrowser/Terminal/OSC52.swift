import LodgePlatform

/// The OSC 52 sequence that copies a string to the clipboard. Introduced by xterm and supported by most terminals.
enum OSC52 {
    /// Returns the sequence for a string.
    ///
    /// - Parameter isInTmux: whether to add the sequence in tmux's wrapping, which tmux passes to the outer terminal.
    static func sequence(for text: String, isInTmux: Bool) -> String {
        let sequence = "\u{1B}]52;c;" + Data(text.utf8).base64EncodedString() + "\u{07}"
        guard isInTmux else { return sequence }
        return sequence + "\u{1B}Ptmux;" + sequence.replacing("\u{1B}", with: "\u{1B}\u{1B}") + "\u{1B}\\"
    }
}
