import DirectorySearch

/// The account that a sign-in is for.
package enum SignInTarget: Hashable, Sendable {
    case account(BrowseAccount.ID)
    /// A new account of this type. The default is the type from the command line or the settings.
    case another(type: String?)
}

/// An action that the model requests. Numbers grow, and the event with its result has the same number.
package enum BrowseEffect: Sendable {
    /// Send ``BrowseEvent/tick`` at this time since the start. Replaces the previous request.
    case wake(at: Duration)
    /// Search first in the offline copy, then in the directory, each as ``BrowseEvent/users(_:_:)``.
    ///
    /// Cancels the previous search.
    case search(Int, text: String)
    /// Search only the offline copy, as ``BrowseEvent/localPreview(_:_:)`` if it has results.
    ///
    /// Has its own numbers and replaces the previous one.
    case localPreview(Int, text: String)
    /// Cancel the search.
    case cancelSearch
    /// Load the next page of the search with this number.
    case nextPage(Int)
    /// Load a user with the manager and the photo information, in one batch.
    case detail(Int, id: String)
    case reports(Int, id: String)
    case groups(Int, id: String)
    case photo(Int, id: String)
    /// Cancel the request with this number.
    case cancel(Int)
    /// Switch to this account.
    case use(BrowseAccount.ID)
    case signIn(Int, SignInTarget)
    /// Copy this text to the clipboard.
    case copy(String)
    /// Write these users to a new file. The result is ``BrowseEvent/exported(count:file:)``.
    case export([User], file: String, BrowseExportFormat)
    /// Finish with these users as the result of the picker.
    case choose([User])
    case redraw
    /// Suspend, like Ctrl-Z.
    case suspend
    case quit
}
