/// Suggests the word that was probably meant.
package enum SpellingSuggestion {
    /// Returns the nearest of `candidates`, or `nil` if every candidate is too different.
    ///
    /// A candidate is near if it has at most one error in three letters, where two swapped letters count as one error,
    /// or if `word` is a prefix of at least two letters. Case is ignored. The first of several equally near candidates
    /// is returned.
    package static func nearest(to word: String, in candidates: [String]) -> String? {
        // Check the length first, so that a very long word costs no time.
        guard !word.isEmpty, word.utf8.count <= 64 else { return nil }
        let typed = Array(word.lowercased().unicodeScalars)
        var best: (word: String, distance: Int)?
        for candidate in candidates {
            let letters = Array(candidate.lowercased().unicodeScalars)
            let allowed = max(1, max(typed.count, letters.count) / 3)
            // A single letter is near to every other one, so any suggestion would be a guess.
            guard abs(typed.count - letters.count) <= allowed, typed.count > 1 else { continue }
            let distance = distance(typed, letters)
            if distance <= allowed, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        if let best { return best.word }
        guard typed.count >= 2 else { return nil }
        return candidates.filter { $0.lowercased().unicodeScalars.starts(with: typed) }.min { $0.count < $1.count }
    }

    /// Returns the number of insertions, deletions, replacements and swaps of adjacent letters.
    ///
    /// This is the restricted Damerau–Levenshtein distance: no letter is changed twice.
    package static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        guard !left.isEmpty else { return right.count }
        guard !right.isEmpty else { return left.count }
        var beforePrevious: [Int] = []
        var previous = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            current.reserveCapacity(right.count + 1)
            for column in 1...right.count {
                let replaced = previous[column - 1] + (left[row - 1] == right[column - 1] ? 0 : 1)
                var least = min(replaced, previous[column] + 1, current[column - 1] + 1)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    least = min(least, beforePrevious[column - 2] + 1)
                }
                current.append(least)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[right.count]
    }
}
