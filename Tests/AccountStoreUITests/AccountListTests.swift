import AccountStoreUI
import Foundation
import OAuth2AccountStore
import OAuth2AccountStoreTesting
import Observation
import TestSupport
import Testing

@MainActor @Suite struct AccountListTests {
    private func isReady(_ list: AccountList) -> Bool { if case .ready = list.state { true } else { false } }

    private func hasFailed(_ list: AccountList) -> Bool { if case .failed = list.state { true } else { false } }

    @Test func `the list has the accounts and the current one, and follows changes`() async throws {
        let scene = try await SignedInFixture()
        let list = AccountList(scene.store)
        try await until { isReady(list) }
        #expect(list.accounts.map(\.id) == [scene.account.id] && list.current?.id == scene.account.id)
        // A change by another part of the program.
        _ = try await scene.store.rename(scene.account.id, to: "Work")
        try await until { list.accounts.first?.label == "Work" }
        #expect(list.current?.label == "Work")
        try await scene.store.remove(scene.account.id)
        try await until { list.accounts.isEmpty }
        #expect(list.current == nil)
    }

    @Test func `a change notifies an observer`() async throws {
        let scene = try await SignedInFixture()
        let list = AccountList(scene.store, ofType: SignedInFixture.typeName)
        try await until { isReady(list) }
        let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
        withObservationTracking {
            _ = list.accounts
        } onChange: {
            continuation.finish()
        }
        _ = try await scene.store.rename(scene.account.id, to: "Work")
        for await _ in changes {}
        #expect(AccountList(scene.store, ofType: "other").accounts.isEmpty)
    }

    @Test func `signOut removes the account and returns the report`() async throws {
        let scene = try await SignedInFixture()
        let list = AccountList(scene.store)
        try await until { isReady(list) }
        let report = await list.signOut(scene.account.id)
        #expect(report != nil && list.accounts.isEmpty && isReady(list))
        #expect(await list.signOut(scene.account.id) == nil)
        #expect(hasFailed(list))
    }

    @Test func `a sign-in that the user cancels changes nothing, and a failed one is the state`() async throws {
        let scene = try await SignedInFixture()
        let list = AccountList(scene.store)
        try await until { isReady(list) }
        let type = SignedInFixture.typeName
        await list.signIn(to: type, by: .webAuthenticationSession { _ in throw CancellationError() })
        #expect(isReady(list) && list.accounts.count == 1)
        await list.signIn(to: type, by: .webAuthenticationSession { _ in throw URLError(.badURL) })
        #expect(hasFailed(list))
        #expect(list.accounts.count == 1)
    }

    @Test func `a sign-in adds the account`() async throws {
        let scene = try await SignedInFixture()
        let list = AccountList(scene.store)
        try await until { isReady(list) }
        await list.signIn(
            to: SignedInFixture.typeName,
            by: .webAuthenticationSession { signIn in
                try await Approval(as: "li.ming@contoso.example").redirect(
                    approving: signIn.url, transport: Dependencies.system.transport(nil))
            })
        #expect(isReady(list) && list.accounts.count == 2 && list.current?.id != scene.account.id)
    }

    @Test func `a released list ends its observation`() async throws {
        let scene = try await SignedInFixture()
        weak var released: AccountList?
        do {
            let list = AccountList(scene.store)
            released = list
            try await until { isReady(list) }
        }
        try await until { released == nil }
    }
}
