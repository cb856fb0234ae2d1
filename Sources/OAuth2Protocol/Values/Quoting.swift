import StrictJSON

/// A text of somebody else's, safe to show: in quotation marks, at most 200 characters, with every character escaped that
/// could steer a terminal or forge a line of a log.
func quoted(_ text: String) -> String {
    let scalars = text.unicodeScalars
    let limit = 200
    guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
        end != scalars.endIndex
    else { return JSONValue.string(text).text() }
    return JSONValue.string(String(scalars[..<end]) + "…").text()
}

/// Whether two texts are the same bytes. Swift's `==` also equates different spellings of one character.
func bytesEqual(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
