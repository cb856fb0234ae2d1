// Foundation as a whole, for NotificationCenter.
import Foundation
import OAuth2AccountStore
import Synchronization

/// The notifications of the demo's stores, in the order in which they came.
final class DemoEvents: Sendable {
    private let waiting = Mutex<[String]>([])
    /// The observers; they end with this.
    private let observers = Mutex<[Observer]>([])

    /// One registration at NotificationCenter. Sendable is sound: the token is only handed back, from one `deinit`.
    private final class Observer: @unchecked Sendable {
        private let token: any NSObjectProtocol

        init(_ name: Notification.Name, _ store: AccountStore, _ body: @escaping @Sendable (Notification) -> Void) {
            token = NotificationCenter.default.addObserver(forName: name, object: store, queue: nil, using: body)
        }

        deinit { NotificationCenter.default.removeObserver(token) }
    }

    private static let names: [Notification.Name] = [
        .accountStoreAccountsDidChange, .accountStoreDidFailToRequestAccess, .accountDidChangeUserData,
        .accountDidChangeAccessToken, .accountDidLoseAccessToken, .accountDidFailToGetAccessToken,
    ]

    /// Begins to listen to a store.
    func observe(_ store: AccountStore) {
        for name in Self.names {
            let observer = Observer(name, store) { [weak self] notification in
                let keys = (notification.userInfo ?? [:]).keys.compactMap { $0 as? String }.sorted()
                let account =
                    notification.userInfo?[AccountStore.newAccountKey]
                    ?? notification.userInfo?[AccountStore.accountKey]
                var text = notification.name.rawValue
                if let account = account as? Account { text += " (\(keys.joined(separator: ", "))) for \(account.id)" }
                if account == nil { text += " (\(keys.joined(separator: ", ")))" }
                self?.waiting.withLock { $0.append(text) }
            }
            observers.withLock { $0.append(observer) }
        }
    }

    /// What came since the last time.
    func take() -> [String] {
        waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
    }
}
