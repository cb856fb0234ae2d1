import LodgePlatform
import StrictJSON
import Testing

@testable import DirectorySearch

/// Tests the filter for a typed text and the order of its results.
@Suite struct SearchTextTests {
    private func user(
        _ displayName: String, _ givenName: String? = nil, _ surname: String? = nil, mail: String? = nil
    ) -> User {
        var user = User()
        user.displayName = displayName
        user.givenName = givenName
        user.surname = surname
        user.mail = mail
        return user
    }

    @Test func `one word is compared with five properties`() throws {
        let filter = try UserFilter.matching(SearchText(" o'b ")).odata()
        #expect(
            filter
                == ["givenName", "surname", "displayName", "mail", "userPrincipalName"].map {
                    "startswith(\($0),'o''b')"
                }.joined(separator: " or "))
    }

    @Test(arguments: 1...20) func `any number of words is a default query with at most 15 comparisons`(_ count: Int)
        throws
    {
        let text = SearchText((1...count).map { "w\($0)" }.joined(separator: " "))
        let written = try UserFilter.matching(text).written()
        #expect(written.clauses <= 15 && written.reasons.isEmpty)
        #expect(written.text.contains("startswith(displayName,'\(text.text)')"))
        #expect(written.text.contains("startswith(surname,'w\(count)')") == (count <= 6))
    }

    @Test func `two words match one name together or a name or address each`() throws {
        let filter = try UserFilter.matching(SearchText("ada lo")).odata()
        #expect(filter.hasPrefix("startswith(givenName,'ada lo') or startswith(surname,'ada lo') or "))
        #expect(filter.contains(" or ((startswith(givenName,'ada') or startswith(surname,'ada') or "))
        #expect(filter.contains(") and (startswith(givenName,'lo') or startswith(surname,'lo') or "))
        #expect(filter.contains("startswith(userPrincipalName,'lo')"))
        #expect(!filter.contains("startswith(mail,'ada lo')"))
    }

    @Test func `a blank text is an empty search`() {
        for text in ["", " \t\n"] {
            #expect(throws: DirectoryError.self) { try UserFilter.matching(SearchText(text)).odata() }
        }
    }

    @Test func `SCIM uses the same comparisons, and Google compares each word with names and addresses`() throws {
        let query = UserQuery(.matching(SearchText("ada lo")), select: ["displayName"])
        let scim = try #require(try query.scimRequest().filter)
        #expect(scim.contains(#"name.familyName sw "lo""#) && scim.contains(#"displayName sw "ada lo""#))
        #expect(try query.googleRequest().filter == "'ada' 'lo'")
    }

    @Test func `whole words rank first, then prefixes, and rooms rank last`() {
        let expected = [
            user("Ada Lovelace", "Ada", "Lovelace"), user("Grace Ada", "Grace", "Ada"),
            user("Ada (Service)", "Service"),
            user("Ada Room"), user("Zoe Zola", "Zoe", "Zola", mail: "ada@contoso.com"),
            user("Adam Smith", "Adam", "Smith"),
            user("Grace Adams", "Grace", "Adams"), user("Adalbert Club", "Club"), user("Adams Room"),
            user("Zack", "Zack", nil, mail: "adab@contoso.com"),
        ]
        let text = SearchText("ada")
        #expect(text.ranked(expected.reversed()).map(\.displayName) == expected.map(\.displayName))
        #expect(text.ranked(expected.shuffled()).map(\.displayName) == expected.map(\.displayName))
    }

    @Test func `case and accents do not change the order`() {
        let users = [user("Núñezas", "X", "Núñezas"), user("NÚÑEZ B", "Y", "NÚÑEZ"), user("nunez a", "Z", "nunez")]
        #expect(SearchText("Nunez").ranked(users).map(\.surname) == ["nunez", "NÚÑEZ", "Núñezas"])
    }

    @Test func `ranking names with combining marks takes linear time`() {
        // Comparing two of these strings normalizes them, which takes milliseconds.
        let marks = String(repeating: "\u{5B0}\u{5B9}", count: 1000)
        let users = (0..<999).map { user("Ada\(marks)\($0)", "Ada\(marks)") }
        #expect(SearchText("ada").ranked(users).count == 999)
    }

    @Test func `each of several words affects the rank`() {
        let users = [
            user("Ada Lovejoy", "Ada", "Lovejoy"), user("Adam Love", "Adam", "Love"), user("Ada Love", "Ada", "Love"),
        ]
        #expect(SearchText("love ada").ranked(users).first?.displayName == "Ada Love")
    }

    @Test(arguments: [
        ("Núñez", "nunez"), ("ÅSTRÖM", "astrom"), ("Søren Łukasz Đorđe", "soren lukasz dorde"), ("Ế", "e"),
        ("e\u{301}a\u{308}", "ea"), ("Άννα", "αννα"), ("Ёлкин Йоханн", "елкин иоханн"), ("İ", "i"), ("李明", "李明"),
        ("김", "김"),
        ("がぎ", "がぎ"), ("हिन्दी", "हिन्दी"), ("ẞß", "ßß"), ("Ada", "ada"),
    ])
    func `folding removes case and accents of Latin, Greek and Cyrillic letters`(_ text: String, _ folded: String) {
        #expect(text.foldedForSearch.unicodeScalars.elementsEqual(folded.unicodeScalars), "\(text.foldedForSearch)")
    }
}

extension SearchTextTests {
    private struct Pages: UserPageSource {
        var rest: [UserPage]
        mutating func next() async throws -> UserPage? { rest.isEmpty ? nil : rest.removeFirst() }
    }

    @Test func `pages are ranked one by one, limited, and stripped of additional properties`() async throws {
        let source = Pages(rest: [
            UserPage(users: [user("Adam", "Adam", "B"), user("Ada", "Ada", "A")], hasMore: true),
            UserPage(users: [user("Adele", "Adele", "B"), user("Ada", "Ada", "C")]),
        ])
        let pages = UserPages { source }.ranked(by: SearchText("ada"), removing: ["givenName"], limit: 3)
        var found: [UserPage] = []
        for try await page in pages { found.append(page) }
        #expect(found.map { $0.users.map(\.displayName) } == [["Ada", "Adam"], ["Ada"]])
        #expect(found.map(\.hasMore) == [true, true])
        #expect(found.allSatisfy { page in page.users.allSatisfy { $0["givenName"] == nil && $0["surname"] != nil } })
    }
}
