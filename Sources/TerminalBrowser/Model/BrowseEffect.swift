import DirectorySearch
import OAuth2AccountStore

/// Whom a sign-in is for.
package enum SignInTarget: Hashable, Sendable {
    case account(Account.ID)
    /// Another account, of this type; without one of the type that the command line or the settings name.
    case another(type: String?)
}

/// Something that the model of the browser wants done. Numbers grow, and an answer names its number.
package enum BrowseEffect: Sendable {
    /// A ``BrowseEvent/tick`` at this time, counted as the times given to the model are. One is enough: a later wish replaces it.
    case wake(at: Duration)
    /// People for what was typed: from the copy on this machine at once, where there is one, then from the directory, each as
    /// ``BrowseEvent/people(_:_:)``. Whatever search ran before is cancelled.
    case search(Int, text: String)
    /// What the copy on this machine has for a text, at once, as ``BrowseEvent/localPreview(_:_:)``; no event where it has nothing. These are
    /// counted by themselves. A later wish replaces it.
    case localPreview(Int, text: String)
    /// The search that runs is not wanted any more.
    case cancelSearch
    /// The next page of the search of this number.
    case nextPage(Int)
    /// A person, their manager and what is known of their photo, in one batch.
    case detail(Int, id: String)
    case reports(Int, id: String)
    case groups(Int, id: String)
    case photo(Int, id: String)
    /// What was asked for with this number is not wanted any more.
    case cancel(Int)
    /// This account from now on.
    case use(Account.ID)
    case signIn(Int, SignInTarget)
    /// Put this text where it can be pasted.
    case copy(String)
    case export([User])
    case redraw
    /// Stop, as ctrl-z does.
    case suspend
    case quit
}
