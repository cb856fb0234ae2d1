import DirectorySearch

/// Whom a sign-in is for.
package enum SignInTarget: Hashable, Sendable {
    case account(BrowseAccount.ID)
    /// Another account, of this type; without one of the type that the command line or the settings name.
    case another(type: String?)
}

/// An action that the model requests. Numbers grow, and the event with its result has the same number.
package enum BrowseEffect: Sendable {
    /// A ``BrowseEvent/tick`` at this time since the start. It replaces the last one.
    case wake(at: Duration)
    /// Search for a text: first in the offline copy, then in the directory, each as ``BrowseEvent/people(_:_:)``. Cancels the last
    /// search.
    case search(Int, text: String)
    /// Search only the offline copy, as ``BrowseEvent/localPreview(_:_:)`` if it has results. It has its own numbers and replaces the
    /// last one.
    case localPreview(Int, text: String)
    /// Cancel the search.
    case cancelSearch
    /// The next page of the search of this number.
    case nextPage(Int)
    /// A person, their manager and what is known of their photo, in one batch.
    case detail(Int, id: String)
    case reports(Int, id: String)
    case groups(Int, id: String)
    case photo(Int, id: String)
    /// Cancel the request of this number.
    case cancel(Int)
    /// This account from now on.
    case use(BrowseAccount.ID)
    case signIn(Int, SignInTarget)
    /// Copy this text to the clipboard.
    case copy(String)
    /// Write these users to a new file, as ``BrowseEvent/exported(count:file:)``.
    case export([User], file: String, BrowseExportFormat)
    /// End with these users as the result of the picker.
    case choose([User])
    case redraw
    /// Stop, as ctrl-z does.
    case suspend
    case quit
}
