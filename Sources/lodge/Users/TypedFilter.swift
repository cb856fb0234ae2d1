import CommandLineKit
import DirectorySearch

extension UserFilter {
    /// The users that typed words mean, in `query` and `browse`.
    ///
    /// One word begins a name or an address; several begin the display name together, or one name or address each. Graph takes about
    /// 15 comparisons: more than four words only begin the display name.
    static func typed(_ words: [String]) -> UserFilter {
        let whole = UserFilter.displayName(startsWith: words.joined(separator: " "))
        func parts(_ word: String) -> [UserFilter] {
            [.givenName(startsWith: word), .surname(startsWith: word), .mail(startsWith: word)]
        }
        if words.count == 1, let word = words.first {
            return .any(of: [whole] + parts(word) + [.userPrincipalName(startsWith: word)])
        }
        guard words.count <= 4 else { return whole }
        return .any(of: [whole, .all(of: words.map { .any(of: parts($0)) })])
    }
}
