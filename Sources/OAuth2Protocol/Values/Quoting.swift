import StrictJSON

/// Returns a received string that is safe to print: in quotation marks, at most 200 characters, with escaped control
/// characters.
package func quoted(_ text: String) -> String {
    let scalars = text.unicodeScalars
    let limit = 200
    guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
        end != scalars.endIndex
    else { return JSONValue.string(text).text() }
    return JSONValue.string(String(scalars[..<end]) + "…").text()
}

/// Returns whether two strings have the same bytes. Swift's `==` also equates different spellings of one character.
package func bytesEqual(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }
