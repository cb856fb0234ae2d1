import Platform

/// The sequence that asks a terminal to keep a text for pasting, which xterm introduced and most terminals know.
enum OSC52 {
    /// - Parameter isInTmux: tmux takes the sequence for itself where its owner allows that; in its own wrapping it hands it on to the
    ///   terminal outside, where that is allowed. Both are sent.
    static func sequence(for text: String, isInTmux: Bool) -> String {
        let sequence = "\u{1B}]52;c;" + Data(text.utf8).base64EncodedString() + "\u{07}"
        guard isInTmux else { return sequence }
        return sequence + "\u{1B}Ptmux;" + sequence.replacing("\u{1B}", with: "\u{1B}\u{1B}") + "\u{1B}\\"
    }
}
