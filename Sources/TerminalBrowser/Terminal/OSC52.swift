import Platform

/// The sequence that asks a terminal to keep a text for pasting, which xterm introduced and most terminals know.
enum OSC52 {
    /// - Parameter isInTmux: whether to add the sequence in tmux's wrapping, which tmux passes to the terminal outside.
    static func sequence(for text: String, isInTmux: Bool) -> String {
        let sequence = "\u{1B}]52;c;" + Data(text.utf8).base64EncodedString() + "\u{07}"
        guard isInTmux else { return sequence }
        return sequence + "\u{1B}Ptmux;" + sequence.replacing("\u{1B}", with: "\u{1B}\u{1B}") + "\u{1B}\\"
    }
}
