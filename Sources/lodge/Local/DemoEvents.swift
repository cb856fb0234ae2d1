import CommandLineKit
import OAuth2AccountStore
import Synchronization

#if NotificationCenter
    // NotificationCenter requires all of Foundation.
    import Foundation

    /// The notifications of the demo's stores, in order of arrival.
    final class DemoEvents: Sendable {
        private let waiting = Mutex<[String]>([])
        private let observers = Mutex<[Observer]>([])

        /// A registration with NotificationCenter. Sendable is sound: only `deinit` uses the token.
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

        /// Observes only this store.
        ///
        /// NotificationCenter compares object addresses: another store can get the address of a released one.
        func observe(_ store: AccountStore) {
            let new = Self.names.map { name in
                Observer(name, store) { [weak self] notification in
                    let keys = (notification.userInfo ?? [:]).keys.compactMap { $0 as? String }.sorted()
                    let account =
                        notification.userInfo?[AccountStore.newAccountKey]
                        ?? notification.userInfo?[AccountStore.accountKey]
                    var text = notification.name.rawValue
                    if let account = account as? Account {
                        text += " (\(keys.joined(separator: ", "))) for \(account.id)"
                    }
                    if account == nil, !keys.isEmpty { text += " (\(keys.joined(separator: ", ")))" }
                    self?.waiting.withLock { $0.append(text) }
                }
            }
            observers.withLock { $0 = new }
        }

        /// Returns the new notifications. Ignores the expected number, because each call posts before it returns.
        func take(_: Int) async -> [String] {
            waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
        }
    }
#else
    /// The events of the demo's stores, in order of arrival.
    final class DemoEvents: Sendable {
        private let stream = Mutex<AsyncStream<AccountEvent>?>(nil)

        /// Observes only this store.
        func observe(_ store: AccountStore) { stream.withLock { $0 = store.events() } }

        func take(_ count: Int) async -> [String] {
            var lines: [String] = []
            guard count > 0, let stream = stream.withLock({ $0 }) else { return lines }
            for await event in stream {
                lines.append(Self.text(event))
                if lines.count == count { break }
            }
            return lines
        }

        private static func text(_ event: AccountEvent) -> String {
            switch event {
            case .added(let account): "account \(account.id) added"
            case .removed(let id, _): "account \(id) removed"
            case .accessTokenChanged(let account): "account \(account.id) has a new access token"
            case .accessTokenLost(let account): "account \(account.id) needs a sign-in"
            case .userDataChanged(let account): "the user data of account \(account.id) changed"
            case .profileChanged(let account): "account \(account.id) was signed in again"
            case .signInFailed(let type, _): "a sign-in to \(type) failed"
            case .accessTokenFailed(let account, _): "account \(account.id) could not get an access token"
            case .manyChanges: "many accounts changed"
            }
        }
    }
#endif
